"""Streams that stop and go on: by parts, good and bad ones, by storage and by a journal."""

from __future__ import annotations

import pickle
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.bandit.plays import fold_counts, listed
from tests.decoyed import Marginal
from tests.selectors.runs import Interrupted, Undisturbed, assert_same, plays_of
from tests.selectors.streams import (
    NAMES,
    SOURCES,
    P,
    labels_of,
    make_data,
    make_frame,
    parts,
    play_parts,
    quick_bart,
    selector,
    stop_after,
)
from tvselect import BartReward
from tvselect.bandit.journal import Journal, JournalError

N_BATCHES = 15
FULL = dict(decoys="knockoffs", discount=0.9, n_chains=2)
ROUNDS = dict(decoys="shuffled", window=4)  # that count
FRAME, OUTCOME = make_frame(n=1200)
FRAME = FRAME[["v0", "v3", "v7", "city", "old"]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.journal"


def fit_for(n_batches, monkeypatch, reward=None, fit=None, **settings):
    """Play some more batches."""
    with monkeypatch.context() as patch:
        stopped = selector(reward, time_limit=stop_after(patch, n_batches), **settings)
        return stopped.fit(*make_data()) if fit is None else fit(stopped)


def assert_same_journal(path, fitted):
    with Journal(path) as journal:
        assert listed(journal, fitted.result_.n_chains) == plays_of(fitted)


# Part by part.


def test_parts_may_have_any_size():
    X, y = make_data()
    fitted = selector()
    for first, last in pairwise([0, 5, 300, 304, 1400, 1500]):
        fitted.partial_fit(X[first:last], y[first:last])
    assert fitted.n_plays_ == 5
    with pytest.raises(ValueError, match="the batch has 5 rows; BartReward needs at least 10"):
        selector(quick_bart()).partial_fit(X[:5], y[:5])


def test_parts_go_on_after_a_fit():
    X, y = make_data()
    fitted = selector().fit(X[:1000], y[:1000])
    play_parts(fitted, parts(X[1000:], y[1000:]))
    assert_same(fitted, selector().fit(X, y))
    assert_same(fitted.fit(X, y), selector().fit(X, y))


def spoil(change, y=None):
    """A bad part: a frame after a change, or an outcome after one."""

    def make(first, last):
        X, part = FRAME[first:last].copy(), OUTCOME[first:last].copy()
        return (X, y(part)) if change is None else (change(X), part)

    return make


def put(name, value):
    return spoil(lambda X: X.assign(**{name: value}))


BAD_PARTS = {
    "nan in y": (spoil(None, lambda y: np.r_[y[:-1], np.nan]), ValueError, "y has 1 missing"),
    "text y": (spoil(None, lambda y: np.array(list("abcde") * 20)), TypeError, "holds text"),
    "short y": (spoil(None, lambda y: y[1:]), ValueError, "99 values"),
    "infinite": (spoil(lambda X: X.assign(v0=np.inf, v3=np.inf, v7=np.inf)),
                 ValueError, "infinity in column 'v[037]'"),
    "text for numbers": (put("v3", "many"), ValueError, "column 'v3' holds text, .* numbers"),
    "numbers for text": (put("city", 3.0), ValueError, "column 'city' holds numbers, .* text"),
    "mixed": (put("v3", [1, "x"] * 50), TypeError, "'v3'"),
    "another name": (spoil(lambda X: X.rename(columns={"v3": "w3"})), ValueError, "w3"),
    "a column less": (spoil(lambda X: X.drop(columns="v3")), ValueError, "v3"),
    "a column more": (put("more", 1.0), ValueError, "more"),
    "another order": (spoil(lambda X: X[list(X)[::-1]]), ValueError, "same order"),
    "one row": (lambda first, last: (FRAME[:1], OUTCOME[:1]), ValueError, "has 1 rows"),
}  # fmt: skip


def state_of(fitted):
    return {
        name: pickle.dumps(value)
        for name, value in vars(fitted).items()
        if name.endswith("_") and name != "result_"
    }


@pytest.fixture(scope="module")
def undisturbed():
    return selector(n_chains=2, decoys="knockoffs").fit(FRAME, OUTCOME)


@pytest.mark.parametrize(
    ("at", "journaled"), [(3, False), (11, False), (3, True)], ids=["head", "later", "journal"]
)
def test_bad_parts_leave_the_selector_as_it_was(at, journaled, undisturbed, path):
    good = parts(FRAME, OUTCOME)
    fitted = selector(n_chains=2, decoys="knockoffs", journal=path if journaled else None)
    play_parts(fitted, good[:at])
    plays, state = plays_of(fitted), state_of(fitted)
    for case, (make, error, match) in BAD_PARTS.items():
        with pytest.raises(error, match=match):
            fitted.partial_fit(*make(1000, 1100))
        assert plays_of(fitted) == plays, case
        assert state_of(fitted) == state, case
    if journaled:
        fitted = clone(fitted)
    play_parts(fitted, good[at:])
    assert_same(fitted, undisturbed)


@pytest.mark.parametrize("journaled", [False, True], ids=["memory", "journal"])
@pytest.mark.parametrize("case", ["nan in y", "infinite", "one row"])
def test_a_bad_first_part_leaves_the_selector_unfitted(case, journaled, path):
    make, error, match = BAD_PARTS[case]
    fitted = selector(journal=path if journaled else None)
    with pytest.raises(error, match=match):
        fitted.partial_fit(*make(0, 100))
    with pytest.raises(NotFittedError):
        fitted.transform(FRAME)
    frame, y = (FRAME, OUTCOME) if journaled else make_data()
    assert_same(play_parts(fitted, parts(frame, y)), selector().fit(frame, y))


@pytest.mark.parametrize("journaled", [False, True], ids=["memory", "journal"])
@pytest.mark.parametrize("by", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [2, 5, 24])
def test_parts_go_on_after_a_failure(at, by, journaled, path):
    """With a journal by a new object each time; what a failed part has settled is forgotten."""
    X, y = make_data()
    reward, n_failed, one = Interrupted(at, by), 0, None
    if at == 2:
        one = selector(reward, n_chains=2, journal=path if journaled else None)
        with pytest.raises(by):
            one.partial_fit(X[:100], np.array(["a", "b"] * 50))
        reward.at, n_failed = 0, 1
    for part in parts(X, y):
        if one is None or journaled:
            one = selector(reward, n_chains=2, journal=path if journaled else None)
        try:
            one.partial_fit(*part)
        except by:
            n_failed += 1
            one.partial_fit(*part)
    assert n_failed == 1
    whole = selector(Undisturbed(), n_chains=2).fit(X, y)
    assert_same(one, whole)
    if journaled:
        assert_same_journal(path, whole)


@pytest.mark.parametrize(("way", "n_before"), [(pickle, 3), (pickle, 11), (joblib, 3)])
def test_a_selector_goes_on_after_storage(way, n_before, undisturbed, tmp_path):
    good = parts(FRAME, OUTCOME)
    fitted = play_parts(selector(n_chains=2, decoys="knockoffs"), good[:n_before])
    with open(tmp_path / "fitted", "wb") as file:
        way.dump(fitted, file)
    with open(tmp_path / "fitted", "rb") as file:
        loaded = way.load(file)
    assert_same(loaded, fitted)
    for one in (fitted, loaded):
        assert_same(play_parts(one, good[n_before:]), undisturbed)


@pytest.mark.parametrize(
    ("reward", "family", "labels"),
    [
        (BartReward(n_iterations=30), "probit", ("no", "yes")),
        *(
            (Marginal(alpha=0.01), "auto", labels)
            for labels in [("no", "yes"), (0, 1), (0.5, 2.25), (False, True), ("1", "0")]
        ),
    ],
)
def test_parts_go_on_with_a_new_object(reward, family, labels, path):
    """Labels of any type are known again."""
    frame, y = FRAME, np.array(labels)[(OUTCOME > 0).astype(int)]
    y[:100] = labels[0]
    settings = dict(family=family, **FULL)
    whole = selector(reward, **settings).fit(frame, y)
    for part in parts(frame, y):
        one = selector(reward, journal=path, **settings).partial_fit(*part)
    assert_same(one, whole)
    assert_same_journal(path, whole)
    third = y[:100].astype(object)
    third[:9] = "perhaps"
    with pytest.raises((TypeError, ValueError), match=r"'perhaps'|mixes types"):
        selector(reward, journal=path, **settings).partial_fit(frame[:100], third)
    assert_same_journal(path, whole)


# With a journal.


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        *((kind, FULL) for kind in SOURCES),
        *((kind, ROUNDS) for kind in ("csv", "frame")),
        ("csv", {}),
        ("frame", {}),
    ],
)
def test_a_run_that_stops_and_goes_on_is_the_whole_run(kind, settings, tmp_path, path, monkeypatch):
    frame, y = make_frame()
    frame = frame[["v0", "v3", "v7", "city", "old"]]
    source = SOURCES[kind](frame.assign(y=labels_of(y)), tmp_path)
    reward, settings = Marginal(alpha=0.01), dict(n_rounds=3, **settings)

    def fit(one):
        return one.fit_source(source, target="y")

    whole = fit(selector(reward, **settings))
    settings["journal"] = path
    # In the head, after it, at the end of the first round, in the third.
    stops = [0, 3, 12, N_BATCHES, 2 * N_BATCHES + 4]
    for before, now in pairwise(stops):
        assert fit_for(now - before, monkeypatch, reward, fit, **settings).n_plays_ == now
    resumed = fit(selector(reward, **settings))
    assert_same(resumed, whole)
    assert_array_equal(resumed.decoy_rates_, whole.decoy_rates_)
    assert resumed.stop_reason_ == "rounds"
    assert_same_journal(path, whole)
    for n_rounds in (3, 1):  # fewer rounds change nothing
        assert_same(fit(selector(reward, **{**settings, "n_rounds": n_rounds})), whole)


