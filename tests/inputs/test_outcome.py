"""The outcome and its family, decided once or on a stream; survival times; far values."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tvselect.inputs import OutcomeReader, read_outcome
from tvselect.inputs.errors import InputError
from tvselect.inputs.outcome import (
    grades_as_numbers,
    has_outliers,
    log_rank_scores,
    normal_times,
    pull_in,
    read_times,
    survival_array,
)

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    "y",
    [
        (1, 2, 4),
        np.array([1, 2, 4], dtype=np.int8),
        np.array([1, 2, 4], dtype=np.uint64),
        np.array([[1], [2], [4]], dtype=np.float32),
        np.array([1, 2.0, Decimal(4)], dtype=object),
        np.ma.masked_array([1, 2, 4], mask=False),
        pd.Series([1.0, 2.0, 4.0], index=[7, 7, 3]),
        pd.Series([1, 2, 4], dtype="Int64"),
        pd.Series([1, 2, 4], dtype="int64[pyarrow]"),
        pl.Series([Decimal(1), Decimal(2), Decimal(4)]),
        pa.chunked_array([[1, 2], [4]]),
        pd.DataFrame({"y": [1, 2, 4]}),
        pl.DataFrame({"y": [1, 2, 4]}),
        pa.table({"y": [1, 2, 4]}),
    ],
    ids=lambda y: type(y).__module__.split(".")[0],
)
def test_more_than_two_numbers_are_a_continuous_outcome(y):
    outcome = read_outcome(y, 3)
    assert (outcome.family, outcome.classes) == ("gaussian", None)
    assert outcome.values.dtype == np.float64
    np.testing.assert_array_equal(outcome.values, [1, 2, 4])


MANY = np.arange(40)


@pytest.mark.parametrize(
    "y", [2**53 + MANY, np.uint64(2**63) + MANY.astype(np.uint64), [2**70 + int(k) for k in MANY]]
)
def test_whole_numbers_that_doubles_round_are_refused(y):
    with pytest.raises(InputError, match=f"differences are lost .*; subtract {y[0]} from all"):
        read_outcome(y, 40)
    assert read_outcome(y[0] + (np.array(y) - y[0]) * 2**30, 40).family == "gaussian"
    assert read_outcome(np.array(y)[MANY % 2], 40).family == "probit"


def test_a_whole_number_beyond_all_doubles_is_named_with_its_row():
    with pytest.raises(InputError, match=r"y holds a whole number beyond 1.8e\+308 in row 3; resc"):
        read_outcome([1, 2, 3, 10**400], 4)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3.5, -1.0, 3.5], [-1.0, 3.5]),
        ([1.0, -0.0, 1.0], [0.0, 1.0]),
        (np.array([2, 1, 2]), [1, 2]),
        ([[True], [False], [True]], [False, True]),
        (["yes", "no", "yes"], ["no", "yes"]),
        (np.array(["yes", "no", "yes"], dtype=object), ["no", "yes"]),
        ([b"b", b"a", b"b"], [b"a", b"b"]),
        (["2", "1", "2"], ["1", "2"]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        (pd.Series(pd.Categorical(["b", "a", "b"])), ["a", "b"]),
        (pl.Series(["yes", "no", "yes"]), ["no", "yes"]),
        (pl.Series([True, False, True]), [False, True]),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pa.array(["yes", "no", "yes"]), ["no", "yes"]),
        (pd.DataFrame({"y": ["yes", "no", "yes"]}), ["no", "yes"]),
    ],
)
@pytest.mark.parametrize("family", ["auto", "probit"])
def test_two_distinct_values_are_two_sorted_classes(y, classes, family):
    outcome = read_outcome(y, 3, family=family)
    assert outcome.family == "probit"
    assert outcome.classes.tolist() == classes
    np.testing.assert_array_equal(outcome.values, [1, 0, 1])
    if isinstance(classes[0], int | float):  # can be asked to be continuous
        asked = read_outcome(y, 3, family="gaussian")
        assert asked.family == "gaussian"
        np.testing.assert_array_equal(asked.values, np.ravel(np.asarray(y, dtype=float)))


def test_of_two_words_the_one_that_says_no_is_the_first():
    for labels, last in ((["nein", "ja"], "ja"), (["case", "Control"], "case"), (["a", "n"], "a")):
        outcome = read_outcome(labels * 2, 4)
        assert outcome.classes[1] == last
        np.testing.assert_array_equal(outcome.values, [label == last for label in labels * 2])
    assert read_outcome(ordered([0, 1] * 2, ["ja", "nein"]), 4).classes.tolist() == ["ja", "nein"]


def ordered(codes, levels):
    return pd.Series(pd.Categorical.from_codes(codes, levels, ordered=True))


DAYS = pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"])


@pytest.mark.parametrize(
    "levels",
    [
        ["top", "mid", "low", "none"],
        [3, 2, 1, 0],
        [0.5, 1.5, 2.5, 3.5],
        DAYS,
        pd.interval_range(0, 4),
        [True, False, "?", "??"],
    ],
    ids=["text", "whole numbers", "numbers", "dates", "intervals", "truths"],
)
def test_an_ordered_category_is_of_grades_whatever_its_levels_are(levels):
    codes = np.array([0, 1, 2] * 20)
    y = ordered(codes, levels)
    outcome = read_outcome(y, 60)
    assert (outcome.family, outcome.classes.tolist()) == ("ordinal", list(levels)[:3])
    np.testing.assert_array_equal(outcome.values, codes)
    np.testing.assert_array_equal(grades_as_numbers(y, "auto")[0], codes)
    two = read_outcome(y[codes != 1], 40)
    assert (two.family, two.classes.tolist()) == ("probit", [levels[0], levels[2]])
    np.testing.assert_array_equal(two.values, codes[codes != 1] == 2)
    with pytest.raises(ValueError, match=r"y has 1 missing.*in row 3; "):
        read_outcome(ordered(np.where(np.arange(60) == 3, -1, codes), levels), 60)


@pytest.mark.parametrize(
    ("y", "row"),
    [
        ([1, 2, NAN], 2),
        ([-INF, 1, 2], 0),
        ([1, None, 2], 1),
        (["a", "b", NAN], 2),
        (np.array([1, INF, 2], dtype=object), 1),
        (np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]), 1),
        (pd.Series([1, None, 2], dtype="Int64"), 1),
        (pd.Series([True, None, False], dtype="boolean"), 1),
        (pd.Series(["a", pd.NA, "b"], dtype=object), 1),
        (pd.Series(pd.Categorical(["a", None, "b"])), 1),
        (pl.Series([1, None, 2]), 1),
        (pl.Series([True, False, None]), 2),
        (pa.array([1, None, 2]), 1),
        (pl.DataFrame({"y": ["a", None, "b"]}), 1),
    ],
)
def test_missing_and_infinite_values_are_refused_by_row(y, row):
    with pytest.raises(ValueError, match=rf"y has 1 missing.*first \(.+\) in row {row}; "):
        read_outcome(y, 3)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([1, 2], ValueError, "y has 2 values but X has 3 rows"),
        ([1, None, NAN], ValueError, r"y has 2 missing.*row 1"),
        ([0.0, -0.0, 0.0], ValueError, r"constant \(0.0 in"),
        (["a", "a", "a"], ValueError, r"constant \('a' in"),
        ([True, True, True], ValueError, r"constant \(True in"),
        (np.zeros((3, 2)), ValueError, r"y must be a single column, but has 2; fit one.*y\[:, 0\]"),
        (pd.DataFrame({"a": [1, 2, 3], "b": 1}), ValueError, r"has 2 \('a', 'b'\);.*y\['a'\]"),
        (pa.table({"a": [1, 2, 3], "b": [1, 1, 1]}), ValueError, r"has 2 \('a', 'b'\);.*y\['a'\]"),
        ([[1], [2, 3], [4]], ValueError, "y cannot be read as an array"),
        (None, ValueError, "y must be a single column"),
        (["1", "2", "3"], TypeError, "y holds text.*3 distinct levels"),
        (pd.Series(["1", "2", "3"]), TypeError, "y holds text.*3 distinct levels"),
        (np.array(["1", "2", "3"], dtype=object), TypeError, "y holds text"),
        (pl.Series(["a", "b", "c"]), TypeError, "y holds text.*3 distinct levels"),
        ([1, "a", 2], TypeError, "y mixes types"),
        (np.array([1, 2j, 3]), TypeError, "y holds complex"),
        (pd.Series(pd.to_datetime(["2020-01-01"] * 3)), TypeError, "y holds datetime64"),
        (pd.Series(pd.to_timedelta([1, 2, 3])), TypeError, "y holds timedelta64"),
        (pl.Series([date(2020, 1, d) for d in (1, 2, 3)]), TypeError, "y holds datetime64"),
        ([date(2020, 1, d) for d in (1, 2, 3)], TypeError, "y holds text or mixed"),
        (pd.Series([[1], [2, 3], [4]]), TypeError, "y holds values such as a list; it must hold"),
        (pa.array([[1], [2, 3], [4]]), TypeError, "y holds values such as a ndarray"),
    ],
)
def test_what_is_no_outcome_is_refused(y, error, message):
    with pytest.raises(error, match=message):
        read_outcome(y, 3)


@pytest.mark.parametrize(
    ("y", "family", "error", "message"),
    [
        ([1.5, 2, 3], "probit", ValueError, r"3 classes \(1.5, 2.0.*two; say family='classes', or"),
        (list("fedcba"), "probit", ValueError, r"6 classes \('a', 'b', 'c', 'd', 'e' and 1 more\)"),
        (["1", "2", "1"], "gaussian", TypeError, "needs numbers"),
        ([1.0], "auto", ValueError, "one row"),
        ([1, 2], "binomial", ValueError, "family must be"),
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
    assert reader.read([1.0, 2.0, 3.0], 3).family == reader.family == "gaussian"
    later = reader.read([0, 1, 1], 3)
    assert later.family == "gaussian"
    np.testing.assert_array_equal(later.values, [0, 1, 1])
    assert reader.read([4, 4], 2) is None
    for wrong, rows, error, message in (
        ([1.0, NAN, 2.0], 3, ValueError, r"y has 1 missing.*row 1"),
        ([1.0, 2.0], 3, ValueError, "y has 2 values but X has 3 rows"),
        (["a", "b", "c"], 3, TypeError, "text"),
    ):
        with pytest.raises(error, match=message):
            reader.read(wrong, rows)
    assert reader.read([1.0, 5.0], 2).family == "gaussian"


@pytest.mark.parametrize(
    ("first", "later", "values"),
    [
        (["b", "a"], np.array(["b", "b", "a"], dtype=object), [1, 1, 0]),
        ([0.0, 1.0], [True, False, True], [1, 0, 1]),
        ([False, True], np.array([1, 1, 0], dtype=np.uint8), [1, 1, 0]),
        (pd.Series(["x", "y"], dtype="category"), pl.Series(["y", "x", "x"]), [1, 0, 0]),
    ],
)
@pytest.mark.parametrize("family", ["auto", "probit"])
def test_a_reader_keeps_the_two_classes(first, later, values, family):
    reader = OutcomeReader(family)
    classes = reader.read(first, 2).classes
    reader = OutcomeReader.from_bytes(reader.to_bytes())
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
        ([0, 1], [0.5, 0.5], "0.5"),
        (["0", "1"], np.array([0, 1], dtype=object), "0"),
        ([0, 1], ["0", "1"], "'0'"),
    ],
)
def test_a_reader_refuses_a_third_class_also_alone(classes, y, shown):
    reader = OutcomeReader("probit", np.array(classes))
    family = "classes" if shown == "'c'" else "gaussian"
    with pytest.raises(ValueError, match=f"y has the value {shown} where .*family='{family}'"):
        reader.read(y, len(y))


def test_a_reader_that_fails_decides_nothing():
    reader = OutcomeReader("probit")
    with pytest.raises(ValueError, match="3 classes"):
        reader.read([1, 2, 3], 3)
    assert reader.classes is None
    assert reader.read([1, 2, 2], 3).classes.tolist() == [1, 2]
    with pytest.raises(ValueError, match="family must be"):
        OutcomeReader("poisson")


def test_a_few_values_far_out_are_pulled_in_but_no_long_tail_and_no_mass_at_one_value():
    y = np.random.default_rng(0).normal(size=500)
    y[[3, 4]] = 1e12, -1e9
    values, n_moved = pull_in(y)
    assert n_moved == 2
    assert not has_outliers(values)
    np.testing.assert_array_equal(np.delete(values, [3, 4]), np.delete(y, [3, 4]))
    tail, mass = np.exp(np.random.default_rng(0).normal(size=500)), np.zeros(200)
    mass[:20] = np.arange(20.0)
    for y in (tail, mass):
        assert has_outliers(y)
        assert pull_in(y)[0] is y


@pytest.mark.parametrize(
    "y",
    [
        survival_array([1.0, 2.0, 4.0], [1, 0, 1]),
        np.array([(1.0, True), (2.0, False), (4.0, True)], dtype=[("t", "f8"), ("d", "?")]),
        np.array([(1, 1), (2, INF), (4, 4)], dtype=[("from", "f8"), ("to", "f8")]),
        np.array([(1, 1), (2, INF), (4, 4)]),
        [[1, 1], [2, INF], [4, 4]],
    ],
    ids=["event first", "time first", "bounds by name", "two columns", "lists"],
)
def test_forms_of_the_same_times(y):
    times = read_times(y)
    np.testing.assert_array_equal(times.lower, np.log([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(times.upper, np.log([1.0, INF, 4.0]))
    one_column = np.arange(1.0, 4.0)  # all ended in the event
    for column in (one_column, one_column[:, None].tolist()):
        np.testing.assert_array_equal(read_times(column), np.log([one_column] * 2))


def test_an_event_at_time_zero_is_half_of_the_smallest_other_time_and_said():
    with pytest.warns(UserWarning, match=r"1 event\(s\) at time zero, taken as 0\.5"):
        times = read_times(survival_array([0.0, 1.0, 3.0, 0.0], [1, 1, 0, 0]))
    np.testing.assert_array_equal(times.lower, [np.log(0.5), 0.0, np.log(3.0), -INF])
    np.testing.assert_array_equal(times.upper, [np.log(0.5), 0.0, INF, INF])


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([(1, 1), (-1, 2)], r"the first \(-1 to 2\) in row 1;.*drop these rows"),
        ([(1, 1), (NAN, 2)], r"\(nan to 2\) in row 1"),
        ([(1, 1), (2, NAN)], r"\(2 to nan\) in row 1"),
        ([(1, 1), (3, 2)], r"\(3 to 2\) in row 1"),
        ([(1, 1), (INF, INF)], r"\(inf to inf\) in row 1"),
        (survival_array([0.0, 0.0], [1, 0]), "all times of y are zero"),
        (["soon", "late"], "structured array of an event"),
        (np.ones((2, 3)), "structured array of an event"),
        (np.array([("a", 1.0)], [("e", "U1"), ("t", "f8")]), "structured array of an event"),
    ],
)
def test_what_holds_no_times_is_refused(y, said):
    with pytest.raises(ValueError, match=said) as error:
        read_times(y)
    assert isinstance(error.value, InputError) == ("zero" not in said)


@pytest.mark.parametrize(
    ("event", "said"),
    [([0, 2], "event has 2 in row 1; it must be true or false"), ([0], "event has 1 values, tim")],
)
def test_an_event_that_is_neither_true_nor_false_is_named(event, said):
    with pytest.raises(ValueError, match=said):
        survival_array([1.0, 2.0], event)


def test_log_rank_scores_sum_to_zero_and_follow_nelson_and_aalen():
    time, event = np.array([3.0, 1.0, 2.0, 2.0, 5.0]), np.array([1, 1, 1, 0, 0])
    scores = log_rank_scores(read_times(survival_array(time, event)))
    hazard = {1.0: 1 / 5, 2.0: 1 / 5 + 1 / 4, 3.0: 1 / 5 + 1 / 4 + 1 / 2}
    hazard[5.0] = hazard[3.0]
    np.testing.assert_allclose(scores, event - np.array([hazard[t] for t in time]))
    assert abs(scores.sum()) < 1e-12


def test_normal_times_keep_the_order_and_what_is_open_on_any_scale_of_time():
    rng = np.random.default_rng(1)
    time, event = rng.exponential(size=50), rng.random(50) < 0.6
    scored = normal_times(read_times(survival_array(time, event)))
    np.testing.assert_array_equal(np.isinf(scored.upper), ~event)
    assert (np.diff(scored.lower[np.argsort(time)]) >= 0).all()
    np.testing.assert_array_equal(scored.lower[event], scored.upper[event])
    curved = normal_times(read_times(survival_array(time**3, event)))
    np.testing.assert_allclose(scored.lower, curved.lower, atol=1e-12)
