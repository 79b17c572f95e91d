from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from tvselect.bandit.arms import Arms
from tvselect.bandit.oracle import MEDIAN_MODEL_COST, MOST_REDRAWS, Oracle, threshold


def update(arms, successes, failures):
    for rewarded, numbers in ((True, successes), (False, failures)):
        for i, number in enumerate(numbers):
            for _ in range(number):
                arms.update(np.array([i], dtype=np.int32), np.array([rewarded]))
    return arms


class Scripted:
    """A generator whose draws are known beforehand."""

    def __init__(self, *draws):
        self.draws = list(draws)

    def random(self, size, dtype=np.float64):
        draw = np.asarray(self.draws.pop(0), dtype=dtype)
        assert draw.size == size
        return draw


def test_the_golden_cost_has_the_threshold_one_half_exactly():
    assert threshold(MEDIAN_MODEL_COST) == 0.5
    assert threshold((5**0.5 - 1) / 2) == 0.5
    assert (threshold(np.full(3, MEDIAN_MODEL_COST)) == 0.5).all()


def test_the_threshold_is_the_formula_of_the_paper_arm_by_arm():
    costs = np.array([0.05, 0.3, 0.5, 0.9, 0.999])
    wanted = [math.log(1 / C) / math.log((1 + C) / C) for C in costs]
    np.testing.assert_allclose(threshold(costs), wanted, rtol=1e-13)
    for C, c in zip(costs, wanted, strict=True):
        assert isinstance(threshold(float(C)), float)
        assert threshold(float(C)) == pytest.approx(c, rel=1e-13)


def test_a_higher_cost_makes_a_lower_threshold():
    c = threshold(np.linspace(0.01, 0.99, 99))
    assert (np.diff(c) < 0).all()
    assert ((c > 0) & (c < 1)).all()


def test_arms_at_or_above_the_threshold_are_played():
    chosen = Oracle().choose(Arms(4), Scripted([0.5, 0.49, 0.99, 0.0]))
    np.testing.assert_array_equal(chosen, [0, 2])
    assert chosen.dtype == np.int32


@pytest.mark.parametrize("q", [1, 2, 3, 7])
def test_of_those_that_pass_the_largest_draws_are_played(q):
    rng = np.random.default_rng(0)
    arms = update(Arms(7, threshold=0.4), [3, 0, 5, 9, 0, 2, 1], [1, 4, 5, 9, 0, 1, 1])
    every = np.arange(7, dtype=np.int32)
    for _ in range(200):
        quantiles = rng.random(7, dtype=np.float32)
        theta = arms.thetas(every, quantiles)
        passing = np.flatnonzero(theta >= 0.4)
        if not passing.size:
            continue
        wanted = np.sort(passing[np.argsort(-theta[passing])][:q])
        np.testing.assert_array_equal(Oracle(q).choose(arms, Scripted(quantiles)), wanted)


def test_an_empty_draw_is_drawn_again():
    low = [0.1, 0.2, 0.3]
    chosen = Oracle().choose(Arms(3), Scripted(low, low, [0.1, 0.9, 0.2]))
    np.testing.assert_array_equal(chosen, [1])


@pytest.mark.parametrize(("q", "wanted"), [(None, [2]), (1, [2]), (2, [0, 2])])
def test_after_a_hundred_empty_draws_the_largest_of_the_last_is_played(q, wanted):
    rng = Scripted(*[[0.3, 0.1, 0.2]] * (MOST_REDRAWS - 1), [0.2, 0.1, 0.4])
    np.testing.assert_array_equal(Oracle(q).choose(Arms(3), rng), wanted)
    assert rng.draws == []


def test_hopeless_arms_are_still_played_one_at_a_time():
    arms = update(Arms(2, threshold=0.9), [0, 0], [400, 400])
    rng = np.random.default_rng(1)
    first = sum(Oracle().choose(arms, rng).tolist() == [0] for _ in range(100))
    assert binom.ppf(1e-5, 100, 0.5) <= first <= binom.ppf(1 - 1e-5, 100, 0.5)


def test_the_model_holds_played_arms_only():
    arms = Arms(5)
    assert Oracle().model(arms).size == 0
    assert Oracle(2).model(arms).size == 0
    update(arms, [0, 2, 0, 2, 0], [1, 0, 0, 1, 0])
    np.testing.assert_array_equal(Oracle().model(arms), [1, 3])


@pytest.mark.parametrize(
    ("q", "wanted"), [(1, [4]), (2, [2, 4]), (3, [1, 2, 4]), (5, [1, 2, 4]), (None, [1, 2, 4])]
)
def test_the_model_holds_at_most_the_wanted_number_the_best_of_them(q, wanted):
    arms = update(Arms(6), [0, 2, 4, 0, 9, 1], [0, 1, 2, 3, 1, 3])
    np.testing.assert_array_equal(Oracle(q).model(arms), wanted)


def test_the_model_of_arms_with_their_own_thresholds():
    arms = update(Arms(3, threshold=np.array([0.2, 0.5, 0.8])), [1, 1, 2], [2, 2, 1])
    np.testing.assert_array_equal(Oracle().model(arms), [0])


def test_decoys_are_played_but_are_never_part_of_the_model():
    arms = update(Arms(4), [5, 0, 5, 9], [0, 5, 1, 0])
    np.testing.assert_array_equal(Oracle(n_candidates=2).model(arms), [0])
    np.testing.assert_array_equal(Oracle(1, n_candidates=3).model(arms), [0])
    assert 3 in Oracle(n_candidates=2).choose(arms, Scripted([0.5, 0.0, 0.5, 0.9]))


def test_arms_in_pairs_bring_their_decoys_and_decoys_decide_nothing():
    arms = Arms(8)
    oracle = Oracle(n_candidates=4, in_pairs=True)
    played = [oracle.choose(arms, np.random.default_rng(seed)) for seed in range(50)]
    for chosen in played:
        candidates, decoys = np.split(chosen, 2)
        np.testing.assert_array_equal(decoys, candidates + 4)
        assert candidates.max() < 4
    assert np.unique(np.concatenate(played)).size == 8
    two = Oracle(n_wanted=2, n_candidates=4, in_pairs=True)
    assert max(two.choose(arms, np.random.default_rng(seed)).size for seed in range(50)) == 4


def test_a_pair_is_played_when_no_draw_reaches():
    """100 draws of arms that never reach; the largest draw of a candidate is played."""
    arms = Arms(4, 1.0, 1e6)
    chosen = Oracle(n_candidates=2, in_pairs=True).choose(arms, np.random.default_rng(0))
    assert chosen.tolist() in ([0, 2], [1, 3])
