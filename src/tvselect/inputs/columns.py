"""Columns of numbers, read when they are needed: from memory, a sparse matrix or a file.

All are read by ``X[rows, columns]`` with slices or indices: NumPy arrays, and :class:`Columns`, of
which only the requested part becomes an array.
"""

from __future__ import annotations

import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.core import function
from tvselect.inputs.errors import InputError, RowError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Places = slice | Ints  #: Some rows or columns
VALUES_AT_ONCE, VALUES_IN_CACHE = 2**22, 2**18
"""Numbers of a block of columns that is read once, and of one that is gone over several times."""
PIECE, N_PIECES = 4096, 1000
LARGEST, LARGEST_WHOLE, FEWEST_STEPS = sys.float_info.max, 2.0**53, 2**10
"""Of doubles: the largest, up to where they hold all whole numbers, and steps to be spanned."""
TINY = 1e-12

rank_codes = function("rank_codes", "codes: u1[columns, rows]\nranks: f8[columns, rows]!")
rank_columns = function(
    "rank_columns",
    """
    values: f8[columns, rows]
    order: i8[columns, rows] < rows
    ranks: f8[columns, rows]!
    """,
)


def in_blocks(n: int, size: int, at_once: int | None = None) -> Iterator[slice]:
    """Slices of ``n`` columns of ``size`` numbers each; a slice has ``at_once`` numbers."""
    step = max(1, (at_once or VALUES_AT_ONCE) // max(1, size))
    return (slice(first, min(first + step, n)) for first in range(0, n, step))


class Columns(ABC):
    """Columns of numbers (rows, columns) that become arrays part by part."""

    dtype: np.dtype[Any] = np.dtype(np.float64)
    shape: tuple[int, int]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        """Some rows and columns, by slices or places, as an array by column; NaN is missing."""

    def read_small(self, columns: Ints) -> NDArray[np.uint8] | None:
        """Some columns (columns, rows) if all are known to be 0, 1, 2 or missing (3)."""
        return None


Matrix = NDArray[Any] | Columns


def places(key: Any, size: int) -> Ints:
    """The indices that a slice, a mask or an array of indices stands for."""
    if isinstance(key, slice):
        return np.arange(*key.indices(size))
    return np.arange(size)[np.ravel(key)]


def within(outer: Ints | None, inner: Ints | None) -> Ints | None:
    """A choice of a choice; None is all."""
    if outer is None or inner is None:
        return outer if inner is None else inner
    return outer[inner]


def read(X: Matrix, rows: Places, columns: Places) -> NDArray[Any]:
    """Some rows and columns of an array or of others."""
    if isinstance(X, np.ndarray) and not isinstance(rows, slice) and not isinstance(columns, slice):
        return X[np.ravel(rows)[:, None], np.ravel(columns)]
    return X[rows, columns]


@final
class ChosenColumns(Columns):
    """Some rows and columns of others, in any order; None is all of them."""

    def __init__(self, X: Matrix, columns: Ints | None = None, rows: Ints | None = None) -> None:
        self.X, self.columns, self.rows, self.dtype = X, columns, rows, X.dtype
        self.shape = (
            len(X) if rows is None else rows.size,
            X.shape[1] if columns is None else columns.size,
        )

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[Any]:
        rows, columns = key
        return read(
            self.X,
            rows if self.rows is None else self.rows[rows],
            columns if self.columns is None else self.columns[columns],
        )


@final
class SparseColumns(Columns):
    """A sparse matrix of SciPy, of any format, by column; zeros are values."""

    def __init__(self, matrix: Any, *, is_checked: bool = False) -> None:
        if not is_checked:
            refuse_outside(matrix)
        self.matrix = matrix.tocsc()
        if self.matrix.dtype.kind not in "biuf":
            raise TypeError(f"X is a sparse matrix of {self.matrix.dtype}; it must hold numbers")
        if not self.matrix.has_canonical_format:
            self.matrix = self.matrix.copy()
            self.matrix.sum_duplicates()
        self.shape, self.dtype = self.matrix.shape, self.matrix.dtype

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.floating[Any]]:
        rows, columns = (places(k, n) for k, n in zip(key, self.shape, strict=True))
        if columns.size / self.shape[1] <= rows.size / self.shape[0]:
            part = self.matrix[:, columns]
            part = part if rows.size == self.shape[0] and isinstance(key[0], slice) else part[rows]
        else:
            part = self._by_row[rows][:, columns]
        dense: NDArray[Any] = part.toarray(order="F")
        return dense if dense.dtype in (np.float32, np.float64) else dense.astype(np.float64)

    @property
    def stored(self) -> tuple[NDArray[Any], ...]:
        """The arrays that all of it is made of."""
        return self.matrix.data, self.matrix.indices, self.matrix.indptr

    def sum(self) -> Any:
        """The sum of all values."""
        return self.matrix.data.sum()

    def column(self, place: int) -> tuple[Ints, Floats]:
        """The rows of a column that are stored, and their values."""
        values, rows, starts = self.stored
        here = slice(starts[place], starts[place + 1])
        return rows[here], values[here].astype(np.float64)

    @cached_property
    def _by_row(self) -> Any:
        return self.matrix.tocsr()


