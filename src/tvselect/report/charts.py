"""The pictures of a run: on the page, as SVG in the colours of its style sheet, and for papers."""

from __future__ import annotations

import io
import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from tvselect.after.dependence import Dependence, JointEffect
from tvselect.inputs.errors import needed
from tvselect.plotting.canvas import DARK, DEEP, GREY, HOW, LIGHT, RED
from tvselect.plotting.effects import InteractionDisplay, plot_dependence
from tvselect.plotting.paths import SelectionPathDisplay, SelectionPaths, plot_evidence, plot_sizes
from tvselect.plotting.rates import (
    MOST_SHARES,
    FittedArms,
    SelectionRateDisplay,
    plot_runs,
    plot_stability,
)
from tvselect.report import sentences
from tvselect.report.findings import Findings, HeatMap, ReportedInteraction, ReportedVariable
from tvselect.words import counted, level, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, SMALL_WIDTH = 9.5, 3.4  # inches
MOST_LEADING, MOST_COMPARED = 20, 30
ROLES = {"selected": "selected", "unselected": "not selected", "decoy": "decoy"}
GRID = "#DDDDDD"
VARIABLES = (
    *("accent", "ink", "line-1", "line-2", "line-3"),
    *("decoy", "other", "other", "muted", "grid", "page"),
)
COLOURS = dict(zip((*DEEP, RED, LIGHT, GREY, DARK, GRID, "#FFFFFF"), VARIABLES, strict=True))
"""Of the figures, with the variables of the style sheet, which follow it into dark mode."""
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "axes.edgecolor": GRID,
    "axes.labelcolor": DARK,
    "xtick.labelcolor": DARK,
    "ytick.labelcolor": DARK,
    "xtick.bottom": False,
    "ytick.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
}
AUTOMATIC = re.compile(r"[A-Za-z0-9.]+_\d+")
DECIMALS = re.compile(r"(\.\d\d)\d+")

Tips = dict[str, list[tuple[str, ...]]]
"""Lines to show at the shapes of a group of the SVG, in their order, by the id of the group."""

PAPER: dict[str, Any] = {
    "font.family": "sans-serif",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "savefig.dpi": 300,
    "axes.linewidth": 0.6,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
}
WITHOUT = {
    "rates": "nothing was tried",
    "effects": "",
    "evidence": "e-values are of streams with error control; of a table, say rates",
    "interactions": "no pair of variables was found whose effects do not add up",
    "stability": "it was not measured, or no seed selects anything; tvs stability measures it",
}
"""Kinds of figures for papers, and why a run may have none."""
PAPER_WIDTH, ACROSS = 6.7, 3  # inches, two columns of a journal; panels


class Sketch(NamedTuple):
    """A picture to be drawn."""

    id: str
    size: tuple[float, float]  #: Inches
    words: str  #: What it shows
    draw: Callable[[Axes], Tips]
    kind: str = ""  #: Of :func:`plot_run`, if it is one for papers
    title: str = ""  #: There


