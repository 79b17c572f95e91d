"""What a first look at all columns leaves open: targets for a second look at them."""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys.shuffled import DrawnColumns, ShuffledColumns
from tvselect.inputs.columns import Matrix, normal_scores
from tvselect.inputs.rows import even_rows
from tvselect.trees import bin_table, run_bart

N_LEADERS = 50
N_TREES, N_BURN, N_ITERATIONS = 20, 500, 1000
FEWEST_ROWS, MOST_ROWS = 20, 5_000
MOST_VALUES = 2**31


def open_questions(
    decoys: ShuffledColumns | DrawnColumns,
    X: Matrix,
    y: NDArray[np.float64],
    scores: NDArray[np.float64],
    always: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """What is left of an outcome beside the leaders of a first look (targets, rows).

    Leaders are the columns and decoys with the highest scores, whichever they are, and columns
    that are always included. A forest of them leaves residuals: what goes with these was hidden
    behind the leaders. The residuals times the leader that the forest splits on most are the
    second target: what goes with them changes how this leader acts. Of many rows the forest learns
    from some. There is no target for tables of fewer than 20 rows, and of more than 2^31 values,
    where a second pass would take the most time of all.

    Parameters
    ----------
    scores : float64 array (1 + copies, columns)
        How the columns and each copy of them go with the outcome; below 0: no leader.
    always : int64 array
        Columns that are leaders in any case.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 100))
    >>> y = X[:, 3] * (1 + np.sign(X[:, 7])) + X[:, 5] / 4
    >>> scores = np.zeros((3, 100))
    >>> scores[0, 3] = 1
    >>> decoys = ShuffledColumns.draw(X, 2, rng)
    >>> left, left_of_3 = open_questions(decoys, X, y, scores, np.empty(0, int), rng)
    >>> abs(np.corrcoef(left, X[:, 5])[0, 1]) > abs(np.corrcoef(y, X[:, 5])[0, 1])
    np.True_
    >>> abs(np.corrcoef(left_of_3, X[:, 7])[0, 1]) > 0.5
    np.True_
    """
    if len(y) < FEWEST_ROWS or X.shape[0] * X.shape[1] > MOST_VALUES:
        return np.empty((0, len(y)))
    copies, columns = _leaders(scores)
    copies = np.concatenate([np.zeros(always.size, dtype=np.intp), copies])
    leaders = np.empty((len(y), copies.size))
    for k, (copy, column) in enumerate(zip(copies, np.concatenate([always, columns]), strict=True)):
        (leaders[:, k],) = next(islice(decoys.ranks(X, np.array([column])), copy, None))
    y, rows = normal_scores(y), even_rows(len(y), MOST_ROWS)
    run = run_bart(
        bin_table(leaders[rows]),
        y[rows],
        family="gaussian",
        n_trees=N_TREES,
        sparse=True,
        n_burn=N_BURN,
        n_iterations=N_ITERATIONS,
        random_state=rng,
    )
    left = y - run.predict(leaders)
    return np.stack([left, left * leaders[:, run.mean_splits.argmax()]])


def _leaders(scores: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Copies and columns of the highest scores from 0 on, in rising order."""
    best = [np.argpartition(one, max(0, one.size - N_LEADERS))[-N_LEADERS:] for one in scores]
    copies, columns = (
        np.repeat(np.arange(len(best)), [one.size for one in best]),
        np.concatenate(best),
    )
    top = np.argsort(scores[copies, columns], kind="stable")[-N_LEADERS:]
    top = top[scores[copies[top], columns[top]] >= 0.0]
    top = top[np.lexsort([columns[top], copies[top]])]
    return copies[top], columns[top]
