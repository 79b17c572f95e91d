"""How columns and their decoys go with the outcome by themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys.drawn import DrawnColumns
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs.file_columns import FileColumns
from tvselect.inputs.ranks import centred_ranks, ranks_beside_zeros
from tvselect.inputs.sparse import Matrix, SparseColumns
from tvselect.jit import kernel

VALUES_AT_ONCE, ROWS_TO_TRY = 2**20, 100
SECONDS_WITHOUT_BAR = 2.0
TINY, TWO_VALUED = 1e-12, 0.01


def marginal_scores(
    decoys: ShuffledColumns | DrawnColumns,
    X: Matrix,
    y: NDArray[np.float64],
    *,
    n_threads: int = 1,
    verbose: int = 0,
) -> NDArray[np.float64]:
    """How columns, and each copy of them, go with the outcome (2, 1 + copies, columns).

    In ranks: the correlation with the column, and with what its square adds to it. A slope and
    a valley are seen, what shows in company only is not. A pass over all columns, by so many
    threads; where it takes more than some seconds and ``verbose`` is 1 or more, with a bar.
    """
    from tqdm.auto import tqdm

    (outcome,) = centred_ranks(y[None, :])
    outcomes = None
    if isinstance(decoys, ShuffledColumns) and decoys.factors.shape[1] == 0:
        outcomes = _shuffled_back(outcome, decoys.orders)
    if isinstance(X, SparseColumns) and outcomes is not None:
        return _of_stored_values(X, outcomes)
    n_columns = X.shape[1]
    scores = np.zeros((2, 1 + len(decoys.held), n_columns))
    step = max(1, VALUES_AT_ONCE // len(y))

    def score(here: NDArray[np.int64]) -> int:
        small = None if outcomes is None else _read_small(X, here)
        if small is not None:
            assert outcomes is not None
            scores[:, :, here] = _of_few_values(small, outcomes)
        else:
            for k, ranks in enumerate(decoys.ranks(X, here)):
                scores[:, k, here] = _of_ranks(ranks, outcome)
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


def _of_ranks(ranks: NDArray[np.float64], outcome: NDArray[np.float64]) -> NDArray[np.float64]:
    """Slopes and bends (2, columns) of columns by their ranks (columns, rows)."""
    length = np.maximum(np.einsum("ij,ij->i", ranks, ranks), TINY)
    bends = ranks**2
    bends -= bends.mean(axis=1, keepdims=True)
    bends -= (np.einsum("ij,ij->i", bends, ranks) / length)[:, None] * ranks
    bent = np.einsum("ij,ij->i", bends, bends)
    has_bend = bent * outcome.size > TWO_VALUED
    scores = np.zeros((2, len(ranks)))
    scores[0] = ranks @ outcome / np.sqrt(length)
    scores[1, has_bend] = bends[has_bend] @ outcome / np.sqrt(bent[has_bend])
    return scores


def _read_small(X: Matrix, columns: NDArray[np.int64]) -> NDArray[np.uint8] | None:
    """Columns (columns, rows) in a byte each, if their values are 0, 1, 2 or missing (3)."""
    small = X.read_small(columns) if isinstance(X, FileColumns) else None
    return _as_small(X[:, columns].T) if small is None else small


def _shuffled_back(outcome: NDArray[np.float64], orders: NDArray[np.int64]) -> NDArray[np.float64]:
    """The outcome, and as it is for a column what it was for each of its shuffled copies.

    A shuffled column goes with the outcome as the column does with an outcome that is shuffled
    back. By row: all of them at once.
    """
    outcomes = np.empty((outcome.size, 1 + len(orders)))
    outcomes[:, 0] = outcome
    for k, order in enumerate(orders):
        outcomes[order, k + 1] = outcome
    return outcomes


def _as_small(block: NDArray[Any]) -> NDArray[np.uint8] | None:
    for some in (block[:1, :ROWS_TO_TRY], block):
        is_missing = np.isnan(some)
        small = np.where(is_missing, 3, np.clip(some, 0, 2)).astype(np.uint8)
        if not np.all((small == some) | is_missing):
            return None
    return np.ascontiguousarray(small)


def _of_few_values(small: NDArray[np.uint8], outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of columns (columns, rows) of 0, 1, 2 and missing values.

    All that is needed of the outcomes is their sums by value: one pass for all decoys.
    """
    n_columns, n_rows = small.shape
    counts = np.zeros((n_columns, 4), dtype=np.int64)
    sums = np.zeros((n_columns, 4, outcomes.shape[1]))
    add_by_value(small, outcomes, counts, sums, np.empty(n_rows, dtype=np.int64))
    sums[:, 0] = -sums[:, 1:].sum(axis=1)  # ranks sum to zero
    counts, sums = counts[:, :3], sums[:, :3]
    ranks = np.cumsum(counts, axis=1) - 0.5 * counts - 0.5 * counts.sum(axis=1, keepdims=True)
    ranks[counts == 0] = 0.0
    length = np.sqrt(np.maximum((counts * ranks**2).sum(axis=1, keepdims=True), TINY))
    ranks /= length
    square, cube, fourth = ((counts * ranks**k).sum(axis=1) for k in (2, 3, 4))
    slopes, squares = (np.einsum("jg,jgk->kj", ranks**k, sums) for k in (1, 2))
    bent = fourth - square**2 / n_rows - cube**2
    has_bend = bent * n_rows > TWO_VALUED
    bends = np.where(has_bend, squares - cube * slopes, 0.0)
    return np.stack([slopes, bends / np.sqrt(np.where(has_bend, bent, 1.0))])


@kernel
def add_by_value(
    small: NDArray[np.uint8],
    outcomes: NDArray[np.float64],
    counts: NDArray[np.int64],
    sums: NDArray[np.float64],
    others: NDArray[np.int64],
) -> None:
    """Count the values 0, 1, 2 and missing of columns, and add up outcomes by the last three.

    ``others`` is room for the rows of a column that are not 0: to list them first spares the
    processor most of its wrong guesses.
    """
    n_rows = small.shape[1]
    for j in range(small.shape[0]):
        n_others = 0
        for i in range(n_rows):
            others[n_others] = i
            n_others += small[j, i] != 0
        counts[j, 0] = n_rows - n_others
        for place in range(n_others):
            i = others[place]
            g = min(small[j, i], 3)
            counts[j, g] += 1
            for k in range(outcomes.shape[1]):
                sums[j, g, k] += outcomes[i, k]


def _of_stored_values(X: SparseColumns, outcomes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of a sparse matrix and its shuffled copies, in the time that its values take.

    The ranks of the outcome sum to zero, so that the rank of the zeros drops out.
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
