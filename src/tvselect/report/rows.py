"""Some rows of the table that a selector was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table, TextColumn, read_table
from tvselect.inputs.outcome import one_column
from tvselect.inputs.table import open_table


@dataclass(frozen=True)
class Rows:
    """A sample of rows; columns are numbered as in the fit.

    Attributes
    ----------
    table : Table
    rows : int64 array
        Which of its rows.
    target : array or None
    """

    table: Table
    rows: NDArray[np.int64]
    target: NDArray[Any] | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.size

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which columns hold text."""
        return self.table.categorical

    def numbers(self, columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Columns of numbers (rows, columns), NaN where missing."""
        rows = slice(None) if self.rows.size == self.table.n_rows else self.rows
        return np.asarray(self.table.numbers(columns, rows), dtype=np.float64)

    def text(self, column: int) -> TextColumn:
        """A column of text."""
        return self.table.text(column).at(self.rows)


def sample_rows(
    X: Any, y: Any, names: Sequence[str], *, named: bool, most: int, rng: np.random.Generator
) -> Rows:
    """At most so many rows of a table, drawn at random, in their order.

    Parameters
    ----------
    X : array-like, data frame or Table
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
    table = _columns_of_fit(X, names) if named else read_table(X)
    if table.n_columns != len(names):
        raise ValueError(
            f"X has {table.n_columns} columns, the selector was fitted on {len(names)}; pass the "
            "same table"
        )
    rows = np.sort(rng.choice(table.n_rows, min(most, table.n_rows), replace=False))
    if y is None:
        return Rows(table, rows, None)
    target = one_column(y)
    if target.size != table.n_rows:
        raise ValueError(f"y has {target.size} values but X has {table.n_rows} rows")
    return Rows(table, rows, target[rows])


def _columns_of_fit(X: Any, names: Sequence[str]) -> Table:
    """The table with the columns of the fit, where it has names."""
    table, _ = open_table(X, "X")
    if not table.named or tuple(names) == table.names:
        return read_table(table)
    place_of = {name: place for place, name in enumerate(table.names)}
    for name in names:
        if name not in place_of:
            raise ValueError(f"X lacks column {name!r}, which the selector was fitted on")
    return read_table(table.take(np.array([place_of[name] for name in names], dtype=np.int64)))
