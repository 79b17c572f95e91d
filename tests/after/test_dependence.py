"""Partial dependence of a forest: known functions; look-alikes, by rank and whatever the sign."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from scipy.special import ndtr
from scipy.stats import spearmanr

from tests.decoyed import Marginal, fit_signals
from tvselect import ThompsonSelector
from tvselect.after.dependence import (
    MOST_POINTS,
    Dependence,
    DependenceForest,
    chance_level,
    columns_to_show,
    curves,
    find_lookalikes,
    joint_effect,
    partial_dependence,
    rows_of,
)
from tvselect.inputs import read_outcome, read_table
from tvselect.inputs.columns import centred_ranks
from tvselect.trees import run_bart

N, SIGMA = 1000, 0.5

# A sum of trees with k leaves that matter estimates k means from N rows: a root mean square
# error of SIGMA sqrt(k / N). 50 trees of two or three leaves have at most some 100, hence 0.16;
# splits at steps of 1/100 add at most half a step times the slope, 3 * 2 pi / 200 = 0.09.
TOLERANCE = SIGMA * np.sqrt(100 / N) + 0.09


def shapes_of(X, y):
    rng = np.random.default_rng(1)
    forest = DependenceForest(read_table(X), read_outcome(y, len(y)), range(X.shape[1]), rng)
    return {shape.variable: shape for shape in partial_dependence(forest)[0]}


def centred(values):
    return np.asarray(values) - np.mean(values)


def root_mean_square(values):
    return np.sqrt(np.mean(values**2))


def bend(values):
    return 3 * np.sin(2 * np.pi * np.asarray(values))


def test_curves_of_known_functions_the_strongest_first():
    rng = np.random.default_rng(0)
    X = rng.random((N, 3))
    shapes = shapes_of(X, bend(X[:, 0]) + 2 * X[:, 1] + rng.normal(0, SIGMA, N))
    assert list(shapes) == ["x0", "x1", "x2"]
    curved, straight, flat = shapes.values()
    assert root_mean_square(centred(curved.mean) - centred(bend(curved.at))) < TOLERANCE
    assert root_mean_square(centred(straight.mean) - centred(2 * np.array(straight.at))) < TOLERANCE
    assert np.ptp(flat.mean) < 2 * TOLERANCE
    for shape in shapes.values():
        assert (np.less_equal(shape.low, shape.mean) & np.less_equal(shape.mean, shape.high)).all()


def test_a_column_that_only_tells_groups_apart_has_no_clear_effect():
    """Of 30 groups of ten rows each has a number of its own that says nothing of the outcome."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 10)
    between, within = rng.random(30)[group], rng.normal(size=300)
    y = 1.5 * rng.normal(size=30)[group] + within + rng.normal(0, SIGMA, 300)
    table, outcome = read_table(np.column_stack([between, within])), read_outcome(y, 300)
    untold, told = (
        DependenceForest(table, outcome, [0, 1], np.random.default_rng(1), groups)
        for groups in (None, group)
    )
    assert untold.dependence(0).direction != "unclear"
    shape = told.dependence(0)
    assert (shape.direction, told.dependence(1).direction) == ("unclear", "up")
    assert shape.size < untold.dependence(0).size / 2
    level = np.mean(shape.mean)
    assert max(shape.low) < level < min(shape.high)


def test_a_series_is_of_stretches_of_time_and_its_memory_is_no_effect():
    """The second column says nothing of an outcome whose errors are AR(0.9), as the columns are."""
    rng = np.random.default_rng(11)
    series = lfilter([1], [1, -0.9], rng.normal(size=(700, 4)), axis=0)[-200:]
    series /= series.std(axis=0)
    frame, y = pd.DataFrame(series[:, :3], columns=list("abc")), series[:, 3] + 0.8 * series[:, 0]
    frame["when"] = np.arange(200)
    order = rng.permutation(200)
    frame, y = frame.iloc[order], y[order]
    selector = ThompsonSelector(Marginal(), n_plays=10, always_include=["a", "b"], random_state=0)
    selector.fit(frame, y, order="when")
    table, target, stretch = rows_of(selector, frame, y, None, rng)
    first = np.unique(stretch, return_index=True)[1]
    assert 30 <= first.size <= 80
    assert np.ptp(np.bincount(stretch)[:-1]) == 0
    assert all(np.ptp(order[stretch == k]) < 200 // 20 for k in stretch[first])
    untold, told = (
        DependenceForest(table, read_outcome(target, 200), [0, 1, 2], rng, groups)
        for groups in (None, stretch)
    )
    assert untold.dependence(1).direction != "unclear"
    assert (told.dependence(1).direction, told.dependence(0).direction) == ("unclear", "up")
    assert rows_of(selector, frame.drop(columns="when"), y, None, rng)[2] is None


def test_joint_effects_take_groups_from_the_column_that_the_fit_was_told_of():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((150, 3)), columns=list("abc")).assign(who=np.arange(150) % 30)
    y = 3 * frame["a"] * frame["b"] + rng.normal(size=30)[frame["who"]]
    selector = ThompsonSelector(Marginal(), n_plays=20, always_include=["a", "b"], random_state=0)
    selector.fit(frame, y, groups="who")
    told, given, unknown = (
        joint_effect(selector, X, y, ["a", "b"], groups).mean
        for X, groups in (
            (frame, None), (frame[list("abc")], frame["who"]), (frame[list("abc")], None)
        )
    )  # fmt: skip
    np.testing.assert_array_equal(told, given)
    assert not np.array_equal(told, unknown)


