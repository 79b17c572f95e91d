"""The one table for all that users hand in, and its columns as numbers alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final, overload

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.columns import (
    ALL,
    ChosenColumns,
    ColumnFile,
    Columns,
    FileColumns,
    Matrix,
    Places,
    SparseColumns,
    is_sparse,
    read,
)
from tvselect.inputs.errors import ColumnTypeError, SourceError
from tvselect.inputs.frames import FrameColumns, as_array, floats_of_objects, no_numbers
from tvselect.inputs.kinds import Field, days_of_array
from tvselect.inputs.text import TextColumn

UNKNOWN = -2
NUMBERED = re.compile(r"x(0|[1-9][0-9]*)")


@final
class Table:
    """A table of numbers and of text; read in blocks of columns, from wherever they are.

    ``X`` (rows, columns) has the numbers, ``text(column)`` the columns that are ``categorical``.
    Names are ``x0``, ``x1``, ... where the input has none; ``named`` says whether it had some.

    Examples
    --------
    >>> table = Table(np.array([[1.0, 2.0], [3.0, np.nan]]), ["a", "b"])
    >>> table.block(1, 2)
    array([[ 2., nan]])
    """

    def __init__(
        self,
        X: Matrix,
        names: Sequence[str],
        *,
        named: bool = True,
        categorical: NDArray[np.bool_] | None = None,
        text: Callable[[int], TextColumn] | None = None,
        what: str = "X",
    ) -> None:
        self.X, self.names, self.named = X, names, named
        self.categorical = np.zeros(len(names), np.bool_) if categorical is None else categorical
        self._text, self._what = text, what
        self._held: dict[int, TextColumn] = {}

    @classmethod
    def of_matrix(
        cls,
        numbers: Matrix,
        names: Sequence[str],
        texts: Sequence[TextColumn] = (),
        categorical: NDArray[np.bool_] | None = None,
    ) -> Table:
        """A table of numbers (rows, columns) and texts; ``categorical`` says where these stand."""
        if categorical is None or not categorical.any():
            return cls(numbers, names)
        place = np.where(categorical, np.cumsum(categorical), np.cumsum(~categorical)) - 1
        X = ChosenColumns(numbers, place)
        return cls(X, names, categorical=categorical, text=lambda column: texts[place[column]])

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
            raise no_numbers(self._what, self.names[column], "text")
        part = read(self.X, rows, columns)
        if part.dtype in (np.float32, np.float64):
            return part
        return part.astype(np.float64, order="F")  # as a block of columns needs it

    def block(self, first: int, last: int) -> NDArray[np.float64]:
        """The columns ``first`` to ``last`` as a C-contiguous float64 array (columns, rows)."""
        return np.ascontiguousarray(self.numbers(slice(first, last)).T, dtype=np.float64)

    def text(self, column: int) -> TextColumn:
        """A column of text."""
        if self._text is None or not self.categorical[column]:
            raise TypeError(f"column {self.names[column]!r} holds numbers, not categories")
        if column not in self._held:
            self._held[column] = self._text(column)
        return self._held[column]

    def rows(self, chosen: NDArray[np.intp]) -> Table:
        """Some rows, in their order."""
        X: Matrix = ChosenColumns(self.X, rows=chosen)
        if isinstance(self.X, FileColumns):
            X = FileColumns(ChosenColumns(self.X.front, rows=chosen), self.X.file.at(chosen))
        return Table(
            X,
            self.names,
            named=self.named,
            categorical=self.categorical,
            text=lambda column: self.text(column).at(chosen),
            what=self._what,
        )

    def take(self, chosen: NDArray[np.int64]) -> Table:
        """Some columns, in this order."""
        if np.array_equal(chosen, np.arange(self.n_columns)):
            return self
        return Table(
            ChosenColumns(self.X, chosen),
            tuple(self.names[place] for place in chosen),
            named=self.named,
            categorical=self.categorical[chosen],
            text=lambda column: self.text(int(chosen[column])),
            what=self._what,
        )

    def beside(self, file: ColumnFile, names: Sequence[str]) -> Table:
        """The table with the columns of a file behind its own."""
        return Table(
            FileColumns(self.X, file),
            (*self.names, *names),
            categorical=np.append(self.categorical, np.zeros(len(names), np.bool_)),
            text=self.text,
            what=self._what,
        )


def read_table(X: Any, *, what: str = "X") -> Table:
    """Check a table and wrap it; no copy of the whole is made.

    Takes arrays, pandas, polars or Arrow data frames, or a Table: numbers or booleans, also in
    SciPy's sparse matrices; in data frames also text, categories and dates, which become days
    since 1970-01-01. Missing values may be NaN, None, null or masked. A lazy frame is collected.
    Refuses columns of neither numbers nor text, empty tables, wrong dimensions, repeated names.
    """
    table, fields = open_table(X, what)
    if table.n_rows == 0 or table.n_columns == 0:
        raise ValueError(f"{what} is empty: {table.n_rows} rows, {table.n_columns} columns")
    refuse_other_kinds((field for field in fields if field.kind != "date"), what, "leave it out")
    return table


def as_given(X: Any, what: str = "X") -> Any:
    """A table whose missing values, dates and rows others can see: what scikit-learn checks.

    Masked values become NaN, dates of an array days since 1970-01-01; lazy frames are collected.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        days = days_of_array(np.asarray(X))
        return np.where(np.ma.getmaskarray(X), np.nan, days)
    if isinstance(X, np.ma.MaskedArray):
        return as_array(X, what)
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        return X.collect()
    if not getattr(getattr(X, "columns", None), "is_unique", True):
        refuse_repeated(map(str, X.columns), what, "rename them")
    return X


