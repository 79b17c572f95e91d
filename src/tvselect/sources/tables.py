"""Tables in memory as chunks: arrays and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field
from tvselect.inputs.outcome import one_column
from tvselect.inputs.table import Table, open_table
from tvselect.inputs.text import Rows
from tvselect.inputs.values import is_text
from tvselect.sources.chunks import Chunk
from tvselect.sources.columns import choose_columns

OBJECTS = ("Object", "Unknown")


@final
class TableChunk(Chunk):
    """A table in memory and its target.

    Attributes
    ----------
    table : Table
    fields : tuple of Field
    outcome : Field
    """

    def __init__(
        self, table: Table, fields: tuple[Field, ...], y: NDArray[Any], outcome: str
    ) -> None:
        self.n_rows, self.table, self.fields, self._y = table.n_rows, table, fields, y
        holds_text = y.dtype.kind in "US" or (y.dtype.kind == "O" and any(map(is_text, y)))
        self.outcome = Field(outcome, "text" if holds_text else "number", y.dtype.name)

    def numbers(self, columns: NDArray[np.int64], rows: Rows) -> NDArray[np.floating[Any]]:
        """Columns of numbers at some rows."""
        if columns.size == 0:
            return np.empty((self._y[rows].size, 0))
        return self.table.numbers(columns, rows)

    def labels(self, column: int, rows: Rows) -> NDArray[np.object_]:
        """The text of a column at some rows."""
        return self.table.text(column).labels(rows)

    def target(self, rows: Rows) -> NDArray[Any]:
        """The target at some rows."""
        values = self._y[rows]
        return values.astype(object) if values.dtype.kind in "US" else values


def read_chunk(X: Any, y: Any, columns: Sequence[str] | None, *, what: str = "X") -> TableChunk:
    """A table in memory as a chunk; no copy of the whole is made.

    Parameters
    ----------
    X : array-like (rows, columns), a pandas, polars or Arrow data frame, or a Table
    y : array-like, or str
        The target, or the name of its column in a data frame.
    columns : sequence of str or None
        Those to use; None for all.
    what : str
        The table's name in error messages.

    Raises
    ------
    SourceError
        For names that are missing or repeated, columns that hold neither numbers nor text,
        and ``y`` of another length.
    TypeError, ValueError
        For what is no table.
    """
    table, fields = open_table(X, what)
    if isinstance(y, str) and not table.named:
        raise SourceError(f"target is the name {y!r}, but {what} has no names", "pass its values")
    if not fields:
        kinds = np.where(table.categorical, "text", "number").tolist()
        fields = [Field(*known, "") for known in zip(table.names, kinds, strict=True)]
    chosen = choose_columns(fields, columns, y if isinstance(y, str) else None, what)
    place_of = {field.name: place for place, field in enumerate(fields)}
    part = table.take(np.array([place_of[field.name] for field in chosen], dtype=np.int64))
    # Only the values of objects tell whether these are numbers.
    part.numbers(np.array([j for j, field in enumerate(chosen) if field.type in OBJECTS], np.int64))
    if isinstance(y, str):
        target, outcome = _column_of(X, place_of[y], fields[place_of[y]]), y
    else:
        target, outcome = _checked(y, table.n_rows, what), "y"
    return TableChunk(part, chosen, target, outcome)


def _column_of(X: Any, place: int, field: Field) -> NDArray[Any]:
    if isinstance(X, Table):
        is_text = field.kind == "text"
        return X.text(place).labels() if is_text else X.numbers(np.array([place]))[:, 0]
    return one_column(nw.from_native(X, eager_only=True)[:, place].to_native())


def _checked(y: Any, n_rows: int, what: str) -> NDArray[Any]:
    """The target as an array of one dimension."""
    if y is None:
        raise SourceError(f"there is no target for {what}", "give its values or its column's name")
    try:
        values = one_column(y)
    except (TypeError, ValueError) as error:
        raise SourceError(str(error)) from None
    if len(values) != n_rows:
        raise SourceError(f"y has {len(values)} values but {what} has {n_rows} rows")
    return values
