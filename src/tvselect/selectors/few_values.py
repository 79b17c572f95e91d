"""Columns of 0, 1, 2 and missing values, as genotypes: how they and their decoys go with y.

All that is needed is the sums of the outcome by value: one pass over a column for all its decoys.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function
from tvselect.inputs.columns import Columns, Matrix

ROWS_TO_TRY = 100
add_by_value = function(
    "add_by_value",
    """
    small: u1[columns, rows]
    outcomes: f8[rows, outcomes]
    counts: i8[columns, 4]!
    sums: f8[columns, 4, outcomes]!
    others: i8[rows]!
    """,
)
"""Count the values 0, 1, 2 and missing of columns, and add up outcomes by the last three."""
TINY, TWO_VALUED = 1e-12, 0.01


def read_small(X: Matrix, columns: NDArray[np.int64]) -> NDArray[np.uint8] | None:
    """Columns (columns, rows) in a byte each, if their values are 0, 1, 2 or missing (3)."""
    small = X.read_small(columns) if isinstance(X, Columns) else None
    return as_small(X[:, columns].T) if small is None else small


def as_small(block: NDArray[Any]) -> NDArray[np.uint8] | None:
    """The same of columns (columns, rows) in memory."""
    for some in (block[:1, :ROWS_TO_TRY], block):
        is_missing = np.isnan(some)
        small = np.where(is_missing, 3, np.clip(some, 0, 2)).astype(np.uint8)
        if not np.all((small == some) | is_missing):
            return None
    return np.ascontiguousarray(small)


class ScoresByValue:
    """Slopes and bends (2, 1 + copies, columns) of columns and their shuffled copies, in ranks.

    A shuffled column goes with the outcome as the column does with an outcome that is shuffled
    back. With common factors a copy is what the column owes to them, and the shuffled rest: its
    slope and its length are those of the column with outcome and factors shuffled back. Bends are
    zero then.

    Parameters
    ----------
    outcome : float64 array
        Centred ranks.
    orders : int64 array (copies, rows)
    factors : float64 array (rows, factors)
        Orthonormal, each of mean 0.

    Attributes
    ----------
    outcomes : float64 array (rows, 1 + copies)
        The outcome, and what it is for each copy, shuffled back.
    n_factors : int
    """

    def __init__(
        self,
        outcome: NDArray[np.float64],
        orders: NDArray[np.int64],
        factors: NDArray[np.float64],
    ) -> None:
        self.n_factors = factors.shape[1]
        together = np.column_stack([outcome, factors])
        back = np.empty((outcome.size, 1 + len(orders), 1 + self.n_factors))
        back[:, 0] = together
        for k, order in enumerate(orders):
            back[order, k + 1] = together
        self.outcomes = np.ascontiguousarray(back[:, :, 0])
        self._back = back.reshape(outcome.size, -1)
        self._with_factors = np.einsum("nf,nkt->ktf", factors, back)

    def __call__(self, small: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Of columns (columns, rows) as :func:`read_small` has them."""
        n_columns, n_rows = small.shape
        counts = np.zeros((n_columns, 4), dtype=np.int64)
        sums = np.zeros((n_columns, 4, self._back.shape[1]))
        add_by_value(small, self._back, counts, sums, np.empty(n_rows, dtype=np.int64))
        sums[:, 0] = -sums[:, 1:].sum(axis=1)  # ranks sum to zero
        counts, sums = counts[:, :3], sums[:, :3]
        ranks = np.cumsum(counts, axis=1) - 0.5 * counts - 0.5 * counts.sum(axis=1, keepdims=True)
        ranks[counts == 0] = 0.0
        ranks /= np.sqrt(np.maximum((counts * ranks**2).sum(axis=1, keepdims=True), TINY))
        slopes = np.einsum("jg,jgk->kj", ranks, sums)
        if self.n_factors:
            slopes = self._of_copies_with_factors(slopes)
            return np.stack([slopes, np.zeros_like(slopes)])
        square, cube, fourth = ((counts * ranks**k).sum(axis=1) for k in (2, 3, 4))
        squares = np.einsum("jg,jgk->kj", ranks**2, sums)
        bent = fourth - square**2 / n_rows - cube**2
        has_bend = bent * n_rows > TWO_VALUED
        bends = np.where(has_bend, squares - cube * slopes, 0.0)
        return np.stack([slopes, bends / np.sqrt(np.where(has_bend, bent, 1.0))])

    def _of_copies_with_factors(self, products: NDArray[np.float64]) -> NDArray[np.float64]:
        """Slopes (1 + copies, columns) from products of the ranks with all that is shuffled back.

        A copy of ranks r is c + P (r - c), where c = F F'r and P shuffles. Its product with the
        outcome y is c'y + (r - c)'P'y, its squared length 1 + 2 c'P(r - c).
        """
        products = products.reshape(-1, 1 + self.n_factors, products.shape[1])
        with_outcome, with_factors = products[:, 0], products[:, 1:]
        owed = with_factors[0]
        outcome_owed, factors_owed = self._with_factors[:, 0], self._with_factors[:, 1:]
        slopes = with_outcome + (outcome_owed[:1] - outcome_owed) @ owed
        rest = with_factors - factors_owed @ owed
        lengths = 1.0 + 2.0 * np.einsum("fj,kfj->kj", owed, rest)
        return slopes / np.sqrt(np.maximum(lengths, TINY))
