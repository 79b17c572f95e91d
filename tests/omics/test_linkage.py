"""Linked columns: one arm each, and which of them it is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tvselect import ThompsonSelector
from tvselect.inputs import read_outcome
from tvselect.omics import linkage
from tvselect.omics.linkage import clump_labels, find_clumps, fine_map
from tvselect.selectors.claims import Claim, by_shares


def linked_columns(n_rows=300, n_blocks=8, size=5, seed=0):
    """Blocks of columns, each a noisy step away from the one before."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_blocks * size))
    for j in range(X.shape[1]):
        if j % size:
            X[:, j] = X[:, j - 1] + 0.35 * X[:, j]
    return X


def test_columns_farther_apart_are_not_linked(monkeypatch):
    monkeypatch.setattr(linkage, "WINDOW", 3)
    x = np.random.default_rng(0).normal(size=200)
    X = np.random.default_rng(1).normal(size=(200, 8))
    X[:, [0, 3, 7]] = x[:, None]
    assert_array_equal(find_clumps(X, np.arange(8)), [0, 1, 2, 0, 4, 5, 6, 7])


@pytest.mark.parametrize("at_once", [1, 7, 40])
def test_neighbours_that_are_alike_make_a_clump_however_many_are_looked_at(monkeypatch, at_once):
    X = linked_columns()
    whole = find_clumps(X, np.arange(40))
    assert_array_equal(whole // 5, np.arange(40) // 5)
    assert np.unique(whole).size < 14
    assert_array_equal(whole[whole], whole)
    monkeypatch.setattr(linkage, "COLUMNS_AT_ONCE", at_once)
    assert_array_equal(find_clumps(X, np.arange(40)), whole)


def test_features_of_several_columns_stay_alone():
    x = np.random.default_rng(0).normal(size=100)
    X = np.stack([x, x, x, -x], axis=1)
    labels = clump_labels(X, np.array([0, 1, 1, 2]), ["a", "text", "b"])
    assert labels == ["clump of a", "text", "clump of a"]


def test_the_column_that_explains_most_has_the_largest_share():
    X = linked_columns(400, 2)
    y = 2 * X[:, 3] + np.random.default_rng(3).normal(size=400)
    rng = np.random.default_rng(0)
    claims = [(0, 1, 2, 3, 4), (7,)]
    first, second = fine_map(claims, X, np.arange(10), read_outcome(y, 400), rng)
    assert first.argmax() == 3
    assert first[3] > 0.5
    assert first.sum() == pytest.approx(1.0)
    assert second.size == 1
    claim = by_shares(Claim(claims[0], tuple("abcde"), 0.9, 0.1), first)
    assert (claim.columns[0], claim.names[0]) == (3, "d")
    assert list(claim.shares) == sorted(first, reverse=True)


def test_a_column_without_values_has_no_share():
    X = linked_columns(200, 2)
    y = X[:, 3] + np.random.default_rng(3).normal(size=200)
    X[:, 0] = np.nan
    rng = np.random.default_rng(0)
    (found,) = fine_map([(0, 3, 4)], X, np.arange(10), read_outcome(y, 200), rng)
    assert (found[0], found.argmin()) == (0.0, 0)
    X[:, 3:] = np.nan
    assert not fine_map([(0, 3, 4)], X, np.arange(10), read_outcome(y, 200), rng)


def test_a_fit_by_clumps():
    X = linked_columns(300, 12)
    y = 2 * X[:, 12] + X[:, 30] ** 2 + 0.5 * np.random.default_rng(3).normal(size=300)
    found = ThompsonSelector(n_plays=150, feature_groups="ld", random_state=0).fit(X, y)
    labels = found.result_.layout.labels
    assert all(label.startswith("clump of x") for label in labels.values())
    arms = found.result_.arm_of_feature
    for feature in (12, 30):
        mine = arms == arms[feature]
        assert found.support_[mine].all()
        assert len(set(found.q_values_[mine])) == 1
    first = {claim.names[0] for claim in found.claims_ if claim.q_value <= 0.1}
    assert {"x12", "x30"} <= first
    with pytest.raises(ValueError, match="groups must be a mapping"):
        ThompsonSelector(feature_groups="blocks").fit(X, y)
