"""Partial dependence finds the shape of a function that is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from tvselect.after.dependence import (
    MOST_POINTS,
    DependenceForest,
    curves,
    partial_dependence,
)
from tvselect.inputs import read_outcome, read_table
from tvselect.trees import run_bart

N, SIGMA = 1000, 0.5


def shapes_of(X, y, columns=None):
    rng = np.random.default_rng(1)
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    columns = list(range(X.shape[1])) if columns is None else columns
    forest = DependenceForest(read_table(X), read_outcome(y, len(y)), columns, rng)
    found, _ = partial_dependence(forest, [names[j] for j in columns])
    return {shape.variable: shape for shape in found}


def centred(values):
    return np.asarray(values) - np.mean(values)


@pytest.fixture(scope="module")
def additive():
    """y = 3 sin(2 pi x0) + 2 x1 + noise, x2 plays no part."""
    rng = np.random.default_rng(0)
    X = rng.random((N, 3))
    y = 3 * np.sin(2 * np.pi * X[:, 0]) + 2 * X[:, 1] + rng.normal(0, SIGMA, N)
    return shapes_of(X, y)


# A sum of trees with k leaves that matter estimates k means from N rows: a root mean square
# error of SIGMA sqrt(k / N). 50 trees of two or three leaves have at most some 100, hence 0.16;
# splits at steps of 1/100 add at most half a step times the slope, 3 * 2 pi / 200 = 0.09.
TOLERANCE = SIGMA * np.sqrt(100 / N) + 0.09


def test_curve_of_a_known_function(additive):
    shape = additive["x0"]
    error = centred(shape.mean) - centred(3 * np.sin(2 * np.pi * np.array(shape.at)))
    assert np.sqrt(np.mean(error**2)) < TOLERANCE


def test_straight_line(additive):
    shape = additive["x1"]
    error = centred(shape.mean) - centred(2 * np.array(shape.at))
    assert np.sqrt(np.mean(error**2)) < TOLERANCE


def test_no_effect_is_flat(additive):
    assert np.ptp(additive["x2"].mean) < 2 * TOLERANCE


def test_strongest_first(additive):
    assert list(additive) == ["x0", "x1", "x2"]


def test_band_is_around_the_mean(additive):
    for shape in additive.values():
        assert np.all(np.array(shape.low) <= shape.mean)
        assert np.all(np.array(shape.mean) <= shape.high)


def test_band_covers_the_truth():
    """Over 8 tables of 300 rows, some 200 points that are far from independent each."""
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.random((300, 2))
        bend, line = 3 * np.sin(2 * np.pi * X[:, 0]), 2 * X[:, 1]
        shapes = shapes_of(X, bend + line + rng.normal(0, SIGMA, 300))
        for name, truth in (
            ("x0", 3 * np.sin(2 * np.pi * np.array(shapes["x0"].at)) + line.mean()),
            ("x1", 2 * np.array(shapes["x1"].at) + bend.mean()),
        ):
            inside.append(np.mean((shapes[name].low <= truth) & (truth <= shapes[name].high)))
    # Nominally 0.9; 16 curves of strongly dependent points scatter by 0.2 or so each.
    assert np.mean(inside) > 0.9 - 3 * 0.2 / np.sqrt(16)


def test_walking_some_trees_gives_what_all_trees_give():
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
    y = rng.random(N) < ndtr(1.5 * X[:, 0])
    shape = shapes_of(X, y)["x0"]
    # A mean of 0/1 outcomes over the rows near a point; as above with SIGMA at most 1/2.
    error = np.array(shape.mean) - ndtr(1.5 * np.array(shape.at))
    assert np.sqrt(np.mean(error**2)) < 0.5 * np.sqrt(100 / N) + 0.01
    assert min(shape.low) >= 0
    assert max(shape.high) <= 1


def test_few_values_are_points():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (N, 1)).astype(float)
    X[:50] = np.nan
    y = np.nan_to_num(X[:, 0]) ** 2 + rng.normal(0, SIGMA, N)
    shape = shapes_of(X, y)["x0"]
    assert shape.labels == ("0", "1", "2", "3")
    # Each value has more than 200 rows: a standard error of 0.04, three of them and the prior.
    assert centred(shape.mean) == pytest.approx(centred([0, 1, 4, 9]), abs=0.3)


def test_many_values_are_a_curve():
    rng = np.random.default_rng(0)
    X = rng.integers(0, MOST_POINTS + 1, (N, 1)).astype(float)
    assert shapes_of(X, X[:, 0])["x0"].labels == ()


def test_constant_column_is_one_point():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(100), rng.random(100)])
    shape = shapes_of(X, X[:, 1])["x0"]
    assert shape.labels == ("1",)


def test_points_of_numbers_have_a_direction_those_of_text_have_none():
    rng = np.random.default_rng(5)
    copies = rng.integers(0, 3, 400)
    colour = np.array(["red", "blue", "green"])[rng.integers(0, 3, 400)]
    frame = pd.DataFrame({"copies": copies, "colour": colour})
    y = -copies + (colour == "red") + rng.normal(0, 0.3, 400)
    forest = DependenceForest(read_table(frame), read_outcome(y, 400), [0, 1], rng)
    _, effects = partial_dependence(forest, ["copies", "colour"])
    assert {effect.name: effect.direction for effect in effects} == {
        "copies": "down",
        "colour": "by category",
    }
