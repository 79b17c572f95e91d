"""What a source of rows is, and what can be asked of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Batch(ABC):
    """Some rows. Nothing is read until asked for.

    Only the batch that a source handed out last may be read, from any number of threads.

    Attributes
    ----------
    n_rows : int
    """

    n_rows: int

    @abstractmethod
    def numbers(self, columns: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """The numbers of ``columns``: float32 if all of them are, else float64; NaN if missing."""

    @abstractmethod
    def labels(self, column: int) -> NDArray[np.object_]:
        """The text of a categorical ``column``, None where missing."""

    @abstractmethod
    def target(self) -> NDArray[Any]:
        """The target as it comes: numbers, booleans or text; NaN or None where missing."""


class Source(ABC):
    """Rows that are handed out in batches, pass by pass.

    Attributes
    ----------
    names : tuple of str
        Of the columns, the target left out.
    categorical : bool array
        Which columns hold text or categories.
    n_rows : int or None
        None if it is not known before the end.
    can_repeat : bool
        Whether there can be more than one pass.
    """

    names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    n_rows: int | None
    can_repeat: bool

    @abstractmethod
    def batches(
        self, size: int, round: int, rng: np.random.Generator, *, skip: int = 0
    ) -> Iterator[Batch]:
        """One pass over the rows.

        Parameters
        ----------
        size : int
            Rows of a batch; the last one may have fewer.
        round : int
            0 reads all rows in order. Later rounds resample them with replacement.
        rng : numpy.random.Generator
            For resampling. It belongs to the pass until the pass ends: the batches are a
            function of ``size``, ``round`` and its state.
        skip : int
            How many batches to leave out at the start; the others stay the same.

        Raises
        ------
        ValueError
            For another round of data that can be read only once.
        SourceError
            When the data cannot be read, then or later.
        """

    @abstractmethod
    def identity(self) -> str:
        """A hash that says whether two sources hold the same data."""

    def require_unchanged(self) -> None:  # noqa: B027
        """Raise a SourceError if the data is not what it was when the source was opened."""
