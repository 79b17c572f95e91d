"""The likeliest variables: inclusion probabilities with their intervals, best on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.plotting.arms import FittedArms, fitted_arms
from tvselect.plotting.canvas import BLUE, DARK, FONT_SIZE, GREY, axes_on, clean, legend_above
from tvselect.plotting.labels import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tvselect.selectors import ThompsonSelector


def top_arms(selector: ThompsonSelector, top: int = 20) -> FittedArms:
    """The arms of the highest inclusion probabilities, in falling order.

    Of ties, selected ones come first.

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
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top!r}")
    arms = fitted_arms(selector)
    order = np.lexsort([~arms.selected, -arms.probabilities])[:top]
    return FittedArms(
        names=tuple(arms.names[arm] for arm in order),
        probabilities=arms.probabilities[order],
        intervals=arms.intervals[order],
        selected=arms.selected[order],
        threshold=arms.threshold[order],
        features=arms.features[order],
    )


class InclusionProbabilityDisplay:
    """Figure of the highest inclusion probabilities with their 95 % intervals.

    Columns that are always included are left out: theirs is 1 by decree.

    Parameters
    ----------
    arms : FittedArms
        In falling order.
    n_arms, n_selected : int, optional
        In all, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = InclusionProbabilityDisplay.from_estimator(selector)  # doctest: +SKIP
    >>> display.figure_.savefig("probabilities.pdf")  # doctest: +SKIP
    """

    def __init__(
        self, arms: FittedArms, *, n_arms: int | None = None, n_selected: int | None = None
    ) -> None:
        self.arms = arms
        self.n_arms = n_arms
        self.n_selected = n_selected

    @classmethod
    def from_estimator(
        cls, selector: ThompsonSelector, *, top: int = 20, ax: Axes | None = None
    ) -> Self:
        """Draw the ``top`` arms of a fitted selector."""
        selected = fitted_arms(selector).selected
        arms = top_arms(selector, top)
        return cls(arms, n_arms=selected.size, n_selected=int(selected.sum())).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw, on new axes unless some are given."""
        arms, n = self.arms, len(self.arms.names)
        self.figure_, self.ax_ = axes_on(ax, 6.5, 1.1 + 0.21 * n)
        heights = np.arange(n, dtype=np.float64)
        n_arms = n if self.n_arms is None else self.n_arms
        n_selected = int(arms.selected.sum()) if self.n_selected is None else self.n_selected
        for rows, colour, fill, what, total in (
            (arms.selected, BLUE, BLUE, "selected", n_selected),
            (~arms.selected, GREY, "white", "not selected", n_arms - n_selected),
        ):
            if rows.any():
                shown = int(rows.sum())
                counts = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
                low, high = arms.intervals[rows].T
                self.ax_.hlines(heights[rows], low, high, color=colour, lw=1.4)
                self.ax_.plot(
                    arms.probabilities[rows], heights[rows], "o", color=colour, mfc=fill, ms=5.5,
                    mew=1.2, label=f"{what} ({counts})", clip_on=False,
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
