"""Errors of streams at every batch: what is counted, and that finished pieces are kept."""

from __future__ import annotations

from argparse import Namespace

import numpy as np
import pytest

from benchmarks import streams_errors as room
from benchmarks.streams_errors import Stream


@pytest.mark.parametrize("setup", room.SETUPS)
def test_rows_and_signals_of_a_set_up(setup):
    X, y, signals = room.draw(setup, 30, 8, seed=1)
    assert X.shape == (30, 8)
    assert y.shape == (30,)
    assert signals.any() != setup.startswith("null")
    np.testing.assert_array_equal(X, room.draw(setup, 30, 8, seed=1)[0])


def test_the_worst_batch_counts():
    """Of two streams one has a false half at the second batch, the other two of three signals."""
    streams = [
        Stream([0.0, 0.5, 0.0], [1, 1, 3], 3, 1.0),
        Stream([0.0, 0.0, 0.0], [0, 2, 2], 3, 3.0),
    ]
    line = room.line("linear", "shuffled", streams)
    assert line == "| linear | shuffled | 2 | 0.250 (0.177) | 0.50 | > 3 | 2.50 of 3 | 2.0 |"
    nothing = room.line("null", "shuffled", [Stream([0.0, 1.0], [0, 0], 0, 1.0)])
    assert nothing == "| null | shuffled | 1 | 1.000 (0.000) | 1.00 | - | - | 1.0 |"


def test_finished_streams_are_not_played_again(tmp_path, monkeypatch):
    played = []

    def play(setup, rule, options, seed):
        played.append(seed)
        return Stream([0.0], [1], 5, 1.0)

    monkeypatch.setattr(room, "play", play)
    monkeypatch.setattr(room, "PIECE", 2)
    size = {"pieces": tmp_path, "columns": 6, "rows": 50}
    for n, n_batches in ((4, 3), (6, 3), (2, 5)):
        options = Namespace(**size, batches=n_batches, streams=n)
        assert len(room.streams("shuffled", "0/1", options)) == n
    assert played == [0, 1, 2, 3, 4, 5, 0, 1]


def test_a_stream_is_looked_at_after_every_batch():
    options = Namespace(columns=6, rows=50, batches=3)
    made = room.play("linear", "shuffled", options, seed=0)
    assert len(made.false_share) == len(made.n_true) == 3
    assert made.n_signals == 5
