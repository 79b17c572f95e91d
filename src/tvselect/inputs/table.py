"""The one table that all inputs are read as, and its columns as numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, time
from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.arrow import DAY, Field, as_days, as_matrix, as_text, fields_of
from tvselect.inputs.columns import (
    LARGEST_WHOLE,
    ChosenColumns,
    ColumnFile,
    Columns,
    FileColumns,
    Matrix,
    Places,
    SparseColumns,
    as_doubles,
    at_rows,
    is_rounded,
    is_sparse,
    places,
    read,
    refuse_outside,
    refuse_rounded,
)
from tvselect.inputs.errors import ColumnTypeError, InputError, SourceError
from tvselect.inputs.text import TextColumn, encode_text, one_hot

ALL = slice(None)
OBJECTS = ("Object", "Unknown")
LONG = ("Int64", "UInt64", "int64", "uint64")
NUMBERED = re.compile(r"x(0|[1-9][0-9]*)")


@final
@dataclass(eq=False)
class Table:
    """A table of numbers (``X``) and of text (the ``categorical`` columns), read in blocks."""

    X: Matrix
    names: Sequence[str]  #: x0, x1, ... where the input has none
    categorical: NDArray[np.bool_] = None  # type: ignore[assignment]
    text_of: Callable[[int], TextColumn] | None = None
    what: str = "X"  #: Its name in error messages
    dates: frozenset[str] = frozenset()  #: Columns of days since 1970-01-01
    _held: dict[int, TextColumn] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.categorical is None:
            self.categorical = np.zeros(len(self.names), np.bool_)

    @classmethod
    def of_matrix(
        cls,
        numbers: Matrix,
        names: Sequence[str],
        texts: Sequence[TextColumn] = (),
        categorical: NDArray[np.bool_] | None = None,
    ) -> Table:
        """A table of numbers (rows, columns) and texts in the ``categorical`` places."""
        if categorical is None or not categorical.any():
            return cls(numbers, names)
        place = np.where(categorical, np.cumsum(categorical), np.cumsum(~categorical)) - 1
        X = ChosenColumns(numbers, place)
        return cls(X, names, categorical, lambda column: texts[place[column]])

    @property
    def named(self) -> bool:
        """Whether the input has names of columns."""
        return not isinstance(self.names, Numbered)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    def numbers(self, columns: Places = ALL, rows: Places = ALL) -> NDArray[np.floating[Any]]:
        """Columns of numbers (rows, columns): float32 if all are, else float64; NaN if missing."""
        if (texts := self.categorical[columns]).any():
            column = np.arange(self.n_columns)[columns][texts][0]
            raise _no_numbers(self.what, self.names[column], "text")
        part = read(self.X, rows, columns)
        if part.dtype in (np.float32, np.float64):
            return part
        return part.astype(np.float64, order="F")  # as a block of columns needs it

    def block(self, first: int, last: int) -> NDArray[np.float64]:
        """The columns ``first`` to ``last`` as a C-contiguous float64 array (columns, rows)."""
        return np.ascontiguousarray(self.numbers(slice(first, last)).T, dtype=np.float64)

    def column(self, place: int) -> NDArray[Any]:
        """A column of labels, None where missing, or of numbers."""
        if self.categorical[place]:
            return self.text(place).labels()
        return self.numbers(np.array([place]))[:, 0]

    def text(self, column: int) -> TextColumn:
        """A column of text."""
        if self.text_of is None or not self.categorical[column]:
            raise TypeError(f"column {self.names[column]!r} holds numbers, not categories")
        if column not in self._held:
            self._held[column] = self.text_of(column)
        return self._held[column]

    def rows(self, chosen: NDArray[np.intp]) -> Table:
        """Some rows, in their order."""
        X = at_rows(self.X, chosen)
        return replace(self, X=X, text_of=lambda column: self.text(column).at(chosen))

    def take(self, chosen: NDArray[np.int64]) -> Table:
        """Some columns, in this order."""
        if np.array_equal(chosen, np.arange(self.n_columns)):
            return self
        return replace(
            self,
            X=ChosenColumns(self.X, chosen),
            names=tuple(self.names[place] for place in chosen),
            categorical=self.categorical[chosen],
            text_of=lambda column: self.text(int(chosen[column])),
        )

    def beside(self, file: ColumnFile, names: Sequence[str]) -> Table:
        """The table with the columns of a file behind its own."""
        return replace(
            self,
            X=FileColumns(self.X, file),
            names=(*self.names, *names),
            categorical=np.append(self.categorical, np.zeros(len(names), np.bool_)),
            text_of=self.text,
        )


def read_table(X: Any, *, what: str = "X") -> Table:
    """Check a table and wrap it without a copy.

    Takes arrays, sparse matrices of SciPy, data frames (pandas, polars, Arrow) or a Table. Data
    frames may hold text, categories and dates, which become days since 1970-01-01. Missing values
    are NaN, None, null or masked. Raises for other columns, empty tables and repeated names.
    """
    table, fields = open_table(X, what)
    if table.n_rows == 0 or table.n_columns == 0:
        raise ValueError(f"{what} is empty: {table.n_rows} rows, {table.n_columns} columns")
    refuse_other_kinds((one for one in fields if one.kind != "date"), what, "leave it out")
    return table


def as_given(X: Any, what: str = "X") -> Any:
    """A table that scikit-learn can check: no masks, dates as days, lazy frames collected."""
    if is_sparse(X):
        refuse_outside(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        return np.where(np.ma.getmaskarray(X), np.nan, _days(np.asarray(X)))
    if isinstance(X, np.ma.MaskedArray):
        return as_array(X, what)
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        return X.collect()
    if not isinstance(X, np.ndarray):
        names = X.column_names if hasattr(X, "column_names") else getattr(X, "columns", ())
        refuse_repeated(map(str, names), what, "rename them")
    return X


def open_table(X: Any, what: str) -> tuple[Table, Sequence[Field]]:
    """A table, not yet checked, and the columns of a data frame."""
    if isinstance(X, Table):
        return X, ()
    X = as_given(X, what)
    if isinstance(X, np.ndarray) or not is_frame(X):  # narwhals is slow to recognize arrays
        if nw.dependencies.is_into_series(X):
            raise ValueError(f"{what} is a single column; pass a table with rows and columns")
        return _from_array(X, what), ()
    columns = FrameColumns(nw.from_native(X, eager_only=True), what)
    names = tuple(field.name for field in columns.fields)
    categorical = np.array([field.kind == "text" for field in columns.fields], dtype=np.bool_)
    dates = frozenset(field.name for field in columns.fields if field.is_day)
    return Table(columns, names, categorical, columns.text, what, dates), columns.fields


def is_frame(X: Any) -> bool:
    """Whether a table is a data frame or a :class:`Table`, and no array."""
    return isinstance(X, Table) or nw.dependencies.is_into_dataframe(X)


def refuse_other_kinds(fields: Iterable[Field], where: str, remedy: str) -> None:
    """Raise a ColumnTypeError for a column that holds neither numbers nor text."""
    for name, kind, type in fields:
        if kind not in ("number", "text"):
            raise ColumnTypeError(
                f"column {name!r} of {where} holds {type}",
                f"make it numbers, text or categories, or {remedy}",
            )


def refuse_repeated(names: Iterable[str], where: str, remedy: str) -> None:
    """Raise a SourceError for the most frequent name if it is repeated."""
    for name, times in Counter(names).most_common(1):
        if times > 1 and not name:
            raise SourceError(f"{where} has {times} columns without a name", "name them")
        if times > 1:
            raise SourceError(f"{where} has {times} columns named {name!r}", remedy)


def find_feature(item: Any, names: Sequence[str], what: str) -> int:
    """The place of the column that a name or an index in a parameter stands for."""
    if isinstance(item, str):
        if item not in names:
            raise ValueError(f"{what} names {item!r}, which X does not have")
        return names.index(item)
    is_index = isinstance(item, int | np.integer) and not isinstance(item, bool)
    if is_index and 0 <= item < len(names):
        return int(item)
    raise ValueError(f"{what} has {item!r}; it takes names, or indices from 0 to {len(names) - 1}")


def _from_array(X: Any, what: str) -> Table:
    if is_sparse(X):
        X = SparseColumns(X)
    if isinstance(X, Columns):
        return Table(X, Numbered(X.shape[1]), what=what)
    array = as_array(X, what)
    if array.ndim != 2:
        raise ValueError(
            f"{what} must have two dimensions (rows, columns), got shape {array.shape}"
            + ("; use reshape(-1, 1) for a single column" if array.ndim == 1 else "")
        )
    if np.iscomplexobj(array):
        raise TypeError(f"{what} holds complex numbers")
    names = Numbered(array.shape[1])
    if array.dtype.kind not in "biuf":
        floats = [as_floats(values, what, names[j]) for j, values in enumerate(array.T)]
        array = np.array(floats).reshape(array.shape[::-1]).T
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
        low, high = array.min(axis=0), array.max(axis=0)
        for j in np.flatnonzero(is_rounded(low, high)):
            refuse_rounded(low[j], high[j], f"column {names[j]!r} of {what} holds")
    return Table(array, names, what=what)


@final
class FrameColumns(Columns):
    """The columns of a data frame of pandas, polars or Arrow, those of text by :meth:`text`."""

    def __init__(self, frame: nw.DataFrame[Any], what: str) -> None:
        self._frame, self._native, self._what = frame, frame.to_native(), what
        self._is_pandas = frame.implementation.is_pandas()
        self._is_arrow = frame.implementation.is_pyarrow()
        self.shape = frame.shape
        types = self._native.schema.types if self._is_arrow else list(frame.schema.values())
        self.fields = fields_of(map(str, frame.columns), types)
        self._is_single = np.array([field.type == "Float32" for field in self.fields], np.bool_)
        self._is_long = np.array([field.type in LONG for field in self.fields], np.bool_)
        self._one_by_one = np.array(
            [field.kind == "date" or field.type in OBJECTS for field in self.fields], np.bool_
        )

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        """Numbers and dates: float32 if all are, else float64."""
        rows, columns = key
        singly = self._one_by_one[columns]
        if not singly.any():
            with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value
                part = self._plain(rows, columns)
            self._refuse_rounded(part, columns)
            return part
        columns = places(columns, self.shape[1])
        out = np.empty((places(rows, len(self)).size, columns.size), order="F")
        if not singly.all():
            out[:, ~singly] = self[rows, columns[~singly]]
        for place in np.flatnonzero(singly):
            out[:, place] = self._one(int(columns[place]))[rows]
        return out

    def text(self, column: int) -> TextColumn:
        """A column of text or categories."""
        if self._is_arrow:
            return as_text(self._native.column(column))
        return encode_text(labels_of(self._frame[:, column]))

    def _one(self, column: int) -> NDArray[np.float64]:
        """A column of objects or dates."""
        if self._is_arrow:
            return as_days(self._native.column(column))
        values = self._frame[:, column].to_numpy()
        return as_floats(values, self._what, self.fields[column].name)

    def _refuse_rounded(self, part: NDArray[np.floating[Any]], columns: Places) -> None:
        """Raise for whole numbers whose differences are lost in this part."""
        is_long = self._is_long[columns]
        if is_long.any() and len(part):
            largest = np.fmax.reduce(np.abs(part[:, is_long]), axis=0)
            for j in places(columns, self.shape[1])[is_long][largest >= LARGEST_WHOLE].tolist():
                values = self._frame[:, j]
                held = f"column {self.fields[j].name!r} of {self._what} holds"
                refuse_rounded(values.min(), values.max(), held)

    def _plain(self, rows: Places, columns: Places) -> NDArray[np.floating[Any]]:
        if self._is_arrow:
            part, chosen = self._native, places(columns, self.shape[1])
            if chosen.size < self.shape[1]:
                part = part.select(chosen.tolist())
            if isinstance(rows, slice):
                start, stop, _ = rows.indices(len(self))
                return as_matrix(part.slice(start, max(0, stop - start)))
            return as_matrix(part.take(rows))
        is_single = self._is_single[columns].all()
        if self._is_pandas:  # narwhals would convert column by column
            dtype = np.float32 if is_single else np.float64
            part = self._native.iloc[rows, columns]
            values: NDArray[Any] = part.to_numpy(dtype=dtype, na_value=np.nan)
            return values
        kind = nw.Float32 if is_single else nw.Float64
        return self._frame[rows, columns].select(nw.all().cast(kind)).to_numpy()


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
    """An array of the values; masked ones are missing, numbers beside text remain numbers."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        kind = np.float64 if values.dtype.kind in "biuf" else object
        with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
            return np.ma.filled(values.astype(kind), np.nan)
    try:
        # In NumPy's own type of text every cell is as wide as the longest one.
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


