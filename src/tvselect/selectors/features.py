"""From the table a user hands in to columns of numbers.

A feature is a column of the user's table. Text and categorical features become one 0/1
column per category.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table, read_table
from tvselect.inputs.file_columns import ColumnFile, FileColumns
from tvselect.inputs.sparse import SparseColumns, WholeMatrix

UNKNOWN = -2


@dataclass(frozen=True)
class Features:
    """Features as columns of numbers.

    Attributes
    ----------
    X : array, SparseColumns or FileColumns (rows, columns)
    names : sequence of str
        Of the features.
    feature_of : int64 array
        The feature that each column comes from.
    """

    X: WholeMatrix
    names: Sequence[str]
    feature_of: NDArray[np.int64]

    @property
    def column_names(self) -> Sequence[str]:
        """Of the columns: each is called like the feature it comes from."""
        if self.feature_of.size == len(self.names):
            return self.names
        return tuple(self.names[j] for j in self.feature_of)


def is_frame(X: Any) -> bool:
    """Whether a table is a data frame or a :class:`Table`, and no array."""
    return isinstance(X, Table) or nw.dependencies.is_into_dataframe(X)


def read_features(X: Any) -> Features:
    """Columns of numbers from a table: one 0/1 column per category, NaN for missing.

    Parameters
    ----------
    X : array-like (rows, columns), a pandas, polars or Arrow data frame, or a Table

    Raises
    ------
    TypeError, ValueError
        As :func:`tvselect.inputs.read_table`.

    Examples
    --------
    >>> import pandas as pd
    >>> features = read_features(pd.DataFrame({"n": [1.5, 2.5], "t": ["b", "a"]}))
    >>> features.X
    array([[1.5, 0. , 1. ],
           [2.5, 1. , 0. ]])
    >>> features.feature_of
    array([0, 1, 1])
    """
    table = read_table(X)
    front = _in_memory(table.front)
    if table.file is None:
        return front
    feature_of = table.front.n_columns + np.arange(table.file.shape[1])
    X = _beside(np.asarray(front.X), table.file)
    return Features(X, table.names, np.append(front.feature_of, feature_of))


def _beside(front: NDArray[Any], file: ColumnFile) -> WholeMatrix:
    """Columns of a file behind others: in memory as far as they are there and sparse."""
    whole: WholeMatrix | None = file.in_memory()
    if isinstance(whole, SparseColumns):
        from scipy.sparse import csc_array, hstack

        return SparseColumns(hstack([csc_array(front), whole.matrix])) if front.size else whole
    if whole is not None and front.shape[1] == 0:
        return whole
    return FileColumns(front, file)


def _in_memory(table: Table) -> Features:
    if not table.categorical.any():
        X = table.numbers() if table.sparse is None else table.sparse
        return Features(X, table.names, np.arange(table.n_columns))
    widths = np.ones(table.n_columns, dtype=np.int64)
    texts = {int(j): table.text(int(j)) for j in np.flatnonzero(table.categorical)}
    widths[list(texts)] = [max(1, len(text.levels)) for text in texts.values()]
    starts = np.cumsum(widths) - widths
    out = np.empty((table.n_rows, widths.sum()), order="F")
    numeric = np.flatnonzero(~table.categorical)
    if numeric.size:
        out[:, starts[numeric]] = table.numbers(numeric)
    for j, text in texts.items():
        out[:, starts[j] : starts[j] + widths[j]] = one_hot(text.codes, int(widths[j]))
    return Features(out, table.names, np.repeat(np.arange(table.n_columns), widths))


def one_hot(
    codes: NDArray[np.int64], n_levels: int, unknown: float = np.nan
) -> NDArray[np.float64]:
    """0/1 columns of the levels of a feature (rows, levels).

    Parameters
    ----------
    codes : int64 array
        The level of each row; -1 where it is missing (a row of NaN), -2 where it is none of
        the levels (a row of ``unknown``).
    n_levels : int
    unknown : float, default=NaN

    Examples
    --------
    >>> one_hot(np.array([1, 0, -1]), 2)
    array([[ 0.,  1.],
           [ 1.,  0.],
           [nan, nan]])
    """
    rows = np.concatenate([np.eye(n_levels), np.full((2, n_levels), np.nan)])
    rows[UNKNOWN] = unknown
    return rows[codes]


def codes_of(labels: NDArray[np.object_], levels: Iterable[str]) -> NDArray[np.int64]:
    """The place of each label among the levels; -1 for None, -2 for a label that is not there."""
    place_of: dict[str | None, int] = {str(level): place for place, level in enumerate(levels)}
    place_of[None] = -1
    return np.fromiter((place_of.get(label, UNKNOWN) for label in labels), np.int64, len(labels))
