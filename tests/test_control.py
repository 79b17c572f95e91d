"""q-values from decoys and from e-values: their definitions, and the laws that they keep."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tvselect.control import (
    STAKES,
    average_log_e,
    fewest_wins,
    log_stakes,
    q_values_by_decoys,
    q_values_by_evidence,
    q_values_together,
)

COPIES = 10


def by_definition(scores, decoys, n_copies, is_candidate):
    q = np.ones(scores.size)
    for j in np.flatnonzero(is_candidate):
        for t in scores[is_candidate & (scores <= scores[j])]:
            n_columns = np.count_nonzero(is_candidate & (scores >= t))
            share = (1 + np.count_nonzero(decoys >= t)) / n_copies / n_columns
            q[j] = min(q[j], share)
    return q


@pytest.mark.parametrize("has_ties", [False, True])
def test_q_values_are_what_their_definition_says(has_ties):
    rng = np.random.default_rng(0)
    for k in range(50):
        scores, decoys = rng.random(12), rng.random(60) * 0.9
        if has_ties:
            scores, decoys = scores.round(1), decoys.round(1)
        candidates = scores > (0.3 if k else 1.0)
        found = q_values_by_decoys(scores, decoys, 5, candidates)
        assert_allclose(found, by_definition(scores, decoys, 5, candidates))


@pytest.mark.parametrize("level", [0.1, 0.2])
@pytest.mark.parametrize("n_signals", [0, 5, 30])
def test_the_false_discovery_rate_is_kept(level, n_signals):
    """Benjamini and Hochberg with conformal p-values: FDR <= level * (nulls / columns).

    Scores of decoys and of columns without a signal are exchangeable; the mean of the false
    discovery proportion over 2,000 draws may lie above by three standard errors.
    """
    rng, p = np.random.default_rng(7), 60
    proportions = []
    for _ in range(2000):
        scores, decoys = rng.normal(size=p), rng.normal(size=COPIES * p)
        scores[:n_signals] += rng.uniform(0, 6, n_signals)
        selected = q_values_by_decoys(scores, decoys, COPIES, np.ones(p, dtype=bool)) <= level
        proportions.append(selected[n_signals:].sum() / max(1, selected.sum()))
    error = np.std(proportions) / np.sqrt(len(proportions))
    assert np.mean(proportions) <= level * (1 - n_signals / p) + 3 * error


def test_blocks_that_depend_on_each_other_are_kept_under_the_null():
    """Columns of a copy may go together: with exchangeable copies, each is the one with the
    highest score with probability 1 / (B + 1), and few others are ahead anywhere below it."""
    rng, p, n_runs = np.random.default_rng(8), 30, 4000
    hits = 0
    for _ in range(n_runs):
        blocks = rng.normal(size=(COPIES + 1, 1)) * 2 + rng.normal(size=(COPIES + 1, p))
        q = q_values_by_decoys(blocks[0], blocks[1:].ravel(), COPIES, blocks[0] > 0)
        hits += (q <= 0.1).any()
    bound = (1 + 1 / 2) / (COPIES + 1)  # the top block, and at most one in two runs a second
    assert hits / n_runs <= bound + 3 * np.sqrt(bound / n_runs)


# several methods


def test_methods_share_the_level():
    found = q_values_together(np.array([0.01, 0.02, 1.0, 1.0]), np.array([1.0, 0.03, 0.03, 0.5]))
    # At 0.02: (0.04 + 0.02) / 2. At 0.03: (0.04 + 0.06) / 3. At 0.5: (0.04 + 1.5) / 4.
    assert_allclose(found, [0.02, 0.03, 0.1 / 3, 0.385])


def test_two_methods_find_something_in_noise_no_more_often_than_one_may():
    """Each method has a smallest q-value that is uniform, as if its level were just kept."""
    rng, n_runs = np.random.default_rng(9), 4000
    hits = 0
    for _ in range(n_runs):
        q = np.ones((2, 5))
        q[[0, 1], rng.integers(5, size=2)] = rng.random(2)
        hits += (q_values_together(*q) <= 0.1).any()
    assert hits / n_runs <= 0.1 + 3 * np.sqrt(0.09 / n_runs)


# e-values


@pytest.mark.parametrize("n_copies", [1, 2, 3])
def test_the_next_bet_is_fair(n_copies):
    """Exchangeable arm and copies: over all orders of the same rewards the mean of a bet is 1."""
    for rewards in product([False, True], repeat=1 + n_copies):
        orders = np.array([np.roll(rewards, k) for k in range(1 + n_copies)]).T
        assert_allclose(np.exp(log_stakes(orders)).mean(axis=1), 1.0, rtol=1e-12)


def test_a_bet_wins_by_the_share_of_the_rewards():
    rewards = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 0]]) > 0
    ratio = np.array([4.0, 2.0, 0.0, 1.0, 1.0])
    assert_allclose(np.exp(log_stakes(rewards)), 1 - STAKES[:, None] + STAKES[:, None] * ratio)


def test_no_stopping_rule_makes_more_than_was_staked():
    """All 2^12 sequences of fair bets: E at the best moment known then, and Ville's bound.

    Stop at the first time that E reaches a bound, else at the end: the mean of E is 1 for
    each bound, and bound * P[ever reached] <= 1.
    """
    m = 12
    paths = np.array(list(product([0, 1], repeat=m))) > 0
    steps = log_stakes(np.stack([paths.ravel(), ~paths.ravel()])).reshape(-1, *paths.shape)
    e = np.exp(average_log_e(np.cumsum(steps, axis=2)))
    for bound in (1.5, 2.0, 5.0, 20.0, 100.0):
        reached = e >= bound
        stop = np.where(reached.any(axis=1), reached.argmax(axis=1), m - 1)
        assert_allclose(e[np.arange(len(e)), stop].mean(), 1.0, rtol=1e-9)
        assert reached.any(axis=1).mean() <= 1 / bound


def e_bh(e, level):
    """By the definition: the largest k of which the k-th largest is at least p / (q k)."""
    p = e.size
    falling = np.sort(e)[::-1]
    fitting = [k for k in range(1, p + 1) if falling[k - 1] >= p / (level * k)]
    return e >= falling[max(fitting) - 1] if fitting else np.zeros(p, dtype=bool)


@pytest.mark.parametrize("seed", range(20))
def test_q_values_are_the_levels_at_which_e_bh_selects(seed):
    rng = np.random.default_rng(seed)
    e = np.exp(rng.normal(0, 3, 30)).round(1) + 0.05
    q = q_values_by_evidence(np.log(e))
    for level in (0.03, 0.1, 0.2, 0.5, 0.99):
        assert_array_equal(q <= level, e_bh(e, level))


@pytest.mark.parametrize("p", [1, 10, 1000, 10_000])
@pytest.mark.parametrize(("k", "n_copies"), [(1, 1), (5, 1), (5, 3)])
def test_fewest_wins_are_enough_and_one_less_is_not(p, k, n_copies):
    k = min(k, p)
    wins, won = fewest_wins(p, 0.1, k, n_copies), log_stakes(np.arange(1 + n_copies)[:, None] < 1)
    for n, enough in ((wins, True), (wins - 1, False)):
        log_e = np.zeros(p)
        log_e[:k] = average_log_e(n * won)
        assert (q_values_by_evidence(log_e)[:k] <= 0.1).all() == enough
