"""The likeliest variables: what a fitted selector found, by arm, and its selection rates drawn.

Only what ``fit`` left behind is read, never a parameter: these can change after ``fit``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tvselect.plotting import canvas
from tvselect.selectors.results import fitted_result
from tvselect.words import level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tvselect.after.worth import Stability
    from tvselect.selectors import StreamingThompsonSelector, ThompsonSelector

    Selector: TypeAlias = ThompsonSelector | StreamingThompsonSelector

Floats = NDArray[np.float64]
MOST_DECOYS, MOST_SHARES = 5, 30
LOOKS = {
    "selected": (canvas.BLUE, canvas.BLUE, "o"),
    "not selected": (canvas.GREY, "white", "o"),
    "not played": (canvas.GREY, canvas.GREY, "x"),
    "decoys": (canvas.RED, canvas.RED, "D"),
}


class FittedArms(NamedTuple):
    """Arms of a fit, of all chains together; columns that are always included are none."""

    #: An arm of one column has its name, a group its label; a decoy is that of an arm.
    names: tuple[str, ...]
    arms: NDArray[np.int64]  #: Their numbers
    rates: Floats  #: Of an arm that was never played, its prior's mean
    intervals: Floats  #: 95 %
    q_values: Floats  #: NaN for decoys, and where none were played
    selected: NDArray[np.bool_]
    threshold: Floats
    features: NDArray[np.int64]  #: The first column of each; of a decoy, the column it stands for
    times_played: NDArray[np.int32]
    decoys: NDArray[np.bool_]  #: They are the last, and never selected

    @property
    def played(self) -> NDArray[np.bool_]:
        """Arms that were played, in any chain."""
        return self.times_played > 0

    @property
    def kinds(self) -> dict[str, NDArray[np.bool_]]:
        """Which arms are of which kind; every arm is of one."""
        left = ~self.selected & ~self.decoys
        return {
            "selected": self.selected,
            "not selected": left & self.played,
            "not played": left & ~self.played,
            "decoys": self.decoys,
        }

    def take(self, places: NDArray[np.intp]) -> Self:
        """Some of the arms, in that order."""
        taken: list[Any] = [values[places] for values in self[1:]]
        return type(self)(tuple(self.names[place] for place in places), *taken)

    def best(self, top: int) -> Self:
        """The ``top`` arms in falling order, see :func:`tvselect.plotting.top_arms`."""
        if top < 1:
            raise ValueError(f"top must be at least 1, got {top!r}")
        return self.take(np.lexsort([self.decoys, ~self.selected, -self.rates, ~self.played])[:top])


def fitted_arms(selector: Selector, most_decoys: int = MOST_DECOYS) -> FittedArms:
    """All arms that can be selected, and behind them the leading decoys."""
    result = fitted_result(selector)
    layout, n = result.layout, result.layout.n_candidates
    decoys = result.leading_decoys(most_decoys)
    originals, copies = layout.origins(decoys)
    arms = np.append(np.arange(n), decoys)
    features = layout.first_features
    names = [layout.labels.get(arm, str(layout.names[j])) for arm, j in enumerate(features)]
    for arm, copy in zip(originals.tolist(), copies.tolist(), strict=True):
        names.append(decoy_name(names[arm], copy, layout.n_copies))
    return FittedArms(
        names=tuple(names),
        arms=arms,
        rates=result.means(arms=arms),
        intervals=result.intervals(arms),
        q_values=np.append(selector.q_values_[features], np.full(decoys.size, np.nan)),
        selected=result.selected()[arms],
        threshold=result.thresholds()[arms],
        features=np.append(features, features[originals]),
        times_played=result.times_played[arms],
        decoys=arms >= n,
    )


def decoy_name(name: str, copy: int, n_copies: int) -> str:
    """What the decoy of a variable is called, with its number where there are several."""
    return f"decoy {copy} of {name}" if n_copies > 1 else f"decoy of {name}"


def top_arms(selector: Selector, top: int = 20) -> FittedArms:
    """The ``top`` arms of a fitted ``selector`` by selection rate, in falling order.

    The five leading decoys take part. Arms that were never played come last, as their rate is that
    of the prior. Of ties, selected ones come first, and decoys last.

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
    return fitted_arms(selector).best(top)


def plot_stability(stability: Stability, ax: Axes | None = None) -> Axes:
    """Draw with how many seeds each column is selected.

    Parameters
    ----------
    stability : Stability
        What :func:`tvselect.stability_over_seeds` found.
    ax : matplotlib axes, optional
        To draw on; new ones by default.

    Returns
    -------
    matplotlib Axes
    """
    names, n = stability.names[:MOST_SHARES], len(stability.seeds)
    _, ax = canvas.axes_on(ax, 6.5, 1.1 + 0.21 * len(names))
    heights, shares = np.arange(len(names)), stability.shares[: len(names)]
    ax.hlines(heights, 0, shares, color=canvas.BLUE, lw=1.4, gid="share-lines")
    ax.plot(shares, heights, "o", color=canvas.BLUE, ms=5.5, clip_on=False, gid="share-points")
    ax.set(xlim=(0, 1), xlabel=f"share of {n} seeds that select it")
    canvas.name_rows(ax, names)
    return ax


