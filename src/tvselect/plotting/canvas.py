"""The paper to draw on: axes, colours, and the only mention of the extra that brings matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
"""Okabe and Ito's palette for all kinds of colour vision, without its yellow."""
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
GREY, LIGHT, DARK = "#8C8C8C", "#B8B8B8", "#404040"
FONT_SIZE = 9


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
    """A frameless row above the axes, where it hides no data, from one side on."""
    _, labels = ax.get_legend_handles_labels()
    if labels:
        ax.legend(
            loc="lower left" if side == "left" else "lower right",
            bbox_to_anchor=(0 if side == "left" else 1, 1),
            ncols=len(labels),
            frameon=False,
            fontsize=FONT_SIZE,
            borderaxespad=0.2,
            borderpad=0.2,
            handlelength=1.6,
            columnspacing=1.4,
        )


def look(i: int) -> tuple[str, Any]:
    """Colour and dashes of the i-th line; 28 look different."""
    return COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)]
