"""What settles: selection rates over the plays or batches, traces of trees over iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.table import find_feature
from tvselect.plotting import canvas
from tvselect.plotting.rates import fitted_arms
from tvselect.selectors.results import fitted_result
from tvselect.trees import BartRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure

    from tvselect.plotting.rates import Selector
    from tvselect.selectors.results import SearchResult

Highlight = Sequence[str] | Sequence[int] | NDArray[Any]


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
    #: Plays after which the rows stand, where these are not all plays.
    steps: NDArray[np.int64] | None = None


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
    result = fitted_result(selector)
    if not 0 <= chain < result.n_chains:
        raise ValueError(f"chain must be from 0 to {result.n_chains - 1}, got {chain!r}")
    for name, most in (("max_background", max_background), ("max_decoys", max_decoys)):
        if most < 0:
            raise ValueError(f"{name} must not be negative, got {most!r}")
    arms, n_candidates = fitted_arms(selector, 0), result.layout.n_candidates
    chosen = np.flatnonzero(arms.selected)
    if highlight is not None:
        chosen = _find_arms(highlight, arms.names, result)
    others = np.setdiff1d(np.arange(n_candidates), chosen)
    decoys = result.leading_decoys(max_decoys, chain)
    ends = result.means(chain)
    shown = _thinned(others, ends[others], max_background)
    paths = result.paths(np.concatenate([chosen, shown, decoys]), chain=chain)
    own, background, of_decoys = np.split(paths, np.cumsum([chosen.size, shown.size]), axis=1)
    threshold = arms.threshold
    alike = (threshold == threshold[0]).all()
    return SelectionPaths(
        names=tuple(arms.names[arm] for arm in chosen),
        paths=own,
        threshold=np.asarray(threshold[0]) if alike else threshold[chosen],
        background=background,
        n_others=others.size,
        decoys=of_decoys,
        n_decoys=result.layout.n_decoys,
        n_decoys_above=int(result.passing(chain)[n_candidates:].sum()),
        unit="batch" if result.asked.is_stream else "play",
        burn_in=result.asked.burn_in if result.asked.burn_in < result.n_plays else 0,
    )


def _find_arms(
    highlight: Highlight, names: Sequence[str], result: SearchResult
) -> NDArray[np.int64]:
    """The arms that names, indices or a mask stand for, each once; ``names`` are the arms'."""
    items: list[Any] = np.atleast_1d(np.asarray(highlight, dtype=object)).tolist()
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != len(result.names):
            n = len(result.names)
            raise ValueError(f"highlight is a mask of length {len(items)}; X has {n} columns")
        items = np.flatnonzero(items).tolist()
    found: list[int] = []
    for item in items:
        if item in names and item not in result.names:
            arm = names.index(item)
        else:
            arm = int(result.arm_of_feature[find_feature(item, result.names, "highlight")])
        if arm < 0:
            raise ValueError(f"{item!r} is always included: it is no arm and has no path")
        found.append(arm)
    return np.array(list(dict.fromkeys(found)), dtype=np.int64)


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
    a variable that does not get above them cannot be told from noise. A dotted vertical line marks
    the end of burn-in, where the leading arms start anew.

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
        """Draw a ``selector`` on ``ax``; ``options`` of :func:`selection_paths`."""
        return cls(selection_paths(selector, **options)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on new axes."""
        data = self.data
        self.figure_, self.ax_ = canvas.axes_on(ax)
        plays = np.arange(len(data.paths)) if data.steps is None else data.steps
        self._draw_others(plays)
        palette = canvas.DEEP if data.n_decoys else canvas.COLOURS
        self.lines_ = canvas.draw_lines(self.ax_, plays, data.paths, palette)
        self._draw_thresholds()
        if data.burn_in:
            self.ax_.axvline(
                data.burn_in, color=canvas.DARK, ls=(0, (1, 2)), lw=1, label="end of burn-in"
            )
        last = max(int(plays[-1]), 1)
        self.ax_.set(xlim=(0, last), ylim=(0, 1), xlabel=data.unit, ylabel="selection rate")
        canvas.clean(self.ax_)
        canvas.legend_above(self.ax_)
        self.labels_ = canvas.label_ends(self.ax_, data.names, data.paths[-1], self.lines_)
        return self

    def _draw_others(self, plays: NDArray[np.int64]) -> None:
        """Variables that are not highlighted, and above them decoys."""
        data = self.data
        n_others, n_decoys = data.background.shape[1], data.decoys.shape[1]
        label = f"other variables ({_counts(n_others, data.n_others)})" if data.n_others else ""
        faint = np.clip(250 / max(n_others, 1), 0.12, 0.5)
        style = dict[str, Any](color=canvas.LIGHT, lw=0.5, alpha=faint, zorder=1, gid="other-lines")
        self.background_ = self._draw_many(plays, data.background, label, style)
        counts = _counts(n_decoys, data.n_decoys)
        label = f"decoys ({counts}, {data.n_decoys_above:,} above the threshold)"
        faint = np.clip(100 / max(n_decoys, 1), 0.2, 0.6)
        style = dict(color=canvas.RED, lw=0.7, alpha=faint, zorder=1.5, gid="decoy-lines")
        self.decoys_ = self._draw_many(plays, data.decoys, label if data.n_decoys else "", style)
        if n_decoys:
            highest = float(data.decoys[-1, 0])
            label = f"highest decoy {highest:.2f}"
            self.ax_.axhline(highest, color=canvas.RED, ls=(0, (2, 2)), lw=1, label=label)

    def _draw_many(
        self, plays: NDArray[np.int64], values: NDArray[np.float64], label: str, style: Any
    ) -> LineCollection:
        """All paths at once, by their corners: an arm that is not played stands still."""
        from matplotlib.collections import LineCollection

        corner = np.ones(values.shape, dtype=np.bool_)
        corner[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
        paths = zip(corner.T, values.T, strict=True)
        segments = [np.column_stack([plays[at], path[at]]) for at, path in paths]
        lines = LineCollection(segments, rasterized=len(segments) > 200, **style)
        self.ax_.add_collection(lines, autolim=False)
        if label:
            self.ax_.plot([], [], color=style["color"], lw=1, label=label)
        return lines

    def _draw_thresholds(self) -> None:
        """One for all, or where they differ, one for each highlighted arm."""
        threshold = self.data.threshold
        if not threshold.ndim:
            label = f"threshold {float(threshold):.3g}"
            self.ax_.axhline(float(threshold), color=canvas.DARK, ls=(0, (4, 3)), lw=1, label=label)
            return
        for i, (height, line) in enumerate(zip(threshold, self.lines_, strict=True)):
            style = dict[str, Any](color=line.get_color(), ls=(0, (4, 3)), lw=0.8)
            self.ax_.axhline(height, label="_" if i else "threshold", **style)


def _counts(shown: int, total: int) -> str:
    return f"{total:,}" if shown == total else f"{shown:,} of {total:,} drawn"


def plot_sizes(
    steps: Sequence[int], sizes: Mapping[str, Sequence[float]], *, unit: str, what: str, ax: Axes
) -> None:
    """Draw how many variables took part after each of the steps, one line for each of two kinds."""
    marker = "o" if len(steps) == 1 else "none"
    for number, (kind, counts) in enumerate(sizes.items()):
        style: dict[str, Any] = dict(
            marker=marker, color=(canvas.GREY, canvas.BLUE)[number], lw=1.6
        )
        ax.plot(steps, counts, label=kind, gid=f"line-{number}", **style)
    ax.set_yscale("symlog", linthresh=1)
    highest = max((max(counts, default=1) for counts in sizes.values()), default=1)
    ax.set_yticks([0, *(10**k for k in range(len(str(int(highest)))))])
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.minorticks_off()
    ax.margins(x=0)
    ax.set(ylim=(0, None), xlabel=unit, ylabel=what)
    canvas.clean(ax)
    canvas.legend_above(ax)


LABELS = {"n_splits": "splits", "group_sd": "sd of groups"}
MOST_POINTS = 2000


def plot_traces(run: BartRun) -> Figure | SubFigure:
    """Draw the traces of a run, with R-hat and effective sizes.

    The burn-in is grey, and cut off where it leaves the range of the draws after it.

    Parameters
    ----------
    run : BartRun
        Of one chain or several.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import run_bart
    >>> from tvselect.plotting import plot_traces
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> run = run_bart(X, X[:, 0], n_chains=2, n_iterations=200, random_state=0)
    >>> figure = plot_traces(run)
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['sigma', 'splits']
    """
    traces, found = run.traces(), run.summary()
    figure, first = canvas.axes_on(None, height=1.9 * len(traces))
    first.remove()
    panels = figure.subplots(len(traces), sharex=True, squeeze=False)[:, 0]
    rows = zip(panels, traces.items(), found["r_hat"], found["ess"], strict=True)
    for ax, (name, trace), r_hat, ess in rows:
        n = trace.shape[1]
        steps = np.arange(0, n, max(1, n // MOST_POINTS))
        for chain, values in enumerate(trace):
            colour = canvas.COLOURS[chain % len(canvas.COLOURS)]
            ax.plot(steps + 1, values[steps], color=colour, lw=0.6, alpha=0.8)
        ax.axvspan(0, run.n_burn, color=canvas.LIGHT, alpha=0.3, lw=0)
        ax.set_xlim(0, n)
        low, high = trace[:, run.n_burn :].min(), trace[:, run.n_burn :].max()
        margin = 0.1 * (high - low) or 1.0
        ax.set_ylim(low - margin, high + margin)
        ax.set_ylabel(LABELS.get(name, name))
        ax.set_title(f"R-hat {r_hat:.2f}, effective size {ess:,.0f}", fontsize=9, loc="right")
        canvas.clean(ax)
    panels[-1].set_xlabel("iteration (grey: burn-in)")
    return figure


def plot_evidence(
    steps: Sequence[int],
    names: Sequence[str],
    selected: NDArray[np.float64],
    others: NDArray[np.float64],
    needed: Sequence[float],
    ax: Axes,
) -> None:
    """Draw logs of e-values (steps, variables) on a log scale, with the one ``needed`` to pass.

    Lines that go far beyond it, or below 1/10, leave the picture.
    """
    low, most = np.log(0.1), max(needed)
    high = float(np.clip(np.max(selected, initial=0.0) + 1.0, most + 2.0, 2.0 * most + 2.0))
    style: dict[str, Any] = dict(color=canvas.LIGHT, lw=0.7, zorder=1)
    for k, line in enumerate(others.T):
        label = f"not selected ({others.shape[1]} drawn)" if k == 0 else "_"
        ax.plot(steps, np.exp(np.maximum(line, low)), label=label, gid=f"other-{k}", **style)
    shown = np.clip(selected, low, high)
    lines = canvas.draw_lines(ax, steps, np.exp(shown), canvas.DEEP)
    passing = np.exp(needed)
    label = f"to pass: {passing[0]:,.0f} for the first, {passing[-1]:,.0f} in the end"
    ax.step(steps, passing, where="post", color=canvas.DARK, ls=(0, (4, 3)), lw=1, label=label)
    ax.set(yscale="log", xlim=(0, max(steps[-1], 1)), ylim=(np.exp(low), np.exp(high)))
    ax.set(xlabel="batch", ylabel="evidence against noise (e-value)")
    ax.locator_params(axis="x", integer=True)
    canvas.clean(ax)
    canvas.legend_above(ax)
    canvas.label_ends(ax, names, (shown[-1] - low) / (high - low), lines)