def is_sparse(X: Any) -> bool:
    """Whether a table is one of SciPy's sparse matrices; does not import them."""
    return hasattr(X, "tocsc") and hasattr(X, "nnz")


def refuse_outside(X: Any) -> None:
    """Raise a ValueError if an index of a sparse matrix is out of range: SciPy may crash on it."""
    n_rows, n_columns = X.shape
    if X.format in ("csr", "csc"):
        starts, n_stored = X.indptr, min(X.indices.size, X.data.size)
        n_lines, n_inside = (n_rows, n_columns) if X.format == "csr" else (n_columns, n_rows)
        is_sound = starts.size == n_lines + 1 and starts[0] == 0 and starts[-1] <= n_stored
        if not is_sound or (np.diff(starts) < 0).any():
            raise ValueError("X is a sparse matrix whose indptr is damaged; make it anew")
        bad = _first_outside(X.indices[: starts[-1]], n_inside)
        if bad is None:
            return
        place = int(np.searchsorted(starts, bad, "right")) - 1, int(X.indices[bad])
        row, column = place if X.format == "csr" else place[::-1]
    else:
        cells = X.tocoo()
        bad = _first_outside(cells.row, n_rows)
        bad = _first_outside(cells.col, n_columns) if bad is None else bad
        if bad is None:
            return
        row, column = int(cells.row[bad]), int(cells.col[bad])
    raise ValueError(
        f"X is a sparse matrix of {n_rows} rows and {n_columns} columns with a value in row {row}, "
        f"column {column} (from 0); make it anew"
    )


def _first_outside(indices: NDArray[Any], n: int) -> int | None:
    """The place of the first index that is not from 0 to n - 1."""
    if indices.size == 0 or (indices.min() >= 0 and indices.max() < n):
        return None
    return int(np.flatnonzero((indices < 0) | (indices >= n))[0])


def is_rounded(low: Any, high: Any) -> Any:
    """Whether whole numbers, or columns of them, lie so close together that doubles round them."""
    largest = np.maximum(np.abs(np.float64(low)), np.abs(np.float64(high)))
    with np.errstate(over="ignore"):
        spread = np.asarray(high - low, dtype=np.float64)
    return (largest >= LARGEST_WHOLE) & (spread < FEWEST_STEPS * np.spacing(largest))


def refuse_rounded(low: Any, high: Any, held: str) -> None:
    """Raise for whole numbers from ``low`` to ``high`` whose differences are lost in doubles."""
    low, high = int(low), int(high)
    if low < high and is_rounded(low, high):
        raise InputError(
            f"{held} whole numbers from {low} to {high}, whose differences are lost as floating-"
            "point numbers",
            f"subtract {low} from all of them",
        )


def as_doubles(values: NDArray[Any], held: str) -> Floats:
    """Numbers of any type as doubles; raises for whole ones that doubles do not hold apart."""
    try:
        numbers = values.astype(np.float64)
    except OverflowError:
        row = [isinstance(v, int) and abs(v) > LARGEST for v in values].index(True)
        raise RowError(f"{held} a whole number beyond {LARGEST:.3g}", "rescale it", row) from None
    if values.dtype.kind in "iuO" and (np.abs(numbers) >= LARGEST_WHOLE).any():
        whole = [value for value in values.tolist() if isinstance(value, int)] or [0]
        refuse_rounded(min(whole), max(whole), held)
    return numbers


