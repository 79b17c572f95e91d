"""Arrays and data frames of pandas, polars and Arrow, as users hand them in."""

from __future__ import annotations

from datetime import date
from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import arrow
from tvselect.inputs.columns import Columns, Places
from tvselect.inputs.errors import ColumnTypeError
from tvselect.inputs.kinds import days_of_array, days_of_series, fields_of
from tvselect.inputs.text import TextColumn, encode_text

OBJECTS = ("Object", "Unknown")


@final
class FrameColumns(Columns):
    """The columns of a data frame, those of text by :meth:`text`."""

    def __init__(self, frame: nw.DataFrame[Any], what: str) -> None:
        self._frame, self._native, self._what = frame, frame.to_native(), what
        self._is_pandas = frame.implementation.is_pandas()
        self._is_arrow = frame.implementation.is_pyarrow()
        self.shape = frame.shape
        self.fields = fields_of(map(str, frame.columns), self._dtypes())
        types = np.array([field.type for field in self.fields], dtype=object)
        self._single = types == "Float32"
        self._dates = np.array([field.kind == "date" for field in self.fields], dtype=np.bool_)
        self._one_by_one = np.isin(types, OBJECTS) | self._dates

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        """Numbers and dates: float32 if all are, else float64."""
        rows, columns = key
        singly = self._one_by_one[columns]
        if not singly.any():
            with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value
                return self._plain(columns, rows)
        places = np.arange(self.shape[1])[columns]
        out = np.empty((np.arange(self.shape[0])[rows].size, places.size), order="F")
        if not singly.all():
            out[:, ~singly] = self[rows, places[~singly]]
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

    def _plain(self, columns: Places, rows: Places) -> NDArray[np.floating[Any]]:
        if self._is_arrow:
            part = self._native
            if isinstance(columns, slice):
                columns = np.arange(self.shape[1])[columns]
            if columns.size < self.shape[1]:
                part = part.select(columns.tolist())
            if isinstance(rows, slice):
                start, stop, _ = rows.indices(part.num_rows)
                return arrow.as_matrix(part.slice(start, max(0, stop - start)))
            return arrow.as_matrix(part.take(rows))
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


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Array of the values; masked ones are missing, numbers next to text stay numbers.

    Raises a ValueError for what is no array, such as rows of different lengths.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        kind = np.float64 if values.dtype.kind in "biuf" else object
        with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
            return np.ma.filled(values.astype(kind), np.nan)
    try:
        # Every cell of NumPy's own text is as wide as the longest one.
        return np.asarray(values, dtype=object if _lists_text(values) else None)
    except ValueError as error:
        raise ValueError(f"{what} cannot be read as an array: {error}") from None


def _lists_text(values: Any) -> bool:
    """Whether a list, or a list of lists, holds text."""
    if isinstance(values, list | tuple):
        return any(is_text(value) or _lists_text(value) for value in values)
    return False


def is_null(value: Any) -> bool:
    """Whether a value stands for a missing one (None, pandas' NA and NaT)."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_text(value: Any) -> bool:
    """Whether a value is text."""
    return isinstance(value, str | bytes)


def holds_text(values: NDArray[Any]) -> bool:
    """Whether an array holds text, be it among other objects."""
    return values.dtype.kind in "US" or (values.dtype.kind == "O" and any(map(is_text, values)))


def floats_of_objects(values: NDArray[Any], what: str, name: str) -> NDArray[np.float64]:
    """Floats of a column of any objects, or the error that it holds something else."""
    try:
        if values.dtype.kind in "mMc" or holds_text(values):
            raise TypeError
        if values.dtype.kind == "O":
            present = [v for v in values if not is_null(v) and v == v]
            if present and all(isinstance(v, date) for v in present):
                times = [v if isinstance(v, date) and not is_null(v) else None for v in values]
                return days_of_array(np.array(times, dtype="datetime64[us]"))
            values = np.array([np.nan if is_null(v) else v for v in values], dtype=np.float64)
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise no_numbers(what, name, "mixed or text") from None


def no_numbers(what: str, name: str, kind: str) -> ColumnTypeError:
    """The error of a column that should hold numbers."""
    return ColumnTypeError(
        f"column {name!r} of {what} holds no numbers ({kind})",
        "encode it as numbers (for instance one column per category) or leave it out",
    )
