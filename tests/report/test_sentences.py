"""Sentences about shapes, and about why a run ended."""

from __future__ import annotations

import numpy as np
import pytest

from tvselect.after.dependence import Dependence
from tvselect.bandit.engine import StopReason
from tvselect.report.sentences import in_words, why_stopped
from tvselect.selectors.results import Asked


def shape(mean, *, labels=(), width=0.1):
    mean = np.asarray(mean, dtype=float)
    at = tuple(map(float, range(mean.size)))
    return Dependence(
        "x", labels, at, "", tuple(mean), tuple(mean - width / 2), tuple(mean + width / 2)
    )


@pytest.mark.parametrize(
    ("mean", "words"),
    [
        ([1, 2, 3], "The outcome rises from 1 to 3."),
        ([3, 2.5, 1], "The outcome falls from 3 to 1."),
        ([1, 3, 1.2], "Highest in between (3); from 1 to 1.2 at the ends."),
        ([3, 1, 2.9], "Lowest in between (1); from 3 to 2.9 at the ends."),
        ([1, 1.01, 1.02], "No clear trend on its own; it may matter together with others."),
    ],
)
def test_curves(mean, words):
    assert in_words(shape(mean)) == words


def test_points():
    said = in_words(shape([2, 1, 5], labels=("a", "b", "c")))
    assert said == "Lowest at b (1), highest at c (5)."
    assert in_words(shape([2], labels=("a",))) == "2 at a."


def asked(**wanted):
    return Asked(False, "LassoReward()", "auto", seed=0, window=1, fingerprint=None, **wanted)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (StopReason.PLAYS, "all 60 plays are done"),
        (StopReason.PATIENCE, "the model has not changed for 7 plays"),
        (StopReason.TIME_LIMIT, "the time limit of 1.5 s is reached"),
        (StopReason.ROUNDS, "the stream has ended after 1 round"),
        (StopReason.BATCHES, "every batch handed in is played"),
        (StopReason.ALL_SKIPPED, "every batch is skipped"),
        (StopReason.INTERRUPTED, "it was interrupted"),
        (StopReason.ERROR, "of an error"),
    ],
)
def test_every_reason_has_its_words(reason, words):
    assert why_stopped(reason, asked(n_plays=60, patience=7, time_limit=1.5, n_rounds=1)) == words
    assert why_stopped(reason, asked())


def test_rounds_are_counted():
    said = why_stopped(StopReason.ROUNDS, asked(n_rounds=3))
    assert said == "the stream has ended after 3 rounds"
