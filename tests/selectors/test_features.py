"""Columns and arms: categories, groups, columns that are always in, any order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from tests.decoyed import Marginal
from tests.nested import nested
from tvselect import BartReward, StreamingThompsonSelector, ThompsonSelector
from tvselect.inputs.table import read_features
from tvselect.rewards.base import Reward
from tvselect.selectors.layout import lay_out_arms

N = 120
NAMES = list("abcdef")


class Watched(Reward):
    """Pays 1 to some columns and remembers what was played."""

    rewards_stand_ins = False

    def __init__(self, paid=(), seen=None):
        self.paid = paid
        self.seen = seen

    def start(self, data):
        def feedback(columns, rng):
            if self.seen is not None:
                self.seen.append(columns.tolist())
            return np.isin(columns, self.paid).astype(float)

        return feedback


def numbers(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, 6)), rng.standard_normal(N)


def fit(X, y, reward=None, **settings):
    reward = Watched() if reward is None else reward
    return ThompsonSelector(reward, **nested(**{"n_plays": 30, "random_state": 0, **settings})).fit(
        X, y
    )


def quick_bart():
    return BartReward(n_trees=10, n_iterations=100, shadows=0)


def mixed(library):
    """Text and categories next to numbers; town and size matter, colour and x do not."""
    rng = np.random.default_rng(1)
    town = np.array(["Bern", "Lund", "Nice", "Oslo"])[rng.integers(4, size=N)]
    size = np.array(["L", "M", "S"])[rng.integers(3, size=N)]
    colour = np.array(["blue", "red"])[rng.integers(2, size=N)]
    x, z = rng.standard_normal((2, N))
    flag = rng.random(N) < 0.5
    y = 5.0 * (town == "Nice") + 4.0 * (size == "S") + 3.0 * z + 0.5 * rng.standard_normal(N)
    columns = {"x": x, "town": town, "colour": colour, "z": z, "size": size, "flag": flag}
    if library == "pandas":
        return pd.DataFrame(columns).astype({"size": "category"}), y
    if library == "pandas objects":
        return pd.DataFrame(columns).astype({"town": object, "colour": object}), y
    frame = pl.DataFrame(columns)
    return frame.with_columns(
        pl.col("size").cast(pl.Enum(["S", "M", "L"])), pl.col("colour").cast(pl.Categorical)
    ), y


@pytest.mark.parametrize("library", ["pandas", "pandas objects", "polars"])
def test_text_and_categories_are_one_arm_each_and_are_found_when_they_matter(library):
    X, y = mixed(library)
    fitted = fit(X, y, BartReward(n_iterations=200))
    assert_array_equal(fitted.get_feature_names_out(), ["town", "z", "size"])
    assert fitted.result_.arm_of_feature.tolist() == [0, 1, 2, 3, 4, 5]
    assert fitted.n_features_in_ == 6
    frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
    found = fitted.set_output(transform="pandas").transform(frame)
    assert list(found.columns) == ["town", "z", "size"]


def test_a_category_is_a_column_of_zeros_and_ones_and_missing_text_is_missing():
    frame = pl.DataFrame({"n": [1, 2, None, 4], "t": ["", None, "v", ""]})
    features = read_features(frame)
    nan = np.nan
    assert_array_equal(features.X, [[1, 1, 0], [2, nan, nan], [nan, 0, 1], [4, 1, 0]])
    assert features.names == ("n", "t")
    assert_array_equal(features.feature_of, [0, 1, 1])


@pytest.mark.parametrize("selector", [ThompsonSelector(), StreamingThompsonSelector()])
def test_a_name_that_comes_twice_is_refused_in_one_line(selector):
    X, y = numbers()
    frame = pd.DataFrame(X[:, :2], columns=["a", "a"])
    with pytest.raises(ValueError, match=r"^X has 2 columns named 'a'; rename them$"):
        selector.fit(frame, y)


@pytest.mark.parametrize("reward", [Marginal(), BartReward()], ids=["p", "bart"])
def test_columns_without_any_value_are_refused_by_name(reward):
    X, y = numbers()
    X[:, 2] = np.nan
    nothing = pl.Series("c", [None] * N, dtype=pl.String)
    for frame in (pd.DataFrame(X, columns=NAMES), pl.DataFrame([pl.Series("y", y), nothing])):
        with pytest.raises(ValueError, match="no value at all in column 'c'; leave the column out"):
            fit(frame, y, reward)


@pytest.mark.parametrize(
    "groups",
    [
        {"left": ["a", "c"], "right": ["d", "e"]},
        {"left": [0, 2], "right": [3, 4]},
        {1: ("a", 2), 2: np.array([3, 4])},
        ["L", "b", "L", "R", "R", "f"],
        np.array([5, 1, 5, 0, 0, 9]),
    ],
    ids=["names", "indices", "both", "labels", "numbers"],
)
def test_the_columns_of_a_group_are_played_together_and_paid_alike(groups):
    X, y = numbers()
    seen = []
    fitted = fit(pd.DataFrame(X, columns=NAMES), y, Watched((2, 5), seen), feature_groups=groups)
    assert fitted.result_.arm_of_feature.tolist() == [0, 1, 0, 2, 2, 3]
    for columns in seen:
        assert (0 in columns) == (2 in columns)
        assert (3 in columns) == (4 in columns)
    assert_array_equal(fitted.support_, [True, False, True, False, False, True])
    rates = fitted.selection_rates_
    assert (rates[0], rates[3]) == (rates[2], rates[4])


def test_an_arm_is_paid_like_its_best_column():
    X, y = numbers()
    one, both = (
        fit(X, y, Watched(paid), feature_groups=[0, 1, 0, 2, 2, 2]) for paid in ((2,), (0, 2))
    )
    assert_array_equal(one.selection_rates_, both.selection_rates_)
    assert_array_equal(one.support_, [True, False, True, False, False, False])


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (dict(feature_groups={"where": ["town", "x"]}), ["x", "town", "z", "size"]),
        (dict(always_include=["town", "colour"]), ["town", "colour", "z", "size"]),
    ],
)
def test_text_in_groups_or_always_in_brings_all_its_categories(settings, found):
    fitted = fit(*mixed("pandas"), quick_bart(), **settings)
    assert_array_equal(fitted.get_feature_names_out(), found)


def test_groups_of_one_and_an_empty_choice_change_nothing():
    X, y = numbers()
    y = y + 2 * X[:, 1]
    one = fit(X, y, Marginal(0.01))
    same = [dict(feature_groups=groups) for groups in ({}, {"lone": [3]}, range(6))]
    for settings in (*same, dict(always_include=[])):
        other = fit(X, y, Marginal(0.01), **settings)
        assert_array_equal(one.selection_rates_, other.selection_rates_)


@pytest.mark.parametrize("always", [["a", "e"], [0, 4], ["a", 4], (np.int64(0), np.int32(4))])
def test_columns_that_are_always_in_are_in_every_play_and_selected(always):
    X, y = numbers()
    seen = []
    frame = pd.DataFrame(X, columns=NAMES)
    fitted = fit(frame, y, Watched((0, 1), seen), always_include=always)
    assert all({0, 4} < set(columns) for columns in seen)
    assert_array_equal(fitted.support_, [True, True, False, False, True, False])
    assert_array_equal(fitted.selection_rates_[[0, 4]], [1.0, 1.0])
    assert_array_equal(fitted.selection_rate_intervals_[[0, 4]], np.ones((2, 2)))
    assert_array_equal(fitted.selection_rate_spread_[[0, 4]], [0.0, 0.0])
    assert fitted.result_.arm_of_feature.tolist() == [-1, 0, 1, 2, -1, 3]
    with pytest.raises(ValueError, match="'a' is always included"):
        fitted.result_.trajectories(["a"])


def test_what_is_always_in_leaves_its_group_and_the_wanted_number():
    X, y = numbers()
    seen = []
    fitted = fit(X, y, Watched((1, 2, 3), seen), always_include=[0], n_features_to_select=2)
    assert max(sum(column < 6 for column in columns) for columns in seen) == 3
    assert fitted.support_.sum() == 3
    with pytest.raises(ValueError, match="more than the 5 arms"):
        fit(X, y, always_include=[0], n_features_to_select=6)
    fitted = fit(X, y, Watched((2,)), feature_groups=list("gbggef"), always_include=[0])
    assert fitted.result_.arm_of_feature.tolist() == [-1, 1, 0, 0, 2, 3]
    assert_array_equal(fitted.support_, [True, False, True, True, False, False])


BAD_GROUPS = [
    ({"g": ["a", "b"], "h": ["b"]}, "'b' is in groups 'g' and 'h'"),
    ({"g": ["a", "a"]}, "'a' is in groups 'g' and 'g'"),
    ({"g": ["a", "zebra"]}, "group 'g' names 'zebra'"),
    *(({"g": [place]}, f"group 'g' has {place}") for place in (6, -1, True)),
    *(({"g": none}, "group 'g' must list at least one column") for none in ([], "ab", 3)),
    *((labels, "one label for each of the 6 columns") for labels in (["u", "v"], "abcdef", 3)),
]
BAD_ALWAYS = [
    (["zebra"], "always_include names 'zebra'"),
    *(([place], f"always_include has {place}") for place in (6, 1.0, True)),
    *((columns, "always_include must be a list") for columns in ("ab", 2)),
    (NAMES, "nothing left to select"),
]


@pytest.mark.parametrize(
    ("groups", "always", "match"),
    [
        *((groups, None, match) for groups, match in BAD_GROUPS),
        *((None, always, match) for always, match in BAD_ALWAYS),
    ],
)
def test_columns_that_make_no_arm_are_refused_by_name(groups, always, match):
    with pytest.raises(ValueError, match=match):
        lay_out_arms(NAMES, groups, always)


def test_costs_and_priors_by_column_reach_the_arms_of_groups():
    X, y = numbers()
    settings = dict(feature_groups=list("gghhij"), always_include=[5], n_plays=1)
    prior = [4.0, 4.0, 1.0, 1.0, 1.0, 9.0], 2.0
    fitted = fit(X, y, Watched((0,)), prior=prior, **settings)
    start = fitted.result_.trajectories([0, 1, 2, 3, 4])[0]
    assert_allclose(start, [4 / 6, 4 / 6, 1 / 3, 1 / 3, 1 / 3])
    for name, value in (("cost", [0.5, 0.6, *[0.5] * 4]), ("prior", ([1, 2, 1, 1, 1, 1], 1))):
        with pytest.raises(ValueError, match=f"{name} must be the same"):
            fit(X, y, **{name: value}, **settings)


def test_every_column_belongs_to_one_arm_or_to_all_plays():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 9))
        feature_of = np.repeat(np.arange(n), rng.integers(1, 4, size=n))
        labels = rng.integers(0, n, size=n).tolist()
        always = rng.permutation(n)[: rng.integers(0, n)].tolist()
        layout = lay_out_arms([f"v{j}" for j in range(n)], labels, always)
        starts, columns, always_played = layout.columns(feature_of)
        assert_array_equal(np.sort([*columns, *always_played]), np.arange(feature_of.size))
        for arm in range(layout.n_arms):
            mine = feature_of[columns[starts[arm] : starts[arm + 1]]]
            assert mine.size > 0
            assert set(layout.arm_of_feature[mine]) == {arm}
            assert len({labels[j] for j in mine}) == 1
        assert set(feature_of[always_played]) == set(always)


P, N_SEEDS = 15, 20
SIGNALS = np.array([0, 1, 14])
ORDER = np.random.default_rng(5).permutation(P)


def fits(reward, order, seeds):
    """Supports and selection rates over independent runs, in the original order."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, P))
    y = 4 * X[:, 0] - 3 * X[:, 1] + 4 * (X[:, 14] > 0) + rng.standard_normal(100)
    supports, rates = np.zeros((2, len(seeds), P))
    for k, seed in enumerate(seeds):
        fitted = ThompsonSelector(reward, n_plays=40, random_state=seed)
        fitted.fit(np.ascontiguousarray(X[:, order]), y)
        supports[k, order], rates[k, order] = fitted.support_, fitted.selection_rates_
    return supports.astype(bool), rates


