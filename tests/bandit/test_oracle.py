from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from tvselect.bandit.arms import Arms
from tvselect.bandit.oracle import (
    MEDIAN_MODEL_COST,
    MOST_REDRAWS,
    BurnIn,
    Oracle,
    join_partners,
    threshold,
)


def arms_of(successes, failures, threshold=0.5):
    """Arms with these counts, got play by play."""
    arms = Arms(len(successes), threshold=threshold)
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


def as_pairs(*pairs):
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def test_the_threshold_is_the_formula_of_the_paper_and_one_half_for_the_golden_cost():
    costs = np.linspace(0.001, 0.999, 99)
    c = threshold(costs)
    assert_allclose(c, [math.log(1 / C) / math.log((1 + C) / C) for C in costs], rtol=1e-13)
    assert_array_equal([threshold(float(C)) for C in costs], c)
    assert isinstance(threshold(0.3), float)
    assert (np.diff(c) < 0).all()
    assert ((c > 0) & (c < 1)).all()
    assert threshold(MEDIAN_MODEL_COST) == threshold((5**0.5 - 1) / 2) == 0.5
    assert (threshold(np.full(3, MEDIAN_MODEL_COST)) == 0.5).all()


LOW = [0.1, 0.2, 0.3]
ALL_LOW = [[0.3, 0.1, 0.2]] * (MOST_REDRAWS - 1)
PAIR = Oracle(pairs=as_pairs((2, 0)))


@pytest.mark.parametrize(
    ("oracle", "n_arms", "draws", "wanted"),
    [
        (Oracle(), 4, [[0.5, 0.49, 0.99, 0.0]], [0, 2]),
        (Oracle(), 3, [LOW, LOW, [0.1, 0.9, 0.2]], [1]),
        # After a hundred empty draws the largest of the last are played.
        (Oracle(), 3, [*ALL_LOW, [0.2, 0.1, 0.4]], [2]),
        (Oracle(1), 3, [*ALL_LOW, [0.2, 0.1, 0.4]], [2]),
        (Oracle(2), 3, [*ALL_LOW, [0.2, 0.1, 0.4]], [0, 2]),
        # Where one of a pair is drawn, the other is played, too.
        (PAIR, 5, [[0.1, 0.2, 0.9, 0.0, 0.1]], [0, 2]),
        (PAIR, 5, [[0.9, 0.2, 0.1, 0.0, 0.1]], [0, 2]),
        (PAIR, 3, [*ALL_LOW, [0.2, 0.1, 0.4]], [0, 2]),
        (Oracle(pairs=as_pairs((0, 1))), 3, [*ALL_LOW, [0.2, 0.1, 0.4]], [2]),
        (Oracle(pairs=as_pairs((2, 0), (3, 4))), 5, [[0.1, 0.9, 0.1, 0.2, 0.8]], [1, 3, 4]),
        # Where the size of the model is known, pairs have no effect.
        (Oracle(1, pairs=as_pairs((2, 0))), 3, [[0.1, 0.2, 0.9]], [2]),
        # Decoys are played by themselves, or with their arm; their draws then decide nothing.
        (Oracle(n_candidates=2), 4, [[0.5, 0.0, 0.5, 0.9]], [0, 2, 3]),
        (Oracle(None, 3, True), 6, [[0.1, 0.2, 0.9, 0.9, 0.9, 0.1]], [2, 5]),
        (Oracle(1, 3, True), 6, [[0.8, 0.2, 0.9, 0.9, 0.9, 0.1]], [2, 5]),
        (
            Oracle(None, 3, True, as_pairs((2, 0))),
            6,
            [[0.1, 0.2, 0.9, 0.9, 0.9, 0.1]],
            [0, 2, 3, 5],
        ),
        (Oracle(None, 2, True), 4, [[0.1, 0.3, 0.9, 0.9]] * MOST_REDRAWS, [1, 3]),
    ],
)
def test_arms_that_reach_the_threshold_are_played(oracle, n_arms, draws, wanted):
    rng = Scripted(*draws)
    chosen = oracle.choose(Arms(n_arms), rng)
    assert chosen.tolist() == wanted
    assert chosen.dtype == np.int32
    assert rng.draws == []


