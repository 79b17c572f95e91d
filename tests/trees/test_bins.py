from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tvselect.trees import bin_table, bins
from tvselect.trees.bins import encode_columns

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
    np.testing.assert_array_equal(codes, expected)
    seen = ~np.isnan(x)
    for c, cut in enumerate(cuts):
        np.testing.assert_array_equal(codes[seen] <= c, x[seen] < cut)
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
    np.testing.assert_allclose(cuts, expected, rtol=1e-13, atol=1e-11)
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
    np.testing.assert_array_equal(table.cuts.n_cuts, 252)
    np.testing.assert_array_equal(codes_of(table, 0), ranks)
    np.testing.assert_array_equal(codes_of(table, 1), ranks[::-1])
    np.testing.assert_array_equal(codes_of(table, 2), ranks)


def test_few_values_are_cut_halfway_exactly():
    table = bin_table(np.array([[4.0], [1.0], [2.0], [1.0]]))
    np.testing.assert_array_equal(table.cuts.of(0), [1.5, 3.0])
    np.testing.assert_array_equal(codes_of(table), [2, 0, 1, 0])


def test_many_values_are_cut_on_an_even_grid_exactly():
    table = bin_table(np.arange(12.0)[:, None], max_cuts=10)
    np.testing.assert_array_equal(table.cuts.of(0), np.arange(1, 11))
    np.testing.assert_array_equal(codes_of(table), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10])


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
@example(np.array([-MAX / 2, 0.0, MAX / 2]), 254, np.array([MAX, -MAX]))
def test_a_code_says_which_cuts_lie_at_or_below(x, max_cuts, new):
    seen = x[~np.isnan(x)]
    assume(seen.size > 0)
    with np.errstate(over="ignore"):
        assume(np.isfinite(seen.max() - seen.min()))
    table = bin_table(x[:, None], max_cuts=max_cuts)
    cuts = table.cuts.of(0)
    assert cuts.size == table.cuts.n_cuts[0] <= max_cuts
    assert (np.diff(cuts) >= 0).all()
    check_codes(codes_of(table), x, cuts)
    if new.size:
        check_codes(table.cuts.encode(new[:, None])[0, : new.size], new, cuts)


@lawful
@given(columns)
def test_few_distinct_values_are_all_told_apart(x):
    seen = x[~np.isnan(x)]
    assume(seen.size > 0)
    with np.errstate(over="ignore"):
        assume(np.isfinite(seen.max() - seen.min()))
    table = bin_table(x[:, None], max_cuts=100)
    rank = np.unique(seen, return_inverse=True)[1]
    np.testing.assert_array_equal(codes_of(table)[~np.isnan(x)], rank)


def test_missing_values_have_code_255_and_are_noted_by_column():
    X = np.array([[1.0, 5, np.nan], [np.nan, 6, 2], [3, 7, np.nan]])
    table = bin_table(X)
    np.testing.assert_array_equal(table.codes[:, :3] == 255, np.isnan(X.T))
    np.testing.assert_array_equal(table.has_missing, [True, False, True])


def test_the_most_cuts_leave_255_to_missing_values():
    x = np.append(np.arange(1000.0), np.nan)
    codes = codes_of(bin_table(x[:, None], max_cuts=254))
    assert codes[:-1].max() == 254
    assert codes[-1] == 255


@pytest.mark.parametrize("max_cuts", [1, 2, 100])
@pytest.mark.parametrize("value", [0.0, -3.5, MAX, TINY])
def test_constant_columns_have_no_cuts(max_cuts, value):
    X = np.full((5, 2), value)
    X[1, 1] = np.nan
    table = bin_table(X, max_cuts=max_cuts)
    np.testing.assert_array_equal(table.cuts.n_cuts, [0, 0])
    assert table.cuts.of(0).size == table.cuts.of(1).size == 0
    np.testing.assert_array_equal(codes_of(table, 0), np.zeros(5))
    np.testing.assert_array_equal(codes_of(table, 1), [0, 255, 0, 0, 0])


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 200])
def test_rows_are_padded_with_zeros_to_whole_words(n_rows):
    table = bin_table(1.0 + np.arange(n_rows)[:, None], max_cuts=7)
    assert table.n_rows == n_rows
    assert table.codes.shape == (1, 64 * -(-n_rows // 64))
    assert table.codes.dtype == np.uint8
    assert not table.codes[:, n_rows:].any()


def test_codes_of_a_table_are_read_only():
    table = bin_table(np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0, 0] = 1


@pytest.mark.parametrize(
    ("max_cuts", "error"),
    [
        (0, ValueError),
        (-1, ValueError),
        (255, ValueError),
        (10.0, TypeError),
        ("10", TypeError),
        (None, TypeError),
    ],
)
def test_numbers_of_cuts_outside_1_to_254_are_refused(max_cuts, error):
    with pytest.raises(error, match="max_cuts"):
        bin_table(np.eye(3), max_cuts=max_cuts)


@pytest.mark.parametrize("max_cuts", [3, np.int32(3), np.uint8(3)])
def test_numpy_whole_numbers_of_cuts_are_taken(max_cuts):
    assert bin_table(np.arange(9.0)[:, None], max_cuts=max_cuts).cuts.n_cuts[0] == 3


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


def test_float32_is_cut_as_the_same_doubles():
    X = np.random.default_rng(0).standard_normal((300, 2)).astype(np.float32)
    single, double = bin_table(X), bin_table(X.astype(float))
    np.testing.assert_array_equal(single.codes, double.codes)
    np.testing.assert_array_equal(single.cuts.of(1), double.cuts.of(1))


@pytest.mark.parametrize(
    "wrap",
    [
        np.asfortranarray,
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
        lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
        lambda X: pa.table(dict(zip("abc", X.T, strict=True))),
    ],
    ids=["fortran", "lists", "pandas", "polars", "arrow"],
)
def test_every_kind_of_table_gives_the_same_codes(wrap):
    X = np.random.default_rng(1).standard_normal((150, 3)).round(1)
    X[3, 1] = np.nan
    expected, table = bin_table(X), bin_table(wrap(X))
    np.testing.assert_array_equal(table.codes, expected.codes)
    np.testing.assert_array_equal(table.has_missing, expected.has_missing)
    assert table.names in (("a", "b", "c"), ("x0", "x1", "x2"))
    assert table.n_columns == 3


def test_the_table_is_left_as_it_was():
    X = np.asfortranarray(np.random.default_rng(2).standard_normal((50, 3)))
    before = X.copy()
    bin_table(X)
    np.testing.assert_array_equal(X, before)
    assert X.flags.writeable


def test_encoding_the_table_itself_gives_its_codes():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.standard_normal(200), rng.integers(0, 5, 200), np.ones(200)])
    X[::7, 1] = np.nan
    table = bin_table(X)
    np.testing.assert_array_equal(table.cuts.encode(X), table.codes)


