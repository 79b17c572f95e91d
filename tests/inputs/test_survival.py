"""Survival times as they are handed over, and what is made of them."""

import numpy as np
import pytest

from tvselect.inputs.errors import InputError
from tvselect.inputs.outcome import (
    Times,
    log_rank_scores,
    normal_times,
    read_times,
    survival_array,
)

INF = np.inf


def bounds(*rows):
    return np.array(rows, dtype=float)


@pytest.mark.parametrize(
    "y",
    [
        survival_array([1.0, 2.0, 4.0], [1, 0, 1]),
        np.array([(1.0, True), (2.0, False), (4.0, True)], dtype=[("t", "f8"), ("d", "?")]),
        np.array([(1, 1), (2, np.inf), (4, 4)], dtype=[("from", "f8"), ("to", "f8")]),
        bounds((1, 1), (2, INF), (4, 4)),
        [[1, 1], [2, INF], [4, 4]],
    ],
    ids=["event first", "time first", "bounds by name", "two columns", "lists"],
)
def test_forms_of_the_same_times(y):
    times = read_times(y)
    np.testing.assert_array_equal(times.lower, np.log([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(times.upper, np.log([1.0, INF, 4.0]))


def test_one_column_of_times_ended_in_the_event():
    for y in ([1.0, 3.0], [[1.0], [3.0]]):
        times = read_times(y)
        np.testing.assert_array_equal(times.lower, np.log([1.0, 3.0]))
        np.testing.assert_array_equal(times.upper, times.lower)


def test_an_event_at_time_zero_is_half_of_the_smallest_other_time_and_said():
    with pytest.warns(UserWarning, match=r"1 event\(s\) at time zero, taken as 0\.5"):
        times = read_times(survival_array([0.0, 1.0, 3.0, 0.0], [1, 1, 0, 0]))
    np.testing.assert_array_equal(times.lower, [np.log(0.5), 0.0, np.log(3.0), -INF])
    np.testing.assert_array_equal(times.upper, [np.log(0.5), 0.0, INF, INF])


@pytest.mark.parametrize("event", [[1, 1], [1, 0]], ids=["events", "one censored"])
def test_times_that_are_all_zero_are_refused(event):
    with pytest.raises(ValueError, match="all times of y are zero"):
        read_times(survival_array([0.0, 0.0], event))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((-1, 2), "-1 to 2"),
        ((np.nan, 2), "nan to 2"),
        ((2, np.nan), "2 to nan"),
        ((3, 2), "3 to 2"),
        ((INF, INF), "inf to inf"),
    ],
)
def test_a_row_that_is_no_time_is_named(row, said):
    with pytest.raises(ValueError, match=rf"the first \({said}\) in row 1;.*drop these rows"):
        read_times(bounds((1, 1), row))


@pytest.mark.parametrize(
    "y",
    [
        ["soon", "late"],
        np.ones((2, 3)),
        np.array([("a", 1.0)], dtype=[("event", "U1"), ("time", "f8")]),
    ],
    ids=["text", "three columns", "text in a field"],
)
def test_what_holds_no_times_is_refused_with_the_forms_that_do(y):
    with pytest.raises(InputError, match="structured array of an event"):
        read_times(y)


def test_an_event_that_is_neither_true_nor_false_is_named():
    with pytest.raises(ValueError, match="event has 2 in row 1; it must be true or false"):
        survival_array([1.0, 2.0], [0, 2])
    with pytest.raises(ValueError, match="event has 1 values, time 2"):
        survival_array([1.0, 2.0], [0])


def test_log_rank_scores_sum_to_zero_and_follow_nelson_and_aalen():
    time = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    event = np.array([1, 1, 1, 0, 0])
    scores = log_rank_scores(read_times(survival_array(time, event)))
    hazard = {1.0: 1 / 5, 2.0: 1 / 5 + 1 / 4, 3.0: 1 / 5 + 1 / 4 + 1 / 2}
    hazard[5.0] = hazard[3.0]
    np.testing.assert_allclose(scores, event - np.array([hazard[t] for t in time]))
    assert abs(scores.sum()) < 1e-12


def test_normal_times_keep_the_order_and_what_is_open():
    rng = np.random.default_rng(1)
    time, event = rng.exponential(size=50), rng.random(50) < 0.6
    times = read_times(survival_array(time, event))
    scored = normal_times(times)
    np.testing.assert_array_equal(np.isinf(scored.upper), ~event)
    order = np.argsort(time)
    assert (np.diff(scored.lower[order]) >= 0).all()
    np.testing.assert_array_equal(scored.lower[event], scored.upper[event])


def test_normal_times_do_not_depend_on_the_scale_of_time():
    rng = np.random.default_rng(2)
    time, event = rng.exponential(size=30), rng.random(30) < 0.6
    days = normal_times(read_times(survival_array(time, event)))
    curved = normal_times(read_times(survival_array(time**3, event)))
    assert isinstance(days, Times)
    np.testing.assert_allclose(days.lower, curved.lower, atol=1e-12)
