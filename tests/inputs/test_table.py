"""Every kind of table is read alike, in blocks of columns; ranks of columns."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array

from tvselect import StreamingThompsonSelector, ThompsonSelector
from tvselect.inputs import Numbered, read_table
from tvselect.inputs.columns import centred_ranks, centred_ranks_of_codes

NAN = np.nan


def numbers(X, what="X"):
    table = read_table(X, what=what)
    return table.block(0, table.n_columns)


def test_values_are_kept_exactly_in_any_memory():
    X = np.array([[0.1, 1e-30], [3e38, -7.3]], dtype=np.float32)
    np.testing.assert_array_equal(numbers(X).T, X.astype(np.float64))
    X = np.arange(24.0).reshape(4, 6)[::-2, ::2]
    X.flags.writeable = False
    np.testing.assert_array_equal(numbers(X), X.T)
    np.testing.assert_array_equal(read_table(pd.DataFrame(X)).block(1, 3), X[:, 1:].T)
    np.testing.assert_array_equal(numbers([[np.inf], [1.0]]), [[np.inf, 1.0]])


@pytest.mark.parametrize(
    "X",
    [
        [[1, 1.0], [3, None]],
        ((1, 1.0), (3, NAN)),
        np.array([[True, 1.0], [3, pd.NA]], dtype=object),
        np.array([[1, Decimal("1")], [3, pd.NaT]], dtype=object),
        np.ma.masked_array([[1, 1], [3, 4]], mask=[[0, 0], [0, 1]]),
        np.ma.masked_array(np.array([[1, 1.0], [3, "?"]], dtype=object), mask=[[0, 0], [0, 1]]),
        pd.DataFrame({"a": [1, 3], "b": [1.0, None]}),
        pd.DataFrame({"a": pd.array([1, 3], dtype="Int64"), "b": pd.array([1.0, None], "Float64")}),
        pd.DataFrame({"a": pd.array([1, 3], "Int8"), "b": pd.array([True, None], "boolean")}),
        pd.DataFrame({"a": [1, 3], "b": pd.Series([True, None], dtype=object)}),
        pd.DataFrame({"a": [1, 3], "b": pd.array([1.0, None], dtype="double[pyarrow]")}),
        pl.DataFrame({"a": [1, 3], "b": [1, None]}),
        pl.DataFrame({"a": [1, 3], "b": [True, None]}),
        pl.DataFrame({"a": [1, 3], "b": [Decimal("1"), None]}),
        pl.DataFrame({"a": [1, 3], "b": [1.0, None]}, schema={"a": pl.UInt8, "b": pl.Float32}),
        pl.LazyFrame({"a": [1, 3], "b": [1.0, None]}),
        pa.table({"a": [1, 3], "b": [1.0, None]}),
        pa.table({"a": [1, 3], "b": [True, None]}),
        pa.table({"a": [1, 3], "b": [Decimal("1"), None]}),
    ],
    ids=lambda X: type(X).__module__.split(".")[0],
)
def test_every_kind_of_table_reads_the_same_and_missing_is_nan(X):
    np.testing.assert_array_equal(numbers(X), [[1, 3], [1, NAN]])


@pytest.mark.parametrize(
    ("X", "names"),
    [
        (pd.DataFrame({"age": [1, 2], "b c": [3.0, 4.0]}), ("age", "b c")),
        (pl.DataFrame({"age": [1, 2], "b c": [3.0, 4.0]}), ("age", "b c")),
        (pa.table({"age": [1, 2], "b c": [3.0, 4.0]}), ("age", "b c")),
        (np.array([[1, 3], [2, 4]]), ("x0", "x1")),
        (pd.DataFrame([[1, 3], [2, 4]], columns=[2.5, None]), ("2.5", "nan")),
        (pd.DataFrame([[1, 3], [2, 4]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
         ("('a', 1)", "('a', 2)")),
        (pd.DataFrame([[1, 3], [2, 4]], columns=pd.Index([10, 20])), ("10", "20")),
    ],
)  # fmt: skip
def test_names_are_text_and_columns_without_names_are_numbered(X, names):
    table = read_table(X)
    assert (table.names, table.named) == (names, not isinstance(X, np.ndarray))
    assert (table.n_rows, table.n_columns) == (2, 2)
    np.testing.assert_array_equal(table.block(0, 2), [[1, 2], [3, 4]])


LONG = [2**53, 2**53 + 1]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([1.0, 2.0], ValueError, r"two dimensions.*\(2,\).*reshape"),
        (None, ValueError, "two dimensions"),
        ({"a": [1, 2]}, ValueError, "two dimensions"),
        ([[1, 2], [3]], ValueError, "X cannot be read as an array.*inhomogeneous"),
        (np.zeros((3, 0)), ValueError, "empty: 3 rows, 0 columns"),
        (np.ones((2, 2), dtype=complex), TypeError, "complex"),
        (np.array([[1, 1j]], dtype=object), TypeError, "'x1'"),
        ([[1, "a"], [2, "b"]], TypeError, "'x1' of X holds no numbers"),
        (np.array([[1, b"a"]], dtype=object), TypeError, "'x1' of X holds no numbers"),
        (pd.DataFrame({"n": [1, 2], "t": ["x", 2]}), TypeError, "'t' of X.*mixed or text"),
        (pd.DataFrame({"t": pd.Categorical([1])}), TypeError, "'t' of X holds no numbers"),
        (pl.DataFrame({"t": [[1, 2]]}), TypeError, "'t' of X.*List"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "2 columns named 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), ValueError, "2 columns named '1'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "2 columns named 'a'"),
        (pl.Series([1, 2]), ValueError, "single column"),
        (pd.DataFrame({"l": [[1, 2], [3, 4]]}), TypeError, "'l' of X holds no numbers"),
        *(
            (X, ValueError, "'b' of X holds whole numbers from .*; subtract 9007199254740992 from")
            for X in (
                pd.DataFrame({"a": [1.5, 2.5], "b": LONG}),
                pl.DataFrame({"a": [1], "b": [LONG]}).explode("b"),
                pa.table({"a": [True, False], "b": LONG}),
                pd.DataFrame({"b": pd.array([*LONG, None], dtype="Int64")}),
                pd.DataFrame({"b": pd.Series([*LONG, None], dtype=object)}),
            )
        ),
        (np.array([[1, value] for value in LONG]), ValueError, "'x1' of X holds whole numbers"),
        ([[1, 10**400]], ValueError, r"'x1' of X holds a whole number beyond 1.8e\+308 in row 0"),
        (pa.chunked_array([[1, 2]]), ValueError, "single column"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_by_name(X, error, message):
    with pytest.raises(error, match=message.replace("X", "new_X")):
        numbers(X, "new_X")


MOMENT = datetime(1970, 1, 3, 12)


@pytest.mark.parametrize(
    "X",
    [
        np.array([["1970-01-03T12"], ["NaT"]], dtype="M8[h]"),
        np.ma.array(np.array([["1970-01-03T12"], ["2000"]], dtype="M8[h]"), mask=[[0], [1]]),
        np.array([[60], ["NaT"]], dtype="m8[h]"),
        np.array([[MOMENT], [None]], dtype=object),
        np.array([[MOMENT.replace(tzinfo=UTC)], [None]], dtype=object),
        pd.DataFrame({"t": pd.to_datetime([MOMENT, None])}),
        pd.DataFrame({"t": pd.to_datetime([MOMENT, None]).tz_localize("UTC")}),
        pd.DataFrame({"t": pd.to_timedelta([60, None], unit="h")}),
        pd.DataFrame({"t": pd.Series([MOMENT, None], dtype=object)}),
        pl.DataFrame({"t": [MOMENT, None]}),
        pl.DataFrame({"t": [timedelta(hours=60), None]}),
        pl.LazyFrame({"t": [MOMENT, None]}),
        pa.table({"t": pa.array([MOMENT, None])}),
    ],
)
def test_dates_become_days_since_1970_as_on_the_command_line(X):
    np.testing.assert_array_equal(read_table(X).block(0, 1), [[2.5, np.nan]])


def test_whole_days_and_times_of_the_day_become_days():
    frame = pl.DataFrame({"n": [1, 2], "d": [date(1970, 1, 2), None], "t": [time(6), None]})
    expected = [[1, 2], [1, np.nan], [0.25, np.nan]]
    np.testing.assert_array_equal(read_table(frame).block(0, 3), expected)
    some = read_table(frame).numbers(np.array([2, 0]), np.array([0]))
    np.testing.assert_array_equal(some, [[0.25, 1]])


@pytest.mark.parametrize("make", [csr_array, csc_matrix, coo_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_a_sparse_matrix_holds_its_zeros(make, dtype):
    dense = np.array([[0, 1, 0], [2, 0, 0]]).astype(dtype)
    table = read_table(make(dense))
    np.testing.assert_array_equal(table.block(0, 3), dense.T)
    np.testing.assert_array_equal(
        table.numbers(np.array([1, 0]), np.array([1])), [[0, dense[1, 0]]]
    )
    np.testing.assert_array_equal(table.numbers(slice(0, 3), slice(1, 2)), dense[1:])


def spoilt(form, value):
    """A full matrix (30, 4) whose cell (3, 2) has another row or column."""
    X = csr_array(np.ones((30, 4))).asformat(form)
    if form == "coo":
        X.row[14] = value
    else:
        X.indices[63 if form == "csc" else 14] = value
    return X


@pytest.mark.parametrize(
    ("form", "value", "place"),
    [
        ("csr", 10**6, "row 3, column 1000000 "),
        ("csr", 4, "row 3, column 4 "),
        ("csr", -1, "row 3, column -1 "),
        ("csc", 30, "row 30, column 2 "),
        ("coo", 10**6, "row 1000000, column 2 "),
    ],
)
def test_a_value_outside_of_a_sparse_matrix_is_refused_by_position(form, value, place):
    X, y = spoilt(form, value), np.arange(30.0)
    whole, stream = ThompsonSelector("pvalue"), StreamingThompsonSelector("pvalue", batch_size=10)
    for read in (
        lambda: read_table(X),
        lambda: whole.fit(X, y),
        lambda: whole.fit(X, y, sample_weight=y),
        lambda: stream.fit(X, y),
        lambda: stream.partial_fit(X, y),
    ):
        with pytest.raises(ValueError, match=f"30 rows and 4 columns with a value in {place}"):
            read()


def test_sparse_matrices_that_are_refused_and_a_cell_that_is_stored_twice():
    X = csr_array(np.eye(4))
    X.indptr[2] = 10**6
    with pytest.raises(ValueError, match="indptr is damaged"):
        read_table(X)
    with pytest.raises(TypeError, match="sparse matrix of complex128"):
        read_table(csr_array(np.array([[1j]])))
    cells = ([1.0, 2.0, np.nan, 0.0], ([0, 0, 1, 1], [0, 0, 0, 1]))
    given = coo_array(cells, shape=(2, 2))
    np.testing.assert_array_equal(read_table(given).block(0, 2), [[3, np.nan], [0, 0]])


def test_names_by_number_are_those_of_a_tuple_and_found_without_a_search():
    names, held = Numbered(4), ("x0", "x1", "x2", "x3")
    assert tuple(names) == held == names == list(held) == names == Numbered(4)
    assert names != held[:3]
    assert names != ("x0", "x1", "x2", "y")
    assert (names[-1], names[1:3], len(names)) == ("x3", held[1:3], 4)
    assert hash(names) == hash(Numbered(4)) == hash(held)
    assert pickle.loads(pickle.dumps(names)) == names
    many = Numbered(10**12)
    assert many.index("x999999999999") == 10**12 - 1
    for wrong in ("x1000000000000", "x01", "x-1", "x", "X1", "x1 ", 1):
        assert wrong not in many
    for missing in (("y",), ("x5", 6)):
        with pytest.raises(ValueError, match=f"'{missing[0]}' is not among"):
            many.index(*missing)
    with pytest.raises(IndexError):
        names[4]


def test_counted_ranks_are_sorted_ranks_to_the_bit():
    codes = np.random.default_rng(0).integers(0, 12, (5, 300)).astype(np.uint8)
    codes[1, ::7] = codes[3] = 255
    codes[2] = 4
    values = np.where(codes == 255, np.nan, codes)
    np.testing.assert_array_equal(centred_ranks_of_codes(codes), centred_ranks(values))
