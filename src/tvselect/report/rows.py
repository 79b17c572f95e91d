"""Some rows of the table that a selector was fitted on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import read_table
from tvselect.inputs.values import as_array
from tvselect.sources.columns import categorical_mask
from tvselect.sources.tables import read_chunk


@dataclass(frozen=True)
class Rows:
    """A sample of rows; columns are numbered as in the fit.

    Attributes
    ----------
    n_rows : int
    categorical : bool array
    numbers : callable
        ``numbers(columns)``: columns of numbers (rows, columns), NaN where missing.
    labels : callable
        ``labels(column)``: the text of a categorical column, None where missing.
    target : array or None
    """

    n_rows: int
    categorical: NDArray[np.bool_]
    numbers: Callable[[NDArray[np.int64]], NDArray[np.float64]]
    labels: Callable[[int], NDArray[np.object_]]
    target: NDArray[Any] | None


def sample_rows(
    X: Any, y: Any, names: Sequence[str], *, named: bool, most: int, rng: np.random.Generator
) -> Rows:
    """At most so many rows of a table, drawn at random, in their order.

    Parameters
    ----------
    X : array-like or data frame
    y : array-like or None
    names : sequence of str
        Of the columns of the fit.
    named : bool
        Whether the fit knew columns by name; else they are taken by their place.
    most : int
    rng : numpy.random.Generator

    Raises
    ------
    ValueError
        When X has other columns than the fit, or y another length.

    Examples
    --------
    >>> X = np.arange(12.0).reshape(4, 3)
    >>> rng = np.random.default_rng(0)
    >>> rows = sample_rows(X, None, ("x0", "x1", "x2"), named=False, most=3, rng=rng)
    >>> rows.numbers(np.array([2])).shape
    (3, 1)
    """
    frame = nw.from_native(X, pass_through=True)
    matrix = None if isinstance(frame, nw.DataFrame) else _as_matrix(X)
    n_rows = np.shape(X)[0]
    rows = np.sort(rng.choice(n_rows, min(most, n_rows), replace=False))
    target = None if y is None else read_chunk(np.zeros((n_rows, 1)), y, None).target(rows)
    if matrix is None:
        chunk = read_chunk(X, np.zeros(n_rows), list(names) if named else None)
        _refuse_other_width(len(chunk.fields), len(names))
        return Rows(
            n_rows=rows.size,
            categorical=categorical_mask(chunk.fields),
            numbers=lambda columns: np.asarray(chunk.numbers(columns, rows), dtype=np.float64),
            labels=lambda column: chunk.labels(column, rows),
            target=target,
        )
    _refuse_other_width(matrix.shape[1], len(names))
    return Rows(
        n_rows=rows.size,
        categorical=np.zeros(len(names), dtype=np.bool_),
        numbers=lambda columns: matrix[rows[:, None], columns].astype(np.float64),
        labels=_no_labels,
        target=target,
    )


def _as_matrix(X: Any) -> NDArray[Any]:
    table = read_table(X)
    matrix = as_array(X, "X")
    return matrix if matrix.dtype.kind in "biuf" else table.block(0, table.n_columns).T


def _refuse_other_width(n_columns: int, wanted: int) -> None:
    if n_columns != wanted:
        raise ValueError(
            f"X has {n_columns} columns, the selector was fitted on {wanted}; pass the same table"
        )


def _no_labels(column: int) -> NDArray[np.object_]:
    raise TypeError(f"column {column} holds numbers, not categories")
