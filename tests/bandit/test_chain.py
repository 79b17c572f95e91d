from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import Chains, ThompsonChain, bernoulli
from tvselect.bandit.journal import Header, Journal
from tvselect.bandit.oracle import Oracle

THETA = np.array([0.9, 0.8, 0.5, 0.2, 0.1, 0.0, 1.0])
SETTINGS = {
    "plain": dict(),
    "q*": dict(oracle=Oracle(2)),
    "per arm": dict(prior=(np.linspace(0.5, 2, 7), 1.0, np.linspace(0.3, 0.7, 7))),
}


def chain_of(entropy=1, chain=0, oracle=Oracle(), prior=(), window=1):  # noqa: B008
    return ThompsonChain(Arms(7, *prior), oracle, entropy=entropy, chain=chain, window=window)


def payoffs(arms, rng):
    return THETA[arms]


def step(chain, payoffs=payoffs):
    """Ask, score, tell."""
    pending = chain.ask(1)[0]
    play = pending.played(pending.score(payoffs))
    chain.tell(play)
    return play


def skip(chain):
    play = chain.ask(1)[0].played(None)
    chain.tell(play)
    return play


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
        assert_same(step(one), step(other))
    assert_same_arms(one, other)


@pytest.mark.parametrize("n_before", [1, 7, 39])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_resumed_chain_goes_on_exactly_as_it_would_have(settings, n_before):
    whole = chain_of(**settings)
    plays = [step(whole) for _ in range(40)]
    resumed = chain_of(**settings)
    resumed.replay(plays[:n_before])
    assert resumed.n_plays == n_before
    for play in plays[n_before:]:
        assert_same(step(resumed), play)
    assert_same_arms(resumed, whole)
    assert resumed.n_unchanged == whole.n_unchanged


def test_a_play_does_not_depend_on_the_random_numbers_of_plays_before_it():
    """Each play has its own generator: a reward that draws more changes no later play."""

    def greedy(arms, rng):
        rng.random(1000)
        return np.ones(arms.size)

    one, other = chain_of(), chain_of()
    for _ in range(10):
        assert_same(step(one, greedy), step(other, lambda arms, rng: np.ones(arms.size)))


@pytest.mark.parametrize(("entropy", "chain"), [(1, 1), (2, 0), (2**100, 0)])
def test_other_chains_and_other_seeds_play_otherwise(entropy, chain):
    one, other = chain_of(), chain_of(entropy=entropy, chain=chain)
    plays = [(step(one), step(other)) for _ in range(10)]
    assert any(not np.array_equal(a.arms, b.arms) for a, b in plays)


def test_the_arms_count_exactly_what_the_plays_paid():
    chain = chain_of()
    successes, failures = np.zeros((2, 7), dtype=int)
    for number in range(40):
        play = step(chain)
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


def test_a_skipped_play_takes_its_turn_and_teaches_nothing():
    one, other = chain_of(), chain_of()
    skip(one)
    assert one.n_plays == 1
    assert one.arms.played().sum() == 0
    other.replay([skip(other), skip(one)])
    assert_same(step(one), step(other))
    before = one.n_unchanged
    for _ in range(5):
        skip(one)
    assert one.n_unchanged == before


def test_replaying_brings_a_chain_to_any_earlier_state():
    chain = chain_of()
    plays = [step(chain) for _ in range(30)]
    chain.replay(plays[:10])
    assert chain.n_plays == 10
    assert_same(step(chain), plays[10])


def test_the_model_is_unchanged_for_as_many_plays_as_it_stays_the_same():
    chain, models, counted = chain_of(), [], []
    for _ in range(60):
        step(chain)
        models.append(chain.oracle.model(chain.arms).tolist())
        counted.append(chain.n_unchanged)
    wanted, now = [], 0
    for before, model in zip([None, *models], models, strict=False):
        now = now + 1 if before == model else 0
        wanted.append(now)
    assert counted == wanted
    assert max(counted) > 5


@pytest.mark.parametrize("n_done", range(40, 52))
def test_a_window_goes_on_with_plays_chosen_before_its_first_one(n_done):
    """Windows of up to 4: wherever a run stops, the resumed one makes the same plays."""
    whole = chain_of(window=4)
    plays = [step(whole) for _ in range(60)]
    resumed = chain_of(window=4)
    resumed.replay(plays[:n_done])
    for play in plays[n_done:]:
        assert_same(step(resumed), play)


def journal_of(n_chains):
    journal = Journal()
    journal.begin(Header("fp", 1, 7, n_chains, 1, "1"))
    return journal


def test_chains_that_are_ahead_of_the_journal_go_back_to_it():
    """Plays that were told and not written, and plays that were asked for and not told."""
    chains, journal = Chains([chain_of(), chain_of(chain=1)]), journal_of(2)

    def play():
        pending = chains.ask()
        return chains.tell(pending, [p.score(payoffs) for p in pending])

    for _ in range(5):
        journal.append(play())
    lost = play()
    chains.follow(journal)
    assert chains.n_plays == 5
    for play_again, was in zip(play(), lost, strict=True):
        assert_same(play_again, was)
    chains.follow(journal)
    for pending in chains.ask():
        pending.score(payoffs)  # interrupted before it is told
    chains.follow(journal)
    for play_again, was in zip(play(), lost, strict=True):
        assert_same(play_again, was)


def test_discounted_arms_forget_what_was_paid_before():
    """After k plays that pay and then m that do not: sums of geometric series."""
    arms = Arms(3, discount=0.5)
    first = np.array([0], dtype=np.int32)
    for reward in (True, True, True, False, False):
        arms.update(first, np.array([reward]))
    assert arms.successes.tolist() == [(1 + 0.5 + 0.25) * 0.25, 0, 0]
    assert arms.failures.tolist() == [1.5, 0, 0]
    assert not arms.passing.any()
