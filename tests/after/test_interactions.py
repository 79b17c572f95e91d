"""Interactions: named where effects do not add up, and hardly ever where they do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ndtr
from scipy.stats import binom

from tvselect import BartReward, ThompsonSelector
from tvselect.after.interactions import SelectedData, _without_interactions, find_interactions
from tvselect.inputs import read_outcome
from tvselect.inputs.blocks import RowBlocks

NAMES = [f"x{j}" for j in range(8)]


def interactions(X, y, seed=0, *, feature_of=None, observations=None):
    feature_of = np.arange(X.shape[1]) if feature_of is None else feature_of
    family = "auto" if np.asarray(y).dtype == bool else "gaussian"
    data = SelectedData(X, feature_of, read_outcome(y, len(X), family=family), observations)
    return find_interactions(data, NAMES, np.random.default_rng(seed))


def crossed(n=300):
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    signs = np.sign(X[:, 0] - 0.5) * np.sign(X[:, 1] - 0.5)
    return X, 3 * signs + 2 * (X[:, 2] > 0.5) + rng.normal(size=n)


@pytest.mark.parametrize("outlier", [None, 1e12])
def test_a_pair_without_main_effects_is_named_first(outlier):
    X, y = crossed()
    if outlier:
        y[0] = outlier
    first, *others = interactions(X, y)
    assert (first.columns, first.names, str(first)) == ((0, 1), ("x0", "x1"), "x0 x x1")
    if not outlier:
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


EFFECTS = {
    "curves": lambda X, noise: X[:, 0] ** 2 + 2 * (X[:, 1] > 0) + X[:, 2] + noise,
    "classes nearly told apart": lambda X, noise: 4 * X[:, 0] + 4 * X[:, 1] + noise > 0,
    "long tail": lambda X, noise: np.exp(X[:, 0]) + np.exp(X[:, 1]) + 0.5 * noise,
    "copied rows": lambda X, noise: X[:, 0] + X[:, 1] + noise,
}


@pytest.mark.parametrize(
    ("effects", "n_runs", "shape", "n_copies", "most"),
    [
        ("curves", 20, (150, 4), 1, binom.ppf(0.999, 20, 0.1)),
        ("classes nearly told apart", 12, (300, 3), 1, binom.ppf(0.999, 12, 0.1)),
        # On ranks these would not add up: the pair would be named in every table.
        ("long tail", 10, (300, 2), 1, 5),
        # 100 rows five times over name a false pair as rarely as once.
        ("copied rows", 6, (100, 3), 5, binom.ppf(0.999, 6, 0.1)),
    ],
)
def test_where_effects_add_up_hardly_anything_is_named(effects, n_runs, shape, n_copies, most):
    """Law: with a level of 0.1, runs with a false pair are at most about one in ten."""
    n_false = 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=shape)
        y = EFFECTS[effects](X, rng.normal(size=shape[0]))
        rows = np.repeat(np.arange(shape[0]), n_copies)
        observations = rows if n_copies > 1 else None
        found = interactions(X[rows], y[rows], seed, observations=observations)
        n_false += any(pair.q_value <= 0.1 for pair in found)
    assert n_false <= most


def of_groups(seed, n_groups=40, size=8):
    """Two columns that differ between groups and two within, and what groups add to the outcome."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), size)
    X = np.column_stack([rng.normal(size=(n_groups, 2))[group], rng.normal(size=(group.size, 2))])
    rest = 1.5 * rng.normal(size=n_groups)[group] + rng.normal(size=group.size)
    return X, rest, RowBlocks.of(group.size, group)


def test_columns_of_groups_do_not_act_together_by_telling_groups_apart():
    """Law: as above. Untold, 9 of 12 such tables name a false pair."""
    n_false = 0
    for seed in range(6):
        X, rest, blocks = of_groups(seed)
        found = interactions(X, X.sum(axis=1) + rest, seed, observations=blocks)
        n_false += any(pair.q_value <= 0.1 for pair in found)
    assert n_false <= binom.ppf(0.999, 6, 0.1)
    y = X.sum(axis=1) + 1.5 * X[:, 2] * X[:, 3] + rest
    first, *_ = interactions(X, y, observations=blocks)
    assert (first.columns, first.q_value) == ((2, 3), pytest.approx(0.05))


@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_outcomes_without_interactions_depend_on_each_other_as_rows_do(family):
    """Rows of a group are alike in them, too, and neighbours in a series; classes somewhat less."""
    rng = np.random.default_rng(0)
    X, rest, groups = of_groups(1, n_groups=100)
    series = lfilter([1.0], [1.0, -0.95], rng.normal(size=rest.size))
    in_time = RowBlocks.of(rest.size, order="rows")
    for noise, blocks in ((rest, groups), (series, in_time)):
        values = X[:, 2] + noise
        outcome = read_outcome(values if family == "gaussian" else values > 0, rest.size)
        expected = X[:, 2] if family == "gaussian" else ndtr(X[:, 2] / noise.std())
        correlations = []
        for order in blocks.orders(20, rng):
            fit = expected, float(noise.std())
            drawn = _without_interactions(outcome, *fit, blocks, order, rng).values
            correlations.append(np.corrcoef(drawn[:-1], drawn[1:])[0, 1])
        known = np.corrcoef(outcome.values[:-1], outcome.values[1:])[0, 1]
        assert np.mean(correlations) > (0.8 if family == "gaussian" else 0.6) * known > 0.2
        assert len(set(correlations)) == 20  # each another order


def test_where_there_is_nothing_to_look_at():
    for shape in ((30, 1), (10, 2)):  # one feature; few rows
        X = np.random.default_rng(0).random(shape)
        assert interactions(X, np.arange(float(len(X)))) == ()


def test_a_fit_finds_its_interactions_when_asked():
    rng = np.random.default_rng(0)
    X = rng.random((200, 10))
    y = 8 * (X[:, 3] > 0.5) * (X[:, 7] > 0.5) + rng.normal(size=200)
    reward = BartReward(n_trees=10, n_iterations=100)
    selector = ThompsonSelector(reward, n_plays=40, random_state=1)
    assert not hasattr(selector, "interactions_")
    pickled = pickle.dumps(selector.fit(X, y))
    (pair,) = selector.interactions_
    assert pair.columns == (3, 7)
    assert selector.interactions_ is selector.interactions_
    assert pickle.loads(pickled).interactions_ == (pair,)
