"""The outcome over two features, as cells of a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Cells(NamedTuple):
    """Values of a column that cells of a heat map stand for."""

    at: NDArray[np.float64]  #: Values, or where each value has its label, its place
    labels: tuple[str, ...]  #: Empty for values


class JointEffect(NamedTuple):
    """How the outcome depends on two columns, the others as they are in the rows."""

    names: tuple[str, str]  #: Of the two columns
    first: Cells  #: Values of the first column
    second: Cells  #: Values of the second column
    #: The outcome, or the probability of the second class (cells of the first, of the second).
    mean: NDArray[np.float64]
    outcome: str = "y"  #: What the mean is of
    q_value: float | None = None  #: Of their interaction; None if none was found


def cell_edges(at: ArrayLike, labels: Sequence[str]) -> NDArray[np.float64]:
    """Where the cells of values begin and end: halfway between them, or one wide each.

    Examples
    --------
    >>> cell_edges([0.0, 1.0, 4.0], ())
    array([0. , 0.5, 2.5, 4. ])
    >>> cell_edges([0.0, 1.0], ("no", "yes"))
    array([-0.5,  0.5,  1.5])
    """
    values = np.asarray(at, dtype=np.float64)
    if labels or values.size == 1:
        return np.append(values, values[-1] + 1.0) - 0.5
    return np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