def test_band_covers_the_truth():
    """Over 8 tables of 300 rows, some 200 points that are far from independent each."""
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.random((300, 2))
        parts = bend(X[:, 0]), 2 * X[:, 1]
        shapes = shapes_of(X, sum(parts) + rng.normal(0, SIGMA, 300))
        curved, straight = shapes["x0"], shapes["x1"]
        for shape, truth in (
            (curved, bend(curved.at) + parts[1].mean()),
            (straight, 2 * np.array(straight.at) + parts[0].mean()),
        ):
            inside.append(np.mean((shape.low <= truth) & (truth <= shape.high)))
    # Nominally 0.9; 16 curves of strongly dependent points scatter by 0.2 or so each.
    assert np.mean(inside) > 0.9 - 3 * 0.2 / np.sqrt(16)


def test_curves_are_means_of_predictions():
    rng = np.random.default_rng(0)
    X = rng.random((100, 3))
    X[:10, 0] = np.nan
    run = run_bart(X, np.nan_to_num(X[:, 0]) + X[:, 1], n_iterations=200, random_state=0)
    found = curves(run, X, 0, 1, np.array([[0.2], [0.7]]))
    for value, means in zip((0.2, 0.7), found.T, strict=True):
        changed = X.copy()
        changed[:, 0] = value
        assert means.mean() == pytest.approx(run.predict(changed).mean())


def test_probability_of_two_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 1))
    shape = shapes_of(X, rng.random(N) < ndtr(1.5 * X[:, 0]))["x0"]
    # A mean of 0/1 outcomes over the rows near a point; as above with SIGMA at most 1/2.
    error = np.array(shape.mean) - ndtr(1.5 * np.array(shape.at))
    assert root_mean_square(error) < 0.5 * np.sqrt(100 / N) + 0.01
    assert 0 <= min(shape.low) < max(shape.high) <= 1


def test_few_values_are_points():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (N, 1)).astype(float)
    X[:50] = np.nan
    shape = shapes_of(X, np.nan_to_num(X[:, 0]) ** 2 + rng.normal(0, SIGMA, N))["x0"]
    assert shape.labels == ("0", "1", "2", "3")
    # Each value has more than 200 rows: a standard error of 0.04, three of them and the prior.
    assert centred(shape.mean) == pytest.approx(centred([0, 1, 4, 9]), abs=0.3)
    X = np.column_stack([rng.integers(0, MOST_POINTS + 1, N), np.zeros(N)])
    shapes = shapes_of(X, X.sum(axis=1))
    assert (shapes["x0"].labels, shapes["x1"].labels) == ((), ("0",))


def test_dates_are_named_by_the_calendar():
    days = np.datetime64("2024-01-30", "D") + np.arange(60)
    X = pd.DataFrame({
        "day": days,
        "hour": days[0] + (np.arange(60) % 3).astype("m8[h]"),
        "length": np.arange(60.0).astype("m8[D]").astype("m8[s]"),
        "far": np.datetime64("9000-01-01", "s") + np.arange(60).astype("m8[s]"),
    })  # fmt: skip
    shapes = shapes_of(X, np.arange(60.0))
    assert [shapes["day"].ticks[k] for k in (0, -1)] == ["2024-01-31", "2024-03-28"]
    assert shapes["hour"].ticks == tuple(f"2024-01-30 0{hour}:00" for hour in range(3))
    assert not any(shapes[name].is_date for name in ("length", "far"))


def test_numbers_have_a_direction_and_text_has_none():
    rng = np.random.default_rng(5)
    copies, codes = rng.integers(0, 3, (2, 400))
    frame = pd.DataFrame({"copies": copies, "colour": np.array(["red", "blue", "green"])[codes]})
    y = -copies + (codes == 0) + rng.normal(0, 0.3, 400)
    forest = DependenceForest(read_table(frame), read_outcome(y, 400), [0, 1], rng)
    found = [(effect.name, effect.direction) for effect in partial_dependence(forest)[1]]
    assert found == [("copies", "down"), ("colour", "by category")]


