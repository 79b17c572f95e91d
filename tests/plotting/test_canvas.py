"""Heights of labels; figures without matplotlib, and of selectors that are not fitted."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from tests.plotting.conftest import fit
from tvselect import StreamingThompsonSelector, ThompsonSelector, plotting
from tvselect.plotting.canvas import nudge_apart


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.001, 0.2))
def test_nudged_heights_keep_their_order_their_gap_and_their_room(heights, gap):
    placed = nudge_apart(heights, gap)
    order = np.argsort(heights, kind="stable")
    gap = min(gap, 1 / max(len(heights) - 1, 1))
    assert (np.diff(placed[order]) >= gap - 1e-9).all()
    assert ((placed >= -1e-9) & (placed <= 1 + 1e-9)).all()


def test_heights_far_enough_apart_stay():
    np.testing.assert_allclose(nudge_apart([0.9, 0.1, 0.5], 0.05), [0.9, 0.1, 0.5])


@pytest.mark.parametrize("name", ["SelectionPathDisplay", "SelectionRateDisplay"])
def test_what_a_figure_needs(name, monkeypatch):
    display = getattr(plotting, name)
    for selector in (ThompsonSelector(), StreamingThompsonSelector()):
        with pytest.raises(NotFittedError):
            display.from_estimator(selector)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"tvselect\[plot\]"):
        display.from_estimator(fit([0.9, 0.1]))
