from __future__ import annotations

from types import SimpleNamespace

import pytest

from tvselect.bandit.stopping import NoMoreData, StoppingRule, StopReason


def after(n_plays, n_unchanged=0):
    return SimpleNamespace(n_plays=n_plays, n_unchanged=n_unchanged)


@pytest.mark.parametrize("n_done", [0, 1, 9])
def test_nothing_stops_a_run_before_its_end(n_done):
    assert StoppingRule(10).reason(after(n_done, 1000)) is None
    assert StoppingRule(10, patience=5).reason(after(n_done, 4)) is None
    assert StoppingRule(10, time_limit=1e9).reason(after(n_done)) is None


@pytest.mark.parametrize("n_done", [10, 11])
def test_a_run_stops_after_its_plays(n_done):
    assert StoppingRule(10).reason(after(n_done)) is StopReason.PLAYS


@pytest.mark.parametrize("n_unchanged", [3, 7])
def test_a_steady_model_stops_a_run(n_unchanged):
    assert StoppingRule(10, 3).reason(after(4, n_unchanged)) is StopReason.PATIENCE


def test_plays_that_are_left():
    assert StoppingRule(10).n_left(after(4)) == 6
    assert StoppingRule().n_left(after(4)) is None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (KeyboardInterrupt(), StopReason.INTERRUPTED),
        (NoMoreData(StopReason.ALL_SKIPPED), StopReason.ALL_SKIPPED),
    ],
)
def test_interrupts_and_the_end_of_the_data_are_rules_like_others(error, reason):
    rule = StoppingRule(10)
    with rule.running():
        raise error
    assert rule.reason(after(0)) is reason


def test_what_a_library_makes_of_an_interrupt_is_one():
    rule = StoppingRule(10)
    with rule.running():
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("cannot close the file")
    assert rule.reason(after(0)) is StopReason.INTERRUPTED


def test_other_errors_pass():
    rule = StoppingRule(10)
    with pytest.raises(ZeroDivisionError), rule.running():
        raise ZeroDivisionError
    assert rule.reason(after(0)) is None
