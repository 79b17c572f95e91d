"""Paths of the selection rates, and traces of trees: what is drawn, and how it looks."""

from __future__ import annotations

import itertools
import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color, to_rgb
from matplotlib.text import Text

from tests.decoyed import fit_heights, fit_signals, stream_heights
from tests.plotting.conftest import fit
from tvselect import run_bart
from tvselect.plotting import SelectionPathDisplay, plot_traces, selection_paths
from tvselect.plotting.canvas import COLOURS, DEEP, RED

CHANCES = [0.95, 0.9, 0.1, 0.05, 0.05, 0.1]
SIGNALS = [0.65, 0.6, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("highlight", "names"),
    [
        (["c4", "c1"], ("c4", "c1")),
        (np.array([4, 1]), ("c4", "c1")),
        (np.array(["c4", "c1"]), ("c4", "c1")),
        (np.arange(6) == 3, ("c3",)),
        ("c3", ("c3",)),
        ([], ()),
        (None, ("c0", "c1")),  # the selected
    ],
)
def test_what_is_highlighted_is_in_the_order_given_and_ends_at_its_rate(highlight, names):
    selector = fit(CHANCES)
    found = selection_paths(selector, highlight=highlight)
    assert (found.names, found.n_others, found.threshold) == (names, 6 - len(names), 0.5)
    assert (found.paths[0] == 0.5).all()
    rates = dict(zip(selector.result_.names, selector.selection_rates_, strict=True))
    np.testing.assert_allclose(found.paths[-1], [rates.pop(name) for name in names])
    np.testing.assert_allclose(found.background[-1], list(rates.values()))


@pytest.mark.parametrize(
    "settings",
    [
        *({"highlight": value} for value in (["nobody"], [6], [-1], [True, False])),
        {"chain": 1},
        {"chain": -1},
        {"max_background": -1},
        {"max_decoys": -1},
    ],
)
def test_what_is_not_there_is_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        selection_paths(fit(CHANCES), **settings)


def test_groups_are_one_path_and_columns_always_included_have_none():
    selector = fit(CHANCES, feature_groups={"pair": ["c0", "c1"], 7: [2, 3, 4]})
    found = selection_paths(selector, highlight=["c1", "pair", 0, 3])
    assert (found.names, found.n_others) == (("pair", "7"), 1)
    selector = fit(CHANCES, always_include=["c0"])
    found = selection_paths(selector)
    assert (found.names, found.n_others) == (("c1",), 4)
    with pytest.raises(ValueError, match="always included"):
        selection_paths(selector, highlight=["c0"])
    groups = ["a", "a", "b", "c", "d", "e"]
    found = selection_paths(stream_heights(CHANCES, feature_groups=groups, always_include=["c5"]))
    assert (found.names, found.n_others) == (("a",), 3)


def test_a_long_background_keeps_the_highest_and_the_same_sample():
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
    paths = [selection_paths(selector, chain=chain, highlight=range(100)).paths for chain in (0, 1)]
    assert not np.array_equal(*paths)


def test_the_axes_handed_in_are_drawn_on():
    """With a threshold for each line; dollars in names are not formulas."""
    figure, (left, right) = plt.subplots(1, 2)
    names = [r"$\frac", r"a $b$ \alpha$", *"cdef"]
    selector = fit(CHANCES, cost=[0.6, 0.5, 0.5, 0.5, 0.5, 0.5], names=names)
    display = SelectionPathDisplay.from_estimator(selector, ax=right)
    figure.canvas.draw()
    assert display.data.threshold.shape == (2,)
    assert (display.ax_, display.figure_, len(left.lines)) == (right, figure, 0)
    assert (right.get_xlabel(), right.get_ylabel()) == ("play", "selection rate")
    assert right.get_ylim() == (0, 1)
    plays = np.arange(61)  # drawn by corners that leave nothing out
    paths = zip(display.background_.get_segments(), display.data.background.T, strict=True)
    for segment, path in paths:
        assert len(segment) < 61
        np.testing.assert_allclose(np.interp(plays, *segment.T), path)


@pytest.mark.parametrize(("n_signals", "chance"), [(8, 0.99), (60, 0.99), (60, np.linspace(1, 0))])
def test_labels_do_not_overlap(n_signals, chance):
    chances = np.r_[np.resize(chance, n_signals), [0.1] * 9]
    display = SelectionPathDisplay.from_estimator(fit(chances), highlight=range(n_signals))
    display.figure_.canvas.draw()
    boxes = [Text.get_window_extent(label) for label in display.labels_]  # without the leader
    boxes.sort(key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))
    texts = [label.get_text() for label in display.labels_]
    assert len(texts) == 8 if n_signals == 8 else texts[-1] == f"and {61 - len(texts)} more"


@pytest.mark.parametrize("make", [fit, partial(stream_heights, discount=0.9)])
def test_without_decoys_nothing_is_red(make):
    display = SelectionPathDisplay.from_estimator(make(CHANCES))
    assert (display.data.n_decoys, display.decoys_.get_segments()) == (0, [])
    assert [line.get_color() for line in display.lines_] == list(COLOURS[:2])
    assert "decoys" not in legend(display)


