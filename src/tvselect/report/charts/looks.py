"""What all charts share: colours, sizes, and the way from Altair to a specification."""

from __future__ import annotations

from typing import Any

from tvselect.report.extra import need
from tvselect.report.findings import ReportedVariable
from tvselect.report.sentences import plural

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
INK, MUTED, GRID, PAGE = "var(--ink)", "var(--muted)", "var(--grid)", "var(--page)"
ACCENT, BAND, OTHER, RED = "var(--accent)", "var(--band)", "var(--other)", "var(--decoy)"
ROLE_COLOURS = {"selected": ACCENT, "unselected": OTHER, "decoy": RED}
ROLE_WORDS = {"selected": "selected", "unselected": "not selected", "decoy": "decoy"}

Spec = dict[str, Any]


def play_axis(unit: str, last: int) -> Any:
    """A horizontal axis of plays; only whole ones have a tick."""
    ticks = {"values": list(range(last + 1))} if last < 10 else {"tickMinStep": 1}
    return need("altair").Axis(title=unit, grid=False, format=",d", **ticks)


def tip_of(variable: ReportedVariable) -> str:
    """What is shown when a variable is pointed at, beside its name."""
    interval = f"{variable.low:.2f} to {variable.high:.2f}"
    return (
        f"{ROLE_WORDS[variable.role]}: {variable.pi:.2f} ({interval}), "
        f"tried {variable.n_played:,} {plural('time', variable.n_played)}"
    )


def finish(chart: Any, height: Any, description: str) -> Spec:
    """Size, description and looks that all charts share; from Altair to a plain specification."""
    axis = {
        "labelColor": MUTED, "titleColor": MUTED, "gridColor": GRID, "domainColor": GRID,
        "tickColor": GRID, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelPadding": 4,
    }  # fmt: skip
    alt = need("altair")
    chart = (
        chart.properties(width="container", height=height, description=description)
        .configure(
            font=FONT,
            background="transparent",
            padding=4,
            autosize={"type": "fit-x", "contains": "padding"},
        )
        .configure_view(stroke=None)
        .configure_axis(**axis)
        .configure_legend(labelColor=INK, labelFontSize=12, offset=4)
    )
    with alt.theme.enable("none"), alt.data_transformers.enable("default"):
        spec: Spec = chart.to_dict()
    spec.pop("$schema")
    return spec
