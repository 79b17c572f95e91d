"""Rows that are copies of each other are one observation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tvselect.inputs.columns import SparseColumns
from tvselect.inputs.rows import copied_rows, numbered, orders_of


def table(n=100, p=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.normal(size=n)


def test_copies_are_found_in_any_order():
    X, y = table()
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(100), 3))
    assert np.array_equal(copied_rows(X[rows], y[rows]), numbered(rows))


def test_missing_values_are_the_same():
    X, y = table()
    X[::3, 1] = np.nan
    rows = np.repeat(np.arange(100), 2)
    assert np.array_equal(copied_rows(X[rows], y[rows]), rows)


@pytest.mark.parametrize("n_values", [2, 3, 10])
def test_rows_of_few_values_agree_by_chance(n_values):
    rng = np.random.default_rng(0)
    X = rng.integers(n_values, size=(1_000, 3)).astype(float)
    assert copied_rows(X, rng.integers(2, size=1_000).astype(float)) is None


def test_the_same_columns_with_another_outcome_are_no_copies():
    X, _ = table()
    assert copied_rows(np.repeat(X, 2, axis=0), np.arange(200.0)) is None


def test_a_few_copies_do_not_matter():
    X, y = table(1_000)
    rows = np.append(np.arange(1_000), [1, 2, 3])
    assert copied_rows(X[rows], y[rows]) is None


def test_no_matrix_is_needed():
    X, y = table(200)
    X[X < 0.0] = 0.0
    rows = np.repeat(np.arange(200), 2)
    assert np.array_equal(copied_rows(SparseColumns(sparse.csc_array(X[rows])), y[rows]), rows)


def test_rows_of_an_observation_stay_together():
    observations = np.array([0, 1, 1, 2, 3, 3, 4, 0])
    for order in orders_of(observations, 8, 50, np.random.default_rng(0)):
        assert np.array_equal(np.sort(order), np.arange(8))
        moved = observations[order]
        for k in range(5):
            assert np.unique(moved[observations == k]).size == 1


def test_orders_of_observations_of_a_size_are_equally_likely():
    """Law: each of three observations comes to each place in a third of the orders."""
    n = 3_000
    orders = orders_of(np.array([0, 0, 1, 1, 2, 2]), 6, n, np.random.default_rng(0))
    shares = np.array([(orders[:, 0] == row).mean() for row in (0, 2, 4)])
    assert np.abs(shares - 1 / 3).max() < 4.0 * np.sqrt(2 / 9 / n)
