"""The likeliest variables: inclusion probabilities with their intervals, best on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.plotting.arms import FittedArms, fitted_arms, fitted_history
from tvselect.plotting.canvas import (
    BLUE,
    DARK,
    FONT_SIZE,
    GREY,
    RED,
    axes_on,
    clean,
    legend_above,
)
from tvselect.plotting.labels import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tvselect.plotting.arms import Selector

LOOKS = {
    "selected": (BLUE, BLUE, "o"),
    "not selected": (GREY, "white", "o"),
    "not played": (GREY, GREY, "x"),
    "decoys": (RED, RED, "D"),
}


def top_arms(selector: Selector, top: int = 20) -> FittedArms:
    """The arms of the highest inclusion probabilities, in falling order.

    Decoys are among them where they are as high. Arms that were never played come last, as
    theirs is only the prior's; such decoys are left out. Of ties, selected ones come first,
    and decoys last.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> X = np.random.default_rng(0).random((100, 50))
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(X, X[:, 3])
    >>> arms = top_arms(selector, 5)
    >>> arms.names[0], arms.selected
    ('x3', array([ True, False, False, False, False]))
    """
    return _best(fitted_arms(fitted_history(selector)), top)


def _best(arms: FittedArms, top: int) -> FittedArms:
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top!r}")
    ranked = arms.take(np.flatnonzero(arms.played | ~arms.decoys))
    order = np.lexsort([ranked.decoys, ~ranked.selected, -ranked.probabilities, ~ranked.played])
    return ranked.take(order[:top])


class InclusionProbabilityDisplay:
    """Figure of the highest inclusion probabilities with their 95 % intervals.

    Columns that are always included are left out: theirs is 1 by decree. Decoys are red
    diamonds; they are drawn where they rank among the highest.

    Parameters
    ----------
    arms : FittedArms
        In falling order.
    everyone : FittedArms, optional
        Shown or not, for the counts in the legend; those shown unless given.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = InclusionProbabilityDisplay.from_estimator(selector)  # doctest: +SKIP
    >>> display.figure_.savefig("probabilities.pdf")  # doctest: +SKIP
    """

    def __init__(self, arms: FittedArms, *, everyone: FittedArms | None = None) -> None:
        self.arms = arms
        self.everyone = everyone

    @classmethod
    def from_estimator(cls, selector: Selector, *, top: int = 20, ax: Axes | None = None) -> Self:
        """Draw the ``top`` arms of a fitted selector."""
        everyone = fitted_arms(fitted_history(selector))
        return cls(_best(everyone, top), everyone=everyone).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw, on new axes unless some are given."""
        arms, n = self.arms, len(self.arms.names)
        self.figure_, self.ax_ = axes_on(ax, 6.5, 1.1 + 0.21 * n)
        heights = np.arange(n, dtype=np.float64)
        totals = _kinds(arms if self.everyone is None else self.everyone)
        for kind, rows in _kinds(arms).items():
            if rows.any():
                colour, fill, marker = LOOKS[kind]
                shown, total = int(rows.sum()), int(totals[kind].sum())
                counts = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
                low, high = arms.intervals[rows].T
                self.ax_.hlines(heights[rows], low, high, color=colour, lw=1.4)
                self.ax_.plot(
                    arms.probabilities[rows], heights[rows], marker, color=colour, mfc=fill,
                    ms=5.5, mew=1.2, label=f"{kind} ({counts})", clip_on=False,
                )  # fmt: skip
        self._draw_threshold(heights)
        self.ax_.set(
            xlim=(0, 1),
            ylim=(n - 0.4, -0.6),
            xlabel="inclusion probability, with 95 % interval",
        )
        clean(self.ax_)
        self.ax_.set_yticks(heights, map(shorten, arms.names), parse_math=False)
        self.ax_.tick_params(axis="y", length=0, labelsize=FONT_SIZE)
        legend_above(self.ax_, "right")
        return self

    def _draw_threshold(self, heights: NDArray[np.float64]) -> None:
        """One line, or where thresholds differ, a piece of it for each arm."""
        c = self.arms.threshold
        if (c == c[0]).all():
            label = f"threshold {c[0]:.3g}"
            self.ax_.axvline(c[0], color=DARK, ls=(0, (4, 3)), lw=1, label=label, zorder=1)
        else:
            self.ax_.vlines(c, heights - 0.4, heights + 0.4, color=DARK, lw=1.2, label="threshold")


def _kinds(arms: FittedArms) -> dict[str, NDArray[np.bool_]]:
    """Which arms are what; every arm is of one kind."""
    left = ~arms.selected & ~arms.decoys
    return {
        "selected": arms.selected,
        "not selected": left & arms.played,
        "not played": left & ~arms.played,
        "decoys": arms.decoys,
    }
