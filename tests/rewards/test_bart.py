from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest
from scipy import stats

from tests.core.probes import quantile_of
from tvselect import BartReward
from tvselect.inputs import read_outcome
from tvselect.rewards import Data, bart_play
from tvselect.rewards.bart import rows_seen
from tvselect.rewards.bart_play import Room
from tvselect.rewards.screening import marginal_evidence
from tvselect.selectors.copies import draw_decoys
from tvselect.trees import Prior, start_chain, working_response
from tvselect.trees.state import COUNT, NO_GROUPS


def data_of(n_rows=60, n_columns=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns))
    y = 10 * X[:, 3] + rng.standard_normal(n_rows)
    return Data(X, read_outcome(y, n_rows), tuple(f"x{j}" for j in range(n_columns)))


@pytest.fixture
def rooms(monkeypatch):
    """What every play leaves in its room; the next one writes over it."""
    seen, score = [], bart_play._score

    def spy(rng, feedback, room):
        done = score(rng, feedback, room)
        seen.append(room.record)
        return done

    monkeypatch.setattr(bart_play, "_score", spy)
    return seen


def play(feedback, n_columns, seed=0):
    return feedback(np.arange(n_columns), np.random.default_rng(seed))


REWARDS = {
    "paper": BartReward.paper(40, n_burn=20),
    "paper, sparse": BartReward.paper(40, sparse=True),
    "average": BartReward(n_trees=5, n_iterations=60, min_splits=0.2),
    "some rows": BartReward(n_trees=5, n_iterations=60, max_samples=50, shadows=8),
    "half the penalty": BartReward(n_trees=5, n_iterations=60, penalty=0.5, screening=False),
}


def by_sampler(reward, data, columns, rng):
    """A play step by step: the chain of :func:`start_chain` at its end, and the rewards.

    Half of the D proposals of an iteration are births: M D / 2 = proposals_per_column q.
    """
    table, n_rows = data.binned(), data.n_rows
    n_candidates = data.n_candidates or table.n_columns
    groups = NO_GROUPS if data.groups is None else data.groups
    n_shadows = max(0, reward.shadows - columns.size)
    shadows = rng.choice(columns, n_shadows) if n_shadows else None
    rows = None
    if reward.max_samples not in ("auto", None):
        rows = rng.choice(n_rows, reward.max_samples, replace=False, shuffle=False)
    n_in_play = columns.size + n_shadows
    evidence = np.zeros(n_in_play)
    if reward.screening and reward.penalty:
        of_all = marginal_evidence(table, data.outcome, n_candidates, groups=groups)
        evidence[: columns.size] = of_all[columns]
    penalty = reward.penalty * np.log(max(1.0, n_candidates / n_in_play))
    n_proposals = 2 * reward.proposals_per_column * columns.size
    n_iterations = max(reward.n_iterations, int(np.ceil(n_proposals / reward.n_trees)))
    names = ("n_trees", "sparse", "theta_floor", "latent_sweeps")
    chain = start_chain(
        table,
        working_response(data.outcome),
        Prior(**{name: getattr(reward, name) for name in names}),
        columns=columns,
        rows=rows,
        shadows=shadows,
        column_weights=np.exp(np.minimum(0.0, evidence - penalty)),
        groups=groups,
        n_iterations=n_iterations,
        n_burn=n_iterations // 2 if reward.n_burn is None else reward.n_burn,
        rng=rng,
    )
    while chain.n_done < n_iterations:
        chain.advance(7)
    if reward.rule == "last":
        return chain, chain.counts[: columns.size] > 0
    splits, rivals = np.split(chain.averages()[0], [columns.size])
    paid = splits >= reward.settled(data).min_splits
    return chain, paid & (splits > np.quantile(rivals, 0.9)) if n_shadows else paid


