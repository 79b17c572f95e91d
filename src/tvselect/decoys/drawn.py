"""Drawn decoys: copies of a table whose values are at hand, as knockoffs are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.trees.bins import BinnedTable


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """Copies of all columns of a table, as columns behind it.

    Attributes
    ----------
    copies : float64 array (copies, rows, columns)
    factors : float64 array (rows, factors)
        What many columns of the table share.
    """

    copies: NDArray[np.float64]
    factors: NDArray[np.float64]

    @property
    def n_copies(self) -> int:
        """Number of copies."""
        return len(self.copies)

    @property
    def columns(self) -> NDArray[np.int64]:
        """Columns that every copy holds: all."""
        return np.arange(self.copies.shape[2])

    def values(self, X: NDArray[Any], decoys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Some decoys as floats (rows, decoys), counted from the first one."""
        copies, columns = np.divmod(decoys, self.copies.shape[2])
        return self.copies[copies, :, columns].T

    def binned(self, table: BinnedTable) -> BinnedTable:
        """A binned table with all decoys behind its columns."""
        side_by_side = self.copies.transpose(1, 0, 2).reshape(self.copies.shape[1], -1)
        return table.with_values(np.tile(self.columns, self.n_copies), side_by_side)
