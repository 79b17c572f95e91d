from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tvselect.plotting.canvas import nudge_apart
from tvselect.words import shorten


@given(st.text(max_size=60), st.integers(3, 50))
def test_short_names_keep_both_ends(name, longest):
    short, whole = shorten(name, longest), " ".join(name.split())
    assert len(short) == min(len(whole), longest)
    assert whole.startswith(short.split("…")[0]) or "…" in whole
    assert short == whole or "…" in short


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.001, 0.2))
def test_nudged_heights_keep_their_order_their_gap_and_their_room(heights, gap):
    placed = nudge_apart(heights, gap)
    order = np.argsort(heights, kind="stable")
    gap = min(gap, 1 / max(len(heights) - 1, 1))
    assert (np.diff(placed[order]) >= gap - 1e-9).all()
    assert ((placed >= -1e-9) & (placed <= 1 + 1e-9)).all()


def test_heights_far_enough_apart_stay():
    np.testing.assert_allclose(nudge_apart([0.9, 0.1, 0.5], 0.05), [0.9, 0.1, 0.5])
