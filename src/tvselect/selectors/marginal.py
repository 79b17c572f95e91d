"""How columns and their decoys go with the outcome, or with another target, by themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys.drawn import DrawnColumns
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs.columns import Matrix, SparseColumns, centred_ranks, ranks_beside_zeros
from tvselect.selectors.few_values import TINY, TWO_VALUED, ScoresByValue, read_small

VALUES_AT_ONCE = 2**20
SECONDS_WITHOUT_BAR = 2.0


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
    step = max(1, VALUES_AT_ONCE // targets.shape[1])

    def score(here: NDArray[np.int64]) -> int:
        small = read_small(X, here) if by_value else None
        if small is not None:
            for t, one in enumerate(by_value):
                scores[t, :, :, here] = one(small).transpose(2, 0, 1)
        else:
            for k, ranks in enumerate(decoys.ranks(X, here)):
                scores[:, :, k, here] = _of_ranks(ranks, targets)
        return here.size

    blocks = [np.arange(k, min(k + step, n_columns)) for k in range(0, n_columns, step)]
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
