"""Columns that matter only together are selected together."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.decoyed import Marginal
from tests.nested import nested
from tests.selectors.runs import plays_of
from tvselect import BartReward, ThompsonSelector
from tvselect.inputs import read_outcome
from tvselect.rewards import Data
from tvselect.selectors import copies, thompson
from tvselect.selectors.layout import lay_out_arms
from tvselect.selectors.thompson import with_pairs

N, P = 300, 60
SIGNALS = [0, 1, 2]
NAMES = [f"x{j}" for j in range(P)]
NO_PAIRS = BartReward.with_decoys().set_params(pair_share=0.0)


def make_data(n=N, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, P))
    together = np.sign(X[:, 0] - 0.5) * np.sign(X[:, 1] - 0.5)
    return X, 3 * together + 2 * (X[:, 2] > 0.5) + noise * rng.standard_normal(n)


def selector(reward=None, **settings):
    return ThompsonSelector(reward, **nested(**{"n_plays": 20, "random_state": 0, **settings}))


def quick_bart(**settings):
    return BartReward(n_trees=10, n_iterations=100, min_splits=0.5, **settings)


def paired(reward=None, **settings):
    """Pairs of the columns and of the arms that a game on the data would have."""
    X, y = make_data()
    layout = lay_out_arms(NAMES, **settings)
    data = Data(X, read_outcome(y, N), layout.names)
    data, arms = with_pairs(data, layout.columns(np.arange(P)), reward or BartReward())
    assert arms.dtype == np.int32
    return data.pairs.tolist(), arms.tolist()


@pytest.mark.parametrize("max_fdr", [0.1, None])
@pytest.mark.parametrize("seed", [0, 1])
def test_columns_that_matter_together_are_selected_by_default(seed, max_fdr):
    fitted = selector(max_fdr=max_fdr).fit(*make_data(seed=seed))
    assert fitted.support_[SIGNALS].all()


def test_without_pairs_they_are_not_found():
    fitted = selector(NO_PAIRS, second_opinion=False).fit(*make_data())
    assert_array_equal(fitted.support_[SIGNALS], [False, False, True])


def test_a_pair_is_played_together_or_not_at_all():
    n_played = set()
    for seed in range(16):
        fitted = selector(quick_bart(), n_plays=1, random_state=seed).fit(*make_data())
        n_played |= {len({0, 1} & {*arms}) for _, _, arms, _ in plays_of(fitted)}
    assert n_played == {0, 2}


@pytest.mark.parametrize(
    "settings",
    [
        dict(reward=Marginal()),
        dict(reward=BartReward(pair_share=0.0)),
        dict(reward=BartReward.paper(10)),
        dict(feature_groups={"a": ["x0", "x1"]}),
        dict(always_include=["x1"]),
        dict(always_include=["x0", "x1"]),
    ],
)
def test_what_has_no_pairs(settings):
    """Rewards that know none, columns of one group, and those always included."""
    assert paired(**settings) == ([], [])


@pytest.mark.parametrize("groups", [None, {"a": ["x5", "x9"]}, {"a": ["x0", "x9"]}])
def test_pairs_are_of_arms_whatever_stands_before_them(groups):
    assert paired(feature_groups=groups) == ([[0, 1]], [[0, 1]])
    columns = lay_out_arms(NAMES, {"a": ["x0", "x9"]}, ["x3"]).columns(np.arange(P))
    wanted = [0, 1, 2, -1, 3, 0, P - 3]
    assert_array_equal(columns.arm_of(np.array([0, 1, 2, 3, 4, 9, P - 1])), wanted)


def test_a_partner_that_is_the_last_column_may_be_always_included():
    X, y = make_data()
    fitted = selector(quick_bart(), n_plays=3, always_include=[P - 1]).fit(X[:, ::-1], y)
    assert fitted.support_[P - 1]


def test_in_a_wide_table_pairs_play_that_show_nothing_alone(monkeypatch):
    monkeypatch.setattr(copies, "MOST_ARMS", 30)
    assert selector().fit(*make_data()).support_[SIGNALS].all()
    without = selector(NO_PAIRS).fit(*make_data())
    played = np.unique(np.concatenate([arms for _, _, arms, _ in plays_of(without)]))
    assert not np.isin([0, 1], played).any()


def test_pairs_are_played_after_burn_in(monkeypatch):
    monkeypatch.setattr(thompson, "LEADERS", 1)
    fitted = selector(quick_bart(), burn_in=5).fit(*make_data())
    assert fitted.result_.asked.burn_in == 5
    (fresh,) = fitted.result_.fresh
    assert {0, 1} <= set(fresh.tolist())
    assert fresh.size <= 3


def test_a_pair_across_groups_is_found():
    """The law of a pair of columns holds for groups that hold them: both are selected."""
    X, y = make_data(n=400)
    X[:, [1, 3]] = X[:, [3, 1]]  # the partners in groups of their own
    found = selector(feature_groups=[j // 3 for j in range(P)], n_plays=60).fit(X, y)
    assert set(np.flatnonzero(found.support_)) == set(range(6))