class ColumnFile(Columns):
    """A file of numbers that can be read by column; pickled without its cached properties."""

    inside = ""  #: Where the numbers are, in a file of several

    def __init__(self, path: str, whole: tuple[int, int]) -> None:
        self.path, self._whole_shape = path, whole
        self._rows: Ints | None = None
        self._columns: Ints | None = None
        self.shape = whole

    def __getstate__(self) -> dict[str, Any]:
        kind = vars(type(self))
        is_kept = {name for name in vars(self) if not isinstance(kind.get(name), cached_property)}
        return {name: vars(self)[name] for name in is_kept}

    def __getitem__(self, key: tuple[Any, ...]) -> Floats:
        rows, columns = key
        is_all = isinstance(rows, slice) and rows == slice(None)
        return self.read(
            places(columns, self.shape[1]), None if is_all else places(rows, self.shape[0])
        )

    def at(self, rows: Ints | None = None, columns: Ints | None = None) -> Self:
        """The same open file with some of its rows and columns."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._rows, other._columns = within(self._rows, rows), within(self._columns, columns)
        chosen = zip((other._rows, other._columns), self._whole_shape, strict=True)
        n_rows, n_columns = (n if some is None else some.size for some, n in chosen)
        other.shape = n_rows, n_columns
        return other

    def identity(self) -> str:
        """A hash of the file's size and time, and of the chosen rows and columns."""
        found = os.stat(self.path)
        known = [os.path.basename(self.path), found.st_size, found.st_mtime_ns, self._whole_shape]
        digest = sha256(repr([*known, self.inside]).encode())
        for chosen in (self._rows, self._columns):
            digest.update(b"\0" if chosen is None else np.ascontiguousarray(chosen).tobytes())
        return digest.hexdigest()

    def sample_hash(self) -> str:
        """A hash of the size and of 1,000 pieces of the file: copies of it have the same."""
        size = os.path.getsize(self.path)
        digest = sha256(repr([size, self._whole_shape, self.inside]).encode())
        with open(self.path, "rb") as file:
            for start in np.linspace(0, max(0, size - PIECE), N_PIECES, dtype=np.int64).tolist():
                file.seek(start)
                digest.update(file.read(PIECE))
        return digest.hexdigest()

    @abstractmethod
    def read(self, columns: Ints, rows: Ints | None = None) -> Floats:
        """Some columns at all rows, or at some (rows, columns), by column; NaN is missing."""

    @abstractmethod
    def in_memory(self) -> Matrix | None:
        """The numbers themselves, where they are in memory or mapped by column; else None."""

    @abstractmethod
    def ranges(self) -> Floats:
        """The least and largest value of each column (inf and -inf without any), and its NaNs."""


@final
class FileColumns(Columns):
    """Columns in memory, and behind them those of a file of as many rows."""

    def __init__(self, front: Matrix, file: ColumnFile) -> None:
        self.front, self.file = front, file
        self.shape = file.shape[0], front.shape[1] + file.shape[1]

    def __getitem__(self, key: tuple[Any, ...]) -> Floats:
        rows, columns = key[0], places(key[1], self.shape[1])
        n_front = self.front.shape[1]
        is_front = columns < n_front
        if is_front.all():
            return read(self.front, rows, columns)
        behind = self.file[rows, columns[~is_front] - n_front]
        if not is_front.any():
            return behind
        out = np.empty((len(behind), columns.size), order="F")
        out[:, is_front], out[:, ~is_front] = read(self.front, rows, columns[is_front]), behind
        return out

    def read_small(self, columns: Ints) -> NDArray[np.uint8] | None:
        """What the file knows of its columns; None for others."""
        n_front = self.front.shape[1]
        return None if columns[0] < n_front else self.file.read_small(columns - n_front)


def at_rows(X: Matrix, rows: Ints) -> Matrix:
    """Some rows of a matrix, of the same kind where that is worth something."""
    if isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(X, SparseColumns):
        return SparseColumns(X.matrix[rows], is_checked=True)
    if isinstance(X, FileColumns):
        return FileColumns(at_rows(X.front, rows), X.file.at(rows))
    return ChosenColumns(X, rows=rows)


