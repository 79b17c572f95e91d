from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from tvselect.control.evalues import average, fewest_wins, log_e_values, q_values


@pytest.mark.parametrize(("w", "b"), [(0, 0), (1, 0), (0, 1), (7, 2), (3, 9), (40, 25)])
def test_e_is_the_mean_stake_over_chances_above_a_half(w, b):
    wanted, _ = quad(lambda c: 2 * (2 * c) ** w * (2 * (1 - c)) ** b, 0.5, 1.0)
    assert_allclose(np.exp(log_e_values(w, b)), wanted, rtol=1e-9)


def test_the_next_bet_is_fair():
    """A martingale: E(w, l) is the mean of E(w + 1, l) and E(w, l + 1), for all counts."""
    w, b = np.meshgrid(np.arange(60), np.arange(60))
    here, won, lost = (np.exp(log_e_values(*counts)) for counts in ((w, b), (w + 1, b), (w, b + 1)))
    assert_allclose((won + lost) / 2, here, rtol=1e-9)


def test_no_stopping_rule_makes_more_than_was_staked():
    """All 2^12 sequences of fair bets: E at the best moment known then, and Ville's bound.

    Stop at the first time that E reaches a bound, else at the end: the mean of E is 1 for
    each bound, and bound * P[ever reached] <= 1.
    """
    m = 12
    paths = np.array(list(product([0, 1], repeat=m)))
    wins = np.cumsum(paths, axis=1)
    e = np.exp(log_e_values(wins, np.arange(1, m + 1) - wins))
    for bound in (1.5, 2.0, 5.0, 20.0, 100.0):
        reached = e >= bound
        stop = np.where(reached.any(axis=1), reached.argmax(axis=1), m - 1)
        assert_allclose(e[np.arange(len(e)), stop].mean(), 1.0, rtol=1e-9)
        assert reached.any(axis=1).mean() <= 1 / bound


def test_a_loser_of_very_many_bets_has_next_to_nothing():
    assert log_e_values(0, 5000) < np.log(1 / 5000)
    assert np.isfinite(log_e_values(5000, 10))


def test_averages_are_of_e_values_not_of_logs():
    log_e = np.log([[1.0, 4.0], [3.0, 0.5]])
    assert_allclose(np.exp(average(log_e)), [2.0, 2.25])
    assert_allclose(average(np.array([[800.0], [-np.inf]])), 800.0 - np.log(2))


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
    q = q_values(np.log(e))
    for level in (0.03, 0.1, 0.2, 0.5, 0.99):
        assert_array_equal(q <= level, e_bh(e, level))


def test_q_values_keep_the_order_of_evidence_and_ties():
    e = np.array([100.0, 100.0, 30.0, 1.0, 0.0])
    with np.errstate(divide="ignore"):
        q = q_values(np.log(e))
    assert q[0] == q[1] <= q[2] <= q[3] == q[4] == 1.0


def test_without_bets_nothing_is_selected():
    assert_array_equal(q_values(log_e_values(np.zeros(5), np.zeros(5))), 1.0)


@pytest.mark.parametrize("p", [1, 10, 1000, 10_000])
@pytest.mark.parametrize("k", [1, 5])
def test_fewest_wins_are_enough_and_one_less_is_not(p, k):
    k = min(k, p)
    wins = fewest_wins(p, 0.1, k)
    for n, enough in ((wins, True), (wins - 1, False)):
        log_e = np.zeros(p)
        log_e[:k] = log_e_values(n, 0)
        assert (q_values(log_e)[:k] <= 0.1).all() == enough


def test_e_bh_of_dependent_nulls_keeps_the_rate():
    """All nulls: the FDR is the chance to select anything, at most the level.

    200 games of 50 arms that share their coins, looked at after every one of 40 bets.
    """
    rng = np.random.default_rng(0)
    level, ever = 0.2, 0
    for _ in range(200):
        coins = (rng.random((40, 1)) < 0.5) ^ (rng.random((40, 50)) < 0.1)
        wins = np.cumsum(coins, axis=0)
        log_e = log_e_values(wins, np.arange(1, 41)[:, None] - wins)
        ever += any((q_values(row) <= level).any() for row in log_e)
    assert ever / 200 <= level + 3 * np.sqrt(level * (1 - level) / 200)
