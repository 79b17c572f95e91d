"""Plays made ahead are the plays that Python makes one by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from tests.core.probes import find_pairs
from tests.nested import nested
from tvselect import BartReward, ThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.oracle import BurnIn, Oracle
from tvselect.inputs import read_outcome
from tvselect.rewards import Data, bart_play
from tvselect.rewards.bart_play import can_play_ahead
from tvselect.selectors.layout import lay_out_arms
from tvselect.selectors.scoring import TableWork, payoffs_of_arms
from tvselect.workers import open_runner

N_COLUMNS = 60
REWARDS = {
    "paper": BartReward.paper(20, n_burn=10),
    "default": BartReward(n_trees=5, n_iterations=40, min_splits=0.2),
    "some rows": BartReward(n_trees=5, n_iterations=40, max_samples=50, min_splits=0.2),
    "large forests": BartReward(n_trees=3, n_iterations=100, min_leaf=1, shadows=0, penalty=0.0),
}


def data_of(n_rows=110, classes=False, pairs=(), n_groups=0):
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, N_COLUMNS))
    y = 10 * X[:, 3] + 5 * X[:, 7] + rng.standard_normal(n_rows)
    names = tuple(f"x{j}" for j in range(N_COLUMNS))
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    groups = rng.permutation(n_rows).astype(np.int32) % n_groups if n_groups else None
    outcome = read_outcome(y > 7 if classes else y, n_rows)
    return Data(X, outcome, names, pairs=pairs, groups=groups)


def work_of(reward, layout=None, **data):
    columns = (layout or lay_out_arms(range(N_COLUMNS))).columns(np.arange(N_COLUMNS))
    return TableWork(REWARDS.get(reward, reward).start(data_of(**data)), columns)


def chain_of(n_arms=N_COLUMNS, threshold=0.5, pairs=(), **settings):
    arms = Arms(n_arms, threshold=threshold)
    oracle = Oracle(None, n_arms - 5, pairs=np.array(pairs, dtype=np.int32).reshape(-1, 2))
    return ThompsonChain(arms, oracle, entropy=4, chain=1, **settings)


def by_hand(work, chain, n_plays):
    """A window as Python makes it: all are asked for, scored, and told in their order."""
    payoffs = payoffs_of_arms(work.feedback, work.columns)
    made = [pending.score(payoffs) for pending in chain.ask(n_plays)]
    for play in made:
        chain.tell(play)
    return made


def assert_same_plays(made, wanted):
    assert len(made) == len(wanted)
    for play, twin in zip(made, wanted, strict=True):
        assert (play.chain, play.number) == (twin.chain, twin.number)
        np.testing.assert_array_equal(play.arms, twin.arms)
        np.testing.assert_array_equal(play.rewards, twin.rewards)


def assert_same(work, chain, other, lengths):
    for length in lengths:
        wanted = [play for _ in range(length) for play in by_hand(work, other, 1)]
        assert_same_plays(work.go_ahead(chain, length), wanted)
        assert chain.n_unchanged == other.n_unchanged
    assert_same_arms(chain, other)
    np.testing.assert_array_equal(chain._model, other._model)


def assert_same_arms(chain, other):
    for name in ("successes", "failures", "passing", "_chance_below"):
        np.testing.assert_array_equal(getattr(chain.arms, name), getattr(other.arms, name))


PAIRS = [(7, 3), (12, 40), (50, 1)]


LAYOUT = lay_out_arms([f"x{j}" for j in range(N_COLUMNS)], {"a": ["x3", "x9", "x50"]}, ["x7"])


@pytest.mark.parametrize(("classes", "n_groups"), [(False, 0), (True, 0), (False, 11)])
@pytest.mark.parametrize("pairs", [(), PAIRS], ids=["plain", "pairs"])
@pytest.mark.parametrize("reward", REWARDS)
def test_plays_ahead_are_the_same_plays(reward, pairs, classes, n_groups):
    work = work_of(reward, classes=classes, pairs=pairs, n_groups=n_groups)
    assert_same(work, chain_of(pairs=pairs), chain_of(pairs=pairs), (1, 7, 20))


@pytest.mark.parametrize(
    ("work", "settings", "lengths"),
    [
        (("default", LAYOUT), dict(n_arms=LAYOUT.n_arms), (25,)),
        (("default",), dict(burn_in=BurnIn(10, 12)), (4, 20)),
        (("paper",), dict(threshold=0.9999), (4,)),
        ((BartReward(n_trees=2, n_iterations=3, max_samples=200), None, 10_500), {}, (6,)),
        ((BartReward(n_trees=2, n_iterations=3, max_samples=800), None, 10_500), {}, (6,)),
    ],
    ids=["groups", "end of burn-in", "no draw passes", "few of many rows", "many of many rows"],
)
def test_plays_ahead_are_the_same_in_special_cases(work, settings, lengths):
    """A play that no draw reaches is chosen in Python; NumPy chooses few rows in another way."""
    reward, layout, n_rows = (*work, *(None, 110)[len(work) - 1 :])
    chains = [chain_of(**settings) for _ in range(2)]
    if "threshold" in settings:
        for chain in chains:
            chain.arms.update(np.arange(N_COLUMNS, dtype=np.int32), np.zeros(N_COLUMNS, np.bool_))
    assert_same(work_of(reward, layout, n_rows=n_rows), *chains, lengths)


def test_a_full_log_ends_nothing_and_leaves_a_window_to_python(monkeypatch):
    monkeypatch.setattr(bart_play, "LOG_SIZE", 10)
    assert_same(work_of("paper"), chain_of(), chain_of(), (12,))
    assert not work_of("paper").plays_ahead(chain_of(window=8), 8).choose()


def test_only_chains_that_the_core_knows_go_ahead():
    assert can_play_ahead(chain_of())
    assert can_play_ahead(chain_of(window=2))
    assert not can_play_ahead(chain_of(threshold=np.full(N_COLUMNS, 0.5)))
    assert not can_play_ahead(ThompsonChain(Arms(3), Oracle(2), entropy=0))


def test_pairs_are_played_together():
    plays = work_of("default", pairs=PAIRS).go_ahead(chain_of(pairs=PAIRS), 40)
    for play in plays:
        assert (np.diff(play.arms) > 0).all()
        for pair in PAIRS:
            assert np.isin(pair, play.arms).sum() != 1
    assert not all(np.isin(PAIRS[1], play.arms).any() for play in plays)


@pytest.mark.parametrize("pair_share", [0.0, 0.2])
def test_a_share_of_the_proposals_is_of_pairs_in_play(pair_share):
    """Another share is another chain, but only where both columns of a pair are in play."""
    reward = BartReward(n_trees=5, n_iterations=40, pair_share=pair_share)
    plain, paired = (reward.start(data_of(pairs=pairs)) for pairs in ((), PAIRS))

    def goes_on_alike(columns):
        numbers = [np.random.default_rng(1) for _ in range(2)]
        for feedback, rng in zip((plain, paired), numbers, strict=True):
            feedback(np.array(columns), rng)
        return numbers[0].random() == numbers[1].random()

    assert goes_on_alike([1, 2, 3, 12])
    assert goes_on_alike([1, 2, 3, 7]) == (pair_share == 0.0)


@pytest.mark.parametrize(
    ("columns", "room", "wanted"),
    [
        ([3, 7], 5, [[1, 0]]),
        ([40, 3, 7, 12], 5, [[2, 1], [3, 0]]),
        ([50, 2, 4, 1], 5, [[0, 3]]),
        ([3, 12, 50], 5, []),
        ([8], 5, []),
        ([1, 3, 7, 12, 40, 50], 2, [[2, 1], [3, 4]]),
    ],
)
def test_pairs_of_a_play_are_places_among_its_columns_while_there_is_room(columns, room, wanted):
    found = np.full((6, 2), -1)
    n_found = find_pairs(np.array(columns), np.array(PAIRS), found[:room])
    assert found[:n_found].tolist() == wanted
    assert (found[n_found:] == -1).all()


@pytest.mark.parametrize(
    ("reward", "n_jobs", "settings"),
    [
        ("paper", 1, dict(n_plays=150)),
        ("paper", 1, dict(n_plays=150, patience=12)),
        ("default", 1, dict(n_plays=90, window=8)),
        ("default", 2, dict(n_plays=90, window=8)),
    ],
)
def test_a_fit_makes_the_same_plays_without(reward, n_jobs, settings):
    """Patience ends both at the same play, however long the stretches are."""
    data, histories = data_of(), []
    for shares_memory in (True, False):
        runner = replace(open_runner(n_jobs=n_jobs), shares_memory=shares_memory)
        selector = ThompsonSelector(
            REWARDS[reward], **nested(n_chains=2, runner=runner, random_state=3, **settings)
        ).fit(data.X, data.outcome.values)
        histories.append(selector.result_)
    one, other = histories
    assert one.n_plays == other.n_plays
    assert one.stop_reason is other.stop_reason
    for chain in range(2):
        assert_same_plays([*one.plays_of(chain)], [*other.plays_of(chain)])


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("pairs", [(), PAIRS], ids=["plain", "pairs"])
@pytest.mark.parametrize("reward", REWARDS)
def test_a_window_of_plays_is_that_of_python(reward, pairs, n_threads):
    """Chosen at once, scored side by side, learned from in their order."""
    work = work_of(reward, pairs=pairs)
    chain, other = (chain_of(pairs=pairs, window=8) for _ in range(2))
    widths = []
    while chain.n_plays < 100:  # windows grow with what is learned
        n_plays = chain.width
        widths.append(n_plays)
        ahead = work.plays_ahead(chain, n_plays)
        assert ahead.choose()
        with ThreadPoolExecutor(n_threads) as pool:
            for done in [pool.submit(ahead.score) for _ in range(n_threads)]:
                done.result()
        assert_same_plays(ahead.learn(), by_hand(work, other, n_plays))
        assert chain.n_unchanged == other.n_unchanged
    assert set(widths) == {*range(1, 9)}
    assert_same_arms(chain, other)
