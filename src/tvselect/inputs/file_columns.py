"""Columns that stay in a file: what is asked for is read, the whole never is."""

from __future__ import annotations

from typing import Any, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.facts import LeftOut


class ColumnFile(Protocol):
    """A file of numbers that can be read by column.

    It is pickled as its path: who unpickles it opens the file.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    """

    shape: tuple[int, int]

    def read(
        self, columns: NDArray[np.int64], rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Some columns at all rows, or at some (rows, columns), by column; NaN is missing."""

    def at(
        self, rows: NDArray[np.int64] | None = None, columns: NDArray[np.int64] | None = None
    ) -> Self:
        """The same file with some of its rows and columns."""

    def in_memory(self) -> Any:
        """The numbers themselves, where they are in memory or mapped by column; else None."""

    def useless(self) -> dict[int, LeftOut]:
        """Columns that say nothing, and why."""

    def with_missing(self) -> NDArray[np.int64]:
        """Columns with missing values."""

    def identity(self) -> str:
        """A hash that says whether two of them hold the same numbers."""


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