@pytest.mark.parametrize(
    ("family", "n_groups"), [("gaussian", 0), ("probit", 0), ("gaussian", 40), ("probit", 7)]
)
@pytest.mark.parametrize("reward", REWARDS.values(), ids=REWARDS)
def test_a_play_is_the_chain_that_a_sampler_advances(rooms, reward, family, n_groups):
    """The same forests and splits of every column, rewards, and random numbers used."""
    data = replace(data_of(n_rows=130), n_candidates=400 if reward.penalty == 0.5 else None)
    if n_groups:
        groups = np.random.default_rng(1).permutation(130) % n_groups
        data = replace(data, groups=groups.astype(np.int32))
    if family == "probit":
        y = data.outcome.values
        data = replace(data, outcome=read_outcome(y > y.mean(), 130))
    feedback = reward.start(data)
    for seed, columns in enumerate((np.arange(3, 9), np.arange(40), np.array([3]))):
        one, other = (np.random.Generator(np.random.SFC64(seed)) for _ in range(2))
        chain, wanted = by_sampler(reward, data, columns, other)
        np.testing.assert_array_equal(feedback(columns, one), wanted)
        n, n_in_play = chain.n_done, chain.counts.size
        np.testing.assert_array_equal(
            rooms[-1].chain.tally.columns[:n_in_play, COUNT], chain.counts
        )
        for kept, trace in zip(rooms[-1].trace, chain.trace, strict=True):
            np.testing.assert_array_equal(kept[:n], trace)
        if reward.rule == "average":
            splits = chain.averages()[0][: columns.size]
            np.testing.assert_allclose(rooms[-1].scores[: columns.size], splits)
        assert one.random() == other.random()


def test_a_play_that_outgrows_its_arrays_goes_on_in_larger_ones(rooms, monkeypatch):
    """Some plays outgrow new arrays; in those that they leave the same plays have room."""
    grown, grow = [], Room.grow
    monkeypatch.setattr(Room, "grow", lambda room: grown.append(room) or grow(room))
    X = np.random.default_rng(0).random((300, 40))
    data = Data(X, read_outcome(np.sin(10 * X[:, 3]), 300), tuple(f"x{j}" for j in range(40)))
    deep = BartReward(n_trees=3, n_iterations=200, min_leaf=1, shadows=0, penalty=0.0)
    found, n_grown = [], []
    for earlier in (BartReward.paper(50), deep, BartReward.paper(50)):
        leaves_by_size(earlier, data, rooms)
        grown.clear()
        found.append(leaves_by_size(deep, data, rooms))
        n_grown.append(len(grown))
    assert n_grown[0] == n_grown[2] > 0
    assert n_grown[1] == 0
    for outgrown, roomy, again in zip(*found, strict=True):
        np.testing.assert_array_equal(outgrown, roomy)
        np.testing.assert_array_equal(outgrown, again)


def leaves_by_size(reward, data, rooms):
    """The leaf means with which plays of several sizes end."""
    feedback, found = reward.start(data), []
    for q in (1, 7, 40, 7):
        play(feedback, q, seed=q)
        leaves = rooms[-1].chain.leaves
        found.append(leaves.means[: leaves.size[0]].copy())
    return found


