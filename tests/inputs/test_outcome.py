"""The outcome and its family, decided once or on a stream; far values of it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tvselect.inputs import OutcomeReader, read_outcome
from tvselect.inputs.outcome import has_outliers, pull_in


@pytest.mark.parametrize(
    "y",
    [
        [1.0, 2.0, 4.0],
        (1, 2, 4),
        np.array([1, 2, 4], dtype=np.int8),
        np.array([1, 2, 4], dtype=np.uint64),
        np.array([1, 2, 4], dtype=np.float32),
        np.array([[1], [2], [4]]),
        np.array([1, 2.0, Decimal(4)], dtype=object),
        np.ma.masked_array([1, 2, 4], mask=False),
        pd.Series([1.0, 2.0, 4.0], index=[7, 7, 3]),
        pd.Series([1, 2, 4], dtype="Int64"),
        pd.Series([1, 2, 4], dtype="int64[pyarrow]"),
        pl.Series([1, 2, 4]),
        pl.Series([Decimal(1), Decimal(2), Decimal(4)]),
        pa.array([1, 2, 4]),
        pa.chunked_array([[1, 2], [4]]),
        pd.DataFrame({"y": [1, 2, 4]}),
        pl.DataFrame({"y": [1, 2, 4]}),
        pa.table({"y": [1, 2, 4]}),
    ],
    ids=lambda y: type(y).__module__.split(".")[0],
)
def test_more_than_two_numbers_are_a_continuous_outcome(y):
    outcome = read_outcome(y, 3)
    assert outcome.family == "gaussian"
    assert outcome.classes is None
    assert outcome.values.dtype == np.float64
    np.testing.assert_array_equal(outcome.values, [1, 2, 4])


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3.5, -1.0, 3.5], [-1.0, 3.5]),
        (np.array([2, 1, 2]), [1, 2]),
        ([True, False, True], [False, True]),
        (["yes", "no", "yes"], ["no", "yes"]),
        (np.array(["yes", "no", "yes"], dtype=object), ["no", "yes"]),
        ([b"b", b"a", b"b"], [b"a", b"b"]),
        (["2", "1", "2"], ["1", "2"]),
        (pd.Series(["yes", "no", "yes"]), ["no", "yes"]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        (pd.Series(pd.Categorical(["b", "a", "b"])), ["a", "b"]),
        (pl.Series(["yes", "no", "yes"]), ["no", "yes"]),
        (pl.Series([True, False, True]), [False, True]),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pa.array(["yes", "no", "yes"]), ["no", "yes"]),
        (pd.DataFrame({"y": ["yes", "no", "yes"]}), ["no", "yes"]),
        ([[True], [False], [True]], [False, True]),
    ],
)
@pytest.mark.parametrize("family", ["auto", "probit"])
def test_two_distinct_values_are_two_sorted_classes(y, classes, family):
    outcome = read_outcome(y, 3, family=family)
    assert outcome.family == "probit"
    assert outcome.classes.tolist() == classes
    np.testing.assert_array_equal(outcome.values, [1, 0, 1])


def test_two_distinct_numbers_can_be_asked_to_be_continuous_and_negative_zero_is_zero():
    for y in ([1, 2, 1], [2.5, 0.5, 2.5], [True, False, True]):
        outcome = read_outcome(y, 3, family="gaussian")
        assert outcome.family == "gaussian"
        np.testing.assert_array_equal(outcome.values, np.asarray(y, dtype=float))
    assert read_outcome([0.0, -0.0, 1.0], 3).family == "probit"
    with pytest.raises(ValueError, match="constant"):
        read_outcome([0.0, -0.0, 0.0], 3)


@pytest.mark.parametrize(
    ("y", "row"),
    [
        ([1, 2, np.nan], 2),
        ([1, np.inf, 2], 1),
        ([-np.inf, 1, 2], 0),
        ([1, None, 2], 1),
        (["a", None, "b"], 1),
        (["a", "b", np.nan], 2),
        (np.array([1, np.inf, 2], dtype=object), 1),
        (np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]), 1),
        (pd.Series([1, None, 2], dtype="Int64"), 1),
        (pd.Series([True, None, False], dtype="boolean"), 1),
        (pd.Series(["a", None, "b"]), 1),
        (pd.Series(["a", pd.NA, "b"], dtype=object), 1),
        (pd.Series(pd.Categorical(["a", None, "b"])), 1),
        (pl.Series([1, None, 2]), 1),
        (pl.Series([True, False, None]), 2),
        (pl.Series(["a", None, "b"]), 1),
        (pa.array([1, None, 2]), 1),
        (pl.DataFrame({"y": ["a", None, "b"]}), 1),
    ],
)
def test_missing_and_infinite_values_are_refused_by_row(y, row):
    with pytest.raises(ValueError, match=rf"y has 1 missing.*first \(.+\) in row {row}; "):
        read_outcome(y, 3)
    with pytest.raises(ValueError, match=r"y has 2 missing.*row 1"):
        read_outcome([1, None, np.nan, 3], 4)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([1, 2], ValueError, "y has 2 values but X has 3 rows"),
        ([], ValueError, "y has 0 values but X has 3 rows"),
        ([1, 1, 1], ValueError, r"constant \(1 in"),
        ([2.5, 2.5, 2.5], ValueError, r"constant \(2.5 in"),
        (["a", "a", "a"], ValueError, r"constant \('a' in"),
        ([True, True, True], ValueError, r"constant \(True in"),
        (np.zeros((3, 2)), ValueError, r"y must be a single column, but has 2; fit one.*y\[:, 0\]"),
        (pd.DataFrame({"a": [1, 2, 3], "b": 1}), ValueError, r"has 2 \('a', 'b'\);.*y\['a'\]"),
        ([[1], [2, 3], [4]], ValueError, "y cannot be read as an array"),
        (None, ValueError, "y must be a single column"),
        (3.0, ValueError, "y must be a single column"),
        (["a", "b", "c"], TypeError, "y holds text.*3 distinct levels"),
        (["1", "2", "3"], TypeError, "y holds text.*3 distinct levels"),
        (pd.Series(["1", "2", "3"]), TypeError, "y holds text.*3 distinct levels"),
        (np.array(["1", "2", "3"], dtype=object), TypeError, "y holds text"),
        (pl.Series(["a", "b", "c"]), TypeError, "y holds text.*3 distinct levels"),
        ([1, "a", 2], TypeError, "y mixes types"),
        (np.array([1, "a", 1], dtype=object), TypeError, "y mixes types"),
        (np.array([1, 2j, 3]), TypeError, "y holds complex"),
        (np.array(["2020-01-01"] * 3, dtype="M8[D]"), TypeError, "y holds datetime64"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3)), TypeError, "y holds datetime64"),
        (pd.Series(pd.to_timedelta([1, 2, 3])), TypeError, "y holds timedelta64"),
        (pl.Series([date(2020, 1, d) for d in (1, 2, 3)]), TypeError, "y holds datetime64"),
        ([date(2020, 1, d) for d in (1, 2, 3)], TypeError, "y holds text or mixed"),
    ],
)
def test_what_is_no_outcome_is_refused(y, error, message):
    with pytest.raises(error, match=message):
        read_outcome(y, 3)


@pytest.mark.parametrize(
    ("y", "family", "error", "message"),
    [
        ([1, 2, 3], "probit", ValueError, r"3 classes \(1, 2, 3\).*two; say family='classes', or"),
        ([1.5, 2, 3], "probit", ValueError, r"3 classes \(1.5, 2.0, 3.0\)"),
        (list("fedcba"), "probit", ValueError, r"6 classes \('a', 'b', 'c', 'd', 'e', \.\.\.\),"),
        (["a", "b", "a"], "gaussian", TypeError, "needs numbers"),
        (["1", "2", "1"], "gaussian", TypeError, "needs numbers"),
        ([1.0], "auto", ValueError, "one row"),
        ([1, 2], "binomial", ValueError, "family must be"),
        ([1, 2], None, ValueError, "family must be"),
        ([1, 2], ["probit"], ValueError, "family must be"),
    ],
)
def test_what_is_no_outcome_of_a_family_is_refused(y, family, error, message):
    with pytest.raises(error, match=message):
        read_outcome(y, len(y), family=family)


def test_a_reader_decides_the_family_with_the_first_batch_that_varies():
    reader = OutcomeReader()
    assert reader.read([1.0, 1.0], 2) is None
    assert reader.family == "auto"
    assert reader.read([1.0, 2.0, 3.0], 3).family == "gaussian"
    assert reader.family == "gaussian"
    later = reader.read([0, 1, 1], 3)
    assert later.family == "gaussian"
    np.testing.assert_array_equal(later.values, [0, 1, 1])
    assert reader.read([4, 4], 2) is None


@pytest.mark.parametrize(
    ("first", "later", "values"),
    [
        (["b", "a"], np.array(["b", "b", "a"], dtype=object), [1, 1, 0]),
        ([0, 1], [1.0, 0.0, 1.0], [1, 0, 1]),
        ([0.0, 1.0], [True, False, True], [1, 0, 1]),
        ([False, True], np.array([1, 1, 0], dtype=np.uint8), [1, 1, 0]),
        (pd.Series(["x", "y"], dtype="category"), pl.Series(["y", "x", "x"]), [1, 0, 0]),
    ],
)
@pytest.mark.parametrize("family", ["auto", "probit"])
def test_a_reader_keeps_the_two_classes(first, later, values, family):
    reader = OutcomeReader(family)
    classes = reader.read(first, 2).classes
    outcome = reader.read(later, 3)
    assert outcome.family == reader.family == "probit"
    np.testing.assert_array_equal(outcome.values, values)
    assert outcome.classes.tolist() == classes.tolist()
    assert reader.read(later[:1], 1) is None


@pytest.mark.parametrize(
    ("classes", "y", "shown"),
    [
        (["a", "b"], ["a", "c"], "'c'"),
        (["a", "b"], ["c", "c"], "'c'"),
        ([0, 1], [0, 1, 2], "2"),
        ([0, 1], [0.5, 0.5], "0.5"),
        (["0", "1"], [0, 1], "0"),
        ([0, 1], ["0", "1"], "'0'"),
        (["0", "1"], np.array([0, 1], dtype=object), "0"),
    ],
)
def test_a_reader_refuses_a_third_class_also_alone(classes, y, shown):
    reader = OutcomeReader("probit", np.array(classes))
    family = "classes" if shown == "'c'" else "gaussian"
    with pytest.raises(ValueError, match=f"y has the value {shown} where .*family='{family}'"):
        reader.read(y, len(y))


def test_a_reader_checks_what_comes_later():
    reader = OutcomeReader()
    reader.read([1.0, 2.0, 3.0], 3)
    with pytest.raises(ValueError, match=r"y has 1 missing.*row 1"):
        reader.read([1.0, np.nan, 2.0], 3)
    with pytest.raises(ValueError, match="y has 2 values but X has 3 rows"):
        reader.read([1.0, 2.0], 3)
    with pytest.raises(TypeError, match="text"):
        reader.read(["a", "b", "c"], 3)
    assert reader.read([1.0, 5.0], 2).family == "gaussian"


def test_a_reader_that_fails_decides_nothing():
    reader = OutcomeReader("probit")
    with pytest.raises(ValueError, match="3 classes"):
        reader.read([1, 2, 3], 3)
    assert reader.classes is None
    assert reader.read([1, 2, 2], 3).classes.tolist() == [1, 2]
    with pytest.raises(ValueError, match="family must be"):
        OutcomeReader("poisson")


def test_values_far_out_are_pulled_in_where_they_are_few():
    y = np.random.default_rng(0).normal(size=500)
    y[[3, 4]] = 1e12, -1e9
    values, n_moved = pull_in(y)
    assert n_moved == 2
    assert not has_outliers(values)
    np.testing.assert_array_equal(np.delete(values, [3, 4]), np.delete(y, [3, 4]))


def test_a_long_tail_is_left_alone():
    y = np.exp(np.random.default_rng(0).normal(size=500))
    assert has_outliers(y)
    assert pull_in(y)[0] is y


def test_a_mass_at_one_value_is_no_reason_to_flatten_the_rest():
    y = np.zeros(200)
    y[:20] = np.arange(20.0)
    assert pull_in(y)[0] is y