@pytest.mark.parametrize("q", [1, 2, 3, 7])
def test_of_those_that_pass_the_largest_draws_are_played(q):
    rng = np.random.default_rng(0)
    arms = arms_of([3, 0, 5, 9, 0, 2, 1], [1, 4, 5, 9, 0, 1, 1], threshold=0.4)
    every = np.arange(7, dtype=np.int32)
    for _ in range(200):
        quantiles = rng.random(7, dtype=np.float32)
        theta = arms.thetas(every, quantiles)
        passing = np.flatnonzero(theta >= 0.4)
        if passing.size:
            wanted = np.sort(passing[np.argsort(-theta[passing])][:q])
            assert_array_equal(Oracle(q).choose(arms, Scripted(quantiles)), wanted)


def test_hopeless_arms_are_still_played_one_at_a_time():
    arms, rng = arms_of([0, 0], [400, 400], threshold=0.9), np.random.default_rng(1)
    first = sum(Oracle().choose(arms, rng).tolist() == [0] for _ in range(100))
    assert binom.ppf(1e-5, 100, 0.5) <= first <= binom.ppf(1 - 1e-5, 100, 0.5)


@pytest.mark.parametrize(
    ("oracle", "arms", "wanted"),
    [
        (Oracle(), Arms(5), []),
        (Oracle(2), Arms(5), []),
        (Oracle(), arms_of([0, 2, 0, 2, 0], [1, 0, 0, 1, 0]), [1, 3]),
        *(
            (Oracle(q), arms_of([0, 2, 4, 0, 9, 1], [0, 1, 2, 3, 1, 3]), wanted)
            for q, wanted in [(1, [4]), (2, [2, 4]), (3, [1, 2, 4]), (5, [1, 2, 4])]
        ),
        (Oracle(), arms_of([1, 1, 2], [2, 2, 1], np.array([0.2, 0.5, 0.8])), [0]),
        # Decoys are never part of it.
        (Oracle(n_candidates=2), arms_of([5, 0, 5, 9], [0, 5, 1, 0]), [0]),
        (Oracle(1, n_candidates=3), arms_of([5, 0, 5, 9], [0, 5, 1, 0]), [0]),
    ],
)
def test_the_model_holds_played_arms_that_pass_at_most_the_wanted_number(oracle, arms, wanted):
    assert_array_equal(oracle.model(arms), wanted)


@pytest.mark.parametrize(
    ("arms", "pairs"),
    [
        ([3, 8], [(3, 5)]),
        ([5, 8], [(3, 5)]),
        ([3, 8], [(3, 9)]),
        ([3, 8], [(8, 0)]),
        ([3, 8], [(8, 3)]),
        ([3, 8], [(4, 5)]),
        ([3, 8], []),
        ([7], [(7, 0), (2, 9), (5, 4)]),
        ([2, 4, 7], [(7, 0), (2, 9), (5, 4)]),
        *((seed, None) for seed in range(50)),
    ],
)
def test_partners_join_in_rising_order(arms, pairs):
    if pairs is None:  # random ones
        rng = np.random.default_rng(arms)
        pairs = rng.permutation(20)[:10].reshape(-1, 2).tolist()
        arms = np.flatnonzero(rng.random(20) < 0.3).tolist()
    room = np.r_[arms, np.full(len(pairs), -1)].astype(np.int32)
    joined = room[: join_partners(as_pairs(*pairs), room, len(arms))].tolist()
    assert joined == sorted({*arms, *(k for pair in pairs if {*pair} & {*arms} for k in pair)})


@pytest.mark.parametrize(
    ("failures", "n_leaders", "heard", "wanted"),
    [
        ([0, 0, 1, 4], 2, (), [2, 3]),  # arms that were never played lead nothing
        ([50, 0, 1, 4], 2, (0,), [0, 2, 3]),
        ([50, 0, 1, 4], 2, (3, 1), [1, 2, 3]),
        ([50, 0, 1, 4], 2, (3, 2), [2, 3]),
    ],
)
def test_after_burn_in_the_best_arms_lead_and_those_to_be_heard(failures, n_leaders, heard, wanted):
    leaders = BurnIn(1, n_leaders, heard).leaders(np.array([0, 1, 9, 4]), np.array(failures))
    assert_array_equal(leaders, wanted)
    assert leaders.dtype == np.int32
