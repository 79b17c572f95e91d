"""Callbacks see how far a search has come, and may stop it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.selectors.runs import SIGNALS, assert_same, make_data
from tvselect import BartReward, LassoReward, Search, StreamingThompsonSelector, ThompsonSelector
from tvselect.bandit.engine import StopReason


def selector(*callbacks, reward=None, **settings):
    search = Search(callbacks=callbacks, **settings)
    reward = reward or LassoReward()
    return ThompsonSelector(reward, n_plays=60, random_state=0, search=search)


def test_what_a_callback_is_shown_at_the_end_is_what_was_found():
    X, y = make_data()
    seen = []
    fitted = selector(seen.append).fit(X, y)
    assert (len(seen), seen[-1].n_plays, seen[-1].n_total) == (60, 60, 60)
    assert seen[-1].seconds > seen[0].seconds > 0
    np.testing.assert_array_equal(seen[-1].selection_rates, fitted.selection_rates_)
    assert set(seen[-1].leading[:2]) == {f"x{j}" for j in SIGNALS}
    assert fitted.stop_reason_ is StopReason.PLAYS


@pytest.mark.parametrize("reward", [LassoReward(), BartReward.with_decoys()])
def test_a_callback_stops_the_run_which_goes_on_as_if_nothing_had_been(reward, tmp_path):
    X, y = make_data()
    whole = selector(reward=reward).fit(X, y)
    journal = tmp_path / "run.tvs"
    calls = []
    stopped = selector(lambda p: p.n_plays >= 20, calls.append, reward=reward, journal=journal).fit(
        X, y
    )
    assert stopped.stop_reason_ is StopReason.CALLBACK
    assert 20 <= stopped.n_plays_ == calls[-1].n_plays < 60
    assert_same(selector(reward=reward, journal=journal).fit(X, y), whole)


def test_a_stream_is_stopped_and_a_single_function_will_do():
    X, y = make_data(2000)
    fitted = StreamingThompsonSelector(
        LassoReward(), batch_size=100, random_state=0,
        search=Search(callbacks=lambda progress: progress.n_plays == 5),
    ).fit(X, y)  # fmt: skip
    assert (fitted.n_plays_, fitted.stop_reason_) == (5, StopReason.CALLBACK)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="callbacks must be a function or several, got"):
        selector("stop").fit(*make_data())
