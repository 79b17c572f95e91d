"""The paper to draw on: axes, colours, and the only mention of the extra that brings matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
"""Okabe and Ito's palette for all kinds of colour vision, without its yellow."""
RED = "#FF4B3E"
"""Of decoys, and of nothing else."""
DEEP = (BLUE, BLACK, "#00634A", "#5D3A9B", "#6B4A00")
"""To stand beside red: darker than it, also for eyes that cannot tell it from green."""
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
GREY, LIGHT, DARK = "#8C8C8C", "#B8B8B8", "#404040"
FONT_SIZE = 9
WIDEST_LEGEND = 1.2


def axes_on(
    ax: Axes | None, width: float = 6.5, height: float = 4.0
) -> tuple[Figure | SubFigure, Axes]:
    """The axes handed in and their figure, or new ones of so many inches.

    Raises
    ------
    ModuleNotFoundError
        Without matplotlib.
    """
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "figures need matplotlib: pip install 'tvselect[plot]'", name=error.name
        ) from error
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    figure = ax.get_figure()
    assert figure is not None
    return figure, ax


def clean(ax: Axes) -> None:
    """Only the two spines that carry a scale."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=FONT_SIZE)
    ax.xaxis.label.set_fontsize(FONT_SIZE + 1)
    ax.yaxis.label.set_fontsize(FONT_SIZE + 1)


def legend_above(ax: Axes, side: Literal["left", "right"] = "left") -> None:
    """Frameless rows above the axes, where they hide no data, from one side on.

    One row, or as many as it takes not to be much wider than the axes.
    """
    _, labels = ax.get_legend_handles_labels()
    for n_columns in range(len(labels), 0, -1):
        legend = ax.legend(
            loc="lower left" if side == "left" else "lower right",
            bbox_to_anchor=(0 if side == "left" else 1, 1),
            ncols=n_columns,
            frameon=False,
            fontsize=FONT_SIZE,
            borderaxespad=0.6,
            borderpad=0.2,
            handlelength=1.6,
            columnspacing=1.4,
        )
        if legend.get_window_extent().width <= WIDEST_LEGEND * ax.get_window_extent().width:
            return


def look(i: int, palette: Sequence[str] = COLOURS) -> tuple[str, Any]:
    """Colour and dashes of the i-th line; 28 look different, of a palette of 5 colours 20."""
    return palette[i % len(palette)], DASHES[i // len(palette) % len(DASHES)]
