"""Trajectories: the inclusion probabilities over the plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvselect.plotting.labels import nudge_apart, shorten
from tvselect.report.charts.looks import MUTED, ROLE_COLOURS, Spec, finish, play_axis, tip_of
from tvselect.report.extra import need
from tvselect.report.findings import Findings
from tvselect.report.sentences import describe_trajectories

N_COLOURS = 6
DASHES = ([1, 0], [6, 2], [2, 2], [6, 2, 2, 2])
WIDTH_AND_OPACITY = {"selected": (2.2, 1.0), "unselected": (1.0, 0.55), "decoy": (1.2, 0.7)}
MOST_LABELS, LABEL_LENGTH = 12, 18
HEIGHT, LINE_HEIGHT = 340, 15
IS_FOUND = "query == '' || indexof(lower(datum.name), lower(query)) >= 0"


def trajectories(findings: Findings) -> Spec:
    """Inclusion probabilities over the plays: zoom, pan, hover, filter by the param ``query``."""
    alt = need("altair")
    lines = _lines(findings)
    last = max(findings.steps[-1], 1)
    hover = alt.selection_point(
        name="hover", fields=["id"], on="pointerover", clear="pointerout", empty=False
    )
    zoom = alt.selection_interval(
        name="zoom",
        bind="scales",
        encodings=["x", "y"],
        translate="[pointerdown, window:pointerup] > window:pointermove",
        zoom="wheel![event.ctrlKey || event.metaKey || event.shiftKey]",
    )
    x = alt.X(
        "play:Q", scale=alt.Scale(domain=[0, last], nice=False),
        axis=play_axis(findings.unit, last),
    )  # fmt: skip
    y = alt.Y(
        "pi:Q", title="success rate", scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(tickCount=5),
    )  # fmt: skip
    encoded = {"x": x, "y": y, "detail": "id:N", "order": "play:Q"}
    found, points = alt.Chart().transform_filter(IS_FOUND), ["play", "pi"]
    every = found.transform_flatten(points).encode(**encoded)
    pointed_at = found.transform_filter(hover).transform_flatten(points).encode(**encoded)
    colour = alt.Stroke("colour:N", scale=None, legend=None)
    dash = alt.StrokeDash("dash:O", scale=_dashes(alt), legend=None)
    drawn = every.mark_line(aria=False, clip=True, strokeJoin="round").encode(
        stroke=colour,
        strokeDash=dash,
        strokeWidth=alt.StrokeWidth("width:Q", scale=None),
        opacity=alt.Opacity("opacity:Q", scale=None),
    )
    highlighted = pointed_at.mark_line(aria=False, clip=True, strokeWidth=4).encode(
        stroke=colour, strokeDash=dash
    )
    caught = (
        every.mark_line(aria=False, clip=True, opacity=0, strokeWidth=12)
        .encode(tooltip=[alt.Tooltip("name:N"), alt.Tooltip("tip:N")])
        .add_params(hover, zoom)
    )
    layers = [*_thresholds(alt, findings), drawn, highlighted, caught, _names(alt, findings)]
    chart = alt.layer(*layers, data=alt.InlineData(values=lines)).add_params(
        alt.param(name="query", value="")
    )
    return finish(chart, HEIGHT, describe_trajectories(findings))


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
                "dash": i // N_COLOURS % len(DASHES) if is_selected else 0,
                "width": width,
                "opacity": opacity,
                "tip": tip_of(variable),
                "play": [findings.steps[at] for at in corners],
                "pi": [variable.path[at] for at in corners],
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


def _names(alt: Any, findings: Findings) -> Any:
    """Names of the highest selected variables beside the ends of their lines."""
    labelled = findings.of_role("selected")[:MOST_LABELS]
    heights = nudge_apart([variable.pi for variable in labelled], LINE_HEIGHT / HEIGHT)
    rows = [
        {"name": variable.name, "short": shorten(variable.name, LABEL_LENGTH), "end": float(height),
         "colour": _line_colour(i)}
        for i, (variable, height) in enumerate(zip(labelled, heights, strict=True))
    ]  # fmt: skip
    return (
        alt.Chart(alt.InlineData(values=rows))
        .transform_filter(IS_FOUND)
        .mark_text(aria=False, clip=False, align="left", dx=6, fontSize=12)
        .encode(
            x=alt.value("width"),
            y=alt.Y("end:Q"),
            text="short:N",
            fill=alt.Fill("colour:N", scale=None),
            opacity=alt.condition("inrange(datum.end, domain('y'))", alt.value(1), alt.value(0)),
        )
    )


def _thresholds(alt: Any, findings: Findings) -> list[Any]:
    """A line at the threshold, where there is one for all."""
    values = {variable.threshold for variable in findings.variables}
    if len(values) != 1:
        return []
    data = alt.InlineData(values=[{"pi": values.pop()}])
    rule = alt.Chart(data).mark_rule(aria=False, stroke=MUTED, strokeDash=[4, 3], clip=True)
    return [rule.encode(y=alt.Y("pi:Q"))]


def _dashes(alt: Any) -> Any:
    return alt.Scale(domain=list(range(len(DASHES))), range=list(DASHES))


def _line_colour(i: int) -> str:
    return f"var(--line-{i % N_COLOURS})"
