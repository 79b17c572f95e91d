"""The paper made again: pieces are made once, and paths are those of the fit."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.paper import paths
from benchmarks.paper.edition import Edition
from tvselect import PValueReward, ThompsonSelector
from tvstudy.simulation import simulate


def test_a_finished_piece_is_read_not_made_again(tmp_path):
    whole, quick = Edition(tmp_path, False), Edition(tmp_path, True)
    assert whole.piece("a", lambda: {"n": [1, 2]}) == {"n": [1, 2]}
    assert whole.piece("a", dict) == {"n": [1, 2]}
    assert quick.piece("a", lambda: {"n": []}) == {"n": []}
    assert (whole.either(50, 2), quick.either(50, 2)) == (50, 2)


def test_fewer_data_sets_are_pieces_of_their_own(tmp_path):
    whole, few = Edition(tmp_path, False), Edition(tmp_path, False, at_most=3)
    assert (whole.n_sets(50, 2), few.n_sets(50, 2), few.n_sets(1, 2)) == (50, 3, 1)
    assert whole.pieces != few.pieces


def test_a_piece_that_fails_leaves_nothing(tmp_path):
    edition = Edition(tmp_path, True)

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        edition.piece("a", fail)
    assert edition.piece("a", lambda: {"n": 1}) == {"n": 1}


def test_what_is_followed_is_what_was_fitted():
    data = simulate("friedman", 80, 20, random_state=0)
    selector = ThompsonSelector(PValueReward(), n_plays=30, max_fdr=None, random_state=0)
    piece = paths.followed(selector, data)
    assert (piece["n_plays"], piece["steps"][0], piece["steps"][-1]) == (30, 0, 30)
    at_the_end = selector.selection_rates_[data.support]
    np.testing.assert_allclose(piece["signals"][-1], at_the_end, atol=5e-4)
    assert piece["missed"] == 5 - (selector.support_ & data.support).sum()
    assert piece["hamming"] == piece["missed"] + piece["false"]
    paths_of_all = selector.result_.trajectories(np.flatnonzero(data.support).tolist())
    n = piece["n_until"]
    assert n == 31 or (paths_of_all[n:] >= 0.5).all()
    assert n == 0 or (paths_of_all[n - 1] < 0.5).any()
    assert "never" in paths.line("x", [piece | {"n_until": 31}])
