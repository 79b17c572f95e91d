"""How columns and their decoys go with the outcome, or with another target, by themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function
from tvselect.decoys.shuffled import DrawnColumns, ShuffledColumns
from tvselect.inputs.columns import (
    Columns,
    Matrix,
    SparseColumns,
    centred_ranks,
    in_blocks,
    ranks_beside_zeros,
)

VALUES_OF_A_THREAD, ROWS_TO_TRY = 2**20, 100
TINY, TWO_VALUED = 1e-12, 0.01
SECONDS_WITHOUT_BAR = 2.0
add_by_value = function(
    "add_by_value",
    """
    small: u1[columns, rows]
    outcomes: f8[rows, outcomes]
    counts: i8[columns, values=4]!
    sums: f8[columns, 4, outcomes]!
    others: i8[rows]!
    """,
)
"""Count the values 0, 1, 2 and missing of columns, and add up outcomes by the last three."""


def marginal_scores(
    decoys: ShuffledColumns | DrawnColumns,
    X: Matrix,
    targets: NDArray[np.float64],
    *,
    n_threads: int = 1,
    verbose: int = 0,
) -> NDArray[np.float64]:
    """How columns, and each copy of them, go with targets (targets, 2, 1 + copies, columns).

    In ranks: the correlation with the column, and with what its square adds to it. A slope and
    a valley are seen, what shows in company only is not; of columns of three values that a common
    factor drives, no valley either. A pass over all columns, by so many threads; where it takes
    more than some seconds and ``verbose`` is 1 or more, with a bar.

    Parameters
    ----------
    targets : float64 array (targets, rows)
        The outcome, or others to look for.
    """
    from tqdm.auto import tqdm

    targets = centred_ranks(targets)
    by_value: list[ScoresByValue] = []
    if isinstance(decoys, ShuffledColumns):
        by_value = [ScoresByValue(one, decoys.orders, decoys.factors) for one in targets]
    if isinstance(X, SparseColumns) and by_value and by_value[0].n_factors == 0:
        return np.stack([_of_stored_values(X, one.outcomes) for one in by_value])
    n_columns = X.shape[1]
    scores = np.zeros((len(targets), 2, 1 + len(decoys.held), n_columns))

    def score(here: NDArray[np.int64]) -> int:
        small = read_small(X, here) if by_value else None
        if small is not None:
            for t, one in enumerate(by_value):
                scores[t, :, :, here] = one(small).transpose(2, 0, 1)
        else:
            for k, ranks in enumerate(decoys.ranks(X, here)):
                scores[:, :, k, here] = _of_ranks(ranks, targets)
        return here.size

    blocks = [
        np.arange(here.start, here.stop)
        for here in in_blocks(n_columns, targets.shape[1], VALUES_OF_A_THREAD)
    ]
    with (
        ThreadPoolExecutor(n_threads) as pool,
        tqdm(
            total=n_columns, desc="TVS, a pass over all columns", unit=" columns",
            disable=verbose < 1, delay=SECONDS_WITHOUT_BAR,
        ) as bar,
    ):  # fmt: skip
        for n_done in pool.map(score, blocks):
            bar.update(n_done)
    return scores


def _of_ranks(ranks: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Slopes and bends (targets, 2, columns) of columns by their ranks (columns, rows)."""
    length = np.maximum(np.einsum("ij,ij->i", ranks, ranks), TINY)
    bends = ranks**2
    bends -= bends.mean(axis=1, keepdims=True)
    bends -= (np.einsum("ij,ij->i", bends, ranks) / length)[:, None] * ranks
    bent = np.einsum("ij,ij->i", bends, bends)
    has_bend = bent * ranks.shape[1] > TWO_VALUED
    scores = np.zeros((len(targets), 2, len(ranks)))
    scores[:, 0] = targets @ ranks.T / np.sqrt(length)
    scores[:, 1, has_bend] = targets @ bends[has_bend].T / np.sqrt(bent[has_bend])
    return scores


def _of_stored_values(X: SparseColumns, outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those of a sparse matrix and its shuffled copies, in the time that its values take.

    The ranks of the target sum to zero, so that the rank of the zeros drops out.
    """
    n_rows, n_columns = X.shape
    scores = np.zeros((2, outcomes.shape[1], n_columns))
    for j in range(n_columns):
        rows, values = X.column(j)
        ranks, of_zero = ranks_beside_zeros(values, n_rows)
        n_zeros = n_rows - rows.size
        square, cube, fourth = (float(np.sum(ranks**k) + n_zeros * of_zero**k) for k in (2, 3, 4))
        both = np.stack([ranks - of_zero, ranks**2 - of_zero**2]) @ outcomes[rows]
        scores[0, :, j] = both[0]
        bent = fourth - square**2 / n_rows - cube**2
        if bent * n_rows > TWO_VALUED:
            scores[1, :, j] = (both[1] - cube * both[0]) / np.sqrt(bent)
    return scores


def read_small(X: Matrix, columns: NDArray[np.int64]) -> NDArray[np.uint8] | None:
    """Columns (columns, rows) in a byte each, if their values are 0, 1, 2 or missing (3)."""
    if isinstance(X, Columns) and (known := X.read_small(columns)) is not None:
        return known
    block = X[:, columns].T
    for some in (block[:1, :ROWS_TO_TRY], block):
        is_missing = np.isnan(some)
        small = np.where(is_missing, 3, np.clip(some, 0, 2)).astype(np.uint8)
        if not np.all((small == some) | is_missing):
            return None
    return np.ascontiguousarray(small)


class ScoresByValue:
    """Slopes and bends (2, 1 + copies, columns) of columns of few values and their shuffled copies.

    All that is needed is the sums of the outcome by value: one pass over a column for all copies.

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
