"""Chains of plays, burn-in and windows: each play is a function of the seed and those before."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom

from tests.decoyed import Marginal
from tests.nested import nested
from tvselect import ThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain, bernoulli
from tvselect.bandit.oracle import BurnIn, Oracle

THETA = np.array([0.9, 0.8, 0.5, 0.2, 0.1, 0.0, 1.0])
PER_ARM = (np.linspace(0.5, 2, 7), 1.0, np.linspace(0.3, 0.7, 7))
BURN_IN = BurnIn(10, 3)
SETTINGS = {
    "plain": dict(),
    "q*": dict(oracle=Oracle(2)),
    "per arm": dict(prior=PER_ARM),
    "windows": dict(window=4),
    "burn-in": dict(burn_in=BURN_IN),
    "windows and burn-in": dict(window=4, burn_in=BURN_IN),
}


def chain_of(oracle=Oracle(), prior=(), entropy=1, **settings):  # noqa: B008
    return ThompsonChain(Arms(7, *prior), oracle, entropy=entropy, **settings)


def payoffs(arms, rng):
    return THETA[arms]


def step(chain, payoffs=payoffs):
    """Ask, score, tell."""
    play = chain.ask(1)[0].score(payoffs)
    chain.tell(play)
    return play


def assert_same(one, other):
    assert one.number == other.number
    assert_array_equal(one.arms, other.arms)
    assert_array_equal(one.rewards, other.rewards)


def assert_same_arms(one, other):
    for name in ("successes", "failures", "passing", "_chance_below"):
        assert_array_equal(getattr(one.arms, name), getattr(other.arms, name))


@pytest.mark.parametrize("n_done", [0, 1, 7, 10, 11, 39, *range(40, 48)])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_resumed_chain_goes_on_exactly_as_it_would_have(settings, n_done):
    """Also inside of a window, whose plays were chosen before its first one."""
    whole, resumed = chain_of(**settings), chain_of(**settings)
    plays = [step(whole) for _ in range(60)]
    resumed.replay(plays[:n_done])
    assert resumed.n_plays == n_done
    for play in plays[n_done:]:
        assert_same(step(resumed), play)
    assert_same_arms(resumed, whole)
    assert resumed.n_unchanged == whole.n_unchanged
    whole.replay(plays[:n_done])
    assert_same(step(whole), plays[n_done])


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


def test_fractional_payoffs_become_ones_as_often_as_they_say_and_certain_ones_need_no_draw():
    payoffs = np.array([0.0, 0.02, 0.3, 0.5, 0.97, 1.0])
    rng, n = np.random.default_rng(0), 5000
    ones = sum(bernoulli(payoffs, rng).astype(int) for _ in range(n))
    low, high = binom.ppf([[1e-5], [1 - 1e-5]], n, payoffs)
    assert (low <= ones).all()
    assert (ones <= high).all()
    assert (ones[0], ones[-1]) == (0, n)
    before = rng.bit_generator.state
    assert_array_equal(bernoulli(payoffs[[0, 5, 5]], rng), [False, True, True])
    assert rng.bit_generator.state == before


def test_a_skipped_play_takes_its_turn_and_teaches_nothing():
    one, other = chain_of(), chain_of()
    step(one, None)
    assert one.n_plays == 1
    assert one.arms.played().sum() == 0
    other.replay([step(other, None), step(one, None)])
    assert_same(step(one), step(other))
    before = one.n_unchanged
    for _ in range(5):
        step(one, None)
    assert one.n_unchanged == before


def test_the_model_is_unchanged_for_as_many_plays_as_it_stays_the_same():
    chain, before, unchanged, longest = chain_of(), None, 0, 0
    for _ in range(60):
        step(chain)
        model = chain.oracle.model(chain.arms).tolist()
        unchanged = unchanged + 1 if model == before else 0
        assert chain.n_unchanged == unchanged
        before, longest = model, max(longest, unchanged)
    assert longest > 5


# Burn-in


def test_leaders_start_anew_and_the_others_rest():
    chain, plain = chain_of(burn_in=BURN_IN), chain_of()
    for _ in range(BURN_IN.n_plays):
        assert_same(step(chain), step(plain))
        assert chain.n_unchanged == 0
    leaders = BURN_IN.leaders(plain.arms.successes, plain.arms.failures)
    others = np.setdiff1d(np.arange(7), leaders)
    assert not chain.arms.played(leaders).any()
    assert_array_equal(chain.arms.successes[others], plain.arms.successes[others])
    patience = 0
    for _ in range(30):
        assert np.isin(step(chain).arms, leaders).all()
        patience = max(patience, chain.n_unchanged)
    assert patience > 0


def test_windows_end_with_burn_in_and_grow_anew_after_it():
    """At most a tenth of the plays that the fresh arms have learned from, as at the start."""
    chain = chain_of(window=3, burn_in=BurnIn(40, 3))
    sizes = []
    for _ in range(80):
        sizes.append(len(chain.ask()) if chain.width else 0)
        step(chain)
    assert max(sizes[:40]) == 3
    assert sum(sizes[:40]) == 40
    assert sizes[40:60] == [1] * 20
    assert sizes[60] == 2


def fit(n_columns=8, **settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, n_columns))
    settings = {"burn_in": 15, "n_plays": 40, "max_fdr": None, "random_state": 1} | settings
    y = X[:, 2] + 0.5 * rng.normal(size=100)
    return ThompsonSelector(Marginal(), **nested(**settings)).fit(X, y)


@pytest.mark.parametrize("n_plays", [14, 15, 16, 40])
def test_a_history_counts_what_the_arms_count(n_plays):
    """But at the very end of burn-in, where the arms are fresh and the result still knows."""
    result = fit(n_plays=n_plays).result_
    plays = result.plays[15 if n_plays > 15 else 0 :]
    paid = np.sum([np.isin(np.arange(8), play.arms[play.rewards]) for play in plays], axis=0)
    played = np.sum([np.isin(np.arange(8), play.arms) for play in plays], axis=0)
    assert_array_equal(result.means(), (1 + paid) / (2 + played))
    assert_array_equal(result.paths(np.arange(8))[-1], result.means())


@pytest.mark.parametrize(
    ("n_columns", "max_fdr", "wanted"), [(8, None, 0), (8, 0.1, 0), (100, 0.1, 150)]
)
def test_by_default_wide_games_with_decoys_have_one(n_columns, max_fdr, wanted):
    fitted = fit(n_columns, max_fdr=max_fdr, burn_in="auto", n_plays=2)
    assert fitted.result_.asked.burn_in == wanted