def test_patience_goes_on_counting(path, monkeypatch):
    settings = dict(n_rounds=None, patience=9)
    whole = selector(**settings).fit(*make_data())
    fit_for(whole.n_plays_ - 3, monkeypatch, journal=path, **settings)
    for _ in range(2):
        resumed = selector(journal=path, **settings).fit(*make_data())
        assert_same(resumed, whole)
        assert resumed.stop_reason_ == "patience"


@pytest.mark.parametrize("n_chains", [1, 2])
@pytest.mark.parametrize("by", [RuntimeError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("at", [1, 4, 40])
def test_a_reward_that_fails_leaves_a_journal_that_can_be_continued(at, by, n_chains, path):
    X, y = make_data()
    settings = dict(n_chains=n_chains, n_rounds=3)
    stopped = selector(Interrupted(at * n_chains, by), journal=path, **settings)
    is_interrupt = by is KeyboardInterrupt
    expected = (
        pytest.warns(RuntimeWarning, match="interrupted")
        if is_interrupt
        else pytest.raises(by, match="no luck")
    )
    with expected as caught:
        stopped.fit(X, y)
    assert not is_interrupt or caught[0].filename == __file__
    if at > 1 or is_interrupt:
        assert stopped.stop_reason_ == ("interrupted" if is_interrupt else "error")
        assert stopped.n_plays_ == at - 1
        assert_same_journal(path, stopped)
        won, lost = fold_counts(stopped.result_.journal, P, range(n_chains))
        assert_array_equal(stopped.selection_rates_, (1 + won) / (2 + won + lost))
    else:
        assert not hasattr(stopped, "support_")
    resumed = selector(Undisturbed(), journal=path, **settings).fit(X, y)
    assert_same(resumed, selector(Undisturbed(), **settings).fit(X, y))


@pytest.mark.parametrize("at", [0, 2, 6])
def test_an_iterator_that_fails_leaves_a_journal_that_can_be_continued(at, path):
    X, y = make_data()

    def failing():
        yield from parts(X, y, 200)[: at + 1]
        raise RuntimeError("the line is dead")

    stopped = selector(journal=path)
    with pytest.raises(RuntimeError, match="the line is dead"):
        stopped.fit_source(failing())
    assert stopped.n_plays_ == 2 * (at + 1)
    assert_same_journal(path, stopped)
    resumed = selector(journal=path).fit_source(iter(parts(X, y, 200)))
    assert_same(resumed, selector().fit(X, y))


OTHERS = {
    "outcome": dict(data=lambda X, y: (X, y + 1)),
    "table": dict(data=lambda X, y: (X + 1e-9, y)),
    "rows": dict(data=lambda X, y: (X[:-1], y[:-1])),
    "names": dict(data=lambda X, y: (pd.DataFrame(X, columns=NAMES), y)),
    "batches": dict(batch_size=50),
    "decoys": dict(decoys="knockoffs"),
    "discount": dict(discount=0.99),
    "family": dict(family="gaussian"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_journal_of_another_game_is_refused_and_left_untouched(case, path):
    X, y = make_data(n=300)
    selector(journal=path).fit(X, y)
    before = path.read_bytes()
    settings = dict(OTHERS[case])
    data = settings.pop("data", lambda X, y: (X, y))(X, y)
    with pytest.raises(JournalError, match="another data set or other settings"):
        selector(journal=path, **settings).fit(*data)
    with pytest.raises(JournalError, match="another data set or other settings"):
        selector(journal=path).partial_fit(X[:100], y[:100])
    assert path.read_bytes() == before
    assert selector(journal=path, n_rounds=2).fit(X, y).n_plays_ == 6


def test_parts_do_not_go_into_the_journal_of_a_fit(path):
    X, y = make_data()
    fitted = selector(journal=path).fit(X, y)
    with pytest.raises(ValueError, match="the journal of a fit"):
        fitted.partial_fit(X[:100], y[:100])
    assert_same_journal(path, fitted)
    fitted.set_params(search__journal=None).partial_fit(X[:100], y[:100])
    assert fitted.n_plays_ == N_BATCHES + 1
    again = selector(journal=path, n_rounds=2).fit(X, y)
    assert_same(again, selector(n_rounds=2).fit(X, y))
