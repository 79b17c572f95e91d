"""The highest selection rates in a figure; what all figures need."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.exceptions import NotFittedError

from tests.decoyed import fit_heights, fit_signals, stream_heights
from tests.plotting.conftest import fit
from tvselect import Search, StreamingThompsonSelector, ThompsonSelector, plotting
from tvselect.plotting import SelectionRateDisplay, selection_paths, top_arms
from tvselect.plotting.canvas import RED, nudge_apart
from tvselect.words import level

CHANCES = [0.1, 0.95, 0.05, 0.9, 0.05, 0.1]


def test_the_highest_come_first_with_their_intervals():
    selector = fit(CHANCES)
    arms = top_arms(selector, 4)
    order = np.argsort(-selector.selection_rates_, kind="stable")[:4]
    np.testing.assert_array_equal(arms.rates, selector.selection_rates_[order])
    np.testing.assert_array_equal(arms.intervals[:2], selector.selection_rate_intervals_[order[:2]])
    assert set(arms.names[:2]) == {"c1", "c3"}
    assert arms.selected.tolist() == [True, True, False, False]
    assert (np.diff(arms.rates) <= 0).all()
    assert len(top_arms(selector, 100).names) == 6
    with pytest.raises(ValueError, match="top"):
        top_arms(selector, 0)


def test_the_axes_handed_in_are_drawn_on():
    figure, ax = plt.subplots()
    display = SelectionRateDisplay.from_estimator(fit(CHANCES), top=3, ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(display.arms.names)
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first, largest, is on top
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["selected (2)", "not selected (1 of 4)", "threshold 0.5"]
    fills = {line.get_label(): line.get_markerfacecolor() for line in ax.lines}
    assert fills["not selected (1 of 4)"] == "white" != fills["selected (2)"]
    assert RED not in [line.get_color() for line in ax.lines]
    assert not ax.texts
    groups = ["a", "b", "a", "b", "e", "f"]  # a group is one row, what is always included none
    arms = top_arms(fit(CHANCES, feature_groups=groups, always_include=["c5"]))
    assert arms.names[0] == "b"
    assert sorted(arms.names) == ["a", "b", "c4"]


def test_long_names_and_thresholds_of_their_own():
    names = [f"{j}_$" + "long_" * 20 + f"_$_{j}" for j in range(6)]
    selector = fit(CHANCES, names=names, cost=np.linspace(0.5, 0.7, 6))
    display = SelectionRateDisplay.from_estimator(selector)
    display.figure_.canvas.draw()
    assert all(len(label.get_text()) == 40 for label in display.ax_.get_yticklabels())


@pytest.mark.parametrize(
    "settings", [{}, {"prior": (2.0, np.full(6, 3.0)), "cost": np.linspace(0.5, 0.7, 6)}]
)
def test_decoys_rank_among_the_variables_with_intervals_of_their_own(settings):
    """Red diamonds, which are counted; each has the threshold of its column."""
    selector = fit_heights(CHANCES, n_chains=2, **settings)
    arms = top_arms(selector, 11)
    np.testing.assert_array_equal(arms.threshold, selector.threshold_[arms.features])
    assert arms.decoys.sum() == 5  # the leading ones
    assert not (arms.decoys & arms.selected).any()
    assert (np.diff(arms.rates) <= 0).all()
    decoys = arms.take(np.flatnonzero(arms.decoys))
    copies, columns = np.divmod(decoys.arms, 6)
    assert decoys.names == tuple(f"decoy {b} of c{j}" for b, j in zip(copies, columns, strict=True))
    assert decoys.features.tolist() == columns.tolist()
    assert set(columns) <= {1, 3}
    result = selector.result_
    np.testing.assert_allclose(decoys.rates, result.means()[decoys.arms])
    assert decoys.rates[0] == result.means()[6:].max()
    a, b = (values[decoys.arms] for values in result.posterior())
    np.testing.assert_allclose(decoys.intervals, beta([a, a], [b, b]).ppf([[0.025], [0.975]]).T)
    assert np.isnan(decoys.q_values).all()
    display = SelectionRateDisplay.from_estimator(selector, top=11)
    red = [line for line in display.ax_.lines if line.get_color() == RED]
    diamonds, highest = sorted(red, key=lambda line: line.get_marker() != "D")
    assert diamonds.get_label() == "decoys (5 of 60)"
    assert diamonds.get_ydata().tolist() == np.flatnonzero(display.arms.decoys).tolist()
    assert set(highest.get_xdata()) == {display.highest_decoy}
    assert highest.get_linestyle() == "--"
    assert highest.get_label() == f"highest decoy {display.highest_decoy:.2f}"
    arms = top_arms(stream_heights(CHANCES, decoys="knockoffs"), 12)
    names = {f"decoy of c{j}" for j in arms.features[arms.decoys]}  # one of each has no number
    assert {name for name in arms.names if name.startswith("decoy")} == names


def test_decoys_that_do_not_rank_are_not_shown_but_the_highest_is_marked():
    selector, _, _ = fit_signals([0, 0.65, 0, 0.6, 0, 0])
    display = SelectionRateDisplay.from_estimator(selector, top=2)
    assert set(display.arms.names) == {"c1", "c3"}
    assert display.highest_decoy == selector.result_.means()[6:].max()
    display = SelectionRateDisplay.from_estimator(selector)
    assert display.arms.decoys.sum() == 5
    display.figure_.canvas.draw()
    written = {round(text.get_position()[1]): text.get_text() for text in display.ax_.texts[:-1]}
    rows = zip(display.arms.names, display.arms.decoys, strict=True)
    q_values = dict(zip(selector.result_.names, selector.q_values_, strict=True))
    assert written == {
        height: level(q_values[name]) for height, (name, is_decoy) in enumerate(rows)
        if not is_decoy
    }  # fmt: skip
    assert display.ax_.texts[-1].get_text() == "q-value"
    assert written[0] == written[1] == "0.050"  # (1 + 0) / (10 * 2)


def test_a_variable_never_played_comes_last_and_says_so():
    # Of these priors' draws, hardly any reaches 0.9; their means are above those of the rest.
    prior = (np.array([50.0, 1, 50, 1, 1, 1]), np.array([50.0, 1, 50, 1, 1, 1]))
    for make in (fit, stream_heights, fit_heights):
        selector = make([0.1, 0.95, 0.1, 0.95, 0.1, 0.1], cost=0.13, prior=prior)
        arms = top_arms(selector)
        assert set(arms.names[-2:]) == {"c0", "c2"}
        assert arms.played.tolist() == [True] * (len(arms.names) - 2) + [False] * 2
        assert not any(name.endswith(("of c0", "of c2")) for name in arms.names)
        assert arms.rates[-1] > arms.rates[-3]
        for top, is_said in ((20, True), (2, False)):
            lines = SelectionRateDisplay.from_estimator(selector, top=top).ax_.lines
            assert ("not played (2)" in [line.get_label() for line in lines]) == is_said


def test_parameters_set_after_the_fit_change_nothing():
    groups = {"pair": ["c0", "c2"]}
    for selector in (fit(CHANCES, feature_groups=groups), stream_heights(CHANCES)):
        before = [*top_arms(selector), *selection_paths(selector)]
        selector.set_params(
            search=Search(cost=0.2, prior=(5.0, 1.0), n_chains=3),
            feature_groups=["x"] * 6,
            always_include=[0],
            n_features_to_select=1,
        )
        for was, now in zip(before, [*top_arms(selector), *selection_paths(selector)], strict=True):
            np.testing.assert_array_equal(was, now)


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.001, 0.2))
@example([0.9, 0.1, 0.5], 0.05)
def test_nudged_heights_keep_their_order_their_gap_and_their_room(heights, gap):
    placed = nudge_apart(heights, gap)
    order = np.argsort(heights, kind="stable")
    gap = min(gap, 1 / max(len(heights) - 1, 1))
    assert (np.diff(placed[order]) >= gap - 1e-9).all()
    assert ((placed >= -1e-9) & (placed <= 1 + 1e-9)).all()
    if (np.diff(np.array(heights)[order]) >= gap).all():
        np.testing.assert_allclose(placed, heights, atol=1e-9)


@pytest.mark.parametrize("name", ["SelectionPathDisplay", "SelectionRateDisplay"])
def test_what_a_figure_needs(name, monkeypatch):
    display = getattr(plotting, name)
    for selector in (ThompsonSelector(), StreamingThompsonSelector()):
        with pytest.raises(NotFittedError):
            display.from_estimator(selector)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"tvselect\[plot\]"):
        display.from_estimator(fit([0.9, 0.1]))
