from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from tests.decoyed import pay_likeness
from tests.plotting.conftest import fit
from tvselect import ThompsonSelector
from tvselect.after.dependence import Dependence, Scale
from tvselect.plotting import InteractionDisplay, JointEffect, joint_effect
from tvselect.plotting.effects import plot_dependence

LEVELS = np.array(["low", "middle", "high"])


@pytest.fixture(scope="module")
def crossed():
    """y = 4 where the numbers are large and the level is high, and the sum of both effects."""
    rng = np.random.default_rng(0)
    numbers, codes = rng.random(300), rng.integers(0, 3, 300)
    y = 3 * numbers + codes + 4 * (numbers > 0.5) * (codes == 2) + 0.2 * rng.normal(size=300)
    X = pd.DataFrame({"noise": rng.random(300), "number": numbers, "level": LEVELS[codes]})
    y = pd.Series(y, name="price")
    return ThompsonSelector(pay_likeness, n_plays=60, max_fdr=None, random_state=0).fit(X, y), X, y


def test_the_surest_pair_is_drawn(crossed):
    display = InteractionDisplay.from_estimator(*crossed)
    assert display.ax_.get_title() == "number x level (q = 0.050)"
    assert display.ax_.get_xlabel() == "number"
    assert display.ax_.get_ylabel() == "level"
    assert {label.get_text() for label in display.ax_.get_yticklabels()} == set(LEVELS)
    assert [ax.get_ylabel() for ax in display.figure_.axes] == ["level", "price"]
    display.figure_.canvas.draw()


def test_the_joint_effect_is_that_of_the_rows(crossed):
    effect = joint_effect(*crossed)
    codes = np.array([LEVELS.tolist().index(label) for label in effect.second.labels])
    number = np.array(effect.first.at)[:, None]
    truth = 3 * number + codes + 4 * (number > 0.5) * (codes == 2)
    far = np.abs(number[:, 0] - 0.5) > 0.1
    np.testing.assert_allclose(effect.mean[far], truth[far], atol=0.5)
    np.testing.assert_array_equal(effect.mean, joint_effect(*crossed).mean)


def test_a_pair_by_number_in_its_order(crossed):
    figure, ax = plt.subplots()
    display = InteractionDisplay.from_estimator(*crossed, pair=[2, 1], ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    assert display.effect.names == ("level", "number")
    assert display.effect.q_value == pytest.approx(0.05)


def test_two_classes_are_a_probability(crossed):
    _, X, y = crossed
    classes = np.where(y > 4, "dear", "cheap")
    selector = ThompsonSelector(pay_likeness, n_plays=60, max_fdr=None, random_state=0)
    effect = joint_effect(selector.fit(X, classes), X, classes, ["number", "level"])
    assert effect.outcome == "probability of dear"
    assert 0 <= effect.mean.min() < 0.2 < 0.8 < effect.mean.max() <= 1


@pytest.mark.parametrize("pair", [["number"], ["number", "noise"], [1, 1], [1, 7], "number"])
def test_what_is_no_pair_of_selected_columns_is_refused(crossed, pair):
    with pytest.raises(ValueError, match="two selected columns"):
        joint_effect(*crossed, pair)


def test_without_an_interaction_a_pair_must_be_named():
    with pytest.raises(ValueError, match="no interaction was found: name a pair"):
        InteractionDisplay.from_estimator(fit([0.9, 0.1]), np.ones((6, 2)), np.arange(6.0))


def test_days_are_named_by_the_calendar():
    days = (19723.0, 19800.0, 19900.0)  # from 2024-01-01 on
    display = InteractionDisplay(
        JointEffect(
            ("x", "day"), Scale(("a", "b"), (0.0, 1.0)), Scale((), days, True), np.eye(2, 3)
        )
    ).plot()
    ax = plt.figure().subplots()
    plot_dependence(Dependence("day", (), days, "", *[(0.0, 1.0, 2.0)] * 3, True), ax)
    for axis in (display.ax_.yaxis, ax.xaxis):
        axis.figure.canvas.draw()
        assert "Apr" in {label.get_text() for label in axis.get_ticklabels()}
