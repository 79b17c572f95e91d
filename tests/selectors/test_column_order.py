"""The order of the columns means nothing: permuted columns, the same law of the result."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom

from tvselect import BartReward, PValueReward, ThompsonSelector

P, N_SEEDS = 15, 20
SIGNALS = np.array([0, 1, 14])
ORDER = np.random.default_rng(5).permutation(P)


def fits(reward, order, seeds):
    """Supports and selection rates over independent runs, in the original order."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, P))
    y = 4 * X[:, 0] - 3 * X[:, 1] + 4 * (X[:, 14] > 0) + rng.standard_normal(100)
    supports, rates = np.zeros((2, len(seeds), P))
    for k, seed in enumerate(seeds):
        fitted = ThompsonSelector(reward, n_plays=40, random_state=seed)
        fitted.fit(np.ascontiguousarray(X[:, order]), y)
        supports[k, order], rates[k, order] = fitted.support_, fitted.selection_rates_
    return supports.astype(bool), rates


@pytest.mark.parametrize(
    "reward",
    [BartReward(n_trees=10, n_iterations=200, proposals_per_column=0.0), PValueReward(alpha=1e-3)],
    ids=["bart", "p"],
)
def test_permuted_columns_give_the_permuted_result(reward):
    supports, rates = fits(reward, np.arange(P), range(N_SEEDS))
    moved_supports, moved_rates = fits(reward, ORDER, range(1000, 1000 + N_SEEDS))
    truth = np.isin(np.arange(P), SIGNALS)
    # A run finds the right set with probability 0.9 or more: fewer hits than this are a sign.
    enough = binom.ppf(1e-4, N_SEEDS, 0.9)
    assert (supports == truth).all(axis=1).sum() >= enough
    assert (moved_supports == truth).all(axis=1).sum() >= enough
    gap = rates.mean(axis=0) - moved_rates.mean(axis=0)
    error = np.sqrt((rates.var(axis=0, ddof=1) + moved_rates.var(axis=0, ddof=1)) / N_SEEDS)
    assert (np.abs(gap)[SIGNALS] <= 4 * error[SIGNALS] + 1e-12).all()
    assert (np.abs(gap) <= 5 * error + 1e-12).all()


def test_a_permuted_table_pays_the_same_where_the_reward_has_no_randomness():
    reward = PValueReward(alpha=0.1, bootstrap=False)
    _, kept = fits(reward, np.arange(P), [0])
    _, moved = fits(reward, ORDER, [0])
    assert_array_equal(kept > 0.5, moved > 0.5)
