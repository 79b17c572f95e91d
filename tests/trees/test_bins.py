"""Columns as codes: cut points, encoding, and codes of 1, 2 and 8 bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.trees.test_sampler import advance, assert_same_chain
from tvselect.inputs import read_outcome
from tvselect.trees import bin_table, bins, working_response
from tvselect.trees.bins import encode_columns, find_crowded, packed
from tvselect.trees.state import locked, n_words, pack_codes, unpack_codes

lawful = settings(deadline=None, derandomize=True, database=None, max_examples=150)

MAX = np.finfo(float).max
TINY = np.nextafter(0, 1)


def expected_cuts(x, max_cuts):
    distinct = np.unique(x[~np.isnan(x)])
    if distinct.size < max_cuts:
        return (distinct[1:] + distinct[:-1]) / 2
    if distinct.size == 1:
        return np.empty(0)
    return np.linspace(distinct[0], distinct[-1], max_cuts + 2)[1:-1]


def codes_of(table, column=0):
    return table.codes[column, : table.n_rows]


def check_codes(codes, x, cuts):
    expected = np.where(np.isnan(x), 255, np.searchsorted(cuts, x, side="right"))
    assert_array_equal(codes, expected)
    seen = ~np.isnan(x)
    for c, cut in enumerate(cuts):
        assert_array_equal(codes[seen] <= c, x[seen] < cut)
    assert (np.diff(codes[seen][np.argsort(x[seen])].astype(int)) >= 0).all()


@pytest.mark.parametrize("max_cuts", [1, 2, 3, 10, 100, 254])
@pytest.mark.parametrize("n_distinct", [1, 2, 3, 9, 10, 11, 99, 100, 101, 253, 254, 255, 400])
def test_cuts_follow_the_rule(max_cuts, n_distinct):
    rng = np.random.default_rng(n_distinct)
    values = 100 * rng.standard_normal(n_distinct)
    x = rng.permutation(np.concatenate([values, rng.choice(values, 30), [np.nan] * 5]))
    table = bin_table(x[:, None], max_cuts=max_cuts)
    expected = expected_cuts(x, max_cuts)
    cuts = table.cuts.of(0)
    assert table.cuts.n_cuts[0] == expected.size
    assert_allclose(cuts, expected, rtol=1e-13, atol=1e-11)
    check_codes(codes_of(table), x, cuts)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(253.0),
        -np.arange(253.0) / 1024,
        np.ldexp(1.0, np.arange(-126, 127)),
        np.arange(253) * TINY,
        1.0 + np.arange(253) * np.spacing(1.0),
        np.arange(253) * 2.0**40 + 0.5,
        np.append(np.arange(1, 253.0), [0.0, -0.0]),
    ],
    ids=["whole", "fractions", "powers", "tiny", "neighbours", "large", "zeros"],
)
def test_distinct_values_are_counted_right(values):
    x = np.random.default_rng(0).permutation(np.concatenate([values, values]))
    table = bin_table(np.column_stack([x, x[::-1], x]), max_cuts=254)
    ranks = np.unique(x, return_inverse=True)[1]
    assert_array_equal(table.cuts.n_cuts, 252)
    assert_array_equal(codes_of(table, 0), ranks)
    assert_array_equal(codes_of(table, 1), ranks[::-1])
    assert_array_equal(codes_of(table, 2), ranks)


edges = [0.0, -0.0, TINY, -TINY, 2 * TINY, 1.0, np.nextafter(1, 2), -1.0, 1e300, -1e300, MAX / 2]
doubles = st.one_of(
    st.sampled_from(edges),
    st.floats(allow_nan=True, allow_infinity=False),
    st.floats(-1, 1),
    st.integers(-3, 3).map(float),
    st.integers(0, 40).map(lambda k: 1.0 + k * np.spacing(1.0)),
)
columns = st.lists(doubles, min_size=1, max_size=60).map(np.array)


@lawful
@given(columns, st.integers(1, 254), st.lists(doubles, max_size=10).map(np.array))
@example(np.array([0.0, TINY, 2 * TINY]), 2, np.array([]))
@example(np.array([1.0, np.nextafter(1, 2)]), 2, np.array([0.0]))
@example(np.array([-MAX / 2, MAX / 2]), 1, np.array([MAX, -MAX]))
@example(np.array([MAX, np.nan, MAX]), 1, np.array([]))
@example(np.append(np.arange(1000.0), np.nan), 254, np.array([]))
@example(np.array([-MAX / 2, 0.0, MAX / 2]), 254, np.array([MAX, -MAX]))
def test_a_code_says_which_cuts_lie_at_or_below(x, max_cuts, new):
    seen = x[~np.isnan(x)]
    assume(seen.size > 0)
    with np.errstate(over="ignore"):
        assume(np.isfinite(seen.max() - seen.min()))
    table = bin_table(x[:, None], max_cuts=max_cuts)
    cuts = table.cuts.of(0)
    assert table.has_missing == [seen.size < x.size]
    assert cuts.size == table.cuts.n_cuts[0] <= max_cuts
    assert (np.diff(cuts) >= 0).all()
    check_codes(codes_of(table), x, cuts)
    if np.unique(seen).size < max_cuts:  # all are told apart
        assert_array_equal(codes_of(table)[~np.isnan(x)], np.unique(seen, return_inverse=True)[1])
    if new.size:
        check_codes(table.cuts.encode(new[:, None])[0, : new.size], new, cuts)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 200])
def test_rows_are_padded_with_zeros_to_whole_words_and_locked(n_rows):
    table = bin_table(1.0 + np.arange(n_rows)[:, None], max_cuts=7)
    assert table.n_rows == n_rows
    assert table.codes.shape == (1, 64 * -(-n_rows // 64))
    assert table.codes.dtype == np.uint8
    assert not table.codes[:, n_rows:].any()
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0, 0] = 1


@pytest.mark.parametrize("max_cuts", [0, -1, 255, 10.0, "10", None])
def test_numbers_of_cuts_outside_1_to_254_are_refused(max_cuts):
    error = ValueError if isinstance(max_cuts, int) else TypeError
    with pytest.raises(error, match="max_cuts"):
        bin_table(np.eye(3), max_cuts=max_cuts)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("bad", [[np.inf, 1], [-np.inf, 1], [np.inf, -np.inf], [-MAX, MAX]])
@pytest.mark.parametrize("max_cuts", [1, 100])
def test_infinite_values_are_refused_by_name(bad, max_cuts):
    X = pd.DataFrame({"fine": [1, 2, 3], "bad": [np.nan, *bad]})
    with pytest.raises(ValueError, match="column 'bad' of X holds infinite"):
        bin_table(X, max_cuts=max_cuts)


def test_columns_without_a_value_are_refused_by_name():
    with pytest.raises(ValueError, match="column 'x1' of X holds no value"):
        bin_table([[1, None], [2, None]])
    with pytest.raises(ValueError, match="column 'b' of X holds no value"):
        bin_table(pl.DataFrame({"a": [1, 2], "b": [None, None]}))


@pytest.mark.parametrize("block_values", [1, 30, 31, 61, 1 << 18])
def test_blocks_do_not_change_the_result(monkeypatch, block_values):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.standard_normal((30, 3)), rng.integers(0, 3, (30, 4)), np.ones(30)])
    X[5, 4] = np.nan
    expected = bin_table(X, max_cuts=12)
    monkeypatch.setattr(bins, "VALUES_IN_CACHE", block_values)
    table = bin_table(X, max_cuts=12)
    assert_array_equal(table.codes, expected.codes)
    assert_array_equal(table.cuts.encode(X), expected.codes)
    for j in range(X.shape[1]):
        assert_array_equal(table.cuts.of(j), expected.cuts.of(j))
    X[1, 7] = np.inf
    with pytest.raises(ValueError, match="column 'x7' of X"):
        bin_table(X)


def mixed_table():
    rng = np.random.default_rng(6)
    X = np.column_stack(
        [rng.standard_normal(300), rng.integers(0, 5, 300), np.ones(300), rng.random(300) < 0.5,
         rng.standard_normal(300).round(1)]
    )  # fmt: skip
    X[::9, 1] = np.nan
    return X


@pytest.mark.parametrize("columns", [[0], [1], [4, 1], [2, 0, 3], [3, 3], [0, 1, 2, 3, 4], []])
def test_cuts_of_some_columns_are_those_of_the_whole(columns):
    X = mixed_table()
    cuts = bin_table(X).cuts
    columns = np.array(columns, dtype=np.int64)
    names = tuple(f"x{j}" for j in columns)
    some = cuts.take(columns, names)
    assert some.names == names
    assert some.starts.size == columns.size + 1
    assert some.halfway.size == some.starts[-1]
    for place, column in enumerate(columns):
        assert_array_equal(some.of(place), cuts.of(column))
    if columns.size:
        assert_array_equal(some.encode(X[:, columns]), cuts.encode(X)[columns])
        again = some.take(np.arange(columns.size)[::-1], names[::-1])
        assert_array_equal(again.encode(X[:, columns[::-1]]), cuts.encode(X)[columns[::-1]])


def test_another_table_between_the_same_cuts():
    X = mixed_table()
    table = bin_table(X)
    for some in (X, pd.DataFrame(X[:70], columns=[f"x{j}" for j in range(5)]), X[1:9], X * np.nan):
        other, values = table.cuts.bin(some), np.asarray(some)
        n_rows = len(values)
        assert other.cuts is table.cuts
        assert other.n_rows == n_rows
        assert_array_equal(other.has_missing, np.isnan(values).any(axis=0))
        expected = np.where(np.isnan(values.T), 255, table.cuts.encode(some)[:, :n_rows])
        assert_array_equal(other.codes[:, :n_rows], expected)
    assert_array_equal(table.cuts.bin(X).codes, table.codes)


def test_the_cut_itself_decides_next_to_a_grid_point():
    """Whatever rounding makes of the division: a code counts the cuts at or below a value."""
    rng = np.random.default_rng(7)
    low, step = rng.standard_normal(50), 10.0 ** rng.uniform(-3, 3, 50)
    cuts = low[:, None] + step[:, None] * np.arange(1, 101)
    block = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)], axis=1)
    codes = np.zeros((50, 320), dtype=np.uint8)
    encode_columns(
        block, np.full(50, 100, dtype=np.uint8), low, step, np.zeros(51, dtype=np.int64),
        np.zeros(0), codes,
    )  # fmt: skip
    wanted = [np.searchsorted(cuts[j], block[j], side="right") for j in range(50)]
    assert_array_equal(codes[:, :300], wanted)


# A few values far out do not have the cut points to themselves

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "x",
    [
        RNG.random(300),
        RNG.normal(size=3000),
        RNG.exponential(size=300),
        RNG.exponential(size=300) * (RNG.random(300) < 0.5),
        np.append(RNG.random(300), 5.0),
    ],
    ids=["uniform", "normal", "exponential", "half of it zero", "not so far"],
)
def test_plain_columns_stay_on_an_even_grid(x):
    cuts = bin_table(x[:, None]).cuts
    assert cuts.step[0] > 0.0
    assert_allclose(np.diff(cuts.of(0)), (x.max() - x.min()) / 101)


@pytest.mark.parametrize("far", [[999.0], [-9999.0], [-1e300, 1e300], [-9999.0] * 100, [80.0]])
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_far_value_is_a_bin_and_the_others_have_the_rest(far, is_shuffled):
    plain = np.random.default_rng(1).normal(size=300)
    x = np.append(plain, [*far, np.nan])
    order = np.random.default_rng(2).permutation(x.size) if is_shuffled else np.arange(x.size)
    table = bin_table(np.column_stack([x, x - 1.0, x * 2.0])[order])
    codes = np.empty((3, x.size), dtype=np.uint8)
    codes[:, order] = table.codes[:, : x.size]
    assert codes[0, -1] == 255
    assert np.unique(codes[0, :300]).size > 90
    assert np.intersect1d(codes[0, :300], codes[0, 300:-1]).size == 0
    for j, column in enumerate([x, x - 1.0, x * 2.0]):
        expected = np.searchsorted(table.cuts.of(j), column[:-1], side="right")
        assert_array_equal(codes[j, :-1], expected)


def test_rare_values_of_a_column_of_zeros_are_cut_among_themselves():
    x = np.zeros(5000)
    x[:300] = RNG.random(300)
    assert bin_table(x[:, None]).cuts.step[0] > 0.0
    x[0] = 9999.0
    table = bin_table(x[:, None])
    assert np.unique(table.codes[0, :300]).size > 90


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        (np.arange(99), False),  # seven bins hold seven in 99
        (np.repeat(np.arange(30), 3), False),  # and here 21 in 90
        (np.repeat([5, 9, 40, 80], [15, 16, 29, 30]), True),  # the first seven 31 in 90
        (np.repeat([5, 12, 40, 80], [15, 15, 30, 30]), False),  # which these two do not share
        (np.repeat([93, 99, 4, 50], [15, 16, 29, 30]), True),
    ],
)
def test_a_column_is_crowded_when_a_third_of_it_lies_in_few_bins(codes, wanted):
    values = np.ones((1, codes.size))
    crowded = np.zeros(1, dtype=np.bool_)
    coded = codes.astype(np.uint8)[None]
    find_crowded(values, coded, np.ones(1), 7, crowded)
    assert crowded[0] == wanted
    for step, value in ((0.0, 1.0), (1.0, 0.0)):  # cut at listed points; nothing but zeros
        crowded[:] = False
        find_crowded(value * values, coded, np.full(1, step), 7, crowded)
        assert not crowded[0]


# Columns of two and three values are kept as bits, and nothing else changes

SIZES = (1, 63, 64, 65, 200)


def two_values(n_rows, n_columns=7, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.4).astype(float)
    X[:, 0] = 3.0  # a single value
    X[:, 1] = np.where(X[:, 1] > 0, 1e300, -2.5)
    return X


def few_values(n_rows, n_columns=7, seed=0):
    """Columns of two values, of genotypes with and without missing ones, and one of many."""
    X = two_values(n_rows, n_columns, seed)
    rng = np.random.default_rng(seed + 1)
    X[:, 3:6] = rng.integers(3, size=(n_rows, 3))
    X[rng.random(n_rows) < 0.1, 4] = np.nan
    X[: n_rows // 5, 1] = np.nan
    X[:, 2] = rng.random(n_rows)
    return X


def as_bytes(table):
    widths = np.full(table.n_columns, 8, dtype=np.uint8)
    return replace(table, words=locked(packed(table.codes, widths)), widths=widths)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize(("width", "values"), [(1, [0, 1]), (2, [0, 1, 2, 255]), (8, range(256))])
def test_packed_codes_come_back(n_rows, width, values):
    codes = np.zeros((5, 64 * n_words(n_rows)), dtype=np.uint8)
    codes[:, :n_rows] = np.random.default_rng(n_rows).choice(values, size=(5, n_rows))
    words = pack_codes(codes, width)
    assert words.shape == (5, width * n_words(n_rows))
    assert_array_equal(unpack_codes(words, width), codes)


@pytest.mark.parametrize(
    ("odd", "width"), [([], 1), ([np.nan], 2), ([1e3], 2), ([1e3, 1e4], 8), ([np.nan, 1e3, 1e4], 8)]
)
@pytest.mark.parametrize("place", [1, 3, 6])
@pytest.mark.parametrize("n_rows", [63, 64, 200])
def test_every_column_is_as_narrow_as_its_values_allow(monkeypatch, n_rows, odd, width, place):
    monkeypatch.setattr(bins, "VALUES_IN_CACHE", 2 * n_rows)  # two columns at a time
    X = two_values(n_rows)
    X[5 : 5 + len(odd), place] = odd
    table = bin_table(X)
    assert_array_equal(table.widths, np.where(np.arange(7) == place, width, 1))
    assert table.words.size == (6 + width) * n_words(n_rows)
    assert not table.words.flags.writeable
    for j in range(X.shape[1]):
        assert_array_equal(table.codes[j], bin_table(X[:, [j]]).codes[0])
    assert_array_equal(np.concatenate([codes for _, codes in table.blocks()]), table.codes)


@pytest.mark.parametrize("rows", [None, np.arange(149, 20, -2)])
@pytest.mark.parametrize("shadows", [None, np.array([3, 3, 4])])
def test_bits_and_bytes_show_the_same_rows_and_shadows(rows, shadows):
    X = few_values(150, 30)
    y = X[:, 3] + 2 * X[:, 5] * X[:, 7] + np.random.default_rng(2).standard_normal(150)
    table, response = bin_table(X), working_response(read_outcome(y, 150))
    chosen = dict(columns=np.array([3, 4, 2, 5, 7]), rows=rows, shadows=shadows)
    assert_same_chain(
        advance(table, response, **chosen), advance(as_bytes(table), response, **chosen)
    )
