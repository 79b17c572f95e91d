from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tvselect.plotting import InclusionProbabilityDisplay, top_arms

CHANCES = [0.1, 0.95, 0.05, 0.9, 0.05, 0.1]


def test_the_highest_come_first_with_their_intervals(fit):
    selector = fit(CHANCES)
    arms = top_arms(selector, 4)
    order = np.argsort(-selector.inclusion_probabilities_, kind="stable")[:4]
    np.testing.assert_array_equal(arms.probabilities, selector.inclusion_probabilities_[order])
    np.testing.assert_array_equal(arms.intervals[:2], selector.inclusion_intervals_[order[:2]])
    assert set(arms.names[:2]) == {"c1", "c3"}
    assert arms.selected.tolist() == [True, True, False, False]
    assert (np.diff(arms.probabilities) <= 0).all()


def test_there_are_no_more_than_all(fit):
    assert len(top_arms(fit(CHANCES), 100).names) == 6
    with pytest.raises(ValueError, match="top"):
        top_arms(fit(CHANCES), 0)


def test_a_group_is_one_row_and_columns_always_included_are_none(fit):
    selector = fit(CHANCES, groups=["a", "b", "a", "b", "e", "f"], always_include=["c5"])
    arms = top_arms(selector)
    assert arms.names[0] == "b"
    assert sorted(arms.names) == ["a", "b", "c4"]


def test_the_axes_handed_in_are_drawn_on(fit):
    figure, ax = plt.subplots()
    display = InclusionProbabilityDisplay.from_estimator(fit(CHANCES), top=3, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(display.arms.names)
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first, largest, is on top
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["selected (2)", "not selected (1 of 4)", "threshold 0.5"]


def test_selected_points_are_filled_and_others_hollow(fit):
    ax = InclusionProbabilityDisplay.from_estimator(fit(CHANCES)).ax_
    fills = {line.get_label(): line.get_markerfacecolor() for line in ax.lines}
    assert fills["not selected (4)"] == "white"
    assert fills["selected (2)"] != "white"


def test_long_names_and_thresholds_of_their_own(fit):
    names = [f"{j}_$" + "long_" * 20 + f"_$_{j}" for j in range(6)]
    selector = fit(CHANCES, names=names, cost=np.linspace(0.5, 0.7, 6))
    display = InclusionProbabilityDisplay.from_estimator(selector)
    display.figure_.canvas.draw()
    assert all(len(label.get_text()) == 40 for label in display.ax_.get_yticklabels())
