from __future__ import annotations

import itertools
import time

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color, to_rgb
from matplotlib.text import Text

from tests.decoyed import fit_heights, fit_signals
from tvselect import Search
from tvselect.plotting import SelectionPathDisplay, selection_paths
from tvselect.plotting.canvas import COLOURS, DEEP, RED

CHANCES = [0.95, 0.9, 0.1, 0.05, 0.05, 0.1]
SIGNALS = [0.65, 0.6, 0, 0, 0, 0]


def test_the_selected_are_highlighted_and_end_where_the_selector_says(fit):
    selector = fit(CHANCES)
    found = selection_paths(selector)
    assert found.names == ("c0", "c1")
    assert found.paths.shape == (61, 2)
    assert (found.paths[0] == 0.5).all()
    np.testing.assert_allclose(found.paths[-1], selector.selection_rates_[:2])
    np.testing.assert_allclose(found.background[-1], selector.selection_rates_[2:])
    assert found.n_others == 4
    assert found.threshold == 0.5


@pytest.mark.parametrize(
    "highlight", [["c4", "c1"], [4, 1], np.array([4, 1]), np.array(["c4", "c1"])]
)
def test_names_and_indices_are_highlighted_in_the_order_given(fit, highlight):
    assert selection_paths(fit(CHANCES), highlight=highlight).names == ("c4", "c1")


def test_a_mask_a_single_name_and_nothing_can_be_highlighted(fit):
    selector = fit(CHANCES)
    mask = np.arange(6) == 3
    assert selection_paths(selector, highlight=mask).names == ("c3",)
    assert selection_paths(selector, highlight="c3").names == ("c3",)
    nothing = selection_paths(selector, highlight=[])
    assert (nothing.names, nothing.n_others) == ((), 6)


