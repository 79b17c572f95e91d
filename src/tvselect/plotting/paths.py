"""How the inclusion probabilities settle: one path per arm, over the plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.plotting.arms import Highlight, chain_ends, find_arms, fitted_arms
from tvselect.plotting.canvas import DARK, LIGHT, axes_on, clean, legend_above, look
from tvselect.plotting.labels import label_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tvselect.selectors import ThompsonSelector


class InclusionPaths(NamedTuple):
    """Inclusion probabilities over the plays of a chain; row 0 is before the first.

    Attributes
    ----------
    names : tuple of str
        Of the highlighted arms.
    paths : float64 array (plays + 1, highlighted arms)
    threshold : float64 array (highlighted arms,), or one for all if alike
    background : float64 array (plays + 1, other arms shown)
    n_others : int
        Other arms, shown or not.
    """

    names: tuple[str, ...]
    paths: NDArray[np.float64]
    threshold: NDArray[np.float64]
    background: NDArray[np.float64]
    n_others: int


def inclusion_paths(
    selector: ThompsonSelector,
    *,
    highlight: Highlight | None = None,
    chain: int = 0,
    max_background: int = 2000,
) -> InclusionPaths:
    """Paths of the highlighted arms and of the others.

    Parameters
    ----------
    selector : ThompsonSelector
        Fitted.
    highlight : names, indices or mask of columns, or labels of groups
        The selected arms (of all chains together) unless given.
    chain : int, default=0
    max_background : int, default=2000
        Of more other arms, half as many of the highest paths' ends are kept, and as many of the
        rest, drawn at random but always the same.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> X = np.random.default_rng(0).random((100, 50))
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(X, X[:, 3])
    >>> found = inclusion_paths(selector, max_background=10)
    >>> found.names, found.paths.shape, found.background.shape, found.n_others
    (('x3',), (21, 1), (21, 10), 49)
    """
    arms, history = fitted_arms(selector), selector.history_
    if not 0 <= chain < history.n_chains:
        raise ValueError(f"chain must be from 0 to {history.n_chains - 1}, got {chain!r}")
    if max_background < 0:
        raise ValueError(f"max_background must not be negative, got {max_background!r}")
    chosen = np.flatnonzero(arms.selected)
    if highlight is not None:
        chosen = find_arms(highlight, arms, history)
    others = np.setdiff1d(np.arange(len(arms.names)), chosen)
    shown = others
    if others.size > max_background:
        order = others[np.argsort(-chain_ends(history, chain)[others], kind="stable")]
        top, rest = np.split(order, [max_background - max_background // 2])
        sample = np.random.default_rng(0).choice(rest, max_background // 2, replace=False)
        shown = np.sort(np.concatenate([top, sample]))
    features = arms.features[np.concatenate([chosen, shown]).astype(np.intp)].tolist()
    paths = history.trajectories(features, chain)
    alike = (arms.threshold == arms.threshold[0]).all()
    return InclusionPaths(
        names=tuple(arms.names[arm] for arm in chosen),
        paths=paths[:, : chosen.size],
        threshold=np.asarray(arms.threshold[0]) if alike else arms.threshold[chosen],
        background=paths[:, chosen.size :],
        n_others=others.size,
    )


class InclusionPathDisplay:
    """Figure of the inclusion probabilities over the plays.

    Parameters
    ----------
    data : InclusionPaths

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        Of the highlighted arms.
    background_ : matplotlib LineCollection
    labels_ : list of matplotlib Text

    Examples
    --------
    >>> display = InclusionPathDisplay.from_estimator(selector)  # doctest: +SKIP
    >>> display.figure_.savefig("paths.pdf")  # doctest: +SKIP
    """

    def __init__(self, data: InclusionPaths) -> None:
        self.data = data

    @classmethod
    def from_estimator(
        cls,
        selector: ThompsonSelector,
        *,
        highlight: Highlight | None = None,
        chain: int = 0,
        max_background: int = 2000,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the paths of a fitted selector; parameters as in :func:`inclusion_paths`."""
        data = inclusion_paths(
            selector, highlight=highlight, chain=chain, max_background=max_background
        )
        return cls(data).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw, on new axes unless some are given."""
        self.figure_, self.ax_ = axes_on(ax)
        self._draw_background()
        self._draw_paths()
        self.ax_.set(
            xlim=(0, max(len(self.data.paths) - 1, 1)),
            ylim=(0, 1),
            xlabel="play",
            ylabel="inclusion probability",
        )
        clean(self.ax_)
        legend_above(self.ax_)
        looks = [look(i)[0] for i in range(len(self.data.names))]
        self.labels_ = label_ends(self.ax_, self.data.names, self.data.paths[-1], looks)
        return self

    def _draw_background(self) -> None:
        """All other paths at once, by their corners: an arm that is not played stands still."""
        from matplotlib.collections import LineCollection

        values, total = self.data.background, self.data.n_others
        shown = values.shape[1]
        corner = np.ones(values.shape, dtype=np.bool_)
        corner[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
        self.background_ = LineCollection(
            [
                np.column_stack([np.flatnonzero(at), path[at]])
                for at, path in zip(corner.T, values.T, strict=True)
            ],
            colors=LIGHT,
            linewidths=0.5,
            alpha=float(np.clip(250 / max(shown, 1), 0.12, 0.5)),
            rasterized=shown > 200,
        )
        self.ax_.add_collection(self.background_, autolim=False)
        if total:
            counts = f"{total:,}" if shown == total else f"{shown:,} of {total:,} drawn"
            self.ax_.plot([], [], color=LIGHT, lw=1, label=f"other variables ({counts})")

    def _draw_paths(self) -> None:
        data = self.data
        plays = np.arange(len(data.paths))
        self.lines_ = []
        for i in range(len(data.names)):
            colour, dash = look(i)
            self.lines_ += self.ax_.plot(plays, data.paths[:, i], color=colour, ls=dash, lw=1.6)
            if data.threshold.ndim:
                label = "threshold" if i == 0 else None
                self.ax_.axhline(
                    data.threshold[i], color=colour, ls=(0, (4, 3)), lw=0.8, label=label
                )
        if not data.threshold.ndim:
            c = float(data.threshold)
            self.ax_.axhline(c, color=DARK, ls=(0, (4, 3)), lw=1, label=f"threshold {c:.3g}")
