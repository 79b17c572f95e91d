"""Rows of arrays and data frames in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import decoded
from tvselect.inputs.errors import SourceError
from tvselect.inputs.frames import OBJECTS, is_text
from tvselect.inputs.kinds import Field
from tvselect.inputs.outcome import one_column
from tvselect.inputs.table import Table, open_table
from tvselect.sources.base import Batch
from tvselect.sources.chunks import Chunk, ChunkedSource, Pieces
from tvselect.sources.columns import categorical_mask, choose_columns, hash_fields

VALUES_AT_ONCE = 2**20


@final
class ArraySource(ChunkedSource):
    """Rows of a table in memory. Later rounds are a bootstrap of all rows.

    Parameters
    ----------
    X : array-like (rows, columns), or a pandas, polars or Arrow data frame
        Numbers; in data frames also text and categories.
    y : array-like, or str
        The target, or the name of its column in a data frame.
    columns : sequence of str, optional
        Those to use; all by default.

    Examples
    --------
    >>> source = ArraySource([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 1, 0])
    >>> source.names
    ('x0', 'x1')
    >>> [batch.n_rows for batch in source.batches(2, 0, np.random.default_rng(0))]
    [2, 1]
    """

    def __init__(self, X: Any, y: Any, *, columns: Sequence[str] | None = None) -> None:
        self._chunk, self._fields, _ = read_chunk(X, y, columns)
        if self._chunk.n_rows == 0:
            raise SourceError("X is empty: it has no rows")
        self.names = tuple(field.name for field in self._fields)
        self.categorical = categorical_mask(self._fields)
        self.n_rows = self._chunk.n_rows
        self.can_repeat = True

    def whole(self) -> Batch:
        """All rows as one batch."""
        return self._rows(slice(None))

    def identity(self) -> str:
        """A hash of all names and values."""
        total = sha256(hash_fields(self._fields, None).encode())
        step = max(1, VALUES_AT_ONCE // len(self.names))
        for start in range(0, self._chunk.n_rows, step):
            rows = self._rows(slice(start, start + step))
            # The same bytes whatever the order in memory.
            numbers = rows.numbers(np.flatnonzero(~self.categorical))
            total.update(np.ascontiguousarray(numbers).data)
            for column in np.flatnonzero(self.categorical):
                total.update(json.dumps(rows.labels(int(column)).tolist()).encode())
            total.update(json.dumps(rows.target().tolist(), default=str).encode())
        return total.hexdigest()

    def _rows(self, rows: slice) -> Batch:
        n_rows = len(range(self._chunk.n_rows)[rows])
        return Pieces([(self._chunk, rows)], n_rows)

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        yield self._chunk


class TableChunk(NamedTuple):
    """A table in memory as a chunk, and what its columns and its target hold."""

    chunk: Chunk
    fields: tuple[Field, ...]
    outcome: Field


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
        target, name = _column_of(X, place_of[y], fields[place_of[y]]), y
    else:
        target, name = _checked(y, table.n_rows, what), "y"
    type = target.dtype.name
    if target.dtype.kind in "US":
        target = target.astype(object)
    holds_text = target.dtype.kind == "O" and any(map(is_text, target))
    outcome = Field(name, "text" if holds_text else "number", type)
    return TableChunk(Chunk(part, lambda: target), chosen, outcome)


def _column_of(X: Any, place: int, field: Field) -> NDArray[Any]:
    if isinstance(X, Table):
        is_text = field.kind == "text"
        return X.text(place).labels() if is_text else X.numbers(np.array([place]))[:, 0]
    return one_column(_decoded(nw.from_native(X, eager_only=True)[:, place].to_native()))


def _decoded(values: Any) -> Any:
    """Arrow columns without their dictionaries, which are no categories; others as they are."""
    is_arrow = type(values).__module__.startswith("pyarrow") and hasattr(values, "type")
    return decoded(values) if is_arrow else values


def _checked(y: Any, n_rows: int, what: str) -> NDArray[Any]:
    """The target as an array of one dimension."""
    if y is None:
        raise SourceError(f"there is no target for {what}", "give its values or its column's name")
    try:
        values = one_column(_decoded(y))
    except (TypeError, ValueError) as error:
        raise SourceError(str(error)) from None
    if len(values) != n_rows:
        raise SourceError(f"y has {len(values)} values but {what} has {n_rows} rows")
    return values
