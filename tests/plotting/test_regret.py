from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tvselect.bandit.bounds import regret_bound
from tvselect.bandit.regret import simulate_game
from tvselect.plotting import plot_regret, regret_band

THETA = [0.9, 0.1, 0.2]


def test_the_band_is_of_the_runs():
    curves = np.cumsum(np.random.default_rng(0).random((101, 7)), axis=1)
    band = regret_band(curves)
    assert band.n_runs == 101
    assert band.plays.tolist() == [1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(band.mean, curves.mean(axis=0))
    np.testing.assert_allclose(band.low, np.sort(curves, axis=0)[5])
    np.testing.assert_allclose(band.high, np.sort(curves, axis=0)[95])


@pytest.mark.parametrize("curves", [[], [[]], np.zeros((2, 2, 2))])
def test_other_shapes_are_refused(curves):
    with pytest.raises(ValueError, match="curves"):
        regret_band(curves)


def test_mean_band_and_bound_are_drawn_on_the_axes_handed_in():
    game = simulate_game(THETA, 50, np.random.default_rng(0), n_runs=20)
    _, ax = plt.subplots()
    assert plot_regret(game.regret, bound=regret_bound(THETA, range(1, 51)), ax=ax) is ax
    assert ax.get_xscale() == "log"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["5-95 % of runs", "mean of 20 runs", "bound"]
    ax.set_yscale("log")
    ax.figure.canvas.draw()


def test_one_run_has_no_band():
    ax = plot_regret([1.0, 2.0, 2.5])
    assert not ax.collections
    ax.figure.canvas.draw()


def test_a_bound_of_another_length_is_refused():
    with pytest.raises(ValueError, match="bound"):
        plot_regret([1.0, 2.0], bound=[1.0])
