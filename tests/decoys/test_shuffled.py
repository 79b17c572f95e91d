"""Shuffled decoys: the same values, the same company, and no other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tvselect.decoys.shuffled import DrawnColumns, ShuffledColumns, common_factors
from tvselect.trees import bin_table

COPIES = 3


def awkward(rng, n=120):
    X = rng.normal(size=(n, 30))
    X[:, 1] = X[:, 1] > 1
    X[:, 2] = np.round(X[:, 2])
    X[::5, 3] = np.nan
    return X


def factor(rng):
    X = awkward(rng)
    X[:, 4:] += 2 * rng.normal(size=(120, 1))
    return X


TABLES = awkward, factor, lambda rng: (rng.random((120, 40)) < 0.3).astype(float)


def decoys_of(X, seed=1):
    return ShuffledColumns.draw(X, COPIES, np.random.default_rng(seed))


@pytest.mark.parametrize("make", TABLES)
def test_decoys_have_the_values_of_their_columns_and_are_binned_as_these(make):
    X = make(np.random.default_rng(0))
    decoys, table, (n_rows, p) = decoys_of(X), bin_table(X), X.shape
    columns = np.arange(COPIES * p)
    values = decoys.values(X, columns)
    for copy in np.split(values, COPIES, axis=1):
        assert_array_equal(np.sort(copy, axis=0), np.sort(X, axis=0))
        assert (copy != X).any(axis=0).all()
    binned = decoys.binned(table)
    assert binned.n_columns == p * (1 + COPIES)
    assert_array_equal(binned.codes[:p], table.codes)
    for found, own in ((binned.widths, table.widths), (binned.cuts.n_cuts, table.cuts.n_cuts),
                       (binned.has_missing, table.has_missing)):  # fmt: skip
        assert_array_equal(found, np.tile(own, 1 + COPIES))
    drawn = DrawnColumns(np.stack(np.split(values, COPIES, axis=1)), decoys.held, decoys.factors)
    assert_array_equal(drawn.values(X, columns[::3]), values[:, ::3])
    if decoys.factors.shape[1] == 0:
        cuts = table.cuts.take(np.tile(np.arange(p), COPIES), [""] * columns.size)
        assert_array_equal(binned.codes[p:, :n_rows], cuts.encode(values)[:, :n_rows])
        if (table.widths == 8).all():
            assert_array_equal(drawn.binned(table).codes, binned.codes)


def test_the_columns_of_a_copy_go_together_as_the_originals_do():
    X = awkward(np.random.default_rng(3))[:, 4:]
    copy = decoys_of(X).values(X, np.arange(X.shape[1]))
    assert_allclose(np.corrcoef(copy.T), np.corrcoef(X.T))


def test_decoys_keep_what_their_columns_owe_to_a_common_factor_and_nothing_else():
    """Correlation of a column with the factor, and with the decoy of another: within 4 / sqrt(n)
    of its value, the sampling error of a correlation."""
    rng, n = np.random.default_rng(4), 2000
    factor = rng.normal(size=n)
    loadings = np.r_[np.full(30, 0.8), np.zeros(10)]
    X = factor[:, None] * loadings + rng.normal(size=(n, 40)) * np.sqrt(1 - loadings**2)
    decoys = decoys_of(X)
    assert decoys.factors.shape[1] == 1
    copy = decoys.values(X, np.arange(40))
    with_factor = [np.corrcoef(factor, column)[0, 1] for column in copy.T]
    assert_allclose(with_factor, loadings, atol=4 / np.sqrt(n) + 0.05)
    own = [np.corrcoef(X[:, j], copy[:, j])[0, 1] for j in range(40)]
    assert_allclose(own, loadings**2, atol=4 / np.sqrt(n) + 0.05)
    plain = ShuffledColumns.draw(X, 1, rng, keep_factors=False)
    assert plain.factors.shape == (n, 0)
    copy = plain.values(X, np.arange(40))
    assert max(abs(np.corrcoef(factor, column)[0, 1]) for column in copy.T) < 4 / np.sqrt(n)


@pytest.mark.parametrize(("n_alike", "n_others"), [(0, 10), (0, 500), (30, 0), (30, 40), (30, 200)])
def test_columns_that_share_nothing_or_are_near_copies_have_no_common_factor(n_alike, n_others):
    rng = np.random.default_rng(7)
    block = rng.normal(size=(300, 1)) + 0.1 * rng.normal(size=(300, n_alike))
    X = np.hstack([block, rng.normal(size=(300, n_others))])
    assert common_factors(X, rng).shape == (300, 0)


def test_near_copies_do_not_hide_a_common_factor():
    """Its direction is found within the angle that 20 columns of noise leave, some 1 / sqrt(20)."""
    rng = np.random.default_rng(8)
    factor = rng.normal(size=(300, 1))
    block = rng.normal(size=(300, 1)) + 0.1 * rng.normal(size=(300, 30))
    X = np.hstack([block, factor + rng.normal(size=(300, 20))])
    found = common_factors(X, rng)
    assert found.shape == (300, 1)
    assert abs(np.corrcoef(found[:, 0], factor[:, 0])[0, 1]) > 1 - 1.5 / 20