def plot_run(
    run: Findings | str | os.PathLike[str],
    kind: Literal["rates", "effects", "evidence", "interactions", "stability"] = "rates",
    path: str | os.PathLike[str] | None = None,
    *,
    width: float = PAPER_WIDTH,
) -> Figure:
    """A figure of a run, sized for a paper.

    Parameters
    ----------
    run : path-like or Findings
        Folder of a run, or what :func:`gather` found.
    kind : {"rates", "effects", "evidence", "interactions", "stability"}
        The highest selection rates; what each selected variable does to the outcome; the e-values
        of a stream; pairs of variables whose effects do not add up; what other seeds select.
    path : path-like, optional
        File to write: .pdf, .svg, .png or whatever else matplotlib writes.
    width : float, default=6.7
        Inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        When the run has nothing of that kind; says why.

    Examples
    --------
    >>> plot_run("tvs-prices-1", "effects", "effects.pdf")  # doctest: +SKIP
    """
    findings = run if isinstance(run, Findings) else Findings.read(run)
    if kind not in WITHOUT:
        raise ValueError(f"kind must be one of {', '.join(WITHOUT)}; got {kind!r}")
    with _styled(PAPER, HOW) as matplotlib:
        panels = [sketch for sketch in _sketches(findings) if sketch.kind == kind]
        if not (n := len(panels)):
            why_not = WITHOUT[kind] or findings.dependence_note
            raise ValueError(f"there is no figure of {kind}: {why_not}")
        across = n if n < ACROSS else 2 if n == 4 or kind == "interactions" else ACROSS
        down = -(-n // across)
        size = width, panels[0].size[1] * down
        figure = matplotlib.figure.Figure(size, layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for ax, panel in zip(axes, panels, strict=False):
            panel.draw(ax)
            if panel.title:
                ax.set_title(panel.title, fontsize=9, parse_math=False)
        for ax in axes[n:]:
            ax.set_visible(False)
        if kind == "effects":
            figure.supylabel(readable(sentences.what_is_shown(findings), 60), fontsize=9)
        if path is not None:
            # Without the date, the same run gives the same file.
            dated = Path(path).suffix.lower() in (".pdf", ".svg")
            date = {"CreationDate" if str(path).lower().endswith(".pdf") else "Date": None}
            figure.savefig(path, metadata=date if dated else None)
    return figure


def draw_charts(findings: Findings) -> dict[str, tuple[str, Tips]]:
    """All pictures of the page by their ids, as SVG; the same bytes for the same findings."""
    return _drawn(_sketches(findings))


def draw_comparison(found: Any) -> dict[str, tuple[str, Tips]]:
    """The picture of a comparison of runs."""
    shown = found.variables[:MOST_COMPARED]
    if not shown:
        return {}
    names, rates = [one.name for one in shown], [one.selection_rate for one in shown]
    words = f"Selection rates of {len(shown)} variables in {len(found.folders)} runs."

    def draw(ax: Axes) -> Tips:
        plot_runs(names, rates, [one.selected for one in shown], ax)
        ax.grid(visible=True, axis="x")
        return {}

    return _drawn([Sketch("runs", (WIDTH, 1.1 + 0.3 * len(shown)), words, draw)])


def _drawn(sketches: Iterable[Sketch]) -> dict[str, tuple[str, Tips]]:
    with _styled(STYLE, "the report needs matplotlib: pip install 'tvselect[report]'") as plots:
        return {sketch.id: _draw(sketch, plots) for sketch in sketches}


@contextmanager
def _styled(style: dict[str, Any], how: str) -> Iterator[Any]:
    """Matplotlib with settings of ours instead of the user's; ``how`` says how to install it."""
    matplotlib = needed("matplotlib", how)
    for part in ("figure", "backends.backend_svg"):
        import_module(f"matplotlib.{part}")
    # Its warnings, as about a home directory without write access, are of no use to a reader.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style)
        yield matplotlib


def _sketches(findings: Findings) -> Iterator[Sketch]:
    """The pictures of the page, and those for papers alone."""
    for number, shape in enumerate(findings.dependence, 1):
        words = f"{readable(shape.variable, 40)}: {sentences.in_words(shape)}"
        draw, title = partial(_shape, shape, findings), readable(shape.variable, 30)
        yield Sketch(f"shape-{number}", (SMALL_WIDTH, 2.3), words, draw, "effects", title)
    for number, pair in enumerate(findings.interactions, 1):
        if (heat_map := pair.heat_map) is not None:
            names = " x ".join(readable(name, 40) for name in pair.names)
            words = f"{names}: {sentences.describe_pair(pair, heat_map)}"
            draw = partial(_joint, pair, heat_map, findings)
            yield Sketch(f"joint-{number}", (SMALL_WIDTH, 2.9), words, draw, "interactions")
    if (found := findings.stability) is not None and found.names:
        n = min(len(found.names), MOST_SHARES)
        words = f"With how many seeds each of {counted(n, 'column')} is selected."
        yield Sketch("stability", _of_rows(n), words, partial(_shares, findings), "stability")
    if findings.variables and findings.n_plays:
        words = sentences.describe_lines(findings)
        yield Sketch("trajectories", (WIDTH, 4.2), words, partial(_trajectories, findings))
        n = min(len(findings.variables), MOST_LEADING)
        words = (
            f"Selection rates with 95 % ranges of the {n} leading variables, highest on top; the "
            "table below has the numbers."
        )
        yield Sketch("leading", _of_rows(n), words, partial(_leading, findings), "rates")
        sizes = partial(_sizes, findings)
        yield Sketch("sizes", (WIDTH, 2.8), sentences.describe_sizes(findings), sizes)
    if findings.needed and findings.n_plays:
        words = sentences.describe_lines(findings, evidence=True)
        draw = partial(_evidence, findings)
        yield Sketch("evidence", (WIDTH, 4.2), words, draw, "evidence")


def _of_rows(n: int) -> tuple[float, float]:
    """The size of a picture with a row for each of ``n`` variables."""
    return WIDTH, 1.1 + 0.21 * n


def _draw(sketch: Sketch, matplotlib: Any) -> tuple[str, Tips]:
    matplotlib.rcParams["svg.hashsalt"] = sketch.id
    figure, text = matplotlib.figure.Figure(sketch.size, layout="constrained"), io.StringIO()
    matplotlib.backends.backend_svg.FigureCanvasSVG(figure)
    tips = sketch.draw(figure.subplots())
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(text, format="svg", metadata=no_metadata, transparent=True)
    svg = _for_page(text.getvalue(), sketch.id, readable(sketch.words))
    return svg, {f"{sketch.id}-{group}": lines for group, lines in tips.items()}


def _evidence(findings: Findings, ax: Axes) -> Tips:
    selected, others = findings.of_role("selected"), findings.of_role("unselected")
    others = tuple(sorted(others, key=lambda v: -v.evidence[-1])[:MOST_LEADING])
    names = [variable.name for variable in selected]
    leading, rest = (_paths(findings, lines, "evidence") for lines in (selected, others))
    plot_evidence(findings.steps, names, leading, rest, findings.needed, ax)
    return _tips_of("line", selected) | _tips_of("other", others)


def _trajectories(findings: Findings, ax: Axes) -> Tips:
    selected, others, decoys = map(findings.of_role, ROLES)
    thresholds = np.array([variable.threshold for variable in findings.variables])
    is_one = (thresholds == thresholds[0]).all()
    data = SelectionPaths(
        names=tuple(variable.name for variable in selected),
        paths=_paths(findings, selected),
        threshold=thresholds[0] if is_one else thresholds[: len(selected)],
        background=_paths(findings, others),
        n_others=findings.n_variables - len(selected),
        decoys=_paths(findings, decoys),
        n_decoys=findings.control.n_decoys,
        n_decoys_above=findings.control.n_above,
        unit=findings.unit,
        burn_in=findings.fresh_since,
        steps=np.array(findings.steps),
    )
    display = SelectionPathDisplay(data).plot(ax)
    ax.xaxis.set_gid("axis-x")
    ax.yaxis.set_gid("axis-y")
    display.background_.set_rasterized(False)
    return _tips_of("line", selected) | {
        "other-lines": list(map(_tip_of, others)), "decoy-lines": list(map(_tip_of, decoys)),
    }  # fmt: skip


def _leading(findings: Findings, ax: Axes) -> Tips:
    best = sorted(findings.variables, key=lambda variable: -variable.selection_rate)[:MOST_LEADING]
    n = len(best)

    def of_best(field: str, dtype: type = float) -> NDArray[Any]:
        return np.array([getattr(variable, field) for variable in best], dtype=dtype)

    roles = of_best("role", str)
    arms = FittedArms(
        names=tuple(variable.name for variable in best),
        arms=np.arange(n),
        rates=of_best("selection_rate"),
        intervals=np.column_stack([of_best("low"), of_best("high")]),
        q_values=of_best("q_value"),
        selected=roles == "selected",
        threshold=of_best("threshold"),
        features=np.arange(n),
        times_played=of_best("n_played", np.int32),
        decoys=roles == "decoy",
    )
    n_tried = findings.n_variables - findings.n_selected - findings.n_unplayed
    counts = {
        "selected": findings.n_selected,
        "not selected": n_tried,
        "not played": findings.n_unplayed,
        "decoys": findings.control.n_decoys,
    }
    SelectionRateDisplay(arms, counts=counts, highest_decoy=findings.control.highest).plot(ax)
    ax.grid(visible=True, axis="x")
    ax.grid(visible=False, axis="y")
    tips: Tips = {}
    for kind, rows in arms.kinds.items():
        if rows.any():
            lines = [_tip_of(best[place]) for place in np.flatnonzero(rows)]
            gid = kind.replace(" ", "-")
            tips[f"{gid}-ranges"] = tips[f"{gid}-points"] = lines
    return tips


def _sizes(findings: Findings, ax: Axes) -> Tips:
    sizes = {"tried together": findings.played[1:], "found useful": findings.rewarded[1:]}
    what = sentences.tried_together(findings, 2)
    plot_sizes(findings.steps[1:], sizes, unit=findings.unit, what=what, ax=ax)
    return {
        f"line-{number}": [(kind, f"{counts[0]:,.4g} at first, {counts[-1]:,.4g} in the end")]
        for number, (kind, counts) in enumerate(sizes.items())
    }


def _shares(findings: Findings, ax: Axes) -> Tips:
    assert findings.stability is not None
    plot_stability(findings.stability, ax)
    ax.grid(visible=True, axis="x")
    return {}


def _shape(dependence: Dependence, findings: Findings, ax: Axes) -> Tips:
    plot_dependence(dependence, ax)
    low = min(min(other.low) for other in findings.dependence)
    high = max(max(other.high) for other in findings.dependence)
    room = 0.04 * ((high - low) or 1.0)
    ax.set_ylim(low - room, high + room)
    values = zip(dependence.ticks, dependence.mean, dependence.low, dependence.high, strict=True)
    return {
        "curve-points": [
            (f"{place}: {mean:.4g} ({low:.4g} to {high:.4g})",) for place, mean, low, high in values
        ]
    }


def _joint(pair: ReportedInteraction, heat_map: HeatMap, findings: Findings, ax: Axes) -> Tips:
    mean = np.array(heat_map.mean)
    outcome = sentences.what_is_shown(findings)
    effect = JointEffect(pair.names, heat_map.first, heat_map.second, mean, outcome)
    InteractionDisplay(effect).plot(ax)
    ax.set_title("")
    ax.grid(visible=False)
    return {
        "heat-cells": [
            (f"{value:.4g} at {across} and {up}",)
            for up, row in zip(heat_map.second.ticks, mean.T.tolist(), strict=True)
            for across, value in zip(heat_map.first.ticks, row, strict=True)
        ]
    }


def _paths(
    findings: Findings, variables: Sequence[ReportedVariable], field: str = "path"
) -> NDArray[np.float64]:
    """Values of some variables at all steps (steps, variables), also of none."""
    lines = [getattr(variable, field) for variable in variables]
    return np.array(lines, dtype=np.float64).reshape(-1, len(findings.steps)).T


def _tips_of(kind: str, variables: Sequence[ReportedVariable]) -> Tips:
    """Of lines that are groups of their own."""
    return {f"{kind}-{k}": [_tip_of(variable)] for k, variable in enumerate(variables)}


def _tip_of(variable: ReportedVariable) -> tuple[str, ...]:
    q = "" if variable.q_value is None else f", q-value {level(variable.q_value)}"
    return variable.name, (
        f"{ROLES[variable.role]}{q}: {variable.selection_rate:.2f} ({variable.low:.2f} to "
        f"{variable.high:.2f}), tried {counted(variable.n_played, 'time')}"
    )


def _for_page(text: str, name: str, description: str) -> str:
    """An SVG as part of a page that allows no styles in attributes, and holds other pictures."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for child in [child for child in element if child.tag.endswith("}style")]:
            element.remove(child)
        attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        style = attributes.pop("style", "")
        for declaration in filter(None, style.split("; ")):
            key, _, value = declaration.partition(": ")
            if key == "font":  # as matplotlib wrote it before 3.10
                key, value = "font-size", f"{value.partition('px')[0].rpartition(' ')[2]}px"
            if key != "font-family":
                attributes[key] = value
        if "d" in attributes:
            attributes["d"] = DECIMALS.sub(r"\1", " ".join(attributes["d"].split()))
        place = attributes.pop("id", "")
        if place and not AUTOMATIC.fullmatch(place):
            attributes["id"] = f"{name}-{place}" if "-" in place else place
        for key in attributes.keys() & {"fill", "stroke"}:
            variable = COLOURS.get(attributes[key].upper())
            attributes[key] = f"var(--{variable})" if variable else attributes[key]
        element.attrib = attributes
        element.tail = None
        if element.tag != "text":
            element.text = None
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": description}
    return ElementTree.tostring(root, encoding="unicode")
