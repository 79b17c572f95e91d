"""Interactions: named where effects do not add up, and hardly ever where they do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import binom

from tvselect import BartReward, ThompsonSelector
from tvselect.after.interactions import SelectedData, find_interactions
from tvselect.inputs import read_outcome

NAMES = [f"x{j}" for j in range(8)]


def interactions(X, y, seed=0, feature_of=None, family="auto"):
    feature_of = np.arange(X.shape[1]) if feature_of is None else feature_of
    outcome = read_outcome(y, len(X), family=family)
    data = SelectedData(X, feature_of, outcome)
    return find_interactions(data, NAMES, np.random.default_rng(seed))


def crossed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    signs = np.sign(X[:, 0] - 0.5) * np.sign(X[:, 1] - 0.5)
    return X, 3 * signs + 2 * (X[:, 2] > 0.5) + rng.normal(size=n)


def test_a_pair_without_main_effects_is_named_first():
    first, *others = interactions(*crossed())
    assert first.names == ("x0", "x1")
    assert str(first) == "x0 x x1"
    assert first.columns == (0, 1)
    assert first.q_value == pytest.approx(0.05)
    assert 2.0 < first.strength < 4.0
    assert all(pair.q_value > 0.1 for pair in others)


def test_two_classes_and_features_of_several_columns():
    X, y = crossed(500)
    levels = np.eye(4)[(2 * (X[:, 1] > 0.5) + (X[:, 2] > 0.5)).astype(int)]
    design = np.column_stack([X[:, 0], levels])
    first, *_ = interactions(design, y > 0, feature_of=np.array([4, 6, 6, 6, 6]))
    assert first.columns == (4, 6)
    assert first.q_value <= 0.1


def n_naming(tables):
    """How many tables name a pair at 0.1."""
    named = (interactions(X, y, seed) for seed, (X, y) in enumerate(tables))
    return sum(any(pair.q_value <= 0.1 for pair in found) for found in named)


def additive(n_runs, n_rows, n_columns, effect):
    """Tables of normal columns and noise, whose effects add up."""
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_rows, n_columns))
        yield X, effect(X, rng.normal(size=n_rows))


def curves(X, noise):
    return X[:, 0] ** 2 + 2 * (X[:, 1] > 0) + X[:, 2] + noise


def strong_classes(X, noise):
    return 4 * X[:, 0] + 4 * X[:, 1] + noise > 0


def long_tail(X, noise):
    return np.exp(X[:, 0]) + np.exp(X[:, 1]) + 0.5 * noise


@pytest.mark.parametrize(
    ("n_runs", "n_rows", "n_columns", "effect"),
    [(20, 150, 4, curves), (12, 300, 3, strong_classes)],
    ids=["curves", "classes nearly told apart"],
)
def test_where_effects_add_up_hardly_anything_is_named(n_runs, n_rows, n_columns, effect):
    """Law: with a level of 0.1, runs with a false pair are at most about one in ten."""
    n_false = n_naming(additive(n_runs, n_rows, n_columns, effect))
    assert n_false <= binom.ppf(0.999, n_runs, 0.1)


def test_effects_that_add_up_in_an_outcome_with_a_long_tail_do_so():
    """On ranks they would not: the pair would be named in every table."""
    assert n_naming(additive(10, 300, 2, long_tail)) <= 5


def test_an_outlier_does_not_hide_a_pair():
    X, y = crossed()
    y[0] = 1e12
    assert interactions(X, y)[0].names == ("x0", "x1")


def test_copied_rows_do_not_make_a_pair_surer():
    """Law: 100 additive rows five times over name a false pair as rarely as once."""
    n_runs, n_false = 6, 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        rows = np.repeat(np.arange(100), 5)
        X = rng.normal(size=(100, 3))[rows]
        y = X[:, 0] + X[:, 1] + rng.normal(size=100)[rows]
        data = SelectedData(X, np.arange(3), read_outcome(y, len(X)), rows)
        found = find_interactions(data, NAMES, np.random.default_rng(seed))
        n_false += any(pair.q_value <= 0.1 for pair in found)
    assert n_false <= binom.ppf(0.999, n_runs, 0.1)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.arange(30.0)[:, None], np.arange(30.0)),
        (np.random.default_rng(0).random((10, 2)), np.arange(10.0)),
    ],
    ids=["one feature", "few rows"],
)
def test_where_there_is_nothing_to_look_at(X, y):
    assert interactions(X, y, family="gaussian") == ()


def selector_of(**settings):
    rng = np.random.default_rng(0)
    X = rng.random((200, 10))
    y = 8 * (X[:, 3] > 0.5) * (X[:, 7] > 0.5) + rng.normal(size=200)
    reward = BartReward(n_trees=10, n_iterations=100)
    return ThompsonSelector(reward, n_plays=40, random_state=1, **settings).fit(X, y)


def test_a_fit_knows_its_interactions():
    selector = selector_of()
    (pair,) = selector.interactions_
    assert pair.columns == (3, 7)
    assert selector.interactions_ is selector.interactions_
    assert pickle.loads(pickle.dumps(selector_of())).interactions_ == (pair,)


def test_before_a_fit_there_are_none():
    assert not hasattr(ThompsonSelector(), "interactions_")
