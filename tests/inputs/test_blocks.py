"""Rows that belong together: how they are read, and orders that keep how they depend."""

from __future__ import annotations

from datetime import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy.signal import lfilter

from tvselect.inputs.blocks import RowBlocks, take_blocks
from tvselect.inputs.table import read_table

FRAME = pd.DataFrame(
    {
        "a": [1.0, 2.0, 3.0, 4.0],
        "who": ["ann", "bob", "ann", "bob"],
        "day": pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-01", "2020-01-02"]),
        "text": ["2020-01-02", "2020-01-01", "2020-01-01", "2020-01-02"],
    }
)


@pytest.mark.parametrize("kind", [lambda x: x, pl.from_pandas, pa.Table.from_pandas, read_table])
@pytest.mark.parametrize(
    "day",
    ["day", "text", [2.0, 1, 1, 2], list(FRAME.day.dt.date), list(FRAME.day.dt.tz_localize("UTC")),
     FRAME.day - FRAME.day[0], [time(9), time(8), time(8), time(9)]],
)  # fmt: skip
def test_columns_of_any_table_say_which_rows_belong_together(kind, day):
    X, blocks = take_blocks(kind(FRAME), "who", day)
    assert blocks.codes.tolist() == [0, 1, 0, 1]
    assert blocks.ranks.tolist() == [1, 0, 0, 1]
    names = getattr(X, "column_names", None) or getattr(X, "names", None) or X.columns
    left_out = {"who", day} if isinstance(day, str) else {"who"}
    assert set(names) == set(FRAME) - left_out


def test_a_group_for_every_row_is_doubted():
    with pytest.warns(UserWarning, match="another value in every row.* name what several rows"):
        take_blocks(FRAME, "a", None)


@pytest.mark.parametrize(
    "labels", [FRAME.who.astype("category"), pl.Series(FRAME.who), [("ann", 1), 2, ("ann", 1), 2]]
)
def test_labels_may_be_anything(labels):
    if isinstance(labels, list):
        labels = np.array([*labels, None], dtype=object)[:-1]
    assert take_blocks(FRAME, labels, "rows")[1].codes.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("X", "groups", "order", "said"),
    [
        (FRAME, "wh", None, "groups names the column 'wh', which X does not have; it has 'a'"),
        (FRAME, [1, 2], None, r"groups has shape \(2,\), X has 4 rows; pass the name of a column"),
        (np.eye(4), "who", None, "groups='who' is the name of a column, but X has no names"),
        (FRAME, ["a", None, "b", None], None, "groups has no value in 2 rows, first in row 1"),
        (FRAME, None, [1, 2, np.nan, 3], "order has no value in 1 row, first in row 2"),
        (FRAME, None, "who", "order holds 'ann', which is neither a number nor a date"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_the_parameter(X, groups, order, said):
    with pytest.raises(ValueError, match=said):
        take_blocks(X, groups, order)


def test_groups_of_one_size_change_places_as_a_whole():
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(30), 4))
    for order in ({}, {"order": "rows"}):
        blocks = RowBlocks.of(codes.size, codes, **order)
        for moved in blocks.orders(5, np.random.default_rng(1)):
            assert_array_equal(np.sort(moved), np.arange(codes.size))
            for group in range(30):
                rows = moved[blocks.codes == group]
                assert np.unique(blocks.codes[rows]).size == 1
                assert set(np.diff(blocks.ranks[rows]).tolist()) <= {1, -3}
                assert not order or blocks.ranks[rows][0] == 0
            assert (moved != np.arange(codes.size)).mean() > 0.8


