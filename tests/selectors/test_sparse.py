"""Sparse matrices and masked arrays: the fit of the same numbers in another form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tests.nested import nested
from tests.selectors.runs import assert_same
from tvselect import BartReward, LassoReward, StreamingThompsonSelector, ThompsonSelector
from tvselect.inputs.columns import SparseColumns, centred_ranks, ranks_of
from tvselect.selectors import copies

REWARD = BartReward(n_trees=5, n_iterations=60)


def make(n=150, p=40, filled=0.15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < filled)
    X[:, 5] = X[:, 5] != 0
    return X, 4 * (X[:, 3] > 0) + 4 * X[:, 5] + 0.3 * rng.normal(size=n)


def fit(X, y, reward=REWARD, Selector=ThompsonSelector, **settings):
    return Selector(reward, **nested(**{"random_state": 1, **settings})).fit(X, y)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"reward": LassoReward()},
        {"decoys": "knockoffs"},
        {"max_fdr": None, "feature_groups": {"pair": [1, 2]}, "always_include": [0]},
        {"most_arms": 100, "always_include": [7]},
    ],
    ids=["bart", "lasso", "knockoffs", "groups", "very many arms"],
)
def test_a_sparse_matrix_is_played_like_the_array(settings, monkeypatch):
    settings = dict(settings)
    monkeypatch.setattr(copies, "MOST_ARMS", settings.pop("most_arms", 2**13))
    X, y = make()
    plain, other = (fit(table, y, n_plays=40, **settings) for table in (X, sparse.csr_matrix(X)))
    assert_same(plain, other)
    assert list(map(str, plain.claims_)) == list(map(str, other.claims_))
    assert plain.interactions_ == other.interactions_
    kept = other.transform(sparse.csr_array(X))
    assert sparse.issparse(kept)
    assert_array_equal(kept.toarray(), plain.transform(X))


def test_missing_values_of_a_sparse_matrix_are_missing_and_infinite_ones_refused():
    X, y = make()
    X[3, 5] = X[4, 6] = np.nan
    plain, other = (fit(table, y, n_plays=20) for table in (X, sparse.csr_array(X)))
    assert_same(plain, other)
    X[0, 6] = np.inf
    with pytest.raises(ValueError, match="infinity in column 'x6'"):
        fit(sparse.csr_array(X), y)


def test_a_journal_knows_a_sparse_matrix(tmp_path):
    X, y = make()
    settings = {"journal": tmp_path / "run.sqlite"}
    fit(sparse.csr_array(X), y, n_plays=10, **settings)
    assert fit(sparse.csc_array(X), y, n_plays=12, **settings).n_plays_ == 12
    X[0, 0] += 1.0
    with pytest.raises(ValueError, match="journal"):
        fit(sparse.csr_array(X), y, n_plays=12, **settings)


def test_ranks_are_those_of_the_array():
    X, _ = make()
    X[4, 3] = X[5, 7] = np.nan
    columns = np.array([3, 7, 5, 0])
    found = ranks_of(SparseColumns(sparse.coo_array(X)), columns)
    assert_allclose(found, centred_ranks(X.T[columns]), atol=1e-12)


def test_streams_of_sparse_batches_are_those_of_arrays():
    X, y = make(n=1200)
    settings = {"Selector": StreamingThompsonSelector, "batch_size": 100}
    plain, other = (fit(table, y, **settings) for table in (X, sparse.csr_array(X)))
    assert_same(plain, other)
    by_parts = StreamingThompsonSelector(REWARD, random_state=1)
    for first in range(0, 1200, 100):
        rows = slice(first, first + 100)
        by_parts.partial_fit(sparse.csr_array(X[rows]), y[rows])
    assert_same(by_parts, plain)


@pytest.mark.parametrize("Selector", [ThompsonSelector, StreamingThompsonSelector])
def test_masked_is_missing(Selector):
    X, y = make(n=300)
    mask = np.random.default_rng(3).random(X.shape) < 0.1
    holes = np.where(mask, np.nan, X)
    masked = np.ma.array(np.where(mask, 1e6, X), mask=mask)
    plain, other = (fit(table, y, Selector=Selector, max_fdr=None) for table in (holes, masked))
    assert_same(plain, other)
    assert_array_equal(other.transform(masked), plain.transform(holes))
    with pytest.raises(ValueError, match="1 missing or infinite value"):
        fit(X, np.ma.array(y, mask=np.arange(y.size) == 4), Selector=Selector)
