"""Tables in memory as chunks: arrays and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import read_table
from tvselect.inputs.values import as_array, is_text
from tvselect.sources.base import SourceError
from tvselect.sources.chunks import Chunk, Rows, count, stack
from tvselect.sources.columns import Field, Kind, choose_columns, refuse_repeated

TEXT = (nw.String, nw.Categorical, nw.Enum)
OBJECTS = (nw.Object, nw.Unknown)


class MemoryChunk(Chunk):
    """A chunk in memory, with what is known of its columns."""

    fields: tuple[Field, ...]
    outcome: Field


@final
class MatrixChunk(MemoryChunk):
    """A two-dimensional array of numbers."""

    def __init__(
        self, X: NDArray[Any], fields: tuple[Field, ...], places: NDArray[np.int64], y: NDArray[Any]
    ) -> None:
        self.n_rows = X.shape[0]
        self.fields = fields
        self.outcome = _outcome_field(y)
        self._X = X
        self._places = places
        self._y = y

    def numbers(self, columns: NDArray[np.int64], rows: Rows) -> NDArray[np.floating[Any]]:
        """Columns of numbers at some rows."""
        places = self._places[columns]
        part = self._X[rows if isinstance(rows, slice) else rows[:, None], places]
        return part if part.dtype in (np.float32, np.float64) else part.astype(np.float64)

    def labels(self, column: int, rows: Rows) -> NDArray[np.object_]:
        """Refused: there is no text in an array of numbers."""
        raise TypeError(f"column {self.fields[column].name!r} holds numbers, not categories")

    def target(self, rows: Rows) -> NDArray[Any]:
        """The target at some rows."""
        return _target_values(self._y[rows])


@final
class FrameChunk(MemoryChunk):
    """A data frame; values are taken out of its columns row by row, as they are asked for."""

    def __init__(
        self, columns: list[nw.Series[Any]], fields: tuple[Field, ...], y: Any, n_rows: int
    ) -> None:
        self.n_rows = n_rows
        self.fields = fields
        self.outcome = _outcome_field(y)
        self._columns = columns
        self._y = y

    def numbers(self, columns: NDArray[np.int64], rows: Rows) -> NDArray[np.floating[Any]]:
        """Columns of numbers at some rows."""
        parts = [_as_numbers(self._columns[j][rows]) for j in columns]
        return stack(parts, count(rows, self.n_rows))

    def labels(self, column: int, rows: Rows) -> NDArray[np.object_]:
        """The text of a column at some rows."""
        return _as_labels(self._columns[column][rows])

    def target(self, rows: Rows) -> NDArray[Any]:
        """The target at some rows."""
        return _target_values(self._y[rows])


def read_chunk(X: Any, y: Any, columns: Sequence[str] | None, *, what: str = "X") -> MemoryChunk:
    """A table in memory as a chunk; no copy of the whole is made.

    Parameters
    ----------
    X : array-like (rows, columns), or a pandas, polars or Arrow data frame
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
    frame = _as_frame(X, what)
    if frame is None:
        return _read_matrix(X, y, columns, what)
    fields = [_field(str(name), dtype) for name, dtype in frame.schema.items()]
    native = {str(name): name for name in frame.schema}
    chosen = choose_columns(fields, columns, y if isinstance(y, str) else None, what)
    series = [frame.get_column(native[field.name]) for field in chosen]
    for column in series:
        if column.dtype in OBJECTS:
            # Only the values can tell whether these are numbers.
            read_table(column.to_frame(), what=what).block(0, 1)
    n_rows = frame.shape[0]
    target = frame.get_column(native[y]) if isinstance(y, str) else _one_column(y, n_rows, what)
    return FrameChunk(series, chosen, target, n_rows)


def _read_matrix(X: Any, y: Any, columns: Sequence[str] | None, what: str) -> MemoryChunk:
    if isinstance(y, str):
        raise SourceError(f"target is the name {y!r}, but {what} has no names; pass its values")
    table = read_table(X, what=what)
    matrix = as_array(X, what)
    if matrix.dtype.kind not in "biuf":
        matrix = table.block(0, table.n_columns).T
    fields = [Field(name, "number", matrix.dtype.name) for name in table.names]
    chosen = choose_columns(fields, columns, None, what)
    places = np.array([table.names.index(field.name) for field in chosen], dtype=np.int64)
    return MatrixChunk(matrix, chosen, places, _one_column(y, table.n_rows, what))


def _as_frame(X: Any, what: str) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = X.column_names if hasattr(X, "column_names") else X.columns
        refuse_repeated(map(str, names), what, "rename them")
        raise
    return frame if isinstance(frame, nw.DataFrame) else None


def _field(name: str, dtype: nw.dtypes.DType) -> Field:
    kind: Kind = "other"
    if dtype in TEXT:
        kind = "text"
    elif dtype.is_numeric() or dtype == nw.Boolean or dtype in OBJECTS:
        kind = "number"
    return Field(name, kind, str(dtype))


def _outcome_field(y: Any) -> Field:
    if isinstance(y, nw.Series):
        return _field(str(y.name), y.dtype)
    holds_text = y.dtype.kind in "US" or (y.dtype.kind == "O" and any(map(is_text, y)))
    return Field("y", "text" if holds_text else "number", y.dtype.name)


def _one_column(y: Any, n_rows: int, what: str) -> Any:
    """The target as a series or an array of one dimension."""
    if y is None:
        raise SourceError(f"there is no target for {what}; give its values or its column's name")
    if nw.dependencies.is_into_series(y):
        values: Any = nw.from_native(y, series_only=True).alias("y")
    else:
        values = as_array(y, "y")
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise SourceError(f"y must be a single column, got shape {values.shape}")
    if len(values) != n_rows:
        raise SourceError(f"y has {len(values)} values but {what} has {n_rows} rows")
    return values


def _target_values(values: Any) -> NDArray[Any]:
    if isinstance(values, nw.Series):
        return _as_labels(values) if values.dtype in TEXT else values.to_numpy()
    return values.astype(object) if values.dtype.kind in "US" else values


def _as_numbers(series: nw.Series[Any]) -> NDArray[np.floating[Any]]:
    if series.dtype in (nw.Float32, nw.Float64):
        return series.to_numpy()
    return read_table(series.to_frame()).block(0, 1)[0]


def _as_labels(series: nw.Series[Any]) -> NDArray[np.object_]:
    out = np.empty(len(series), dtype=object)
    out[:] = series.cast(nw.String).to_list()
    out[series.is_null().to_numpy()] = None
    return out
