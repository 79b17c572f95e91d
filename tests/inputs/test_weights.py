"""Weights of rows: whole ones at their word, others right on average."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tvselect.inputs.rows import check_weights, repeated_rows, take_rows


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, 2.0], r"shape \(2,\), X has 3 rows"),
        ([1.0, -1.0, 1.0], "not negative"),
        ([1.0, np.nan, 1.0], "finite"),
        ([0.0, 0.0, 0.0], "not all zero"),
    ],
)
def test_weights_that_are_none_are_refused(weights, said):
    with pytest.raises(ValueError, match=said):
        check_weights(weights, 3)


def test_whole_weights_need_no_chance():
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    assert repeated_rows(np.array([0.0, 3.0, 1.0]), rng).tolist() == [1, 1, 1, 2]
    assert rng.bit_generator.state == before


def test_a_common_divisor_of_whole_weights_is_taken_out():
    rng = np.random.default_rng(1)
    assert repeated_rows(np.full(3, 20.0), rng).tolist() == [0, 1, 2]
    assert repeated_rows(np.array([6.0, 0.0, 4.0]), rng).tolist() == [0, 0, 0, 2, 2]


def test_fractional_weights_are_right_on_average():
    """E[times a row is taken] = its weight times (rows of positive weight / sum of weights).

    A count is one of two neighbouring whole numbers, so its standard deviation is at most 1/2,
    and that of a mean over 4,000 draws 0.0079; five of them are allowed.
    """
    weights = np.array([0.2, 0.0, 1.7, 0.6, 3.1, 0.4])
    expected = weights * 5 / weights.sum()
    rng = np.random.default_rng(2)
    n_draws = 4000
    total = np.zeros(weights.size)
    for _ in range(n_draws):
        counts = np.bincount(repeated_rows(weights, rng), minlength=weights.size)
        assert (np.abs(counts - expected) < 1).all()
        assert counts.sum() == 5
        total += counts
    assert np.abs(total / n_draws - expected).max() < 5 * 0.5 / np.sqrt(n_draws)


def test_rows_of_all_kinds_of_tables():
    columns = {"a": [1, 2, 3], "b": [4, 5, 6]}
    rows = np.array([2, 0, 0])
    taken = np.array([[3, 6], [1, 4], [1, 4]])
    frame = pd.DataFrame(columns, index=[7, 8, 9])
    np.testing.assert_array_equal(take_rows(frame, rows), taken)
    np.testing.assert_array_equal(take_rows(pl.DataFrame(columns), rows).to_numpy(), taken)
    np.testing.assert_array_equal(take_rows(pa.table(columns), rows).to_pandas(), taken)
    np.testing.assert_array_equal(take_rows(frame.to_numpy(), rows), taken)
    assert take_rows([10, 20, 30], rows) == [30, 10, 10]
    assert take_rows(pl.Series([10, 20, 30]), rows).to_list() == [30, 10, 10]
    assert take_rows(pa.chunked_array([[10], [20, 30]]), rows).to_pylist() == [30, 10, 10]
