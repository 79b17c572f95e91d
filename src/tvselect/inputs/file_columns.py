"""Columns that stay in a file: what is asked for is read, the whole never is."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property
from hashlib import sha256
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.facts import LeftOut

PIECE, N_PIECES = 4096, 1000


class ColumnFile(ABC):
    """A file of numbers that can be read by column.

    What is opened or counted is kept in cached properties. It is pickled without them, as its
    path: who unpickles it opens the file.

    Parameters
    ----------
    path : str
    whole : (int, int)
        Rows and columns in the file.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns that are used: all, until :meth:`at` chooses.
    """

    def __init__(self, path: str, whole: tuple[int, int]) -> None:
        self.path, self._whole_shape = path, whole
        self._rows: NDArray[np.int64] | None = None
        self._columns: NDArray[np.int64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        kind = type(self)
        is_cached = {n for n in vars(kind) if isinstance(vars(kind)[n], cached_property)}
        return {name: value for name, value in vars(self).items() if name not in is_cached}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns that are used."""
        n_rows, n_columns = self._whole_shape
        return (
            n_rows if self._rows is None else self._rows.size,
            n_columns if self._columns is None else self._columns.size,
        )

    def at(
        self, rows: NDArray[np.int64] | None = None, columns: NDArray[np.int64] | None = None
    ) -> Self:
        """The same file with some of its rows and columns; what is opened stays open."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._rows, other._columns = within(self._rows, rows), within(self._columns, columns)
        return other

    def identity(self) -> str:
        """A hash of size and time of the file, and of the choice of rows and columns."""
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

    inside = ""
    """Where the numbers are, in a file of several."""

    @abstractmethod
    def read(
        self, columns: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Some columns at all rows, or at some (rows, columns), by column; NaN is missing."""

    def read_small(self, columns: NDArray[np.int64]) -> NDArray[np.uint8] | None:
        """Some columns (columns, rows), where all values are 0, 1, 2 or missing (3)."""
        return None

    @abstractmethod
    def in_memory(self) -> Any:
        """The numbers themselves, where they are in memory or mapped by column; else None."""

    @abstractmethod
    def useless(self) -> dict[int, LeftOut]:
        """Columns that say nothing, and why."""

    @abstractmethod
    def with_missing(self) -> NDArray[np.int64]:
        """Columns with missing values."""


@final
class FileColumns:
    """Columns in memory, and behind them the columns of a file.

    Parameters
    ----------
    front : array (rows, columns)
    file : ColumnFile
        Of as many rows.
    """

    def __init__(self, front: NDArray[Any], file: ColumnFile) -> None:
        self.front, self.file = front, file
        self.shape: tuple[int, int] = (file.shape[0], front.shape[1] + file.shape[1])
        self.dtype: np.dtype[Any] = np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: tuple[Any, ...]) -> NDArray[np.float64]:
        """Rows and columns, by slices or places, as an array by column."""
        rows, columns = key
        columns = places(columns, self.shape[1])
        some = None if isinstance(rows, slice) and rows == slice(None) else places(rows, len(self))
        n_rows, n_front = len(self) if some is None else some.size, self.front.shape[1]
        out = np.empty((n_rows, columns.size), order="F")
        is_front = columns < n_front
        if is_front.any():
            in_memory = self.front[:, columns[is_front]]
            out[:, is_front] = in_memory if some is None else in_memory[some]
        if not is_front.all():
            out[:, ~is_front] = self.file.read(columns[~is_front] - n_front, some)
        return out

    def read_small(self, columns: NDArray[np.int64]) -> NDArray[np.uint8] | None:
        """See :meth:`ColumnFile.read_small`; None for columns in memory."""
        n_front = self.front.shape[1]
        return None if columns[0] < n_front else self.file.read_small(columns - n_front)


def within(
    outer: NDArray[np.int64] | None, inner: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """A choice of a choice; None is all."""
    if outer is None or inner is None:
        return outer if inner is None else inner
    return outer[inner]


def places(key: Any, size: int) -> NDArray[np.int64]:
    """What a slice, a mask or some places stand for."""
    return np.arange(size)[key if isinstance(key, slice) else np.ravel(key)]
