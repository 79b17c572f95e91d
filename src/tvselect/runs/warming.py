"""Compile kernels ahead of their first use, as for the image of a container."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.oracle import Oracle, join_partners
from tvselect.decoys.knockoffs import Knockoffs
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs import Table, read_outcome, read_table
from tvselect.jit import Compilation, was_compiled, watched_compilation
from tvselect.plotting.dependence import DependenceForest
from tvselect.rewards import BartReward, LassoReward, Reward
from tvselect.rewards.bart_ahead import ColumnsOfArms, make_plays, play_ahead
from tvselect.rewards.base import Data
from tvselect.selectors.marginal import marginal_scores
from tvselect.selectors.thompson import ThompsonFit
from tvselect.sources.bed import count_genotypes
from tvselect.trees import Prior, bin_table, run_bart, start_chain, working_response
from tvselect.trees.gibbs import run
from tvselect.trees.start import design_of
from tvselect.trees.state import N_DONE
from tvselect.trees.workspace import workspace

N_ROWS = 60
QUICK = BartReward(n_trees=2, n_iterations=4)
COMPILE_PLAYS = """
from tvselect.jit import without_shared_kernels
from tvselect.runs.warming import compile_plays
with without_shared_kernels():
    compile_plays()
"""


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
        compile_plays()
        for reward, window in ((QUICK, 2), (LassoReward(alpha=0.1), 1)):
            _fit(numbers, y, reward, window)
        for X in (genotypes, numbers + numbers[:, :1] * np.ones(30)):  # few values; a factor
            decoys = ShuffledColumns.draw(X, 2, rng)
            marginal_scores(decoys, X, y[None])
            decoys.binned(bin_table(X))
        Knockoffs.estimate(numbers).draw(numbers, rng)
        compile_chains()
        join_partners(np.zeros((1, 2), np.int32), np.zeros(2, np.int32), 1)
        count_genotypes(np.zeros((1, 1), np.uint8), np.zeros((1, 4), np.int64), np.zeros(256, int))
    return made


def compile_chains() -> None:
    """The kernels of single chains, with which plays, pairs and the report are made."""
    _compile_loop()
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, 2))
    run_bart(X, _three_classes(), n_trees=2, n_iterations=4, random_state=0)
    forest = DependenceForest(read_table(X), read_outcome(X[:, 0], N_ROWS), [0, 1], rng)
    forest.curves(0)
    forest.run.predict(X)


def compile_plays() -> None:
    """The kernels that make plays ahead and that start a chain; no play is made."""
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, 30))
    data = Data(X, read_outcome(X[:, 0], N_ROWS), [f"x{j}" for j in range(30)])
    columns = ColumnsOfArms(np.arange(31), np.arange(30), np.empty(0, dtype=np.int64))
    play_ahead(QUICK.start(data), columns, ThompsonChain(Arms(30), Oracle(), entropy=0), 0)
    response = working_response(read_outcome(_three_classes(), N_ROWS))
    start_chain(bin_table(X), response, Prior(n_trees=3), n_iterations=1, n_burn=0, rng=rng)


def _compile_loop() -> None:
    """The Gibbs loop, the largest of all, without anything that is needed to call it."""
    room = workspace(n_trees=2, n_rows=N_ROWS, n_columns=2, n_copies=2, n_iterations=4)
    room.chain.tally.whole[N_DONE] = 1
    response = working_response(read_outcome(np.arange(float(N_ROWS)), N_ROWS))
    prior = Prior(n_trees=2).parameters(response, np.ones(2))
    design = design_of(room.sample, 2, N_ROWS)
    run(room.rng, design, prior, room.chain, room.trace, 0)


def _three_classes() -> NDArray[np.str_]:
    return np.array(["a", "b", "c"])[np.arange(N_ROWS) % 3]


def compile_in_parallel() -> None:
    """Where nothing is compiled yet: the plays in a second process, the chains in this one."""
    if was_compiled(make_plays) or (os.cpu_count() or 1) < 2:
        return
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, "-c", COMPILE_PLAYS], stdin=quiet, stdout=quiet, stderr=quiet
    ) as beside:
        try:
            compile_chains()
            beside.wait()
        finally:
            beside.kill()


def _fit(X: np.ndarray, y: np.ndarray, reward: Reward, window: int) -> None:
    names = [f"x{j}" for j in range(X.shape[1])]
    ThompsonFit(reward, n_plays=2, window=window, n_jobs=1, random_state=0).fit(
        Table.of_matrix(X, names), y
    )
