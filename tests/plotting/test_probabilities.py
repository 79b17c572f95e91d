from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import beta

from tvselect.plotting import InclusionProbabilityDisplay, top_arms
from tvselect.plotting.canvas import RED

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


@pytest.mark.parametrize("settings", [{}, {"discount": 0.8}, {"prior": (2.0, np.full(6, 3.0))}])
def test_decoys_rank_among_the_variables_with_intervals_of_their_own(stream, settings):
    selector = stream(CHANCES, decoys="knockoffs", n_chains=2, **settings)
    arms = top_arms(selector, 12)
    assert arms.decoys.sum() == 6
    assert not (arms.decoys & arms.selected).any()
    assert (np.diff(arms.probabilities) <= 0).all()
    decoys = arms.take(np.flatnonzero(arms.decoys))
    assert decoys.names == tuple(f"decoy of c{j}" for j in decoys.features)
    np.testing.assert_allclose(decoys.probabilities, selector.decoy_probabilities_[decoys.features])
    counts = [chain.arms for chain in selector._game.chains]
    a = counts[0].prior_a + sum(arms.successes for arms in counts)
    b = counts[0].prior_b + sum(arms.failures for arms in counts)
    a, b = (values[6:][decoys.features] for values in (a, b))
    np.testing.assert_allclose(decoys.intervals, beta([a, a], [b, b]).ppf([[0.025], [0.975]]).T)


def test_decoys_that_do_not_rank_are_not_shown(stream):
    selector = stream(CHANCES, decoys="knockoffs")
    assert set(top_arms(selector, 4).names) == {"c1", "c3", "decoy of c1", "decoy of c3"}
    lone = top_arms(selector, 1)
    assert lone.probabilities[0] == max(
        selector.inclusion_probabilities_.max(), selector.decoy_probabilities_.max()
    )


def test_decoys_are_red_diamonds_and_counted(stream):
    display = InclusionProbabilityDisplay.from_estimator(stream(CHANCES, decoys="knockoffs"), top=5)
    (red,) = [line for line in display.ax_.lines if line.get_color() == RED]
    shown = int(display.arms.decoys.sum())
    assert red.get_marker() == "D"
    assert red.get_label() == f"decoys ({shown} of 6)"
    assert red.get_ydata().tolist() == np.flatnonzero(display.arms.decoys).tolist()
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert sum(name.startswith("decoy of ") for name in names) == shown


def test_without_decoys_nothing_is_red(fit, stream):
    for selector in (fit(CHANCES), stream(CHANCES)):
        display = InclusionProbabilityDisplay.from_estimator(selector)
        assert not display.arms.decoys.any()
        assert RED not in [line.get_color() for line in display.ax_.lines]


def test_a_variable_never_played_comes_last_and_says_so(fit, stream):
    # Of these priors' draws, hardly any reaches 0.9; their means are above those of the rest.
    prior = (np.array([50.0, 1, 50, 1, 1, 1]), np.array([50.0, 1, 50, 1, 1, 1]))
    for make, settings in ((fit, {}), (stream, {"decoys": "knockoffs"})):
        selector = make([0.1, 0.95, 0.1, 0.95, 0.1, 0.1], cost=0.13, prior=prior, **settings)
        arms = top_arms(selector)
        assert set(arms.names[-2:]) == {"c0", "c2"}
        assert arms.played.tolist() == [True] * (len(arms.names) - 2) + [False] * 2
        assert "decoy of c0" not in arms.names
        assert arms.probabilities[-1] > arms.probabilities[-3]
        display = InclusionProbabilityDisplay.from_estimator(selector)
        assert "not played (2)" in [line.get_label() for line in display.ax_.lines]
        assert "not played (2)" not in [
            line.get_label()
            for line in InclusionProbabilityDisplay.from_estimator(selector, top=2).ax_.lines
        ]


def test_parameters_set_after_the_fit_change_nothing(fit, stream):
    groups = {"pair": ["c0", "c2"]}
    for selector in (fit(CHANCES, groups=groups), stream(CHANCES, decoys="knockoffs")):
        before = top_arms(selector)
        selector.set_params(
            cost=0.2, groups=["x"] * 6, prior=(5.0, 1.0), n_chains=3, always_include=[0],
            n_features_to_select=1,
        )  # fmt: skip
        assert (before.threshold == 0.5).all()
        for was, now in zip(before, top_arms(selector), strict=True):
            np.testing.assert_array_equal(was, now)


def test_a_decoy_has_the_threshold_of_its_column(stream):
    cost = np.linspace(0.5, 0.7, 6)
    selector = stream(CHANCES, decoys="knockoffs", cost=cost)
    arms = top_arms(selector)
    np.testing.assert_array_equal(arms.threshold, selector.threshold_[arms.features])
    InclusionProbabilityDisplay(arms).plot().figure_.canvas.draw()