def as_floats(values: NDArray[Any], what: str, name: str) -> NDArray[np.float64]:
    """A column of any objects as floats."""
    try:
        if values.dtype.kind in "mM":
            return _days(values)
        if values.dtype.kind == "c" or holds_text(values):
            raise TypeError
        if values.dtype.kind == "O":
            present = [v for v in values if not is_null(v) and v == v]
            if present and all(isinstance(v, date) for v in present):
                return _days(np.array([_moment(v) for v in values], dtype="datetime64[us]"))
            numbers = np.empty(len(values), dtype=object)
            numbers[:] = [_number(v) for v in values]
            return as_doubles(numbers, f"column {name!r} of {what} holds")
        return values.astype(np.float64, copy=False)
    except InputError:
        raise
    except (TypeError, ValueError):
        raise _no_numbers(what, name, "mixed or text") from None


def _number(value: Any) -> Any:
    """A cell as a number; a time of day as a fraction of the day."""
    if isinstance(value, time):
        seconds = 3600 * value.hour + 60 * value.minute + value.second
        return (1e6 * seconds + value.microsecond) / DAY
    return np.nan if is_null(value) else value


def _moment(value: Any) -> Any:
    """A date as NumPy takes it, of a time zone in UTC; None where missing."""
    if is_null(value) or value != value:
        return None
    return value.astimezone(UTC).replace(tzinfo=None) if getattr(value, "tzinfo", None) else value