def refuse_nonfinite(
    X: Matrix, names: Sequence[str], takes_missing: bool, *, takes_empty: bool = False
) -> None:
    """Raise a ValueError that names the first column with infinite values, or without any.

    Missing values are refused unless the reward ``takes_missing``, and columns without a value
    unless ``takes_empty``, as a batch of a stream may have them.
    """

    def refuse(bad: Ints, what: str, remedy: str) -> None:
        if bad.size:
            others = f" and {bad.size - 1} more" if bad.size > 1 else ""
            name = names[int(bad[0])]
            raise ValueError(f"X contains {what} in column {name!r}{others}; {remedy}")

    gaps = "NaN, which the reward cannot take,", "fill it in, or leave the column out"
    if isinstance(X, FileColumns):  # the file has no infinite values
        refuse_nonfinite(X.front, names, takes_missing, takes_empty=takes_empty)
        if not takes_missing:
            refuse(X.front.shape[1] + np.flatnonzero(X.file.ranges()[2]), *gaps)
        return
    if isinstance(X, np.ndarray | SparseColumns):
        with np.errstate(over="ignore", invalid="ignore"):
            if X.dtype.kind != "f" or np.isfinite(X.sum()):
                return
    infinite, some, empty = np.zeros((3, X.shape[1]), dtype=np.bool_)
    for here in in_blocks(X.shape[1], len(X)):
        block = X[:, here]
        missing = np.isnan(block)
        infinite[here] = np.isinf(block).any(axis=0)
        some[here], empty[here] = missing.any(axis=0), missing.all(axis=0)
    remedy = "put numbers or NaN there, or leave the column out"
    refuse(np.flatnonzero(infinite), "infinity", remedy)
    if not takes_missing:
        refuse(np.flatnonzero(some), *gaps)
    if not takes_empty:
        refuse(np.flatnonzero(empty), "no value at all", "leave the column out")


def normal_scores(values: Floats) -> Floats:
    """Normal quantiles of the ranks of some numbers; ties share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    scores: Floats = ndtri((np.cumsum(counts) - 0.5 * counts) / values.size)
    return scores[place]


def evenly(n: int, most: int) -> NDArray[np.intp]:
    """``most`` of ``n`` places, evenly spread; all where there are no more."""
    return np.unique(np.linspace(0, n - 1, min(n, most), dtype=np.intp))


def centred_ranks(values: Floats) -> Floats:
    """Ranks (columns, rows) of mean 0 and norm 1, ties alike; 0 where missing, or in a constant."""
    order = np.argsort(values, axis=1)  # missing ones last
    ranks = np.empty(values.shape)
    rank_columns(np.ascontiguousarray(values, dtype=np.float64), order, ranks)
    return ranks


def centred_ranks_of_codes(codes: NDArray[np.uint8]) -> Floats:
    """:func:`centred_ranks` of codes (255 is missing), by counting."""
    ranks = np.empty(codes.shape)
    rank_codes(np.ascontiguousarray(codes), ranks)
    return ranks


def ranks_beside_zeros(values: Floats, n_rows: int) -> tuple[Floats, float]:
    """:func:`centred_ranks` of the non-zero values of a column, and of its zeros."""
    levels, place, counts = np.unique(
        np.append(values, 0.0), return_inverse=True, return_counts=True
    )
    counts[place[-1]] += n_rows - values.size - 1
    is_missing = np.isnan(levels)
    counts[is_missing] = 0
    ends = np.cumsum(counts)
    ranks = np.where(is_missing, 0.0, ends - 0.5 * counts - 0.5 * counts.sum())
    ranks /= math.sqrt(max(float(counts @ ranks**2), TINY))
    return ranks[place[:-1]], float(ranks[place[-1]])


def ranks_of(X: Matrix, columns: Ints) -> Floats:
    """:func:`centred_ranks` (columns, rows) of some columns."""
    if isinstance(X, ChosenColumns) and X.rows is None:
        return ranks_of(X.X, columns if X.columns is None else X.columns[columns])
    if not isinstance(X, SparseColumns):
        return centred_ranks(np.ascontiguousarray(X[:, columns].T, dtype=np.float64))
    ranks = np.empty((columns.size, len(X)))
    for line, place in zip(ranks, columns.tolist(), strict=True):
        rows, values = X.column(place)
        stored, line[:] = ranks_beside_zeros(values, len(X))
        line[rows] = stored
    return ranks
