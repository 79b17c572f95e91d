"""Names that fit: shortened in the middle, nudged apart, beside the ends of their lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.plotting.canvas import DARK, FONT_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

LINE_HEIGHT = 1.25
FARTHEST = 0.25


def shorten(name: str, longest: int = 40) -> str:
    """A name on one line, cut in the middle when it is too long.

    Examples
    --------
    >>> shorten("age at diagnosis")
    'age at diagnosis'
    >>> shorten("ENSG00000141510.18_TP53_tumor_protein", 20)
    'ENSG000001…r_protein'
    """
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail]}…{name[len(name) - tail :]}"


def level(q_value: float) -> str:
    """A q-value in as many digits as can be read at a glance.

    Examples
    --------
    >>> [level(q) for q in (1.0, 0.1, 0.0125, 0.00002)]
    ['1.00', '0.10', '0.013', '<0.001']
    """
    if q_value < 0.0005:
        return "<0.001"
    return f"{q_value:.3f}" if q_value < 0.0995 else f"{q_value:.2f}"


def nudge_apart(heights: ArrayLike, gap: float, top: float = 1.0) -> NDArray[np.float64]:
    """Heights in [0, top] that are at least a gap apart and as near to those given as can be.

    Nearest in squared distance: with ``i`` gaps taken off the i-th lowest, this is isotonic
    regression. Where not all gaps fit, they shrink.

    Examples
    --------
    >>> nudge_apart([0.5, 0.9, 0.48], gap=0.1).round(2)
    array([0.54, 0.9 , 0.44])
    """
    wanted = np.asarray(heights, dtype=np.float64)
    if wanted.size < 2:
        return wanted
    order = np.argsort(wanted, kind="stable")
    gap = min(gap, top / (wanted.size - 1))
    offset = gap * np.arange(wanted.size)
    placed = np.empty_like(wanted)
    room = max(top - float(offset[-1]), 0.0)
    placed[order] = offset + np.clip(_nearest_rising(wanted[order] - offset), 0.0, room)
    return placed


def _nearest_rising(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Isotonic regression: the highest, over starts, of the lowest means from there to an end."""
    sums, places = np.append(0.0, np.cumsum(values)), np.arange(values.size)
    n_between = places - places[:, None] + 1
    means = (sums[1:] - sums[:-1, None]) / np.maximum(n_between, 1)
    means[n_between < 1] = np.inf
    lowest = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    lowest[n_between < 1] = -np.inf
    return np.asarray(lowest.max(axis=0))


def label_ends(
    ax: Axes, names: Sequence[str], ends: NDArray[np.float64], colours: Sequence[str]
) -> list[Text]:
    """Write names to the right of the axes, beside the ends of lines; the y axis is [0, 1].

    When there is no room for all, the highest get theirs and the rest are counted.
    """
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
    n_more = order.size - shown.size
    beside = ax.get_yaxis_transform()
    labels: list[Text] = [
        ax.annotate(
            shorten(names[i], 24),
            xy=(1.005, ends[i]),
            xycoords=beside,
            xytext=(1.035, height),
            textcoords=beside,
            color=colours[i],
            fontsize=FONT_SIZE,
            va="center_baseline",
            parse_math=False,
            annotation_clip=False,
            arrowprops=dict(
                arrowstyle="-", color=colours[i], lw=0.7, shrinkA=1, shrinkB=0, relpos=(0, 0.5)
            ),
        )
        for i, height in zip(shown, heights, strict=True)
    ]
    if n_more:
        labels.append(
            ax.text(
                1.035,
                heights[0] - gap,
                f"and {n_more} more",
                transform=beside,
                fontsize=FONT_SIZE,
                color=DARK,
                va="center_baseline",
                fontstyle="italic",
            )
        )
    return labels
