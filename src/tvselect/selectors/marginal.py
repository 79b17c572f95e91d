"""How columns and their decoys go with the outcome by themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys.drawn import DrawnColumns
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs.ranks import centred_ranks, ranks_beside_zeros
from tvselect.inputs.sparse import Matrix, SparseColumns

VALUES_AT_ONCE = 2**20
TINY, TWO_VALUED = 1e-12, 0.01


def marginal_scores(
    decoys: ShuffledColumns | DrawnColumns, X: Matrix, y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How columns, and each copy of them, go with the outcome (2, 1 + copies, columns).

    In ranks: the correlation with the column, and with what its square adds to it. A slope and
    a valley are seen, what shows in company only is not.
    """
    (outcome,) = centred_ranks(y[None, :])
    has_factors = decoys.factors.shape[1] > 0
    if isinstance(X, SparseColumns) and isinstance(decoys, ShuffledColumns) and not has_factors:
        return _of_stored_values(X, outcome, decoys.orders)
    scores = np.zeros((2, 1 + len(decoys.held), X.shape[1]))
    step = max(1, VALUES_AT_ONCE // len(y))
    for first in range(0, X.shape[1], step):
        here = np.arange(first, min(first + step, X.shape[1]))
        for k, ranks in enumerate(decoys.ranks(X, here)):
            length = np.maximum(np.einsum("ij,ij->i", ranks, ranks), TINY)
            bends = ranks**2
            bends -= bends.mean(axis=1, keepdims=True)
            bends -= (np.einsum("ij,ij->i", bends, ranks) / length)[:, None] * ranks
            bent = np.einsum("ij,ij->i", bends, bends)
            has_bend = bent * len(y) > TWO_VALUED
            scores[0, k, here] = ranks @ outcome / np.sqrt(length)
            scores[1, k, here[has_bend]] = bends[has_bend] @ outcome / np.sqrt(bent[has_bend])
    return scores


def _of_stored_values(
    X: SparseColumns, outcome: NDArray[np.float64], orders: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The same of a sparse matrix and its shuffled copies, in the time that its values take.

    The ranks of the outcome sum to zero, so that the rank of the zeros drops out; a shuffled
    column goes with the outcome as the column does with an outcome that is shuffled back.
    """
    n_rows, n_columns = X.shape
    outcomes = np.empty((n_rows, 1 + len(orders)))
    outcomes[:, 0] = outcome
    for k, order in enumerate(orders):
        outcomes[order, k + 1] = outcome
    scores = np.zeros((2, 1 + len(orders), n_columns))
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
