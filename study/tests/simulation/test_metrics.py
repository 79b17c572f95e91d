from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tvstudy.simulation import Score, score, score_at

TRUTH = [True, True, True, True, False, False]


@pytest.mark.parametrize(
    ("selected", "wanted"),
    [
        (TRUTH, Score(fdp=0.0, power=1.0, hamming=0, exact=True)),
        ([False] * 6, Score(fdp=0.0, power=0.0, hamming=4, exact=False)),
        ([True] * 6, Score(fdp=2 / 6, power=1.0, hamming=2, exact=False)),
        ([True, False, False, False, True, False], Score(0.5, 0.25, 4, False)),
        ([False] * 4 + [True] * 2, Score(fdp=1.0, power=0.0, hamming=6, exact=False)),
    ],
)
def test_a_selection_is_held_against_the_truth(selected, wanted):
    assert score(selected, TRUTH) == pytest.approx(wanted)
    assert score(np.array(selected), np.array(TRUTH)) == pytest.approx(wanted)


def test_nothing_found_where_there_is_nothing_is_perfect():
    assert score([False, False], [False, False]) == Score(0.0, 1.0, 0, True)


def test_masks_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="shape"):
        score([True, False], TRUTH)


class Claim(NamedTuple):
    columns: tuple[int, ...]
    q_value: float


SUPPORT = [True, True, False, False, False, True]
Q_VALUES = [0.02, 0.15, 0.1, 0.2, 0.9, 0.8]
CLAIMS = [Claim((0,), 0.02), Claim((1, 2), 0.1), Claim((3, 4), 0.15), Claim((5,), 0.3)]


def test_columns_are_judged_at_a_level():
    assert score_at(0.1, Q_VALUES, SUPPORT) == (0.1, 1, 1, 0.5, None, None, None, None)
    assert score_at(0.2, Q_VALUES, SUPPORT)[1:4] == (2, 2, 0.5)
    assert score_at(0.01, Q_VALUES, SUPPORT)[1:4] == (0, 0, 0.0)


def test_a_claim_is_false_when_none_of_its_columns_is_a_signal():
    assert score_at(0.1, Q_VALUES, SUPPORT, CLAIMS)[4:] == (2, 0, 0.0, 1.5)
    assert score_at(0.2, Q_VALUES, SUPPORT, CLAIMS)[4:] == (3, 1, 1 / 3, 5 / 3)
    assert score_at(0.01, Q_VALUES, SUPPORT, CLAIMS)[4:] == (0, 0, 0.0, 0.0)
    assert score_at(0.1, Q_VALUES, SUPPORT, [])[4:] == (0, 0, 0.0, 0.0)


def test_q_values_of_another_table_are_refused():
    with pytest.raises(ValueError, match=r"q_values has shape \(2,\), support \(6,\)"):
        score_at(0.1, [0.1, 0.2], SUPPORT)
