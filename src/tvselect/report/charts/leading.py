"""The leading variables: inclusion probabilities with their intervals."""

from __future__ import annotations

from tvselect.plotting.labels import shorten
from tvselect.report.charts.looks import INK, MUTED, PAGE, ROLE_COLOURS, Spec, finish, tip_of
from tvselect.report.extra import need
from tvselect.report.findings import Findings

MOST_LEADING, ROW_HEIGHT = 20, 22


def leading(findings: Findings) -> Spec:
    """Inclusion probabilities and intervals of the leading variables, the highest on top."""
    alt = need("altair")
    best = sorted(findings.variables, key=lambda variable: -variable.pi)[:MOST_LEADING]
    rows = [
        {
            "rank": rank,
            "pi": variable.pi,
            "low": variable.low,
            "high": variable.high,
            "threshold": variable.threshold,
            "colour": ROLE_COLOURS[variable.role],
            "shape": "diamond" if variable.role == "decoy" else "circle",
            "fill": PAGE if variable.role == "unselected" else ROLE_COLOURS[variable.role],
            "name": variable.name,
            "tip": tip_of(variable),
        }
        for rank, variable in enumerate(best)
    ]
    names = alt.param(name="names", value=[shorten(variable.name, 26) for variable in best])
    tooltip = [alt.Tooltip("name:N"), alt.Tooltip("tip:N")]
    labels = alt.Axis(
        labelExpr="names[datum.value]", labelLimit=150, title=None, domain=False, ticks=False,
        grid=False, labelOverlap=False, labelColor=INK,
    )  # fmt: skip
    base = alt.Chart().encode(
        y=alt.Y("rank:O", axis=labels), stroke=alt.Stroke("colour:N", scale=None), tooltip=tooltip
    )
    x = alt.X(
        "low:Q", title="success rate, with 95 % range", scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".1f", tickCount=5),
    )  # fmt: skip
    rules = base.mark_rule(aria=False, strokeWidth=2, strokeCap="round").encode(x=x, x2="high:Q")
    points = base.mark_point(aria=False, size=60, strokeWidth=2, opacity=1).encode(
        x=alt.X("pi:Q"),
        fill=alt.Fill("fill:N", scale=None),
        shape=alt.Shape("shape:N", scale=None),
    )
    ticks = (
        alt.Chart()
        .mark_tick(aria=False, color=MUTED, thickness=1.5, height=ROW_HEIGHT)
        .encode(x=alt.X("threshold:Q"), y=alt.Y("rank:O"))
    )
    layers = alt.layer(ticks, rules, points, data=alt.InlineData(values=rows)).add_params(names)
    described = (
        f"Success rates with 95 % ranges of the {len(best)} leading variables, highest on top; "
        "the table below has the numbers."
    )
    return finish(layers, ROW_HEIGHT * max(len(best), 1), described)