@pytest.mark.parametrize("reward", REWARDS.values(), ids=REWARDS)
def test_threads_and_pickled_copies_pay_the_same(reward):
    """Plays share nothing: the same rewards from two threads at once and from a copy."""
    feedback = reward.start(data_of())
    sets = [np.arange(k % 7, 12 + k) for k in range(24)]

    def pay(k):
        return feedback(sets[k], np.random.Generator(np.random.SFC64(k)))

    wanted = [pay(k) for k in range(24)]
    with ThreadPoolExecutor(2) as pool:
        for one, other in zip(pool.map(pay, range(24)), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    copy = cloudpickle.loads(cloudpickle.dumps(feedback))
    np.testing.assert_array_equal(copy(sets[3], np.random.Generator(np.random.SFC64(3))), wanted[3])


@pytest.mark.parametrize("n", [1, 2, 5, 10, 11, 29])
def test_the_quantile_is_that_of_numpy(n):
    for values in (np.random.default_rng(n).random(n), np.arange(n) // 2 / 7):
        for share in (0.0, 0.5, 0.9, 1.0):
            assert quantile_of(values[::-1].copy(), share) == np.quantile(values, share)


@pytest.mark.parametrize("n_columns", [3, 10])
def test_noise_alone_is_rarely_paid(n_columns):
    """A shadow is as good as a column of noise.

    A column and the K shadows of a play are exchangeable, so that it stands above all but a
    tenth of these, and is paid, with probability (1 + (K - 1) / 10) / (K + 1) at the most.
    """
    rng = np.random.default_rng(5)
    n_plays, n_rewarded = 40, 0
    for seed in range(n_plays):
        X, y = rng.random((100, n_columns)), rng.standard_normal(100)
        data = Data(X, read_outcome(y, 100), tuple(f"x{j}" for j in range(n_columns)))
        play = BartReward(n_iterations=200, min_splits=0.1).start(data)
        n_rewarded += play(np.arange(n_columns), np.random.default_rng(seed)).sum()
    n_shadows = 30 - n_columns
    most = (1 + (n_shadows - 1) / 10) / (n_shadows + 1)
    assert 0 < n_rewarded <= stats.binom(n_plays * n_columns, most).ppf(0.999)


@pytest.mark.parametrize(
    ("max_samples", "n_rows", "wanted"),
    [
        (None, 4000, 4000),
        ("auto", 2000, 2000),
        ("auto", 2001, 2000),
        (300, 200, 200),
        (300, 400, 300),
        (0.5, 301, 150),
        (1.0, 301, 301),
    ],
)
def test_rows_of_a_play(max_samples, n_rows, wanted):
    data = data_of(n_rows, 4)
    assert rows_seen(max_samples, data) == wanted
    if max_samples == "auto":  # all rows of a batch, and a hundred of a rare class
        assert rows_seen("auto", replace(data, cuts=data.binned().cuts)) == n_rows
        for n_rare, most in ((200, 5000), (5000, 2000)):
            outcome = read_outcome(np.arange(10_000) < n_rare, 10_000)
            assert rows_seen("auto", Data(np.zeros((10_000, 1)), outcome, ("x0",))) == most


def test_a_reward_of_ones_own_may_have_other_parameters():
    class Quick(BartReward):
        def __init__(self, pace=10):
            super().__init__(n_trees=pace, n_iterations=50)
            self.pace = pace

    settled = Quick(pace=5).settled(data_of(60, 4))
    assert type(settled) is Quick
    assert (settled.pace, settled.n_trees, settled.max_samples) == (5, 5, 60)


def test_trees_grow_with_the_rows_of_a_batch_but_not_beside_decoys():
    data = data_of(7500, 4)
    batch = replace(data, cuts=data.binned().cuts)
    settled = BartReward(n_trees=20, min_splits=1.0).settled(batch)
    assert (settled.n_trees, settled.min_splits, settled.max_samples) == (30, 1.5, 7500)
    assert repr(settled.settled(batch)) == repr(settled)
    asked = BartReward(n_trees=20, max_samples=7500).settled(batch)
    assert (asked.n_trees, asked.min_splits) == (20, 1.25)
    decoys = draw_decoys("shuffled", data.X, 2, 0)
    settled = BartReward.with_decoys().settled(replace(data, decoys=decoys))
    assert (settled.n_trees, settled.max_samples) == (30, 5000)


@pytest.mark.parametrize(
    ("y", "wanted"),
    [
        (np.random.default_rng(0).normal(size=5000), "normal"),
        (np.random.default_rng(0).standard_t(2, 300), "scores"),
        (np.random.default_rng(0).poisson(0.2, 300), "normal"),
        (np.arange(300) % 2, "normal"),
    ],
    ids=["normal", "t(2)", "counts", "classes"],
)
def test_noise_by_the_data(y, wanted):
    data = Data(np.zeros((y.size, 1)), read_outcome(y, y.size), ("x0",))
    assert BartReward().settled(data).noise == wanted
    assert BartReward(noise="normal").settled(data).noise == "normal"


def test_an_outlier_does_not_decide():
    data = data_of()
    y = data.outcome.values.copy()
    y[y.argmax()] += 1e12
    with_outlier = replace(data, outcome=read_outcome(y, y.size))
    first, second = (
        play(BartReward(noise=noise).start(given), data.X.shape[1], seed=1)
        for noise, given in (("scores", data), ("auto", with_outlier))
    )
    np.testing.assert_array_equal(first, second)


WRONG = {
    "n_iterations": [0, 2.5], "n_burn": [1000], "proposals_per_column": [-1.0], "screening": ["no"],
    "shadows": [-1], "pair_share": [1.0, "some"], "theta_floor": [1.0], "min_splits": [0.0, np.nan],
    "penalty": [-1.0, "much", np.nan], "rule": ["first"], "noise": ["t"],
    "max_samples": ["some", np.nan], "min_leaf": [31],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, v) for name in WRONG for v in WRONG[name]])
def test_wrong_settings_are_named(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        BartReward(**{name: value}).start(data_of())


def test_a_play_needs_rows_for_two_leaves_and_the_paper_a_burn_in():
    paper = BartReward.paper(30, n_burn=20)
    assert (paper.n_trees, paper.n_iterations, paper.n_burn, paper.rule) == (10, 50, 20, "last")
    assert BartReward(min_leaf=7).min_rows == 14
    with pytest.raises(ValueError, match=r"a play sees 8 rows, .* at least min_leaf=5"):
        BartReward(max_samples=8).start(data_of())
    with pytest.raises(ValueError, match="n_burn"):
        BartReward.paper(100, n_burn=-1)
