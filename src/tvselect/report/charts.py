"""What the charts of the page show; ``templates/charts.jinja`` says how."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tvselect.plotting.effects import cell_edges
from tvselect.plotting.labels import level, nudge_apart, shorten
from tvselect.report.findings import (
    Dependence,
    Findings,
    HeatMap,
    ReportedInteraction,
    ReportedVariable,
    Scale,
)
from tvselect.report.sentences import (
    describe_pair,
    describe_sizes,
    describe_trajectories,
    in_words,
    tried_together,
)
from tvselect.words import counted

ROLE_COLOURS = {"selected": "var(--accent)", "unselected": "var(--other)", "decoy": "var(--decoy)"}
ROLE_WORDS = {"selected": "selected", "unselected": "not selected", "decoy": "decoy"}
WIDTH_AND_OPACITY = {"selected": (2.2, 1.0), "unselected": (1.0, 0.55), "decoy": (1.2, 0.7)}
N_COLOURS, N_DASHES = 6, 4
MOST_LABELS, LABEL_LENGTH = 12, 18
HEIGHT, LINE_HEIGHT = 340, 15
MOST_LEADING, ROW_HEIGHT = 20, 22

Chart = dict[str, Any]


def leading(findings: Findings) -> Chart:
    """Selection rates and intervals of the leading variables, the highest on top."""
    best = sorted(findings.variables, key=lambda variable: -variable.selection_rate)[:MOST_LEADING]
    rows = [
        {
            "rank": rank,
            "selection_rate": variable.selection_rate,
            "low": variable.low,
            "high": variable.high,
            "threshold": variable.threshold,
            "colour": ROLE_COLOURS[variable.role],
            "shape": "diamond" if variable.role == "decoy" else "circle",
            "fill": "var(--page)" if variable.role == "unselected" else ROLE_COLOURS[variable.role],
            "name": variable.name,
            "tip": _tip_of(variable),
        }
        for rank, variable in enumerate(best)
    ]
    return {
        "rows": rows,
        "highest": _highest_decoy(findings),
        "names": [shorten(variable.name, 26) for variable in best],
        "row_height": ROW_HEIGHT,
        "height": ROW_HEIGHT * max(len(best), 1),
        "description": f"Selection rates with 95 % ranges of the {len(best)} leading variables, "
        "highest on top; the table below has the numbers.",
    }


def sizes(findings: Findings) -> Chart:
    """How many variables were played, and how many of them were rewarded, play by play."""
    kinds = {"tried together": findings.played, "found useful": findings.rewarded}
    rows: list[dict[str, Any]] = [
        {"play": play, "n": n, "kind": kind, "tip": f"{findings.unit} {play:,}: {n:,.4g} {kind}"}
        for kind, counts in kinds.items()
        for play, n in zip(findings.steps[1:], counts[1:], strict=True)
    ]
    highest = max((row["n"] for row in rows), default=1)
    return {
        "rows": rows,
        "kinds": list(kinds),
        "what": tried_together(findings, 2),
        "points": len(findings.steps) <= 2,
        "powers": [0, *(10**k for k in range(len(str(int(highest)))))],
        "unit": findings.unit,
        "last": findings.n_plays,
        "height": 220,
        "description": describe_sizes(findings),
    }


def trajectories(findings: Findings) -> Chart:
    """Selection rates over the plays: zoom, pan, hover, filter by the param ``query``."""
    labelled = findings.of_role("selected")[:MOST_LABELS]
    heights = nudge_apart([variable.selection_rate for variable in labelled], LINE_HEIGHT / HEIGHT)
    thresholds = {variable.threshold for variable in findings.variables}
    return {
        "lines": _lines(findings),
        "labels": [
            {"name": variable.name, "short": shorten(variable.name, LABEL_LENGTH),
             "end": float(height), "colour": _line_colour(i)}
            for i, (variable, height) in enumerate(zip(labelled, heights, strict=True))
        ],
        "thresholds": [{"selection_rate": at} for at in thresholds] if len(thresholds) == 1 else [],
        "highest": _highest_decoy(findings),
        "fresh": [{"play": findings.fresh_since}] if findings.fresh_since else [],
        "unit": findings.unit,
        "last": max(findings.steps[-1], 1),
        "height": HEIGHT,
        "description": describe_trajectories(findings),
    }  # fmt: skip


def shape(dependence: Dependence, findings: Findings) -> Chart:
    """How the outcome depends on a column; all columns share the scale of the outcome."""
    at = dependence.labels or [f"{value:.4g}" for value in dependence.at]
    values = zip(dependence.at, dependence.mean, dependence.low, dependence.high, at, strict=True)
    labels = [shorten(label, 14) for label in dependence.labels]
    fit_side_by_side = sum(len(label) + 2 for label in labels) <= 36
    return {
        "rows": [
            {"at": at, "mean": mean, "low": low, "high": high,
             "tip": f"{place}: {mean:.4g} ({low:.4g} to {high:.4g})"}
            for at, mean, low, high, place in values
        ],
        "labels": labels,
        "angle": 0 if fit_side_by_side else -35,
        "domain": [
            min(min(other.low) for other in findings.dependence),
            max(max(other.high) for other in findings.dependence),
        ],
        "height": 170,
        "description": f"{shorten(dependence.variable, 40)}: {in_words(dependence)}",
    }  # fmt: skip


def joint(pair: ReportedInteraction, heat_map: HeatMap) -> Chart:
    """The outcome over two columns: the first from left to right, the second upwards."""
    first, second = heat_map.first, heat_map.second
    values = [mean for row in heat_map.mean for mean in row]
    return {
        "rows": [
            {**across, **up, "mean": mean,
             "tip": f"{mean:.4g} at {first.ticks[i]} and {second.ticks[j]}"}
            for i, across in enumerate(_sides(first, "x"))
            for j, (up, mean) in enumerate(zip(_sides(second, "y"), heat_map.mean[i], strict=True))
        ],
        "across": [shorten(label, 12) for label in first.labels],
        "up": [shorten(label, 12) for label in second.labels],
        "domain": [min(values), max(values)],
        "height": 230,
        "description": f"{' x '.join(shorten(name, 40) for name in pair.names)}: "
        f"{describe_pair(pair, heat_map)}",
    }  # fmt: skip


def _sides(scale: Scale, axis: str) -> list[dict[str, float]]:
    """Where the cells of a scale begin and end."""
    edges = cell_edges(scale.at, scale.labels).tolist()
    return [{axis: low, f"{axis}2": high} for low, high in pairwise(edges)]


def _lines(findings: Findings) -> list[dict[str, Any]]:
    """One row per line; the last drawn lies on top, so the selected ones come last."""
    n_shown: dict[str, int] = {}
    lines: list[dict[str, Any]] = []
    for variable in findings.variables:
        i = n_shown[variable.role] = n_shown.get(variable.role, -1) + 1
        width, opacity = WIDTH_AND_OPACITY[variable.role]
        is_selected = variable.role == "selected"
        corners = _corners(variable.path)
        lines.append(
            {
                "id": len(lines),
                "name": variable.name,
                "colour": _line_colour(i) if is_selected else ROLE_COLOURS[variable.role],
                "dash": i // N_COLOURS % N_DASHES if is_selected else 0,
                "width": width,
                "opacity": opacity,
                "tip": _tip_of(variable),
                "play": [findings.steps[at] for at in corners],
                "selection_rate": [variable.path[at] for at in corners],
            }
        )
    return lines[::-1]


def _corners(path: Sequence[float]) -> list[int]:
    """Where a path bends: a variable that is not played stands still."""
    last = len(path) - 1
    return [
        at
        for at in range(len(path))
        if at in (0, last) or not path[at - 1] == path[at] == path[at + 1]
    ]


def _highest_decoy(findings: Findings) -> list[dict[str, float]]:
    highest = findings.control.highest
    return [] if highest is None else [{"selection_rate": highest}]


def _line_colour(i: int) -> str:
    return f"var(--line-{i % N_COLOURS})"


def _tip_of(variable: ReportedVariable) -> str:
    """What is shown when a variable is pointed at, beside its name."""
    q = "" if variable.q_value is None else f", q-value {level(variable.q_value)}"
    return (
        f"{ROLE_WORDS[variable.role]}{q}: {variable.selection_rate:.2f} ({variable.low:.2f} to "
        f"{variable.high:.2f}), tried {counted(variable.n_played, 'time')}"
    )
