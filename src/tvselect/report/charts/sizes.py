"""From many to few: how many variables are played, and paid, at once."""

from __future__ import annotations

from typing import Any

from tvselect.report.charts.looks import ACCENT, MUTED, Spec, finish, play_axis
from tvselect.report.extra import need
from tvselect.report.findings import Findings
from tvselect.report.sentences import describe_sizes


def sizes(findings: Findings) -> Spec:
    """How many variables were played, and how many of them were paid, play by play."""
    alt = need("altair")
    kinds = {"tried together": findings.played, "found useful": findings.paid}
    rows: list[dict[str, Any]] = [
        {"play": play, "n": n, "kind": kind, "tip": f"{findings.unit} {play:,}: {n:,.4g} {kind}"}
        for kind, counts in kinds.items()
        for play, n in zip(findings.steps[1:], counts[1:], strict=True)
    ]
    highest = max((row["n"] for row in rows), default=1)
    powers = [0, *(10**k for k in range(len(str(int(highest)))))]
    chart = alt.layer(
        alt.Chart().mark_line(
            aria=False, strokeWidth=2, point=len(findings.steps) <= 2
        ),
        alt.Chart().mark_line(aria=False, strokeWidth=14, opacity=0).encode(
            tooltip=[alt.Tooltip("kind:N"), alt.Tooltip("tip:N")]
        ),
        data=alt.InlineData(values=rows),
    ).encode(
        x=alt.X(
            "play:Q", scale=alt.Scale(nice=False),
            axis=play_axis(findings.unit, findings.n_plays),
        ),
        y=alt.Y(
            "n:Q", title="variables", scale=alt.Scale(type="symlog"),
            axis=alt.Axis(values=powers, format=",d"),
        ),
        stroke=alt.Stroke(
            "kind:N",
            scale=alt.Scale(domain=list(kinds), range=[MUTED, ACCENT]),
            legend=alt.Legend(orient="top", title=None, symbolStrokeWidth=3, symbolType="stroke"),
        ),
    )  # fmt: skip
    return finish(chart, 220, describe_sizes(findings))