def open_table(X: Any, what: str) -> tuple[Table, Sequence[Field]]:
    """A table as it is, and what its columns hold where there may be more than numbers."""
    if isinstance(X, Table):
        return X, ()
    X = as_given(X, what)
    native = _as_frame(X, what)
    if native is None:
        return _from_array(X, what), ()
    frame = FrameColumns(native, what)
    names = tuple(field.name for field in frame.fields)
    refuse_repeated(names, what, "rename them")
    categorical = np.array([field.kind == "text" for field in frame.fields], dtype=np.bool_)
    table = Table(frame, names, categorical=categorical, text=frame.text, what=what)
    return table, frame.fields


def refuse_other_kinds(fields: Iterable[Field], where: str, remedy: str) -> None:
    """Raise a ColumnTypeError for a column that holds neither numbers nor text."""
    for field in fields:
        if field.kind not in ("number", "text"):
            raise ColumnTypeError(
                f"column {field.name!r} of {where} holds {field.type}",
                f"make it numbers, text or categories, or {remedy}",
            )


def refuse_repeated(names: Iterable[str], where: str, remedy: str) -> None:
    """Raise a SourceError if a name is there twice."""
    for name, times in Counter(names).most_common(1):
        if times > 1:
            raise SourceError(f"{where} has {times} columns named {name!r}", remedy)


def _as_frame(X: Any, what: str) -> nw.DataFrame[Any] | None:
    if isinstance(X, np.ndarray):  # narwhals takes its time to say no
        return None
    if nw.dependencies.is_into_series(X):
        raise ValueError(f"{what} is a single column; pass a table with rows and columns")
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = X.column_names if hasattr(X, "column_names") else X.columns
        refuse_repeated(map(str, names), what, "rename them")
        raise
    return frame if isinstance(frame, nw.DataFrame) else None


def _from_array(X: Any, what: str) -> Table:
    if is_sparse(X):
        X = SparseColumns(X)
    if isinstance(X, Columns):
        return Table(X, Numbered(X.shape[1]), named=False, what=what)
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
        columns = enumerate(array.T)
        floats = [floats_of_objects(values, what, names[j]) for j, values in columns]
        array = np.array(floats).reshape(array.shape[::-1]).T
    return Table(array, names, named=False, what=what)


@final
class Numbered(Sequence[str]):
    """The names ``x0``, ``x1``, ... of columns, made when they are asked for.

    Equal to a tuple or list of the same names.

    Examples
    --------
    >>> names = Numbered(10_000_000)
    >>> names[9_999_999], names.index("x12"), "x012" in names
    ('x9999999', 12, False)
    >>> names[:2]
    ('x0', 'x1')
    """

    def __init__(self, n: int) -> None:
        self._numbers = range(n)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(f"x{number}" for number in self._numbers[place])
        return f"x{self._numbers[place]}"

    def __iter__(self) -> Iterator[str]:
        return (f"x{number}" for number in self._numbers)

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
        if not isinstance(other, tuple | list) or len(other) != len(self):
            return False
        return all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))  # as of a tuple of them

    def __repr__(self) -> str:
        return f"Numbered({len(self)})"


@dataclass(frozen=True)
class Features:
    """The columns of a table, called features, as columns of numbers.

    Text and categories become one 0/1 column per category.
    """

    X: Matrix
    names: Sequence[str]  #: Of the features
    feature_of: NDArray[np.int64]  #: The feature that each column comes from

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
    """Columns of numbers from whatever :func:`read_table` takes; NaN is missing.

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
    if not isinstance(table.X, FileColumns):
        numbers, feature_of = _encoded(table, table.n_columns)
        return Features(numbers, table.names, feature_of)
    n_front = table.X.front.shape[1]
    front, feature_of = _encoded(table, n_front)
    feature_of = np.append(feature_of, np.arange(n_front, table.n_columns))
    return Features(_beside(np.asarray(front), table.X.file), table.names, feature_of)


def _beside(front: NDArray[Any], file: ColumnFile) -> Matrix:
    """Columns of a file behind others: in memory as far as they are there and sparse."""
    whole = file.in_memory()
    if isinstance(whole, SparseColumns):
        from scipy.sparse import csc_array, hstack

        return SparseColumns(hstack([csc_array(front), whole.matrix])) if front.size else whole
    if whole is not None and front.shape[1] == 0:
        return whole
    return FileColumns(front, file)


def _encoded(table: Table, n_columns: int) -> tuple[Matrix, NDArray[np.int64]]:
    """The first columns of a table in memory as numbers, and the feature of each of these."""
    texts = {int(j): table.text(int(j)) for j in np.flatnonzero(table.categorical[:n_columns])}
    if not texts:
        is_kept = isinstance(table.X, SparseColumns)
        return table.X if is_kept else table.numbers(slice(n_columns)), np.arange(n_columns)
    widths = np.ones(n_columns, dtype=np.int64)
    widths[list(texts)] = [max(1, len(text.levels)) for text in texts.values()]
    starts = np.cumsum(widths) - widths
    out = np.empty((table.n_rows, widths.sum()), order="F")
    numeric = np.flatnonzero(~table.categorical[:n_columns])
    if numeric.size:
        out[:, starts[numeric]] = table.numbers(numeric)
    for j, text in texts.items():
        out[:, starts[j] : starts[j] + widths[j]] = one_hot(text.codes, int(widths[j]))
    return out, np.repeat(np.arange(n_columns), widths)


def one_hot(
    codes: NDArray[np.int64], n_levels: int, unknown: float = np.nan
) -> NDArray[np.float64]:
    """0/1 columns of the levels of a feature (rows, levels).

    A row of NaN where the code is -1 (missing), of ``unknown`` where it is -2 (no level of these).

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