def _days(values: NDArray[Any]) -> NDArray[np.float64]:
    """Dates or durations as days, NaN where there is none."""
    times = values.astype("datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / DAY)


def _no_numbers(what: str, name: str, kind: str) -> ColumnTypeError:
    return ColumnTypeError(
        f"column {name!r} of {what} holds no numbers ({kind})",
        "encode it as numbers (for instance one column per category) or leave it out",
    )


@final
class Numbered(Sequence[str]):
    """The names ``x0``, ``x1``, ... of columns, equal to a tuple of them that takes no memory."""

    def __init__(self, n: int) -> None:
        self._numbers = range(n)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(f"x{number}" for number in self._numbers[place])
        return f"x{self._numbers[place]}"

    def __contains__(self, name: object) -> bool:
        match = NUMBERED.fullmatch(name) if isinstance(name, str) else None
        return match is not None and int(match[1]) in self._numbers

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """The column of a name."""
        if name in self and int(name[1:]) in self._numbers[start:stop]:
            return int(name[1:])
        raise ValueError(f"{name!r} is not among the names")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbered):
            return self._numbers == other._numbers
        is_alike = isinstance(other, tuple | list) and len(other) == len(self)
        return is_alike and tuple(self) == tuple(other)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash(tuple(self))  # as of a tuple of them

    def __repr__(self) -> str:
        return f"Numbered({len(self)})"


