from __future__ import annotations

import numpy as np
import pytest

from tvselect.bandit.stopping import Steadiness, Stopping, StopReason


def models(*sets):
    return [np.array(model, dtype=np.int32) for model in sets]


@pytest.mark.parametrize("n_done", [0, 1, 9])
def test_nothing_stops_a_game_before_its_end(n_done):
    assert Stopping(10).reason(n_done, 1000) is None
    assert Stopping(10, patience=5).reason(n_done, 4) is None


@pytest.mark.parametrize("n_done", [10, 11])
def test_a_game_stops_after_its_plays(n_done):
    assert Stopping(10).reason(n_done, 0) is StopReason.PLAYS


def test_a_steady_model_stops_the_game():
    assert Stopping(10, 3).reason(4, 3) is StopReason.PATIENCE
    assert Stopping(10, 3).reason(4, 7) is StopReason.PATIENCE


def test_steadiness_counts_plays_without_a_change():
    steadiness = Steadiness()
    seen = []
    for model in models([], [], [2], [2], [2], [3], [2], [2, 3], [2, 3]):
        steadiness.see(model)
        seen.append(steadiness.n_unchanged)
    assert seen == [0, 1, 0, 1, 2, 0, 0, 0, 1]
