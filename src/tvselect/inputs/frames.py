"""Data frames of pandas, polars and Arrow, read in blocks of columns."""

from __future__ import annotations

from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import arrow
from tvselect.inputs.days import days_of_series
from tvselect.inputs.kinds import fields_of
from tvselect.inputs.text import Rows, TextColumn, encode_text
from tvselect.inputs.values import floats_of_objects

Columns = slice | NDArray[np.int64]
OBJECTS = ("Object", "Unknown")


@final
class Frame:
    """A data frame.

    Attributes
    ----------
    fields : tuple of Field
    n_rows : int
    """

    def __init__(self, frame: nw.DataFrame[Any], what: str) -> None:
        self._frame, self._native, self._what = frame, frame.to_native(), what
        self._is_pandas = frame.implementation.is_pandas()
        self._is_arrow = frame.implementation.is_pyarrow()
        self.n_rows = frame.shape[0]
        self.fields = fields_of(map(str, frame.columns), self._dtypes())
        types = np.array([field.type for field in self.fields], dtype=object)
        self._single = types == "Float32"
        self._dates = np.array([field.kind == "date" for field in self.fields], dtype=np.bool_)
        self._one_by_one = np.isin(types, OBJECTS) | self._dates

    def numbers(self, columns: Columns, rows: Rows) -> NDArray[np.floating[Any]]:
        """Columns of numbers or dates at some rows: float32 if all are, else float64."""
        singly = self._one_by_one[columns]
        if not singly.any():
            with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value
                return self._plain(columns, rows)
        places = np.arange(len(self.fields))[columns]
        out = np.empty((np.arange(self.n_rows)[rows].size, places.size), order="F")
        if not singly.all():
            out[:, ~singly] = self.numbers(places[~singly], rows)
        for place in np.flatnonzero(singly):
            out[:, place] = self._floats(int(places[place]))[rows]
        return out

    def text(self, column: int) -> TextColumn:
        """A column of text or categories."""
        if self._is_arrow:
            return arrow.as_text(self._native.column(column))
        return encode_text(labels_of(self._frame[:, column]))

    def _floats(self, column: int) -> NDArray[np.float64]:
        """A column of objects or dates."""
        if self._dates[column]:
            if self._is_arrow:
                return arrow.as_days(self._native.column(column))
            return days_of_series(self._frame[:, column])
        values = self._frame[:, column].to_numpy()
        return floats_of_objects(values, self._what, self.fields[column].name)

    def _plain(self, columns: Columns, rows: Rows) -> NDArray[np.floating[Any]]:
        if self._is_arrow:
            part = self._native
            if isinstance(columns, slice):
                columns = np.arange(len(self.fields))[columns]
            if columns.size < len(self.fields):
                part = part.select(columns.tolist())
            return arrow.as_matrix(
                _sliced(part, rows) if isinstance(rows, slice) else part.take(rows)
            )
        dtype = np.float32 if self._single[columns].all() else np.float64
        if self._is_pandas:
            part = self._native.iloc[rows, columns]
            values: NDArray[Any] = part.to_numpy(dtype=dtype, na_value=np.nan)
            return values
        part = self._frame[rows, columns]
        cast = part.select(nw.all().cast(nw.Float32 if dtype == np.float32 else nw.Float64))
        return cast.to_numpy()

    def _dtypes(self) -> list[Any]:
        """The type of each column; equal types are looked at once."""
        if self._is_arrow:
            return list(self._native.schema.types)
        if not self._is_pandas:
            return list(self._frame.schema.values())
        known: dict[Any, Any] = {}
        found = []
        for place, dtype in enumerate(self._native.dtypes):
            # Only the values of objects tell whether they are text.
            key = place if dtype.kind == "O" else dtype
            if key not in known:
                known[key] = self._frame[:, place].dtype
            found.append(known[key])
        return found


def labels_of(series: nw.Series[Any]) -> NDArray[np.object_]:
    """The text of a column, None where missing."""
    labels = np.empty(len(series), dtype=object)
    if series.dtype in (nw.Categorical, nw.Enum):  # pandas 2 would make all as wide as the widest
        labels[:] = [str(value) for value in series.to_list()]
    else:
        labels[:] = series.cast(nw.String).to_list()
    labels[series.is_null().to_numpy()] = None
    return labels


def _sliced(table: Any, rows: slice) -> Any:
    start, stop, _ = rows.indices(table.num_rows)
    return table.slice(start, max(0, stop - start))
