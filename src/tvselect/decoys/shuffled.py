"""Decoys as columns behind a table: the table in another order, or copies that were drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.blocks import RowBlocks
from tvselect.inputs.columns import Matrix, centred_ranks, centred_ranks_of_codes, ranks_of
from tvselect.inputs.rows import orders_of
from tvselect.trees.bins import BinnedTable
from tvselect.trees.state import MISSING

FEWEST_COLUMNS, MOST_COLUMNS = 20, 2000
COMMON_SHARE = 0.05
ALIKE = 0.95
ABOVE_NOISE = 2.0
MOST_FACTORS, POWER_STEPS = 10, 20
MOST_VALUES = 2**26


@dataclass(frozen=True, eq=False)
class ShuffledColumns:
    """Copies of columns with their rows shuffled, by one order for all columns of a copy.

    A copy keeps the values of every column and how the columns go with each other, but goes with
    neither the outcome nor the table. Where a few factors drive many columns (a trend, ancestry, a
    batch), each column of a copy keeps its share of them: a column that goes with the outcome for a
    factor alone has decoys that do so, too.
    """

    orders: NDArray[np.int64]  #: (copies, rows)
    held: Sequence[NDArray[np.int64]]  #: Columns that each copy holds, in rising order
    factors: NDArray[np.float64]  #: Orthonormal (rows, factors), see :func:`common_factors`

    @classmethod
    def draw(
        cls,
        X: Matrix,
        n_copies: int,
        rng: np.random.Generator,
        *,
        keep_factors: bool = True,
        observations: NDArray[np.int64] | RowBlocks | None = None,
        n_units: int | None = None,
    ) -> Self:
        """Copies of all columns of a table, with what they owe to common factors or without.

        Rows of one observation (None: each is one) are shuffled together, and blocks of rows are
        moved as :meth:`RowBlocks.orders` says; they are worth ``n_units`` independent rows.
        """
        n_rows, n_columns = X.shape
        orders = orders_of(observations, n_rows, n_copies, rng)
        factors = common_factors(X, rng, n_units) if keep_factors else np.empty((n_rows, 0))
        return cls(orders, [np.arange(n_columns)] * n_copies, factors)

    def at(self, rows: NDArray[np.int64]) -> ShuffledColumns:
        """Those of some rows, shuffled among themselves."""
        orders = self.orders[:, rows].argsort(axis=1).argsort(axis=1)
        return ShuffledColumns(orders, self.held, np.linalg.qr(self.factors[rows])[0])

    def values(self, X: Matrix, decoys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Some decoys as floats (rows, decoys), counted from the first one."""
        values = np.empty((len(X), decoys.size))
        first = 0
        for held, order in zip(self.held, self.orders, strict=True):
            mine = (decoys >= first) & (decoys < first + held.size)
            original = X[:, held[decoys[mine] - first]].T
            values[:, mine] = self._shuffled(original.astype(np.float64), order).T
            first += held.size
        return values

    def binned(self, table: BinnedTable) -> BinnedTable:
        """A binned table with all decoys behind its columns."""
        copies = [partial(self._shuffled, order=order) for order in self.orders]
        return table.with_copies(list(zip(self.held, copies, strict=True)))

    def ranks(self, X: Matrix, columns: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        """Ranks (columns, rows) of some columns, then of each copy, these up to their spacing."""
        ranks = ranks_of(X, columns)
        common, rest = self._parts(ranks)
        yield common + rest
        yield from (common + rest[:, order] for order in self.orders)

    def _parts(
        self, ranks: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64] | float, NDArray[np.float64]]:
        """What ranks of columns owe to the factors, and the rest."""
        if self.factors.shape[1] == 0:
            return 0.0, ranks
        common = (ranks @ self.factors) @ self.factors.T
        return common, ranks - common

    def _shuffled(self, values: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
        """Floats or codes (columns, rows) in another order, but for what factors make of them."""
        if self.factors.shape[1] == 0:
            return values[:, order]
        if values.dtype == np.uint8:
            ranks, is_missing = centred_ranks_of_codes(values), values == MISSING
        else:
            ranks, is_missing = centred_ranks(values), np.isnan(values)
        common, rest = self._parts(ranks)
        rest[is_missing] = np.inf
        shuffled = np.empty_like(values)
        places = np.argsort(common + rest[:, order], axis=1)
        np.put_along_axis(shuffled, places, np.sort(values, axis=1), axis=1)
        return shuffled


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """Copies of the columns of a table, as columns behind it."""

    copies: NDArray[np.float64]  #: (copies, rows, columns)
    held: Sequence[NDArray[np.int64]]  #: Columns that take part of each copy, in rising order
    factors: NDArray[np.float64]  #: What many columns of the table share (rows, factors)

    def at(self, rows: NDArray[np.int64]) -> DrawnColumns:
        """Those of some rows."""
        return DrawnColumns(self.copies[:, rows], self.held, self.factors[rows])

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


def common_factors(
    X: Matrix, rng: np.random.Generator, n_units: int | None = None
) -> NDArray[np.float64]:
    """Factors (rows, factors) that drive many columns: principal components of their ranks.

    Those that explain 5 % of the columns' variance or more, and twice as much as by chance in so
    many rows (or ``n_units``), ten at most. Columns that are nearly copies (correlated above 0.95)
    count as one. Of a wide table 2,000 columns are looked at, fewer of one with more than 33,000
    rows, and none of fewer than 20, whose factors are columns.
    """
    n_rows, n_columns = X.shape
    if n_columns < FEWEST_COLUMNS or n_rows < FEWEST_COLUMNS:
        return np.empty((n_rows, 0))
    n_seen = min(n_columns, MOST_COLUMNS, max(FEWEST_COLUMNS, MOST_VALUES // n_rows))
    columns = rng.choice(n_columns, n_seen, replace=False)
    columns.sort()
    ranks = ranks_of(X, columns)
    n_alike = np.count_nonzero(np.abs(ranks @ ranks.T) > ALIKE, axis=1)
    weights = 1.0 / np.maximum(n_alike, 1)
    ranks *= np.sqrt(weights)[:, np.newaxis]
    basis = rng.standard_normal((n_rows, MOST_FACTORS))
    for _ in range(POWER_STEPS):
        basis = np.linalg.qr(ranks.T @ (ranks @ basis))[0]
    projected = ranks @ basis
    sizes, turn = np.linalg.eigh(projected.T @ projected)
    n_different = weights.sum()
    by_chance = (1.0 + np.sqrt(n_different / (n_units or n_rows))) ** 2
    needed = max(ABOVE_NOISE * by_chance, COMMON_SHARE * n_different)
    return np.ascontiguousarray(basis @ turn[:, sizes > needed])
