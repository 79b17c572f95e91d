"""One table for all that users hand in, and its columns as numbers alone."""

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
    ChosenColumns,
    ColumnFile,
    FileColumns,
    Matrix,
    SparseColumns,
    WholeMatrix,
    is_sparse,
    places,
)
from tvselect.inputs.errors import ColumnTypeError, SourceError
from tvselect.inputs.frames import Columns, Frame, as_array, floats_of_objects, no_numbers
from tvselect.inputs.kinds import Field, days_of_array
from tvselect.inputs.text import ALL, Rows, TextColumn

PATTERN = re.compile(r"x(0|[1-9][0-9]*)")


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
        self._n = n

    def __len__(self) -> int:
        """Number of names."""
        return self._n

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        """One name, or a tuple of neighbours."""
        numbers = range(self._n)[place]
        return tuple(map(_name, numbers)) if isinstance(numbers, range) else _name(numbers)

    def __iter__(self) -> Iterator[str]:
        """All names, one after the other."""
        return map(_name, range(self._n))

    def __contains__(self, name: object) -> bool:
        """Whether a column has this name."""
        match = PATTERN.fullmatch(name) if isinstance(name, str) else None
        return match is not None and int(match[1]) < self._n

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """The column of a name."""
        if name in self and int(name[1:]) in range(self._n)[start:stop]:
            return int(name[1:])
        raise ValueError(f"{name!r} is not among the names")

    def __eq__(self, other: object) -> bool:
        """Whether the other one has the same names."""
        if isinstance(other, Numbered):
            return self._n == other._n
        if not isinstance(other, tuple | list) or len(other) != self._n:
            return False
        return all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        """As of a tuple of them."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """How many there are; not all of them."""
        return f"Numbered({self._n})"


def _name(number: int) -> str:
    return f"x{number}"


Block = NDArray[np.float64]


@final
class Table:
    """A table in memory, of numbers and of text; read in blocks of columns.

    Parameters
    ----------
    n_rows : int
    names : sequence of str
        Column names; ``x0``, ``x1``, ... where the input has none.
    numbers : callable
        ``numbers(columns, rows)``: numbers (rows, columns) in float32 or float64, NaN where
        missing. Columns and rows are slices or places.
    named : bool
        Whether the names came with the input.
    categorical : bool array, optional
        Which columns hold text; none by default.
    text : callable, optional
        ``text(column)``: a column of text.
    what : str
        The table's name in error messages.

    Attributes
    ----------
    file : ColumnFile or None
        Holds the last columns, where they are in a file.
    front : Table
        The columns before those.
    sparse : SparseColumns or None
        All of its columns, where they are a sparse matrix.

    Examples
    --------
    >>> table = Table.of_matrix(np.array([[1.0, 2.0], [3.0, np.nan]]), ["a", "b"])
    >>> table.block(1, 2)
    array([[ 2., nan]])
    """

    def __init__(
        self,
        n_rows: int,
        names: Sequence[str],
        numbers: Callable[[Columns, Rows], NDArray[np.floating[Any]]],
        *,
        named: bool = True,
        categorical: NDArray[np.bool_] | None = None,
        text: Callable[[int], TextColumn] | None = None,
        what: str = "X",
    ) -> None:
        self.n_rows, self.names, self.named = n_rows, names, named
        self.front: Table = self
        self.file: ColumnFile | None = None
        self.sparse: SparseColumns | None = None
        self.categorical = np.zeros(len(names), np.bool_) if categorical is None else categorical
        self._numbers, self._text, self._what = numbers, text, what
        self._held: dict[int, TextColumn] = {}

    @classmethod
    def of_matrix(
        cls,
        matrix: Matrix,
        names: Sequence[str],
        texts: Sequence[TextColumn] = (),
        categorical: NDArray[np.bool_] | None = None,
        *,
        named: bool = True,
    ) -> Table:
        """A table of a matrix of numbers (rows, columns), and of columns of text.

        ``categorical`` says which of the columns are texts; the others are those of the matrix.
        """
        place = np.empty(0, dtype=np.int64)
        if categorical is not None:
            place = np.where(categorical, np.cumsum(categorical), np.cumsum(~categorical)) - 1

        def numbers(columns: Columns, rows: Rows) -> NDArray[np.floating[Any]]:
            inside = place[columns] if texts else columns
            if isinstance(rows, slice) or isinstance(inside, slice):
                part = matrix[rows, inside]
            else:
                part = matrix[rows[:, None], inside]
            if part.dtype in (np.float32, np.float64):
                return part
            return part.astype(np.float64, order="F")  # as a block of columns needs it

        table = cls(
            matrix.shape[0],
            names,
            numbers,
            named=named,
            categorical=categorical,
            text=lambda column: texts[place[column]],
        )
        if isinstance(matrix, SparseColumns) and not texts:
            table.sparse = matrix
        return table

    def beside(self, file: ColumnFile, names: Sequence[str]) -> Table:
        """The table with the columns of a file behind its own."""
        n_front = self.n_columns
        n_columns = n_front + len(names)

        def numbers(columns: Columns, rows: Rows) -> NDArray[np.floating[Any]]:
            chosen = places(columns, n_columns)
            is_front = chosen < n_front
            if is_front.all():
                return self._numbers(chosen, rows)
            some = None if rows is ALL else places(rows, self.n_rows)
            read = file.read(chosen[~is_front] - n_front, some)
            if not is_front.any():
                return read
            out = np.empty((len(read), chosen.size), order="F")
            out[:, is_front], out[:, ~is_front] = self._numbers(chosen[is_front], rows), read
            return out

        table = Table(
            self.n_rows,
            (*self.names, *names),
            numbers,
            categorical=np.append(self.categorical, np.zeros(len(names), np.bool_)),
            text=self.text,
            what=self._what,
        )
        table.front, table.file = self, file
        return table

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    def numbers(self, columns: Columns = ALL, rows: Rows = ALL) -> NDArray[np.floating[Any]]:
        """Columns of numbers (rows, columns): float32 if all are, else float64; NaN if missing.

        Raises
        ------
        ColumnTypeError
            When one of them holds text.
        """
        if (texts := self.categorical[columns]).any():
            column = np.arange(self.n_columns)[columns][texts][0]
            raise no_numbers(self._what, self.names[column], "text")
        return self._numbers(columns, rows)

    def block(self, first: int, last: int) -> Block:
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
        if self.file is not None:
            in_file = self.names[self.front.n_columns :]
            return self.front.rows(chosen).beside(self.file.at(chosen), in_file)
        return Table(
            chosen.size,
            self.names,
            lambda columns, rows: self.numbers(columns, chosen[rows]),
            categorical=self.categorical,
            named=self.named,
            text=lambda column: self.text(column).at(chosen),
        )

    def take(self, chosen: NDArray[np.int64]) -> Table:
        """Some columns, in this order."""
        if np.array_equal(chosen, np.arange(self.n_columns)):
            return self
        return Table(
            self.n_rows,
            tuple(self.names[place] for place in chosen),
            lambda columns, rows: self._numbers(chosen[columns], rows),
            named=self.named,
            categorical=self.categorical[chosen],
            text=lambda column: self.text(int(chosen[column])),
            what=self._what,
        )


def read_table(X: Any, *, what: str = "X") -> Table:
    """Check a table and wrap it; no copy of the whole is made.

    Parameters
    ----------
    X : array-like (rows, columns), a pandas, polars or Arrow data frame, or a Table
        Numbers or booleans, also in SciPy's sparse matrices; in data frames also text,
        categories and dates, which become days since 1970-01-01. Missing values may be NaN,
        None, null or masked. A lazy frame is collected.
    what : str
        Its name in error messages.

    Raises
    ------
    TypeError
        For columns that hold neither numbers nor text.
    ValueError
        For empty tables, wrong dimensions and repeated names.
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
    frame = Frame(native, what)
    names = tuple(field.name for field in frame.fields)
    refuse_repeated(names, what, "rename them")
    categorical = np.array([field.kind == "text" for field in frame.fields], dtype=np.bool_)
    table = Table(
        frame.n_rows,
        names,
        frame.numbers,
        categorical=categorical,
        text=frame.text,
        what=what,
    )
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
    if isinstance(X, SparseColumns | ChosenColumns | FileColumns):
        return Table.of_matrix(X, Numbered(X.shape[1]), named=False)
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
    return Table.of_matrix(array, names, named=False)


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
