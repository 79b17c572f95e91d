"""Sparse matrices and masked arrays: the fit of the same numbers in another form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tests.nested import nested
from tvselect import (
    BartReward,
    LassoReward,
    StreamingThompsonSelector,
    ThompsonSelector,
)
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs.columns import SparseColumns, centred_ranks, ranks_of
from tvselect.selectors import copies
from tvselect.selectors.copies import marginal_scores

REWARD = BartReward(n_trees=5, n_iterations=60)


def make(n=150, p=40, filled=0.15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < filled)
    X[:, 5] = X[:, 5] != 0
    return X, 4 * (X[:, 3] > 0) + 4 * X[:, 5] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize(
    "settings",
    [
        {"reward": REWARD},
        {"reward": LassoReward()},
        {"reward": REWARD, "decoys": "knockoffs"},
        {
            "reward": REWARD,
            "max_fdr": None,
            "feature_groups": {"pair": [1, 2]},
            "always_include": [0],
        },
    ],
    ids=["bart", "lasso", "knockoffs", "groups"],
)
def test_a_sparse_matrix_is_played_like_the_array(form, settings):
    X, y = make()
    fits = [
        ThompsonSelector(**nested(**settings, n_plays=40, random_state=1)).fit(table, y)
        for table in (X, form(X))
    ]
    assert_array_equal(fits[0].selection_rates_, fits[1].selection_rates_)
    assert list(map(str, fits[0].claims_)) == list(map(str, fits[1].claims_))
    assert fits[0].interactions_ == fits[1].interactions_
    assert fits[1].n_features_in_ == X.shape[1]
    kept = fits[1].transform(form(X))
    assert sparse.issparse(kept)
    assert_array_equal(kept.toarray(), fits[0].transform(X))


def test_of_very_many_arms_the_same_play(monkeypatch):
    monkeypatch.setattr(copies, "MOST_ARMS", 100)
    X, y = make(p=60)
    settings = {"n_plays": 30, "random_state": 2, "always_include": [7]}
    plain = ThompsonSelector(REWARD, **nested(**settings)).fit(X, y)
    other = ThompsonSelector(REWARD, **nested(**settings)).fit(sparse.csr_array(X), y)
    assert_array_equal(plain.selection_rates_, other.selection_rates_)


def test_missing_values_of_a_sparse_matrix_are_missing_and_infinite_ones_refused():
    X, y = make()
    X[3, 5] = X[4, 6] = np.nan
    fits = [
        ThompsonSelector(REWARD, n_plays=20, random_state=1).fit(table, y)
        for table in (X, sparse.csr_array(X))
    ]
    assert_array_equal(fits[0].selection_rates_, fits[1].selection_rates_)
    X[0, 6] = np.inf
    with pytest.raises(ValueError, match="infinity in column 'x6'"):
        ThompsonSelector(REWARD).fit(sparse.csr_array(X), y)


def test_a_journal_knows_a_sparse_matrix(tmp_path):
    X, y = make()
    settings = {"journal": tmp_path / "run.sqlite", "random_state": 1}
    ThompsonSelector(REWARD, **nested(n_plays=10, **settings)).fit(sparse.csr_array(X), y)
    assert (
        ThompsonSelector(REWARD, **nested(n_plays=12, **settings))
        .fit(sparse.csc_array(X), y)
        .n_plays_
        == 12
    )
    X[0, 0] += 1.0
    with pytest.raises(ValueError, match="journal"):
        ThompsonSelector(REWARD, **nested(n_plays=12, **settings)).fit(sparse.csr_array(X), y)


def test_ranks_and_scores_are_those_of_the_array():
    X, y = make()
    X[4, 3] = X[5, 7] = np.nan
    held = SparseColumns(sparse.coo_array(X))
    columns = np.array([3, 7, 5, 0])
    assert_allclose(ranks_of(held, columns), centred_ranks(X.T[columns]), atol=1e-12)
    decoys = ShuffledColumns.draw(X, 10, np.random.default_rng(1))
    assert decoys.factors.size == 0
    found = marginal_scores(decoys, held, y[None])
    assert_allclose(found, marginal_scores(decoys, X, y[None]), atol=1e-10)


def test_streams_of_sparse_batches_are_those_of_arrays():
    X, y = make(n=1200)
    settings = {"batch_size": 100, "random_state": 1}
    plain = StreamingThompsonSelector(REWARD, **nested(**settings)).fit(X, y)
    other = StreamingThompsonSelector(REWARD, **nested(**settings)).fit(sparse.csr_array(X), y)
    assert_array_equal(plain.selection_rates_, other.selection_rates_)
    parts = [StreamingThompsonSelector(REWARD, random_state=1) for _ in range(2)]
    for first in range(0, 1200, 200):
        rows = slice(first, first + 200)
        parts[0].partial_fit(X[rows], y[rows])
        parts[1].partial_fit(sparse.csr_array(X[rows]), y[rows])
    assert_array_equal(parts[0].selection_rates_, parts[1].selection_rates_)


@pytest.mark.parametrize("Selector", [ThompsonSelector, StreamingThompsonSelector])
def test_masked_is_missing(Selector):
    X, y = make(n=300)
    mask = np.random.default_rng(3).random(X.shape) < 0.1
    holes = np.where(mask, np.nan, X)
    masked = np.ma.array(np.where(mask, 1e6, X), mask=mask)
    fits = [
        Selector(REWARD, max_fdr=None, random_state=1).fit(table, y) for table in (holes, masked)
    ]
    assert_array_equal(fits[0].selection_rates_, fits[1].selection_rates_)
    assert_array_equal(fits[1].transform(masked), fits[0].transform(holes))
    with pytest.raises(ValueError, match="1 missing or infinite value"):
        Selector(REWARD).fit(X, np.ma.array(y, mask=np.arange(y.size) == 4))
    with pytest.raises(ValueError, match="but has 2; fit one selector to each"):
        Selector(REWARD).fit(X, np.column_stack([y, y]))
