"""The order of the columns means nothing: permuted columns, the same law of the result."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom

from tvselect import BartReward, PValueReward, ThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.oracle import Oracle

N, P, N_SEEDS = 100, 15, 20
SIGNALS = np.array([0, 1, 14])
ORDERS = {
    "reversed": np.arange(P)[::-1],
    "shuffled": np.random.default_rng(5).permutation(P),
}


def make_data():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((N, P))
    return X, 4 * X[:, 0] - 3 * X[:, 1] + 4 * (X[:, 14] > 0) + rng.standard_normal(N)


def fits(reward, order, first_seed):
    """Supports and selection rates over independent runs, in the original order."""
    X, y = make_data()
    supports, probabilities = np.zeros((2, N_SEEDS, P))
    for k in range(N_SEEDS):
        fitted = ThompsonSelector(reward, n_plays=40, random_state=first_seed + k)
        fitted.fit(np.ascontiguousarray(X[:, order]), y)
        supports[k, order] = fitted.support_
        probabilities[k, order] = fitted.selection_rates_
    return supports.astype(bool), probabilities


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(
    "reward",
    [BartReward(n_trees=10, n_iterations=200, proposals_per_column=0.0), PValueReward(alpha=1e-3)],
    ids=["bart", "p"],
)
def test_permuted_columns_give_the_permuted_result(reward, order):
    supports, probabilities = fits(reward, np.arange(P), 0)
    moved_supports, moved_probabilities = fits(reward, order, 1000)
    truth = np.isin(np.arange(P), SIGNALS)
    # A run finds the right set with probability 0.9 or more: fewer hits than this are a sign.
    enough = binom.ppf(1e-4, N_SEEDS, 0.9)
    assert (supports == truth).all(axis=1).sum() >= enough
    assert (moved_supports == truth).all(axis=1).sum() >= enough
    gap = probabilities.mean(axis=0) - moved_probabilities.mean(axis=0)
    variance = probabilities.var(axis=0, ddof=1) + moved_probabilities.var(axis=0, ddof=1)
    error = np.sqrt(variance / N_SEEDS)
    assert (np.abs(gap)[SIGNALS] <= 4 * error[SIGNALS] + 1e-12).all()
    assert (np.abs(gap) <= 5 * error + 1e-12).all()


def test_every_place_is_chosen_equally_often():
    rng = np.random.default_rng(0)
    chosen = np.zeros(40)
    n = 2000
    for _ in range(n):
        chosen[Oracle(7).choose(Arms(40), rng)] += 1
    expected = chosen.sum() / 40
    low, high = binom.ppf([1e-6, 1 - 1e-6], n, expected / n)
    assert (low <= chosen.min()) & (chosen.max() <= high)


def test_a_permuted_table_with_permuted_plays_pays_the_same():
    """With a reward that has no randomness the payoffs move along with the columns."""
    X, y = make_data()
    order = ORDERS["shuffled"]
    reward = PValueReward(alpha=0.1, bootstrap=False)
    kept = ThompsonSelector(reward, n_plays=40, random_state=0).fit(X, y)
    moved = ThompsonSelector(reward, n_plays=40, random_state=0).fit(X[:, order], y)
    truth = kept.selection_rates_ > 0.5
    assert_array_equal(truth[order], moved.selection_rates_ > 0.5)