@pytest.mark.parametrize(
    "reward",
    [BartReward(n_trees=10, n_iterations=200, proposals_per_column=0.0), Marginal(alpha=1e-3)],
    ids=["bart", "p"],
)
def test_permuted_columns_give_the_permuted_result(reward):
    supports, rates = fits(reward, np.arange(P), range(N_SEEDS))
    moved_supports, moved_rates = fits(reward, ORDER, range(1000, 1000 + N_SEEDS))
    truth = np.isin(np.arange(P), SIGNALS)
    # A run finds the right set with probability 0.9 or more: fewer hits than this are a sign.
    enough = binom.ppf(1e-4, N_SEEDS, 0.9)
    assert (supports == truth).all(axis=1).sum() >= enough
    assert (moved_supports == truth).all(axis=1).sum() >= enough
    gap = rates.mean(axis=0) - moved_rates.mean(axis=0)
    error = np.sqrt((rates.var(axis=0, ddof=1) + moved_rates.var(axis=0, ddof=1)) / N_SEEDS)
    assert (np.abs(gap)[SIGNALS] <= 4 * error[SIGNALS] + 1e-12).all()
    assert (np.abs(gap) <= 5 * error + 1e-12).all()


def test_a_permuted_table_pays_the_same_where_the_reward_has_no_randomness():
    reward = Marginal(alpha=0.1, bootstrap=False)
    _, kept = fits(reward, np.arange(P), [0])
    _, moved = fits(reward, ORDER, [0])
    assert_array_equal(kept > 0.5, moved > 0.5)
