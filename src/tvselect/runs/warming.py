"""Compile all kernels ahead of their first use, as for the image of a container."""

from __future__ import annotations

import numpy as np

from tvselect.bandit.oracle import join_partners
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs import Table, read_outcome, read_table
from tvselect.jit import Compilation, watched_compilation
from tvselect.plotting.dependence import DependenceForest
from tvselect.rewards import BartReward, LassoReward, Reward
from tvselect.selectors.marginal import marginal_scores
from tvselect.selectors.thompson import ThompsonFit
from tvselect.sources.bed import count_genotypes
from tvselect.trees import bin_table, run_bart

N_ROWS = 60


def compile_kernels() -> Compilation:
    """Make small fits of every kind, so that no later one on this machine compiles.

    Kernels are kept in the folder that the environment variable ``NUMBA_CACHE_DIR`` names, or
    beside the package.

    Returns
    -------
    Compilation
        How many kernels had to be compiled, and in how many seconds.
    """
    with watched_compilation() as made:
        rng = np.random.default_rng(0)
        genotypes = rng.integers(0, 3, (N_ROWS, 30)).astype(np.float64)
        numbers = rng.random((N_ROWS, 30))
        y = genotypes[:, 0] + numbers[:, 0]
        quick = BartReward(n_trees=2, n_iterations=4)
        for reward, window in ((quick, 1), (quick, 2), (LassoReward(alpha=0.1), 1)):
            _fit(numbers, y, reward, window)
        for X in (genotypes, numbers + numbers[:, :1] * np.ones(30)):  # few values; a factor
            decoys = ShuffledColumns.draw(X, 2, rng)
            marginal_scores(decoys, X, y[None])
            decoys.binned(bin_table(X))
        classes = np.array(["a", "b", "c"])[np.digitize(y, [1.0, 2.0])]
        run_bart(numbers, classes, n_trees=2, n_iterations=4, random_state=0)
        join_partners(np.zeros((1, 2), np.int32), np.zeros(2, np.int32), 1)
        forest = DependenceForest(read_table(numbers), read_outcome(y, N_ROWS), [0, 1], rng)
        forest.curves(0)
        forest.run.predict(numbers[:, :2])
        count_genotypes(np.zeros((1, 1), np.uint8), np.zeros((1, 4), np.int64), np.zeros(256, int))
    return made


def _fit(X: np.ndarray, y: np.ndarray, reward: Reward, window: int) -> None:
    names = [f"x{j}" for j in range(X.shape[1])]
    ThompsonFit(reward, n_plays=2, window=window, n_jobs=1, random_state=0).fit(
        Table.of_matrix(X, names), y
    )