def test_a_stream_is_drawn_over_its_batches_and_skipped_ones_are_flat():
    selector = stream_heights(CHANCES, skipped={10, 11, 12})
    found = selection_paths(selector, highlight=range(6))
    assert found.paths.shape == (41, 6)
    np.testing.assert_array_equal(found.paths[10:14], np.tile(found.paths[10], (4, 1)))
    np.testing.assert_allclose(found.paths[-1], selector.selection_rates_)
    display = SelectionPathDisplay(found).plot()
    assert display.ax_.get_xlabel() == found.unit == "batch"


def ends_of_decoys(selector, chain=None):
    result = selector.result_
    return np.sort(result.means(chain)[result.layout.n_candidates :])[::-1]


@pytest.mark.parametrize("settings", [{}, {"prior": (2.0, np.full(6, 3.0))}])
def test_the_leading_decoys_end_where_the_history_says(settings):
    selector = fit_heights(CHANCES, **settings)
    found = selection_paths(selector)
    assert found.names == ("c0", "c1")
    assert found.decoys.shape == (61, 10)
    np.testing.assert_allclose(found.decoys[-1], ends_of_decoys(selector)[:10])
    # The ten copies of c0 and of c1 are paid as these are.
    assert (found.n_decoys, found.n_decoys_above) == (60, 20)


def test_decoys_are_counted_in_the_chain_that_is_drawn():
    selector = fit_heights([0.95, 0.5, 0.5, 0.5], n_chains=3, n_plays=25)
    for chain in range(3):
        found = selection_paths(selector, chain=chain, max_decoys=100)
        np.testing.assert_allclose(found.decoys[-1], ends_of_decoys(selector, chain))
        assert found.n_decoys_above == (found.decoys[-1] > 0.5).sum()


def test_decoys_that_were_never_played_are_not_drawn():
    selector = stream_heights(CHANCES, n_batches=3, skipped=range(3), decoys="knockoffs")
    found = selection_paths(selector)
    assert (found.names, found.n_others, found.n_decoys_above) == ((), 6, 0)
    assert found.decoys.shape == (4, 0)
    display = SelectionPathDisplay(found).plot()
    display.figure_.canvas.draw()
    assert "highest decoy" not in legend(display)


def test_decoys_are_red_thin_and_between_the_others_and_the_highlighted():
    display = SelectionPathDisplay.from_estimator(fit_signals(SIGNALS)[0])
    assert (display.data.names, len(display.decoys_.get_segments())) == (("c0", "c1"), 10)
    assert same_color(display.decoys_.get_color()[0][:3], RED)
    assert 0 < display.decoys_.get_alpha() < 1
    assert all(display.decoys_.get_linewidth() < line.get_linewidth() for line in display.lines_)
    drawn = [display.background_, display.decoys_, *display.lines_]
    assert all(drawn[0].zorder < drawn[1].zorder < line.zorder for line in drawn[2:])
    assert [line.get_color() for line in display.lines_] == list(DEEP[:2])
    assert legend(display).count("decoys") == 1
    assert "decoys (10 of 60 drawn, 0 above the threshold)" in legend(display)
    (line,) = [line for line in display.ax_.lines if "highest" in str(line.get_label())]
    highest = float(display.data.decoys[-1].max())
    assert set(line.get_ydata()) == {highest}
    assert line.get_linestyle() == "--"
    assert same_color(line.get_color(), RED)
    assert f"highest decoy {highest:.2f}" in legend(display)
    assert highest < display.data.paths[-1].min()
    assert all(lightness(colour) <= lightness(RED) - 12 for colour in DEEP)


def test_the_legend_takes_more_rows_on_narrow_axes():
    selector = fit_heights(CHANCES)
    _, ax = plt.subplots(figsize=(3, 3))
    SelectionPathDisplay.from_estimator(selector, ax=ax)
    texts = ax.get_legend().get_texts()
    ax.figure.canvas.draw()
    assert len({round(text.get_window_extent().y0) for text in texts}) == 4


def test_thousands_of_paths_are_drawn_in_a_moment():
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


def test_a_panel_for_each_trace_and_a_line_for_each_chain():
    rng = np.random.default_rng(0)
    X, groups = rng.random((80, 3)), np.arange(80) // 4
    run = run_bart(
        X, X[:, 0], n_chains=3, n_iterations=100, sparse=True, groups=groups, random_state=0
    )
    panels = plot_traces(run).axes
    assert [ax.get_ylabel() for ax in panels] == ["sigma", "splits", "theta", "sd of groups"]
    for ax, trace in zip(panels, run.traces().values(), strict=True):
        np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], trace)
        assert "R-hat" in ax.get_title(loc="right")
        low, high = ax.get_ylim()
        assert low < trace[:, 50:].min() < trace[:, 50:].max() < high
