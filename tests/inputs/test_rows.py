"""Weights of rows, and rows that are copies of each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from tvselect.inputs.columns import SparseColumns
from tvselect.inputs.rows import (
    check_weights,
    copied_rows,
    numbered,
    orders_of,
    repeated_rows,
    rows_to_use,
    take_rows,
    warn_of_index,
)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, 2.0], r"shape \(2,\), X has 3 rows"),
        ([1.0, -1.0, 1.0], "not negative"),
        ([1.0, np.nan, 1.0], "finite"),
        ([0.0, 0.0, 0.0], "not all zero"),
        (["1", "2", "3"], "must hold numbers, one for each row"),
        ([5e-324, 0.0, 5e-324], "too close to zero, or too large; scale it"),
        ([1e308, 1e308, 1e308], "too close to zero, or too large; scale it"),
    ],
)
def test_weights_that_are_none_are_refused(weights, said):
    with pytest.raises(ValueError, match=said):
        check_weights(weights, 3)


def test_of_a_row_and_its_copies_the_first_is_used_with_the_weight_of_all():
    copies, rng = np.array([0, 1, 0, 2, 1, 0]), np.random.default_rng(0)
    weights = np.array([1.0, 2.0, 3.0, 4.0, 2.0, 2.0])
    rows, kept, n = rows_to_use(copies, weights, False, rng)
    assert (rows.tolist(), kept.tolist(), n) == ([0, 1, 3], [6.0, 4.0, 4.0], None)
    many = np.repeat(np.arange(30), 1 + np.arange(30) % 3)
    rows, kept, n = rows_to_use(many, None, True, rng)
    assert (many[rows].tolist(), kept, n) == (many.tolist(), None, 26)  # 60^2 / (10 + 40 + 90)
    assert rows_to_use(None, np.full(6, 7.0), True, rng)[2] is None
    with pytest.raises(ValueError, match="all together tell as much as one"):
        rows_to_use(None, np.array([1000.0, 1.0, 1.0]), True, rng)


def test_whole_weights_need_no_chance_and_lose_a_common_divisor():
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    assert repeated_rows(np.array([0.0, 3.0, 1.0]), rng).tolist() == [1, 1, 1, 2]
    assert repeated_rows(np.full(3, 20.0), rng).tolist() == [0, 1, 2]
    assert repeated_rows(np.array([6.0, 0.0, 4.0]), rng).tolist() == [0, 0, 0, 2, 2]
    assert rng.bit_generator.state == before


def test_fractional_weights_are_right_on_average():
    """E[times a row is taken] = its weight times (rows of positive weight / sum of weights).

    A count is one of two neighbouring whole numbers, so its standard deviation is at most 1/2,
    and that of a mean over 4,000 draws 0.0079; five of them are allowed.
    """
    weights = np.array([0.2, 0.0, 1.7, 0.6, 3.1, 0.4])
    expected = weights * 5 / weights.sum()
    rng = np.random.default_rng(2)
    drawn = [repeated_rows(weights, rng) for _ in range(4000)]
    counts = np.array([np.bincount(rows, minlength=weights.size) for rows in drawn])
    assert (np.abs(counts - expected) < 1).all()
    assert (counts.sum(axis=1) == 5).all()
    assert np.abs(counts.mean(axis=0) - expected).max() < 5 * 0.5 / np.sqrt(len(counts))


def test_rows_of_all_kinds_of_tables():
    columns, rows = {"a": [1, 2, 3], "b": [4, 5, 6]}, np.array([2, 0, 0])
    frame = pd.DataFrame(columns, index=[7, 8, 9])
    for table in (frame, pl.DataFrame(columns), pa.table(columns), frame.to_numpy()):
        taken = take_rows(table, rows)
        taken = taken.to_pandas() if isinstance(taken, pa.Table) else taken
        np.testing.assert_array_equal(taken, [[3, 6], [1, 4], [1, 4]])
    for column in ([10, 20, 30], pl.Series([10, 20, 30]), pa.chunked_array([[10], [20, 30]])):
        taken = take_rows(column, rows)
        assert list(getattr(taken, "to_pylist", lambda taken=taken: taken)()) == [30, 10, 10]


def table(n=100, p=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, p)), rng.normal(size=n)


@pytest.mark.parametrize("as_columns", [np.asarray, lambda X: SparseColumns(sparse.csc_array(X))])
def test_copies_are_found_in_any_order_missing_values_and_zeros_included(as_columns):
    X, y = table()
    X[::3, 1], X[X < 0.0] = np.nan, 0.0
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(100), 3))
    assert np.array_equal(copied_rows(as_columns(X[rows]), y[rows]), numbered(rows))


def test_neither_other_outcomes_nor_few_copies_nor_few_values_make_copies():
    X, y = table(1_000)
    assert copied_rows(np.repeat(X, 2, axis=0), np.arange(2_000.0)) is None
    rows = np.append(np.arange(1_000), [1, 2, 3])
    assert copied_rows(X[rows], y[rows]) is None
    rng = np.random.default_rng(0)
    for n_values in (2, 3, 10):
        X = rng.integers(n_values, size=(1_000, 3)).astype(float)
        assert copied_rows(X, rng.integers(2, size=1_000).astype(float)) is None


def test_rows_of_an_observation_stay_together_and_those_of_a_size_are_equally_likely():
    """Law: each of three observations of two rows comes to the first in a third of the orders."""
    n, observations = 3_000, np.array([0, 0, 1, 1, 2, 2, 3])
    orders = orders_of(observations, 7, n, np.random.default_rng(0))
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(7), (n, 1)))
    moved = observations[orders]
    assert (moved[:, :6:2] == moved[:, 1:6:2]).all()
    shares = np.array([(moved[:, 0] == k).mean() for k in range(3)])
    assert np.abs(shares - 1 / 3).max() < 4.0 * np.sqrt(2 / 9 / n)


def test_an_index_in_another_order_is_warned_of():
    X = pd.DataFrame({"a": [1, 2, 3]}, index=list("xyz"))
    y = pd.Series([1, 2, 3], index=list("zyx"))
    with pytest.warns(UserWarning, match=r"hand in y\.loc\[X\.index\]"):
        warn_of_index(X, y, 1)
    for other in (
        y.loc[X.index],
        y.reset_index(drop=True),
        y.rename({"z": "w"}),
        y.to_list(),
        y[:2],
    ):
        warn_of_index(X, other, 1)
    warn_of_index([[1]], [1], 1)  # lists have an index, too
