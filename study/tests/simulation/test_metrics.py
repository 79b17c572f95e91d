from __future__ import annotations

import numpy as np
import pytest

from tvstudy.simulation import Score, score

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