@pytest.mark.parametrize(
    "settings",
    [
        {"highlight": ["nobody"]},
        {"highlight": [6]},
        {"highlight": [-1]},
        {"highlight": [True, False]},
        {"chain": 1},
        {"chain": -1},
        {"max_background": -1},
        {"max_decoys": -1},
    ],
)
def test_what_is_not_there_is_refused(fit, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        selection_paths(fit(CHANCES), **settings)


def test_a_group_is_one_path_named_by_its_label(fit):
    selector = fit(CHANCES, feature_groups={"pair": ["c0", "c1"], 7: [2, 3, 4]})
    found = selection_paths(selector, highlight=["c1", "pair", 0, 3])
    assert found.names == ("pair", "7")
    assert found.n_others == 1


def test_columns_always_included_have_no_path(fit):
    selector = fit(CHANCES, always_include=["c0"])
    found = selection_paths(selector)
    assert found.names == ("c1",)
    assert found.n_others == 4
    with pytest.raises(ValueError, match="always included"):
        selection_paths(selector, highlight=["c0"])


def test_each_chain_has_its_own_paths(fit):
    selector = fit(CHANCES, n_chains=2)
    paths = [selection_paths(selector, chain=chain, highlight=range(6)).paths for chain in (0, 1)]
    assert not np.array_equal(*paths)


def test_a_long_background_keeps_the_highest_and_the_same_sample(fit):
    selector = fit(np.r_[0.95, np.linspace(0.3, 0.0, 99)], n_chains=2)
    found, again = (selection_paths(selector, max_background=20, chain=1) for _ in range(2))
    whole = selection_paths(selector, chain=1)
    assert found.background.shape == (61, 20)
    assert found.n_others == whole.n_others == 99
    np.testing.assert_array_equal(found.background, again.background)
    np.testing.assert_allclose(
        np.sort(found.background[-1])[-10:], np.sort(whole.background[-1])[-10:]
    )
    assert "20 of 99 drawn" in legend(SelectionPathDisplay(found).plot())


def test_thresholds_follow_the_cost(fit):
    assert selection_paths(fit(CHANCES, cost=0.3)).threshold == pytest.approx(0.821, abs=1e-3)
    each = selection_paths(fit(CHANCES, cost=[0.6, 0.5, 0.5, 0.5, 0.5, 0.5]))
    assert each.threshold.shape == (2,)
    SelectionPathDisplay(each).plot().figure_.canvas.draw()


def test_the_axes_handed_in_are_drawn_on(fit):
    figure, (left, right) = plt.subplots(1, 2)
    display = SelectionPathDisplay.from_estimator(fit(CHANCES), ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.lines
    assert (right.get_xlabel(), right.get_ylabel()) == ("play", "selection rate")
    assert right.get_ylim() == (0, 1)


def test_the_background_is_drawn_by_corners_that_leave_nothing_out(fit):
    display = SelectionPathDisplay.from_estimator(fit(CHANCES))
    plays = np.arange(61)
    for segment, path in zip(
        display.background_.get_segments(), display.data.background.T, strict=True
    ):
        assert len(segment) < 61
        np.testing.assert_allclose(np.interp(plays, *segment.T), path)


@pytest.mark.parametrize(("n_signals", "chance"), [(8, 0.99), (60, 0.99), (60, np.linspace(1, 0))])
def test_labels_do_not_overlap(fit, n_signals, chance):
    chances = np.r_[np.resize(chance, n_signals), [0.1] * 9]
    display = SelectionPathDisplay.from_estimator(fit(chances), highlight=range(n_signals))
    display.figure_.canvas.draw()
    boxes = [Text.get_window_extent(label) for label in display.labels_]  # without the leader
    boxes.sort(key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))
    texts = [label.get_text() for label in display.labels_]
    assert len(texts) == 8 if n_signals == 8 else texts[-1] == f"and {61 - len(texts)} more"


def test_a_stream_is_drawn_over_its_batches_and_skipped_ones_are_flat(stream):
    selector = stream(CHANCES, skipped={10, 11, 12})
    found = selection_paths(selector, highlight=range(6))
    assert found.paths.shape == (41, 6)
    np.testing.assert_array_equal(found.paths[10:14], np.tile(found.paths[10], (4, 1)))
    np.testing.assert_allclose(found.paths[-1], selector.selection_rates_)
    display = SelectionPathDisplay(found).plot()
    assert display.ax_.get_xlabel() == found.unit == "batch"


def ends_of_decoys(selector, chain=None):
    history = selector.history_
    return np.sort(history.means(chain)[history.layout.n_candidates :])[::-1]


@pytest.mark.parametrize("settings", [{}, {"prior": (2.0, np.full(6, 3.0))}])
def test_the_leading_decoys_end_where_the_history_says(settings):
    selector = fit_heights(CHANCES, **settings)
    found = selection_paths(selector)
    assert found.names == ("c0", "c1")
    assert found.decoys.shape == (61, 10)
    np.testing.assert_allclose(found.decoys[-1], ends_of_decoys(selector)[:10])
    assert found.n_decoys == 60
    # The ten copies of c0 and of c1 are paid as these are.
    assert found.n_decoys_above == 20


def test_decoys_are_counted_in_the_chain_that_is_drawn():
    selector = fit_heights([0.95, 0.5, 0.5, 0.5], n_chains=3, n_plays=25)
    for chain in range(3):
        found = selection_paths(selector, chain=chain, max_decoys=100)
        np.testing.assert_allclose(found.decoys[-1], ends_of_decoys(selector, chain))
        assert found.n_decoys_above == (found.decoys[-1] > 0.5).sum()


def test_decoys_that_were_never_played_are_not_drawn(stream):
    found = selection_paths(stream(CHANCES, n_batches=3, skipped=range(3), decoys="knockoffs"))
    assert (found.names, found.n_others, found.n_decoys_above) == ((), 6, 0)
    assert found.decoys.shape == (4, 0)
    display = SelectionPathDisplay(found).plot()
    display.figure_.canvas.draw()
    assert "highest decoy" not in legend(display)


def test_few_decoys_are_drawn_and_all_are_counted():
    display = SelectionPathDisplay.from_estimator(fit_heights(CHANCES), max_decoys=4)
    assert display.data.decoys.shape == (61, 4)
    assert "decoys (4 of 60 drawn, 20 above the threshold)" in legend(display)


def test_the_highest_decoy_is_a_line():
    display = SelectionPathDisplay.from_estimator(fit_signals(SIGNALS)[0])
    assert display.data.names == ("c0", "c1")
    (line,) = [line for line in display.ax_.lines if "highest" in str(line.get_label())]
    highest = float(display.data.decoys[-1].max())
    assert set(line.get_ydata()) == {highest}
    assert line.get_linestyle() == "--"
    assert same_color(line.get_color(), RED)
    assert f"highest decoy {highest:.2f}" in legend(display)
    assert highest < display.data.paths[-1].min()


def test_decoys_are_red_thin_and_between_the_others_and_the_highlighted():
    display = SelectionPathDisplay.from_estimator(fit_signals(SIGNALS)[0])
    assert len(display.decoys_.get_segments()) == 10
    assert len(display.background_.get_segments()) == 4
    assert same_color(display.decoys_.get_color()[0][:3], RED)
    assert 0 < display.decoys_.get_alpha() < 1
    assert all(display.decoys_.get_linewidth() < line.get_linewidth() for line in display.lines_)
    assert display.background_.zorder < display.decoys_.zorder
    assert all(display.decoys_.zorder < line.zorder for line in display.lines_)
    assert [line.get_color() for line in display.lines_] == list(DEEP[:2])
    assert legend(display).count("decoys") == 1
    assert "decoys (10 of 60 drawn, 0 above the threshold)" in legend(display)


@pytest.mark.parametrize("settings", [{}, {"discount": 0.9}])
def test_without_decoys_nothing_is_red(fit, stream, settings):
    for selector in (fit(CHANCES), stream(CHANCES, **settings)):
        display = SelectionPathDisplay.from_estimator(selector)
        assert display.data.n_decoys == 0
        assert not display.decoys_.get_segments()
        assert [line.get_color() for line in display.lines_] == list(COLOURS[:2])
        assert "decoys" not in legend(display)


def test_red_is_lighter_than_what_is_highlighted_beside_it():
    red = lightness(RED)
    assert all(lightness(colour) <= red - 12 for colour in DEEP)


def test_parameters_set_after_the_fit_change_nothing(fit, stream):
    groups = {"pair": ["c2", "c3"]}
    for selector in (fit(CHANCES, feature_groups=groups), stream(CHANCES, feature_groups=groups)):
        before = selection_paths(selector)
        selector.set_params(
            search=Search(cost=0.2, prior=(5.0, 1.0), n_chains=3),
            feature_groups=["x"] * 6,
            always_include=[0],
            n_features_to_select=1,
        )
        assert before.threshold == 0.5
        for was, now in zip(before, selection_paths(selector), strict=True):
            np.testing.assert_array_equal(was, now)


def test_the_stream_takes_groups_and_columns_always_included(stream):
    selector = stream(CHANCES, feature_groups=["a", "a", "b", "c", "d", "e"], always_include=["c5"])
    found = selection_paths(selector)
    assert found.names == ("a",)
    assert found.n_others == 3


def test_the_legend_takes_more_rows_on_narrow_axes():
    selector = fit_heights(CHANCES)
    _, ax = plt.subplots(figsize=(3, 3))
    SelectionPathDisplay.from_estimator(selector, ax=ax)
    texts = ax.get_legend().get_texts()
    ax.figure.canvas.draw()
    assert len({round(text.get_window_extent().y0) for text in texts}) == 4


def test_dollars_in_names_are_not_formulas(fit):
    selector = fit([0.95, 0.1], names=[r"$\frac", r"a $b$ \alpha$"])
    SelectionPathDisplay.from_estimator(selector, highlight=[0, 1]).figure_.canvas.draw()


def test_thousands_of_paths_are_drawn_in_a_moment(fit):
    selector = fit(np.r_[[0.95] * 5, np.full(5000, 0.1)], n_plays=200)
    started = time.process_time()
    SelectionPathDisplay.from_estimator(selector).figure_.canvas.draw()
    assert time.process_time() - started < 5  # below 1 on an idle core


def lightness(colour):
    """L* of CIELAB."""
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour))
    return max(116 * np.cbrt(0.2126 * r + 0.7152 * g + 0.0722 * b) - 16, 0)


def legend(display):
    return " ".join(text.get_text() for text in display.ax_.get_legend().get_texts())
