"""How the selection rates settle: one path per arm, over the plays or batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.plotting.arms import Highlight, find_arms, fitted_arms
from tvselect.plotting.canvas import (
    COLOURS,
    DARK,
    DEEP,
    LIGHT,
    RED,
    axes_on,
    clean,
    legend_above,
    look,
)
from tvselect.plotting.labels import label_ends
from tvselect.selectors.results import fitted_history

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection

    from tvselect.plotting.arms import Selector


class SelectionPaths(NamedTuple):
    """Selection rates over the plays of a chain; row 0 is before the first."""

    names: tuple[str, ...]  #: Of the highlighted arms
    paths: NDArray[np.float64]  #: (plays + 1, highlighted arms)
    threshold: NDArray[np.float64]  #: (highlighted arms,), or one for all if alike
    background: NDArray[np.float64]  #: (plays + 1, other arms shown)
    n_others: int  #: Other arms, shown or not
    decoys: NDArray[np.float64]  #: (plays + 1, decoys shown), the highest end first
    n_decoys: int  #: Decoys, shown or not
    n_decoys_above: int  #: Decoys that were played in this chain and end above their threshold
    #: What a row stands for; of a stream it is a batch, and a skipped one repeats a row.
    unit: Literal["play", "batch"]
    #: Plays after which the leading arms started anew; 0 where they did not.
    burn_in: int = 0


def selection_paths(
    selector: Selector,
    *,
    highlight: Highlight | None = None,
    chain: int = 0,
    max_background: int = 2000,
    max_decoys: int = 10,
) -> SelectionPaths:
    """Paths of the highlighted arms, of the others and of the leading decoys.

    Parameters
    ----------
    selector : ThompsonSelector or StreamingThompsonSelector
        Fitted.
    highlight : names, indices or mask of columns
        The selected arms (of all chains together) unless given. A column of a group stands
        for the group.
    chain : int, default=0
    max_background : int, default=2000
        Of more other arms, half as many of the highest paths' ends are kept, and as many of
        the rest, drawn at random but always the same.
    max_decoys : int, default=10
        Of the decoys that were played in the chain, so many of the highest ends are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> X = np.random.default_rng(0).random((100, 50))
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(X, X[:, 3])
    >>> found = selection_paths(selector, max_background=10)
    >>> found.names, found.paths.shape, found.background.shape, found.n_others
    (('x3',), (21, 1), (21, 10), 49)
    """
    history = fitted_history(selector)
    if not 0 <= chain < history.n_chains:
        raise ValueError(f"chain must be from 0 to {history.n_chains - 1}, got {chain!r}")
    for name, most in (("max_background", max_background), ("max_decoys", max_decoys)):
        if most < 0:
            raise ValueError(f"{name} must not be negative, got {most!r}")
    arms, n_candidates = fitted_arms(selector, most_decoys=0), history.layout.n_candidates
    own = arms.names
    chosen = np.flatnonzero(arms.selected)
    if highlight is not None:
        chosen = find_arms(highlight, own, history)
    others = np.setdiff1d(np.arange(n_candidates), chosen)
    decoys = history.leading_decoys(max_decoys, chain)
    ends = history.means(chain)
    shown = _thinned(others, ends[others], max_background)
    paths = history.paths(np.concatenate([chosen, shown, decoys]), chain=chain)
    threshold = arms.threshold
    alike = (threshold == threshold[0]).all()
    return SelectionPaths(
        names=tuple(own[arm] for arm in chosen),
        paths=paths[:, : chosen.size],
        threshold=np.asarray(threshold[0]) if alike else threshold[chosen],
        background=paths[:, chosen.size : chosen.size + shown.size],
        n_others=others.size,
        decoys=paths[:, chosen.size + shown.size :],
        n_decoys=history.layout.n_decoys,
        n_decoys_above=int(history.passing(chain)[n_candidates:].sum()),
        unit="batch" if history.asked.is_stream else "play",
        burn_in=history.asked.burn_in if history.asked.burn_in < history.n_plays else 0,
    )


def _thinned(arms: NDArray[np.int64], ends: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Of too many arms those that end highest, and a sample of the rest, half and half."""
    if arms.size <= most:
        return arms
    top, rest = np.split(arms[np.argsort(-ends, kind="stable")], [most - most // 2])
    sample = np.random.default_rng(0).choice(rest, most // 2, replace=False)
    return np.sort(np.concatenate([top, sample]))


class SelectionPathDisplay:
    """Figure of the selection rates over the plays, or the batches of a stream.

    Decoys are red, and a dashed line marks the highest of them. They can never be selected:
    a variable that does not get above them cannot be told from noise. A dotted upright marks the
    end of burn-in, where the leading arms start anew.

    Parameters
    ----------
    data : SelectionPaths

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        Of the highlighted arms.
    background_ : matplotlib LineCollection
    decoys_ : matplotlib LineCollection
    labels_ : list of matplotlib Text

    Examples
    --------
    >>> display = SelectionPathDisplay.from_estimator(selector)  # doctest: +SKIP
    >>> display.figure_.savefig("paths.pdf")  # doctest: +SKIP
    """

    def __init__(self, data: SelectionPaths) -> None:
        self.data = data

    @classmethod
    def from_estimator(cls, selector: Selector, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the paths of a fitted selector.

        Parameters
        ----------
        selector : ThompsonSelector or StreamingThompsonSelector
            Fitted.
        ax : matplotlib axes, optional
            To draw on; new ones by default.
        **options : any
            Handed to :func:`selection_paths`.
        """
        return cls(selection_paths(selector, **options)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes."""
        self.figure_, self.ax_ = axes_on(ax)
        self._draw_background()
        self._draw_decoys()
        self._draw_paths()
        if self.data.burn_in:
            self.ax_.axvline(
                self.data.burn_in, color=DARK, ls=(0, (1, 2)), lw=1, label="end of burn-in"
            )
        self.ax_.set(
            xlim=(0, max(len(self.data.paths) - 1, 1)),
            ylim=(0, 1),
            xlabel=self.data.unit,
            ylabel="selection rate",
        )
        clean(self.ax_)
        legend_above(self.ax_)
        colours = [self._look(i)[0] for i in range(len(self.data.names))]
        self.labels_ = label_ends(self.ax_, self.data.names, self.data.paths[-1], colours)
        return self

    def _look(self, i: int) -> tuple[str, Any]:
        return look(i, DEEP if self.data.n_decoys else COLOURS)

    def _draw_background(self) -> None:
        shown, total = self.data.background.shape[1], self.data.n_others
        alpha = float(np.clip(250 / max(shown, 1), 0.12, 0.5))
        self.background_ = self._draw_many(self.data.background, LIGHT, 0.5, alpha, zorder=1.0)
        if total:
            label = f"other variables ({_counts(shown, total)})"
            self.ax_.plot([], [], color=LIGHT, lw=1, label=label)

    def _draw_decoys(self) -> None:
        shown, total = self.data.decoys.shape[1], self.data.n_decoys
        alpha = float(np.clip(100 / max(shown, 1), 0.2, 0.6))
        self.decoys_ = self._draw_many(self.data.decoys, RED, 0.7, alpha, zorder=1.5)
        if total:
            above = f"{self.data.n_decoys_above:,} above the threshold"
            label = f"decoys ({_counts(shown, total)}, {above})"
            self.ax_.plot([], [], color=RED, lw=1, label=label)
        if shown:
            highest = float(self.data.decoys[-1, 0])
            self.ax_.axhline(
                highest, color=RED, ls=(0, (2, 2)), lw=1, label=f"highest decoy {highest:.2f}"
            )

    def _draw_many(
        self, values: NDArray[np.float64], colour: str, width: float, alpha: float, zorder: float
    ) -> LineCollection:
        """All paths at once, by their corners: an arm that is not played stands still."""
        from matplotlib.collections import LineCollection

        corner = np.ones(values.shape, dtype=np.bool_)
        corner[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
        lines = LineCollection(
            [
                np.column_stack([np.flatnonzero(at), path[at]])
                for at, path in zip(corner.T, values.T, strict=True)
            ],
            colors=colour,
            linewidths=width,
            alpha=alpha,
            rasterized=values.shape[1] > 200,
            zorder=zorder,
        )
        self.ax_.add_collection(lines, autolim=False)
        return lines

    def _draw_paths(self) -> None:
        data = self.data
        plays = np.arange(len(data.paths))
        self.lines_ = []
        for i in range(len(data.names)):
            colour, dash = self._look(i)
            self.lines_ += self.ax_.plot(plays, data.paths[:, i], color=colour, ls=dash, lw=1.6)
            if data.threshold.ndim:
                label = "threshold" if i == 0 else None
                self.ax_.axhline(
                    data.threshold[i], color=colour, ls=(0, (4, 3)), lw=0.8, label=label
                )
        if not data.threshold.ndim:
            c = float(data.threshold)
            self.ax_.axhline(c, color=DARK, ls=(0, (4, 3)), lw=1, label=f"threshold {c:.3g}")


def _counts(shown: int, total: int) -> str:
    return f"{total:,}" if shown == total else f"{shown:,} of {total:,} drawn"