def test_groups_of_other_sizes_are_filled_by_groups_like_them():
    sizes = np.r_[[100, 90, 80, 70, 60, 60, 60, 55], np.arange(24, 4, -1)]
    codes = np.repeat(np.arange(sizes.size), sizes)
    blocks = RowBlocks.of(codes.size, codes)
    for moved in blocks.orders(20, np.random.default_rng(1)):
        givers = [np.unique(codes[moved[codes == group]]) for group in range(sizes.size)]
        assert all(giver.size == 1 for giver in givers)
        assert sorted(int(giver[0]) for giver in givers) == list(range(sizes.size))
        assert all((int(giver[0]) < 8) == (group < 8) for group, giver in enumerate(givers))
        steps = np.diff(blocks.ranks[moved])[np.diff(codes) == 0]
        assert np.mean(steps == 1) > 0.9


@pytest.mark.parametrize(
    ("sizes", "first"), [([20] * 10 + [4] * 3, 0), ([50] * 9 + [20] * 9 + [4] * 3, 9)]
)
def test_a_few_small_groups_change_places_with_those_nearest_in_size(sizes, first):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    orders = RowBlocks.of(codes.size, codes).orders(200, np.random.default_rng(0))
    givers = codes[orders[:, np.cumsum(sizes) - 1]]
    assert {*givers[:, -3:].ravel().tolist()} == {*range(first, len(sizes))}
    assert (givers != np.arange(len(sizes))).any(axis=0).all()


def test_series_move_in_time_as_far_apart_as_can_be():
    times = np.random.default_rng(0).permutation(110)
    orders = RowBlocks.of(110, None, times).orders(10, np.random.default_rng(0))
    for k, order in enumerate(orders, start=1):
        assert_array_equal(times[order], (times + 10 * k) % 110)
    panel = RowBlocks.of(60, np.repeat([0, 1], [20, 40]), "rows")  # too few to change places
    (order,) = panel.orders(1, np.random.default_rng(0))
    assert order[:20].tolist() == [*range(10, 20), *range(10)]
    assert order[20:].tolist() == [*range(40, 60), *range(20, 40)]


@pytest.mark.parametrize(
    ("memory", "n_rows", "low", "high"),
    [(0.0, 200, 180, 200), (0.5, 200, 95, 160), (0.9, 200, 15, 40), (0.98, 200, 0, 14),
     (0.98, 2000, 25, 90), (1.0, 1000, 0, 14)],
)  # fmt: skip
def test_stretches_of_time_are_counted(memory, n_rows, low, high):
    """Of AR(1) columns n (1 - m^2) / (1 + m^2) rows count: 120 and 21 of 200, 40 of 2,000."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(9):
        noise = rng.normal(size=(n_rows + 300 * (memory < 1), 21))
        X = lfilter([1], [1, -memory], noise, axis=0)[-n_rows:]
        found.append(RowBlocks.of(n_rows, None, "rows").n_units(X[:, 1:], X[:, 0]))
    assert low <= np.median(found) <= high


@pytest.mark.parametrize("share", [0.5, 0.8, 0.1])
@pytest.mark.parametrize("memory", [0.98, 1.0])
@pytest.mark.parametrize("are_classes", [False, True])
def test_classes_of_what_hardly_changes_hold_few_stretches(share, memory, are_classes):
    """Their correlation with the next row is less than that of what is cut: 0.87 for 0.98."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(20):
        Z = lfilter([1], [1, -memory], rng.normal(size=(600, 21)), axis=0)[-200:]
        cut = (np.quantile(Z, share, axis=0) < Z).astype(np.float64)
        X = cut[:, 1:] if are_classes else Z[:, 1:]
        found.append(RowBlocks.of(200, None, "rows").n_units(X, cut[:, 0]))
    assert np.mean(np.array(found) < 15) >= 0.8


def test_one_column_that_hardly_changes_counts_where_the_outcome_does_neither():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)), np.cumsum(rng.normal(size=300))
    blocks = RowBlocks.of(300, None, "rows")
    assert blocks.n_units(X, y) > 200
    X[:, 5] = np.cumsum(X[:, 5])
    assert blocks.n_units(X, y) < 6 < 15 < blocks.n_units(X, rng.normal(size=300))