def test_columns_that_cannot_be_told_apart_have_one_curve_and_each_the_effect_of_its_own():
    """Two copies of a signal would share its effect in a model, or have opposite ones."""
    selector, X, y = fit_signals([0.7, 0.5, 0, 0, 0], twins=[(0, 2)])
    first, second = columns_to_show(selector), selector.claims_
    assert {0, 2} == set(second[0].columns)
    assert first.leading == [second[0].columns[0], 1]
    (twin,) = {0, 2} - set(first.leading)
    assert first.runners_up[twin] == first.leading[0]
    assert {column: rival for column, rival in first.runners_up.items() if column != twin} == {
        3: None, 4: None,
    }  # fmt: skip
    frame = selector.to_frame(X, y).sort_index()
    assert frame["direction"].tolist()[:3] == ["up", "up", "up"]
    assert frame["effect"][2] == pytest.approx(frame["effect"][0], rel=0.3)
    assert (frame["effect"][[3, 4]] < 0.75 * frame["effect"][1]).all()
    assert "effect" not in selector.to_frame()


def test_a_group_that_a_user_made_has_the_curves_of_all_its_columns():
    selector, _, _ = fit_signals([0.7, 0.5, 0, 0], feature_groups={"pair": [0, 1]})
    assert columns_to_show(selector).leading == [0, 1]


SHAPES = {
    "up": [0.0, 0.4, 1.0],
    "down": [1.0, 0.4, 0.0],
    "peak": [0.0, 1.0, 0.0],
    "valley": [1.0, 0.0, 1.0],
}


@pytest.mark.parametrize("way", SHAPES)
def test_a_direction_is_said_where_a_curve_moves_by_more_than_its_band(way):
    def said(half_band, n_tried=1, mean=SHAPES[way]):
        mean = np.array(mean)
        ends = (tuple(mean - half_band), tuple(mean + half_band))
        shape = Dependence("x", (), (0.0, 0.5, 1.0), "", tuple(mean), *ends)
        return shape.direction_of(n_tried)

    assert (said(0.45), said(0.55)) == (way, "unclear")
    # The largest of 1,000 normal numbers is beyond 2.4 times what one of them is beyond.
    assert (said(0.2, 1000), said(0.25, 1000)) == (way, "unclear")
    bent = [0.0, 1.2, 0.8] if way == "up" else [0.8, 1.2, 0.0]
    if way in ("up", "down"):  # what it bends back by is less than the band
        assert said(0.35, mean=bent) == way
        assert said(0.1, mean=bent) == "peak"


@pytest.mark.parametrize("at_once", [1, 2**22])
def test_same_as_scipy(monkeypatch, at_once):
    monkeypatch.setattr("tvselect.inputs.columns.VALUES_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(150, 1)) + 0.7 * rng.normal(size=(150, 12))).round(1)  # ties
    X[:, 2:4] = np.column_stack([X[:, 0], -np.exp(X[:, 0])])
    found = find_lookalikes(read_table(X), np.array([0, 1]), np.arange(2, 12))
    for expected, matches in zip(spearmanr(X).statistic[:2, 2:], found, strict=True):
        best = np.argsort(-np.abs(expected))[:5]
        columns, correlations = zip(*matches, strict=True)
        assert columns == tuple(best + 2)
        assert correlations == pytest.approx(expected[best])
    assert found[0][:2] == [(2, 1.0), (3, -1.0)]


def test_weak_correlations_missing_values_constants_and_text():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(100), "text": rng.choice(["u", "v"], 100), "one": 1.0})
    X["b"] = X["a"].where(X.index >= 10)
    X = X.assign(**{f"noise {j}": rng.random(100) for j in range(10)})
    found = find_lookalikes(read_table(X), np.array([0, 1]), np.arange(1, X.shape[1]))
    ((match,), none) = found
    assert (match[0], none) == (3, [])
    assert match[1] > 0.8
    assert find_lookalikes(read_table(X), np.array([0]), np.array([1])) == [[]]


def test_chance_level_is_what_unrelated_columns_reach():
    rng = np.random.default_rng(0)
    n, p, strongest = 100, 500, []
    for _ in range(20):
        ranks = centred_ranks(rng.random((p + 1, n)))
        strongest.append(np.abs(ranks[0] @ ranks[1:].T).max())
    # The maximum scatters by some 0.03 around its median; 20 of them leave 0.007.
    assert np.median(strongest) == pytest.approx(chance_level(n, p), abs=0.03)
    assert chance_level(2, 10) == 1.0