def test_new_values_outside_the_range_fall_into_the_end_bins():
    X = np.column_stack([np.arange(200.0), np.arange(200) % 3, np.ones(200)])
    table = bin_table(X)
    new = np.array([[-1e9, -1e9, -1e9], [1e9, 1e9, 1e9], [np.nan, np.nan, np.nan]])
    codes = table.cuts.encode(new)[:, :3]
    np.testing.assert_array_equal(codes, [[0, 100, 255], [0, 2, 255], [0, 0, 255]])


def test_new_tables_with_other_columns_are_refused():
    cuts = bin_table(pd.DataFrame({"a": [1, 2], "b": [3, 4]})).cuts
    assert cuts.encode([[1, 3]]).shape == (2, 64)
    with pytest.raises(ValueError, match="X has 3 columns but the cut points are for 2"):
        cuts.encode(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="column 1 of X is 'c' where 'b' is expected"):
        cuts.encode(pd.DataFrame({"a": [1], "c": [1]}))
    with pytest.raises(ValueError, match="column 0 of X is 'b' where 'a' is expected"):
        cuts.encode(pl.DataFrame({"b": [1], "a": [1]}))
    with pytest.raises(ValueError, match="column 'b' of X holds infinite"):
        cuts.encode(pd.DataFrame({"a": [1.0], "b": [np.inf]}))
    with pytest.raises(TypeError, match="column 'b' of X holds no numbers"):
        cuts.encode(pd.DataFrame({"a": [1], "b": ["x"]}))


@pytest.mark.parametrize("block_values", [1, 30, 31, 61, 1 << 18])
def test_blocks_do_not_change_the_result(monkeypatch, block_values):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.standard_normal((30, 3)), rng.integers(0, 3, (30, 4)), np.ones(30)])
    X[5, 4] = np.nan
    expected = bin_table(X, max_cuts=12)
    monkeypatch.setattr(bins, "VALUES_IN_CACHE", block_values)
    table = bin_table(X, max_cuts=12)
    np.testing.assert_array_equal(table.codes, expected.codes)
    np.testing.assert_array_equal(table.cuts.encode(X), expected.codes)
    for j in range(X.shape[1]):
        np.testing.assert_array_equal(table.cuts.of(j), expected.cuts.of(j))


def test_tables_larger_than_a_block_are_cut_by_column():
    rng = np.random.default_rng(5)
    X = rng.integers(0, rng.integers(2, 300, 500), (600, 500)).astype(float)
    assert X.size > bins.VALUES_IN_CACHE
    table = bin_table(X)
    for j in range(0, 500, 7):
        np.testing.assert_allclose(table.cuts.of(j), expected_cuts(X[:, j], 100), rtol=1e-12)
        expected = np.searchsorted(table.cuts.of(j), X[:, j], side="right")
        np.testing.assert_array_equal(codes_of(table, j), expected)


def test_an_error_in_a_later_block_names_the_right_column(monkeypatch):
    monkeypatch.setattr(bins, "VALUES_IN_CACHE", 8)
    X = np.arange(40.0).reshape(4, 10)
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
        np.testing.assert_array_equal(some.of(place), cuts.of(column))
    if columns.size:
        np.testing.assert_array_equal(some.encode(X[:, columns]), cuts.encode(X)[columns])
        again = some.take(np.arange(columns.size)[::-1], names[::-1])
        np.testing.assert_array_equal(
            again.encode(X[:, columns[::-1]]), cuts.encode(X)[columns[::-1]]
        )


def test_another_table_between_the_same_cuts():
    X = mixed_table()
    table = bin_table(X)
    same = table.cuts.bin(X)
    np.testing.assert_array_equal(same.codes, table.codes)
    np.testing.assert_array_equal(same.has_missing, table.has_missing)
    assert same.cuts is table.cuts
    assert same.n_rows == 300
    assert not same.codes.flags.writeable
    few = table.cuts.bin(np.full((3, 5), np.nan))
    assert few.n_rows == 3
    assert few.has_missing.all()
    np.testing.assert_array_equal(few.codes[:, :3], 255)
    frame = pd.DataFrame(X[:70], columns=[f"x{j}" for j in range(5)])
    np.testing.assert_array_equal(table.cuts.bin(frame).codes[:, :70], table.codes[:, :70])
    assert not table.cuts.bin(X[1:9]).has_missing.any()


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
    np.testing.assert_array_equal(codes[:, :300], wanted)
