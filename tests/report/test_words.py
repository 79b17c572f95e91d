"""Sentences about shapes."""

from __future__ import annotations

import numpy as np
import pytest

from tvselect.report.findings import Dependence
from tvselect.report.words import in_words


def shape(mean, *, labels=(), width=0.1):
    mean = np.asarray(mean, dtype=float)
    at = tuple(map(float, range(mean.size)))
    return Dependence(
        "x", labels, at, tuple(mean), tuple(mean - width / 2), tuple(mean + width / 2)
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
