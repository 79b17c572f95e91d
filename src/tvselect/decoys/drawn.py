"""Drawn decoys: copies of a table whose values are at hand, as knockoffs are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.columns import Matrix, ranks_of
from tvselect.trees.bins import BinnedTable


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """Copies of the columns of a table, as columns behind it.

    Attributes
    ----------
    copies : float64 array (copies, rows, columns)
    held : sequence of int64 arrays
        Columns that take part of each copy, in rising order.
    factors : float64 array (rows, factors)
        What many columns of the table share.
    """

    copies: NDArray[np.float64]
    held: Sequence[NDArray[np.int64]]
    factors: NDArray[np.float64]

    def holding(self, held: Sequence[NDArray[np.int64]]) -> Self:
        """The same copies of fewer columns."""
        return replace(self, held=held)

    def values(self, X: Matrix, decoys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Some decoys as floats (rows, decoys), counted from the first one."""
        return self._side_by_side()[:, decoys]

    def binned(self, table: BinnedTable) -> BinnedTable:
        """A binned table with all decoys behind its columns."""
        return table.with_values(np.concatenate(list(self.held)), self._side_by_side())

    def ranks(self, X: Matrix, columns: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Ranks (columns, rows) of some columns, then of each copy of them."""
        for table in (X, *self.copies):
            yield ranks_of(table, columns)

    def _side_by_side(self) -> NDArray[np.float64]:
        some = [copy[:, held] for copy, held in zip(self.copies, self.held, strict=True)]
        return np.concatenate(some, axis=1)
