from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain, bernoulli
from tvselect.bandit.oracle import Oracle
from tvselect.bandit.stopping import Stopping, StopReason

THETA = np.array([0.9, 0.8, 0.5, 0.2, 0.1, 0.0, 1.0])
SETTINGS = {
    "plain": dict(),
    "q*": dict(oracle=Oracle(2)),
    "per arm": dict(prior=(np.linspace(0.5, 2, 7), 1.0, np.linspace(0.3, 0.7, 7))),
}


def chain_of(entropy=1, chain=0, oracle=Oracle(), prior=(), stopping=Stopping(60)):  # noqa: B008
    return ThompsonChain(
        Arms(7, *prior),
        oracle,
        stopping,
        entropy=entropy,
        chain=chain,
    )


def paid(arms, rng):
    return THETA[arms]


def assert_same(one, other):
    assert one.number == other.number
    np.testing.assert_array_equal(one.arms, other.arms)
    np.testing.assert_array_equal(one.rewards, other.rewards)


def assert_same_arms(one, other):
    np.testing.assert_array_equal(one.arms.successes, other.arms.successes)
    np.testing.assert_array_equal(one.arms.failures, other.arms.failures)
    np.testing.assert_array_equal(one.arms.passing, other.arms.passing)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_same_entropy_gives_the_same_plays(settings):
    one, other = chain_of(**settings), chain_of(**settings)
    for _ in range(40):
        assert_same(one.play(paid), other.play(paid))
    assert_same_arms(one, other)


@pytest.mark.parametrize("n_before", [1, 7, 39])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_resumed_chain_goes_on_exactly_as_it_would_have(settings, n_before):
    whole = chain_of(**settings)
    plays = [whole.play(paid) for _ in range(40)]
    resumed = chain_of(**settings)
    for play in plays[:n_before]:
        resumed.learn(play)
    assert resumed.n_plays == n_before
    for play in plays[n_before:]:
        assert_same(resumed.play(paid), play)
    assert_same_arms(resumed, whole)


def test_a_resumed_chain_stops_where_it_would_have():
    stopping = Stopping(500, patience=8)
    whole = chain_of(stopping=stopping)
    plays = []
    while whole.stop_reason() is None:
        plays.append(whole.play(paid))
    assert 8 < len(plays) < 500
    resumed = chain_of(stopping=stopping)
    for play in plays[:-3]:
        resumed.learn(play)
    for _ in range(3):
        assert resumed.stop_reason() is None
        resumed.play(paid)
    assert resumed.stop_reason() is whole.stop_reason() is StopReason.PATIENCE


def test_a_play_does_not_depend_on_the_random_numbers_of_plays_before_it():
    """Each play has its own generator: a reward that draws more changes no later play."""

    def greedy(arms, rng):
        rng.random(1000)
        return np.ones(arms.size)

    one, other = chain_of(), chain_of()
    for _ in range(10):
        assert_same(one.play(greedy), other.play(lambda arms, rng: np.ones(arms.size)))


@pytest.mark.parametrize(("entropy", "chain"), [(1, 1), (2, 0), (2**100, 0)])
def test_other_chains_and_other_seeds_play_otherwise(entropy, chain):
    one, other = chain_of(), chain_of(entropy=entropy, chain=chain)
    plays = [(one.play(paid), other.play(paid)) for _ in range(10)]
    assert any(not np.array_equal(a.arms, b.arms) for a, b in plays)


def test_the_arms_count_exactly_what_the_plays_paid():
    chain = chain_of()
    successes, failures = np.zeros((2, 7), dtype=int)
    for number in range(40):
        play = chain.play(paid)
        assert play.number == number
        assert (np.diff(play.arms) > 0).all()
        assert play.arms.dtype == np.int32
        assert play.rewards.dtype == np.bool_
        assert play.seconds >= 0.0
        successes[play.arms] += play.rewards
        failures[play.arms] += ~play.rewards
    np.testing.assert_array_equal(chain.arms.successes, successes)
    np.testing.assert_array_equal(chain.arms.failures, failures)
    assert successes[5] == 0
    assert failures[6] == 0


def test_fractional_payoffs_become_ones_as_often_as_they_say():
    payoffs = np.array([0.0, 0.02, 0.3, 0.5, 0.97, 1.0])
    rng = np.random.default_rng(0)
    n = 5000
    ones = sum(bernoulli(payoffs, rng).astype(int) for _ in range(n))
    low, high = binom.ppf([[1e-5], [1 - 1e-5]], n, payoffs)
    assert (low <= ones).all()
    assert (ones <= high).all()
    assert ones[0] == 0
    assert ones[-1] == n


def test_certain_payoffs_need_no_random_numbers():
    rng, untouched = np.random.default_rng(0), np.random.default_rng(0)
    rewards = bernoulli(np.array([0.0, 1.0, 1.0]), rng)
    np.testing.assert_array_equal(rewards, [False, True, True])
    assert rewards.dtype == np.bool_
    assert rng.random() == untouched.random()


def test_thompson_sampling_learns_which_arms_pay():
    chain = chain_of(stopping=Stopping(300))
    while chain.stop_reason() is None:
        chain.play(paid)
    model = set(chain.oracle.model(chain.arms).tolist())
    assert {0, 1, 6} <= model <= {0, 1, 2, 6}


def test_a_skipped_play_takes_its_turn_and_teaches_nothing():
    one, other = chain_of(stopping=Stopping(patience=3)), chain_of(stopping=Stopping(patience=3))
    one.skip()
    assert one.n_plays == 1
    assert one.arms.played().sum() == 0
    other.learn(one.skip())
    assert_same(one.play(paid), other.play(paid))
    for _ in range(5):
        one.skip()
    assert one.stop_reason() is None


def test_replaying_brings_a_chain_to_any_earlier_state():
    chain = chain_of(stopping=Stopping(patience=1000))
    plays = [chain.play(paid) for _ in range(30)]
    chain.replay(plays[:10])
    assert chain.n_plays == 10
    assert_same(chain.play(paid), plays[10])


def test_discounted_arms_forget_what_was_paid_before():
    """After k plays that pay and then m that do not: sums of geometric series."""
    arms = Arms(3, discount=0.5)
    first = np.array([0], dtype=np.int32)
    for reward in (True, True, True, False, False):
        arms.update(first, np.array([reward]))
    assert arms.successes.tolist() == [(1 + 0.5 + 0.25) * 0.25, 0, 0]
    assert arms.failures.tolist() == [1.5, 0, 0]
    assert not arms.passing.any()
