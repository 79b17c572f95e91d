"""Cells and rows that are far from all others do not change what is selected."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tvselect import ThompsonSelector
from tvselect.inputs.doubts import DoubtWarning


@pytest.mark.parametrize("decoys", ["shuffled", "knockoffs"])
def test_a_wild_cell_or_row_does_not_hide_signals(decoys):
    rng = np.random.default_rng(4)
    X = rng.random((200, 20))
    y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.normal(size=200)
    X[0, 3], X[1] = 999.0, -9999.0
    selector = ThompsonSelector(n_plays=150, decoys=decoys, random_state=0).fit(X, y)
    assert_array_equal(selector.get_support(indices=True), [3, 7])
    assert {claim.columns for claim in selector.claims_} == {(3,), (7,)}


def test_one_wild_cell_of_a_hundred_is_told_and_hides_no_signal():
    rng = np.random.default_rng(4)
    X = rng.random((300, 20))
    y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.normal(size=300)
    X.flat[rng.choice(X.size, X.size // 100, replace=False)] = rng.choice(
        [999.0, -9999.0, 1e6, -1e6, 1e12], X.size // 100
    )
    with pytest.warns(DoubtWarning):
        selector = ThompsonSelector(n_plays=150, random_state=0).fit(X, y)
    assert_array_equal(selector.get_support(indices=True), [3, 7])
