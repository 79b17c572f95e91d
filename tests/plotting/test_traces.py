"""Traces of chains of trees."""

import numpy as np

from tvselect import run_bart
from tvselect.plotting import plot_traces


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
