"""What all pictures share: axes, colours, legends, and names beside the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.inputs.errors import needed
from tvselect.words import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

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
LINE_HEIGHT = 1.25
WIDEST_LEGEND = 1.2
HOW = "figures need matplotlib: pip install 'tvselect[plot]'"
FARTHEST = 0.25
"""From a label to the end of its line, in heights of the axes."""


def axes_on(
    ax: Axes | None, width: float = 6.5, height: float = 4.0
) -> tuple[Figure | SubFigure, Axes]:
    """The axes handed in and their figure, or new ones of so many inches."""
    if ax is None:
        needed("matplotlib", HOW)
        import matplotlib.pyplot as plt

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


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names beside rows, the first on top."""
    clean(ax)
    shown = [readable(name, 40) for name in names]
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.set_yticks(np.arange(len(names)), shown, parse_math=False)
    ax.tick_params(axis="y", length=0, labelsize=FONT_SIZE)


def legend_above(ax: Axes, side: Literal["left", "right"] = "left") -> None:
    """A frameless legend above the axes, in as many rows as it takes not to be much wider."""
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


def draw_lines(
    ax: Axes, steps: ArrayLike, paths: NDArray[np.float64], palette: Sequence[str]
) -> list[Line2D]:
    """Lines (steps, lines) that look different, each in a group of its own in an SVG."""
    drawn = []
    for i, path in enumerate(paths.T):
        colour, dashes = look(i, palette)
        drawn += ax.plot(steps, path, color=colour, ls=dashes, lw=1.6, gid=f"line-{i}")
    return drawn


def look(i: int, palette: Sequence[str] = COLOURS) -> tuple[str, Any]:
    """Colour and dashes of the i-th line; 28 look different, of a palette of 5 colours 20."""
    return palette[i % len(palette)], DASHES[i // len(palette) % len(DASHES)]


def nudge_apart(heights: ArrayLike, gap: float, top: float = 1.0) -> NDArray[np.float64]:
    """Heights in [0, top] at least a gap apart, if that fits, nearest in squares to those given."""
    wanted = np.asarray(heights, dtype=np.float64)
    if wanted.size < 2:
        return wanted
    from scipy.optimize import isotonic_regression

    order = np.argsort(wanted, kind="stable")
    gap = min(gap, top / (wanted.size - 1))
    offset = gap * np.arange(wanted.size)
    placed = np.empty_like(wanted)
    room = max(top - float(offset[-1]), 0.0)
    placed[order] = offset + np.clip(isotonic_regression(wanted[order] - offset).x, 0.0, room)
    return placed


def label_ends(
    ax: Axes, names: Sequence[str], ends: NDArray[np.float64], lines: Sequence[Line2D]
) -> list[Text]:
    """Write names beside the ends of lines, where y is in [0, 1]; without room, of the highest."""
    inches = ax.get_window_extent().height / ax.figure.get_dpi()
    gap = LINE_HEIGHT * FONT_SIZE / 72 / max(inches, 0.1)
    order = np.lexsort([-np.arange(ends.size), ends])  # of ties, the first name stands highest
    shown, heights = order, nudge_apart(ends[order], gap)
    if (order.size - 1) * gap > 1:
        for n in range(max(int(1 / gap), 1), 0, -1):  # the lowest line is left to the count
            shown = order[-n:]
            heights = gap + nudge_apart(ends[shown] - gap, gap, 1 - gap)
            if np.abs(heights - ends[shown]).max() <= FARTHEST:
                break
    beside = ax.transAxes
    labels: list[Text] = []
    for i, height in zip(shown.tolist(), heights, strict=True):
        colour = lines[i].get_color()
        label = ax.annotate(
            readable(names[i], 24),
            xy=(1.005, ends[i]),
            xycoords=beside,
            xytext=(1.035, height),
            textcoords=beside,
            color=colour,
            fontsize=FONT_SIZE,
            va="center_baseline",
            parse_math=False,
            annotation_clip=False,
            gid=f"label-{i}",
            arrowprops=dict(
                arrowstyle="-", color=colour, lw=0.7, shrinkA=1, shrinkB=0, relpos=(0, 0.5)
            ),
        )
        assert label.arrow_patch is not None
        label.arrow_patch.set_gid(f"leader-{i}")
        labels.append(label)
    if n_more := order.size - shown.size:
        style: dict[str, Any] = dict(
            color=DARK, fontsize=FONT_SIZE, va="center_baseline", fontstyle="italic"
        )
        place: dict[str, Any] = dict(x=1.035, y=heights[0] - gap, transform=beside)
        labels.append(ax.text(s=f"and {n_more} more", **place, **style))
    return labels
