from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from tvselect.bandit.arms import Arms
from tvselect.bandit.oracle import (
    MEDIAN_MODEL_COST,
    MOST_REDRAWS,
    NO_PAIRS,
    Oracle,
    join_partners,
    threshold,
)


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
    oracle = Oracle(n_candidates=4, with_decoys=True)
    played = [oracle.choose(arms, np.random.default_rng(seed)) for seed in range(50)]
    for chosen in played:
        candidates, decoys = np.split(chosen, 2)
        np.testing.assert_array_equal(decoys, candidates + 4)
        assert candidates.max() < 4
    assert np.unique(np.concatenate(played)).size == 8
    two = Oracle(n_wanted=2, n_candidates=4, with_decoys=True)
    assert max(two.choose(arms, np.random.default_rng(seed)).size for seed in range(50)) == 4


def test_a_pair_is_played_when_no_draw_reaches():
    """100 draws of arms that never reach; the largest draw of a candidate is played."""
    arms = Arms(4, 1.0, 1e6)
    chosen = Oracle(n_candidates=2, with_decoys=True).choose(arms, np.random.default_rng(0))
    assert chosen.tolist() in ([0, 2], [1, 3])


def as_pairs(*pairs):
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def joined(arms, *pairs):
    room = np.r_[arms, np.full(len(pairs), -1)].astype(np.int32)
    return room[: join_partners(as_pairs(*pairs), room, len(arms))].tolist()


@pytest.mark.parametrize(
    ("arms", "pairs", "wanted"),
    [
        ([3, 8], [(3, 5)], [3, 5, 8]),
        ([5, 8], [(3, 5)], [3, 5, 8]),
        ([3, 8], [(3, 9)], [3, 8, 9]),
        ([3, 8], [(8, 0)], [0, 3, 8]),
        ([3, 8], [(8, 3)], [3, 8]),
        ([3, 8], [(4, 5)], [3, 8]),
        ([3, 8], [], [3, 8]),
        ([7], [(7, 0), (2, 9), (5, 4)], [0, 7]),
        ([2, 4, 7], [(7, 0), (2, 9), (5, 4)], [0, 2, 4, 5, 7, 9]),
    ],
)
def test_partners_join_in_rising_order(arms, pairs, wanted):
    assert joined(arms, *pairs) == wanted


def test_partners_of_random_arms_join():
    rng = np.random.default_rng(0)
    for _ in range(100):
        pairs = rng.permutation(20)[:10].reshape(-1, 2)
        arms = np.flatnonzero(rng.random(20) < 0.3)
        partners = {int(k) for pair in pairs if np.isin(pair, arms).any() for k in pair}
        assert joined(arms, *pairs) == sorted({*arms.tolist(), *partners})


@pytest.mark.parametrize("draw", [[0.1, 0.2, 0.9, 0.0, 0.1], [0.9, 0.2, 0.1, 0.0, 0.1]])
def test_where_one_of_a_pair_is_drawn_the_other_is_played_too(draw):
    chosen = Oracle(pairs=as_pairs((2, 0))).choose(Arms(5), Scripted(draw))
    assert chosen.tolist() == [0, 2]
    assert chosen.dtype == np.int32


def test_a_pair_of_which_none_is_drawn_is_not_played():
    oracle = Oracle(pairs=as_pairs((2, 0), (3, 4)))
    assert oracle.choose(Arms(5), Scripted([0.1, 0.9, 0.1, 0.2, 0.8])).tolist() == [1, 3, 4]


def test_no_pairs_change_no_choice():
    for seed in range(20):
        plain, none = (
            oracle.choose(Arms(9), np.random.default_rng(seed))
            for oracle in (Oracle(), Oracle(pairs=NO_PAIRS))
        )
        np.testing.assert_array_equal(plain, none)


@pytest.mark.parametrize(("pairs", "wanted"), [([(0, 1)], [2]), ([(2, 0)], [0, 2])])
def test_a_partner_joins_the_largest_of_a_hundred_empty_draws(pairs, wanted):
    rng = Scripted(*[[0.2, 0.1, 0.4]] * MOST_REDRAWS)
    assert Oracle(pairs=as_pairs(*pairs)).choose(Arms(3), rng).tolist() == wanted


@pytest.mark.parametrize("q", [1, 2, 4])
def test_pairs_have_no_effect_where_the_size_of_the_model_is_known(q):
    for seed in range(20):
        plain, paired = (
            Oracle(q, pairs=pairs).choose(Arms(9), np.random.default_rng(seed))
            for pairs in (NO_PAIRS, as_pairs((0, 5), (7, 1)))
        )
        np.testing.assert_array_equal(plain, paired)


def test_partners_bring_their_decoys():
    oracle = Oracle(n_candidates=3, with_decoys=True, pairs=as_pairs((2, 0)))
    chosen = oracle.choose(Arms(6), Scripted([0.1, 0.2, 0.9, 0.9, 0.9, 0.1]))
    assert chosen.tolist() == [0, 2, 3, 5]