def plot_runs(
    names: Sequence[str], rates: Sequence[Sequence[float | None]], selected: Any, ax: Axes
) -> None:
    """Draw the selection rates of variables (the highest on top) in several runs, side by side."""
    at, runs = np.array(rates, dtype=np.float64).T, len(rates[0])
    shift = np.linspace(-0.25, 0.25, runs) if runs > 1 else np.zeros(1)
    for k, chosen in enumerate(np.array(selected, dtype=np.bool_).T):
        colour, _ = canvas.look(k, canvas.DEEP)
        for is_filled in (True, False):
            rows = np.flatnonzero((chosen == is_filled) & ~np.isnan(at[k]))
            ax.plot(
                at[k, rows],
                rows + shift[k],
                "o",
                color=colour,
                mfc=colour if is_filled else "white",
                ms=5,
                clip_on=False,
                label=f"run {k + 1}" if is_filled else "_",
                gid=f"run-{k}-{'selected' if is_filled else 'others'}",
            )
    ax.set(xlim=(0, 1), xlabel="selection rate; filled: selected")
    canvas.name_rows(ax, names)
    canvas.legend_above(ax, "right")


class SelectionRateDisplay:
    """Figure of the highest selection rates with their 95 % intervals.

    Columns that are always included are left out: their rate is 1 by definition. Decoys are red
    diamonds; the five leading ones are drawn where they rank among the highest, and a line
    marks the highest of them all. With decoys, the q-values of the variables stand on the right.

    Parameters
    ----------
    arms : FittedArms
        In falling order.
    counts : mapping, optional
        How many are "selected", "not selected", "not played" and "decoys", shown or not, for
        the legend; those shown unless given.
    highest_decoy : float, optional
        The highest selection rate of a decoy.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> display = SelectionRateDisplay.from_estimator(selector)  # doctest: +SKIP
    >>> display.figure_.savefig("rates.pdf")  # doctest: +SKIP
    """

    def __init__(
        self,
        arms: FittedArms,
        *,
        counts: Mapping[str, int] | None = None,
        highest_decoy: float | None = None,
    ) -> None:
        self.arms = arms
        self.counts = counts
        self.highest_decoy = highest_decoy

    @classmethod
    def from_estimator(cls, selector: Selector, *, top: int = 20, ax: Axes | None = None) -> Self:
        """Draw the ``top`` arms of a fitted ``selector`` on ``ax``, or on new axes."""
        arms = fitted_arms(selector)
        counts = {kind: int(rows.sum()) for kind, rows in arms.kinds.items()}
        counts["decoys"] = fitted_result(selector).layout.n_decoys
        highest = max(arms.rates[arms.decoys].tolist(), default=None)
        return cls(arms.best(top), counts=counts, highest_decoy=highest).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes."""
        arms, n = self.arms, len(self.arms.names)
        self.figure_, self.ax_ = canvas.axes_on(ax, 6.5, 1.1 + 0.21 * n)
        heights = np.arange(n, dtype=np.float64)
        for kind, is_kind in arms.kinds.items():
            if shown := int(is_kind.sum()):
                total = shown if self.counts is None else self.counts[kind]
                counts = f"{total:,}" if shown == total else f"{shown:,} of {total:,}"
                (colour, fill, marker), gid = LOOKS[kind], kind.replace(" ", "-")
                rows, ends = np.flatnonzero(is_kind), arms.intervals[is_kind].T
                self.ax_.hlines(rows, *ends, color=colour, lw=1.4, gid=f"{gid}-ranges")
                self.ax_.plot(
                    arms.rates[rows], rows, marker, color=colour, mfc=fill, ms=5.5, mew=1.2,
                    label=f"{kind} ({counts})", clip_on=False, gid=f"{gid}-points",
                )  # fmt: skip
        c = arms.threshold
        if (c == c[0]).all():
            label = f"threshold {c[0]:.3g}"
            self.ax_.axvline(c[0], color=canvas.DARK, ls=(0, (4, 3)), lw=1, label=label, zorder=1)
        else:  # a piece of line for each arm
            self.ax_.vlines(
                c, heights - 0.4, heights + 0.4, color=canvas.DARK, lw=1.2, label="threshold"
            )
        if self.highest_decoy is not None:
            label = f"highest decoy {self.highest_decoy:.2f}"
            style: dict[str, Any] = dict(color=canvas.RED, ls=(0, (2, 2)), lw=1, zorder=1)
            self.ax_.axvline(self.highest_decoy, label=label, **style)
        self.ax_.set(xlim=(0, 1), xlabel="selection rate, with 95 % interval")
        canvas.name_rows(self.ax_, arms.names)
        known, beside = ~np.isnan(arms.q_values), self.ax_.get_yaxis_transform()
        style = dict(fontsize=canvas.FONT_SIZE)
        for height, q in zip(heights[known], arms.q_values[known], strict=True):
            self.ax_.text(1.03, height, level(q), transform=beside, va="center", **style)
        if known.any():
            place: dict[str, Any] = dict(xycoords="axes fraction", textcoords="offset points")
            self.ax_.annotate("q-value", (1.03, 1), (0, 4), **place, **style)
        canvas.legend_above(self.ax_, "right")
        return self