@dataclass(frozen=True)
class Features:
    """The columns of a table, called features, as numbers: a 0/1 column for each category."""

    X: Matrix
    names: Sequence[str]  #: Of the features
    feature_of: NDArray[np.int64]  #: The feature that each column comes from

    @property
    def column_names(self) -> Sequence[str]:
        """Of the columns: each is called like the feature it comes from."""
        if self.feature_of.size == len(self.names):
            return self.names
        return tuple(self.names[j] for j in self.feature_of)


def read_features(X: Any) -> Features:
    """Columns of numbers from whatever :func:`read_table` takes; NaN is missing."""
    table = read_table(X)
    file = table.X.file if isinstance(table.X, FileColumns) else None
    n_front = table.n_columns - (0 if file is None else file.shape[1])
    texts = {int(j): table.text(int(j)) for j in np.flatnonzero(table.categorical)}
    widths = np.ones(table.n_columns, dtype=np.int64)
    widths[list(texts)] = [max(1, len(text.levels)) for text in texts.values()]
    front: Matrix
    if texts:
        starts = np.cumsum(widths) - widths
        front = np.empty((table.n_rows, widths[:n_front].sum()), order="F")
        numeric = np.flatnonzero(~table.categorical[:n_front])
        if numeric.size:
            front[:, starts[numeric]] = table.numbers(numeric)
        for j, text in texts.items():
            front[:, starts[j] : starts[j] + widths[j]] = one_hot(text.codes, int(widths[j]))
    else:
        front = table.X if isinstance(table.X, SparseColumns) else table.numbers(slice(n_front))
    features = np.repeat(np.arange(table.n_columns), widths)
    X = front if file is None else _beside(np.asarray(front), file)
    return Features(X, table.names, features)


def _beside(front: NDArray[Any], file: ColumnFile) -> Matrix:
    """Columns of a file behind others; in memory if the file's are, and sparse."""
    whole = file.in_memory()
    if isinstance(whole, SparseColumns):
        from scipy.sparse import csc_array, hstack

        return SparseColumns(hstack([csc_array(front), whole.matrix])) if front.size else whole
    return FileColumns(front, file) if whole is None or front.shape[1] else whole
