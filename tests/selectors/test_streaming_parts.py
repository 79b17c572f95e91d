"""Streams part by part: good parts, bad parts, and going on after storage."""

from __future__ import annotations

import pickle
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.selectors.runs import Interrupted, Undisturbed, assert_same, plays_of
from tests.selectors.streams import (
    make_data,
    make_frame,
    parts,
    play_parts,
    quick_bart,
    selector,
)


def test_parts_may_have_any_size():
    X, y = make_data()
    edges = [0, 5, 300, 301 + 4, 1400, 1500]
    fitted = selector()
    for first, last in pairwise(edges):
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


FRAME, OUTCOME = make_frame(n=1200)
FRAME = FRAME[["v0", "v3", "v7", "city", "old"]]


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
    "dates": (put("v3", pd.Timestamp(0)), TypeError, "'v3'"),
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
        if name.endswith("_") and name != "history_"
    }


@pytest.fixture(scope="module")
def undisturbed():
    return selector(n_chains=2, decoys="knockoffs").fit(FRAME, OUTCOME)


@pytest.mark.parametrize(
    ("at", "journaled"), [(3, False), (11, False), (3, True)], ids=["head", "later", "journal"]
)
def test_bad_parts_leave_the_selector_as_it_was(at, journaled, undisturbed, tmp_path):
    good = parts(FRAME, OUTCOME)
    fitted = selector(n_chains=2, decoys="knockoffs")
    if journaled:
        fitted.set_params(search__journal=tmp_path / "run.journal")
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
def test_a_bad_first_part_leaves_the_selector_unfitted(case, journaled, tmp_path):
    make, error, match = BAD_PARTS[case]
    fitted = selector(journal=tmp_path / "run.journal" if journaled else None)
    with pytest.raises(error, match=match):
        fitted.partial_fit(*make(0, 100))
    with pytest.raises(NotFittedError):
        fitted.transform(FRAME)
    play_parts(fitted, parts(FRAME, OUTCOME))
    assert_same(fitted, selector().fit(FRAME, OUTCOME))
    if not journaled:
        X, y = make_data()
        other = selector()
        with pytest.raises(error, match=match):
            other.partial_fit(*make(0, 100))
        assert_same(play_parts(other, parts(X, y)), selector().fit(X, y))


@pytest.mark.parametrize("by", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [5, 24])
def test_a_reward_that_fails_leaves_the_selector_as_it_was(at, by):
    X, y = make_data()
    fitted = selector(Interrupted(at=at, by=by), n_chains=2)
    n_failed = 0
    for part in parts(X, y):
        try:
            fitted.partial_fit(*part)
        except by:
            n_failed += 1
            fitted.partial_fit(*part)
    assert n_failed == 1
    assert_same(fitted, selector(Undisturbed(), n_chains=2).fit(X, y))


def test_a_part_that_fails_does_not_settle_the_classes():
    X, y = make_data()
    fitted = selector(Interrupted(at=1, by=RuntimeError))
    with pytest.raises(RuntimeError, match="no luck"):
        fitted.partial_fit(X[:100], np.array(["a", "b"] * 50))
    play_parts(fitted, parts(X, y))
    assert_same(fitted, selector(Undisturbed()).fit(X, y))


def test_arrays_with_another_number_of_columns_are_refused():
    X, y = make_data()
    fitted = selector().partial_fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"X has 11 features, but .* expecting 12"):
        fitted.partial_fit(X[100:200, 1:], y[100:200])
    play_parts(fitted, parts(X[100:], y[100:]))
    assert_same(fitted, selector().fit(X, y))


@pytest.mark.parametrize(("way", "n_before"), [("pickle", 3), ("pickle", 11), ("joblib", 3)])
def test_a_selector_goes_on_after_storage(way, n_before, undisturbed, tmp_path):
    good = parts(FRAME, OUTCOME)
    fitted = play_parts(selector(n_chains=2, decoys="knockoffs"), good[:n_before])
    if way == "pickle":
        loaded = pickle.loads(pickle.dumps(fitted))
    else:
        joblib.dump(fitted, tmp_path / "fitted.joblib")
        loaded = joblib.load(tmp_path / "fitted.joblib")
    assert_same(loaded, fitted)
    for one in (fitted, loaded):
        assert_same(play_parts(one, good[n_before:]), undisturbed)
