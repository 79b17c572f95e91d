"""Cut points of columns with a few values far out, which would have a grid to themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function

FARTHEST = 20.0

find_crowded = function(
    "find_crowded",
    """
    block: f8[columns, rows]
    codes: u1[columns, padded>=rows]
    step: f8[columns]
    width: int
    crowded: b1[columns]!
    """,
)
"""Columns on a grid with a third of their values in few bins; of zeros none is counted."""


def cut_crowded_by_rank(
    block: NDArray[np.float64],
    coded: NDArray[np.uint8],
    n_cuts: NDArray[np.uint8],
    step: NDArray[np.float64],
    sizes: NDArray[np.int64],
    halfway: NDArray[np.float64],
) -> bool:
    """List cuts of columns whose grid a few far values spoil; whether there are such columns.

    ``halfway``, ``sizes`` and the others are those of
    :func:`tvselect.trees.bins.find_cuts`, ``coded`` the codes on the grid.
    """
    max_cuts = halfway.shape[1]
    crowded = np.zeros(len(block), dtype=np.bool_)
    width = int((max_cuts + 1) / FARTHEST) + 2
    find_crowded(block, coded, step, width, crowded)
    for j in np.flatnonzero(crowded).tolist():
        distinct = np.unique(block[j][~np.isnan(block[j])])
        crowded[j] = has_far_values(distinct)
        if crowded[j]:
            cuts = cuts_by_rank(distinct, max_cuts)
            halfway[j, : cuts.size] = cuts
            n_cuts[j] = sizes[j] = cuts.size
            step[j] = 0.0
    return bool(crowded.any())


def has_far_values(distinct: NDArray[np.float64]) -> bool:
    """Whether sorted values reach twenty times as far as the middle half of them.

    Examples
    --------
    >>> values = np.arange(100.0)
    >>> has_far_values(values), has_far_values(np.append(values, 9999.0))
    (False, True)
    """
    middle = distinct[3 * distinct.size // 4] - distinct[distinct.size // 4]
    return bool((distinct[-1] - distinct[0]) / FARTHEST > middle)


def cuts_by_rank(distinct: NDArray[np.float64], max_cuts: int) -> NDArray[np.float64]:
    """Cuts halfway between neighbours among sorted values, with as many values between them.

    Examples
    --------
    >>> cuts_by_rank(np.array([-999.0, 1.0, 2.0, 3.0, 4.0]), 2)
    array([-499. ,    3.5])
    """
    places = np.unique(np.linspace(1, distinct.size - 1, max_cuts).round().astype(np.int64))
    lower, upper = distinct[places - 1], distinct[places]
    middle = 0.5 * lower + 0.5 * upper
    return np.where(middle > lower, middle, upper)
