"""Shapes: how the outcome depends on a column."""

from __future__ import annotations

from collections.abc import Sequence

from tvselect.plotting.labels import shorten
from tvselect.report.charts.looks import ACCENT, BAND, INK, PAGE, Spec, finish
from tvselect.report.extra import need
from tvselect.report.findings import Dependence, Findings
from tvselect.report.sentences import in_words


def shape_of(shape: Dependence, findings: Findings) -> Spec:
    """How the outcome depends on a column; all columns share the scale of the outcome."""
    alt = need("altair")
    low = min(min(other.low) for other in findings.dependence)
    high = max(max(other.high) for other in findings.dependence)
    rows = [
        {"at": at, "mean": mean, "low": low_at, "high": high_at, "tip": tip}
        for at, mean, low_at, high_at, tip in zip(
            shape.at, shape.mean, shape.low, shape.high, _tips(shape), strict=True
        )
    ]
    name = shorten(shape.variable, 40)
    y = alt.Y(
        "low:Q", title=None, scale=alt.Scale(domain=[low, high], zero=False, nice=True),
        axis=alt.Axis(tickCount=5),
    )  # fmt: skip
    tooltip = [alt.Tooltip("tip:N")]
    chart = alt.Chart(alt.InlineData(values=rows))
    if shape.labels:
        labels = alt.Axis(
            labelExpr="labels[datum.value]", title=None, grid=False, labelLimit=90, labelColor=INK,
            labelAngle=0 if _fit_side_by_side(shape.labels) else -35,
        )  # fmt: skip
        places = chart.encode(x=alt.X("at:O", axis=labels), tooltip=tooltip)
        whiskers = places.mark_rule(aria=False, strokeWidth=2, stroke=ACCENT, opacity=0.6)
        points = places.mark_point(
            aria=False, size=70, fill=ACCENT, stroke=PAGE, strokeWidth=1.5, opacity=1
        )
        layers = alt.layer(whiskers.encode(y=y, y2="high:Q"), points.encode(y=alt.Y("mean:Q")))
        layers = layers.add_params(
            alt.param(name="labels", value=[shorten(label, 14) for label in shape.labels])
        )
    else:
        x = alt.X(
            "at:Q", title=None, scale=alt.Scale(zero=False, nice=False),
            axis=alt.Axis(grid=False, tickCount=4, labelFlush=True),
        )  # fmt: skip
        curve = chart.encode(x=x)
        band = curve.mark_area(aria=False, fill=BAND, stroke=None).encode(y=y, y2="high:Q")
        line = curve.mark_line(aria=False, strokeWidth=2.5, stroke=ACCENT, strokeJoin="round")
        caught = curve.mark_point(aria=False, size=250, opacity=0, fill=ACCENT)
        layers = alt.layer(
            band,
            line.encode(y=alt.Y("mean:Q")),
            caught.encode(y=alt.Y("mean:Q"), tooltip=tooltip),
        )
    return finish(layers, 170, f"{name}: {in_words(shape)}")


def _tips(shape: Dependence) -> list[str]:
    at = shape.labels or [f"{value:.4g}" for value in shape.at]
    return [
        f"{place}: {mean:.4g} ({low:.4g} to {high:.4g})"
        for place, mean, low, high in zip(at, shape.mean, shape.low, shape.high, strict=True)
    ]


def _fit_side_by_side(labels: Sequence[str]) -> bool:
    return sum(min(len(label), 14) + 2 for label in labels) <= 36
