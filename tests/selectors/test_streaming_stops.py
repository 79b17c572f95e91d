"""When a stream ends: its last part, patience, time limits, interrupts, errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from tests.bandit.plays import fold_counts
from tests.selectors.runs import Interrupted, Undisturbed, assert_same, plays_of
from tests.selectors.streams import (
    SIGNALS,
    P,
    make_data,
    parts,
    quick_bart,
    selector,
    stop_after,
)
from tvselect import PValueReward
from tvselect.sources import SourceError


def test_a_short_last_part_is_skipped():
    X, y = make_data(n=1209)
    fitted = selector(quick_bart()).fit(X, y)
    assert fitted.n_plays_ == 13
    assert fitted.history_.n_skipped == 1
    assert fitted.history_.plays[-1].arms.size == 0
    assert selector(quick_bart()).fit(X[:1200], y[:1200]).history_.n_skipped == 0
    rounds = selector(quick_bart(), n_rounds=2).fit(X, y)
    assert rounds.n_plays_ == 26
    assert rounds.history_.n_skipped == 2


def test_patience_stops_a_steady_game():
    X, y = make_data()
    fitted = selector(n_rounds=None, patience=6).fit(X, y)
    assert fitted.stop_reason_ == "patience"
    assert 6 < fitted.n_plays_ < 60
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    fitted = selector(n_rounds=2, patience=1000).fit(X, y)
    assert fitted.stop_reason_ == "rounds"
    assert fitted.n_plays_ == 30


@pytest.mark.parametrize("n", [1, 4, 22])
def test_the_time_limit_stops_between_plays(n, monkeypatch):
    X, y = make_data()
    limit = stop_after(monkeypatch, n)
    fitted = selector(n_rounds=None, time_limit=limit).fit(X, y)
    assert fitted.stop_reason_ == "time limit"
    assert fitted.n_plays_ == n
    assert plays_of(fitted) == plays_of(selector(n_rounds=2).fit(X, y))[:n]


def test_no_time_at_all_selects_nothing():
    X, y = make_data()
    with pytest.warns(RuntimeWarning, match="was over before the first play"):
        fitted = selector(time_limit=1e-9).fit(X, y)
    assert fitted.n_plays_ == 0
    assert fitted.stop_reason_ == "time limit"
    assert not fitted.support_.any()


@pytest.mark.parametrize("n_chains", [1, 2])
def test_an_interrupt_keeps_the_plays(n_chains):
    X, y = make_data()
    with pytest.warns(RuntimeWarning, match="interrupted") as warned:
        fitted = selector(Interrupted(at=7 * n_chains), n_chains=n_chains).fit(X, y)
    assert warned[0].filename == __file__
    assert fitted.stop_reason_ == "interrupted"
    assert fitted.n_plays_ == 6
    whole = selector(Undisturbed(), n_chains=n_chains).fit(X, y)
    assert plays_of(fitted) == [play for play in plays_of(whole) if play[1] < 6]
    successes, failures = fold_counts(fitted.history_.journal, P, range(n_chains))
    assert_array_equal(fitted.selection_rates_, (1 + successes) / (2 + successes + failures))


def test_an_interrupt_in_the_first_play_selects_nothing():
    X, y = make_data()
    with pytest.warns(RuntimeWarning, match="interrupted"):
        fitted = selector(Interrupted(at=1)).fit(X, y)
    assert fitted.n_plays_ == 0
    assert not fitted.support_.any()


def test_an_error_leaves_what_was_learned_before_it():
    X, y = make_data()
    fitted = selector(Interrupted(at=10, by=RuntimeError), n_chains=2)
    with pytest.raises(RuntimeError, match="no luck"):
        fitted.fit(X, y)
    assert fitted.n_plays_ == 4
    whole = selector(Undisturbed(), n_chains=2).fit(X, y)
    assert plays_of(fitted) == [play for play in plays_of(whole) if play[1] < 4]
    successes, failures = fold_counts(fitted.history_.journal, P, range(2))
    assert_array_equal(fitted.selection_rates_, (1 + successes) / (2 + successes + failures))
    assert fitted.stop_reason_ == "error"


def test_an_error_in_the_first_part_leaves_the_selector_as_it_was():
    X, y = make_data()
    y[50] = np.nan
    fitted = selector()
    with pytest.raises(ValueError, match="batch 0: y has 1 missing"):
        fitted.fit_source(iter(parts(X, y)))
    with pytest.raises(ValueError, match=r"y has 1 missing .* row 50"):
        fitted.fit(X, y)
    with pytest.raises(NotFittedError):
        fitted.transform(X)


def test_a_stream_that_goes_wrong_keeps_what_was_learned():
    X, y = make_data()
    tables = parts(X, y, 250)
    tables[3] = (tables[3][0][:, :-1], tables[3][1])
    fitted = selector()
    with pytest.raises(SourceError, match="x11"):
        fitted.fit_source(iter(tables))
    assert fitted.n_plays_ == 7
    assert plays_of(fitted) == plays_of(selector().fit(X, y))[:7]


def test_a_bare_iterator_is_read_once():
    X, y = make_data()
    assert_same(selector().fit_source(iter(parts(X, y, 33))), selector().fit(X, y))
    for settings in (dict(n_rounds=2), dict(n_rounds=None, patience=3)):
        with pytest.raises(ValueError, match="can be read only once: use n_rounds=1"):
            selector(**settings).fit_source(iter(parts(X, y)))
    again = selector(n_rounds=2).fit_source(lambda: iter(parts(X, y)))
    assert again.n_plays_ == 30


@pytest.mark.parametrize("decoys", [None, "shuffled"])
def test_rows_sorted_by_a_number_are_told_where_nothing_is_selected(decoys):
    X, y = make_data()
    order = np.argsort(y)
    with pytest.warns(RuntimeWarning, match=r"sorted by y, .* Shuffle the rows"):
        fitted = selector(PValueReward(alpha=1e-9), decoys=decoys).fit(X[order], y[order])
    assert not fitted.support_.any()


@pytest.mark.parametrize("kind", ["noise", "a last batch of one row", "hardly a count"])
def test_rows_that_are_not_sorted_are_not_spoken_of(kind, recwarn):
    X, y = make_data(n=1201 if kind == "a last batch of one row" else 1500)
    settings = {}
    if kind == "a last batch of one row":
        y[-1] = y.max() + 1
    elif kind == "hardly a count":
        y, settings = np.zeros(len(y)), {"family": "counts"}
        y[150::100] = 1.0
        y[:100] = y[-200:] = 0.0
    fitted = selector(PValueReward(alpha=1e-9), **settings).fit(X[::-1], y)
    assert not fitted.support_.any()
    assert not [str(one.message) for one in recwarn if "sorted" in str(one.message)]
