"""Streams with an outcome of two classes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.selectors.runs import assert_same, plays_of
from tests.selectors.streams import (
    SIGNALS,
    N,
    P,
    labels_of,
    make_data,
    parts,
    play_parts,
    quick_bart,
    rare,
    selector,
)
from tvselect import BartReward, PValueReward


@pytest.mark.parametrize("make", [PValueReward, quick_bart])
def test_parts_with_a_single_class_are_skipped_and_counted(make):
    X, y = rare()
    single = [np.unique(part).size == 1 for _, part in parts(X, y, 50)]
    assert 5 < sum(single) < 25
    y[:50] = 0
    single[0] = True
    with pytest.warns(RuntimeWarning, match=rf"{sum(single)} of 30 batches hold a single class"):
        fitted = selector(make(), batch_size=50).fit(X, y)
    assert fitted.history_.n_skipped == sum(single)
    assert fitted.n_plays_ == len(single)
    assert [play.arms.size == 0 for play in fitted.history_.plays] == single
    assert_same(fitted, play_parts(selector(make()), parts(X, y, 50)))
    with pytest.warns(RuntimeWarning, match="hold a single class"):
        assert_same(fitted, selector(make(), batch_size=50).fit(X, np.where(y, "t", "f")))


@pytest.mark.parametrize("decoys", [None, "shuffled"])
def test_three_of_two_thousand_rows_are_told_to_be_too_few(decoys):
    X, y = make_data(n=2000)[0], np.zeros(2000, dtype=int)
    y[[150, 750, 1550]] = 1
    with pytest.warns(RuntimeWarning, match=r"17 of 20 batches .* larger batches") as warned:
        fitted = selector(decoys=decoys).fit(X, y)
    assert len(warned) == 1
    if decoys:
        assert not fitted.support_.any()


@pytest.mark.parametrize("reward", [PValueReward(alpha=1e-3), BartReward()], ids=["p", "bart"])
def test_rare_positives_still_find_the_signals(reward):
    X, y = rare(n=20_000, share=0.02)
    fitted = selector(reward, batch_size=1000).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_skipped_parts_do_not_count_for_patience():
    X, y = make_data()
    y = np.where(np.arange(N) < 1000, 1, y > 0)
    with pytest.warns(RuntimeWarning, match="10 of 1[0-9] batches"):
        fitted = selector(patience=4).fit(X, y)
    assert fitted.history_.n_skipped == 10
    assert fitted.n_plays_ > 10


def test_a_third_class_is_refused_by_name_and_part():
    X, y = make_data()
    y = labels_of(y).astype(object)
    y[777] = "maybe"
    with pytest.raises(ValueError, match=r"batch 7: y has the value 'maybe'.*say family='classes'"):
        selector().fit_source(iter(parts(X, y)))
    announced = selector(family="classes").fit_source(iter(parts(X, y)))
    assert set(SIGNALS) <= set(np.flatnonzero(announced.support_))
    assert set(SIGNALS) <= set(np.flatnonzero(selector().fit(X, y).support_))
    with pytest.raises(ValueError, match="y has 3 classes"):
        selector(family="probit").fit(X, np.array([1, 2, 3] * 500))


def test_more_numbers_after_two_are_refused_unless_they_were_announced():
    X, y = make_data()
    counts = np.where(np.arange(N) < 300, y > 0, y.round())
    with pytest.raises(ValueError, match=r"batch 3: .* say family='gaussian'"):
        selector().fit_source(iter(parts(X, counts)))
    fitted = selector(family="gaussian").fit_source(iter(parts(X, counts)))
    assert_same(fitted, selector().fit(X, counts))
    assert fitted.n_plays_ == 15
    assert fitted.history_.n_skipped == 0
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))


def test_a_two_valued_outcome_can_be_continuous():
    X, y = make_data()
    y = (y > 0).astype(int)
    as_numbers = selector(quick_bart(), family="gaussian").fit(X, y)
    as_classes = selector(quick_bart()).fit(X, y)
    assert_same(as_classes, selector(quick_bart(), family="probit").fit(X, y))
    assert plays_of(as_numbers) != plays_of(as_classes)
    assert set(SIGNALS) <= set(np.flatnonzero(as_numbers.support_))


@pytest.mark.parametrize("outcome", [0, "a", 2.5, True])
def test_a_constant_outcome_selects_nothing_and_says_so(outcome):
    X, _ = make_data()
    with pytest.warns(RuntimeWarning, match="every batch was skipped") as warned:
        fitted = selector(n_rounds=2).fit(X, np.full(N, outcome))
    assert warned[0].filename == __file__
    assert fitted.n_plays_ == fitted.history_.n_skipped == 30
    assert not fitted.support_.any()
    assert_array_equal(fitted.selection_rates_, np.full(P, 0.5))


def test_a_constant_outcome_does_not_go_on_for_ever():
    X, _ = make_data(n=300)
    with pytest.warns(RuntimeWarning, match="every batch was skipped"):
        fitted = selector(n_rounds=None, patience=5).fit(X, np.zeros(300))
    assert not fitted.support_.any()


def test_a_sorted_outcome_is_played_once_it_is_resampled():
    X, y = make_data()
    order = np.argsort(y > 0, kind="stable")
    fitted = selector(PValueReward(0.01), n_rounds=6, batch_size=50).fit(X[order], y[order] > 0)
    assert 28 <= fitted.history_.n_skipped < 32
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
