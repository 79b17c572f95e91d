"""The streaming selector as its users meet it: what it finds and what it tells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tests.bandit.plays import fold_counts
from tests.nested import nested
from tests.selectors.runs import assert_same, plays_of
from tests.selectors.streams import (
    NAMES,
    SIGNALS,
    SIZE,
    SOURCES,
    N,
    P,
    labels_of,
    make_data,
    make_frame,
    named,
    parts,
    play_parts,
    quick_bart,
    selector,
)
from tvselect import BartReward, LassoReward, PValueReward, StreamingThompsonSelector


@pytest.mark.parametrize(
    "reward", [PValueReward(alpha=1e-3), quick_bart(), LassoReward()], ids=["p", "bart", "lasso"]
)
def test_a_selection_makes_half_an_error_at_most_on_average(reward):
    truth = np.isin(np.arange(P), SIGNALS)
    errors = []
    for seed in range(5):
        X, y = make_data(seed=seed)
        fitted = selector(reward, n_rounds=2, random_state=seed).fit(X, y)
        errors.append((fitted.support_ != truth).sum())
    assert np.mean(errors) <= 0.5, errors


def test_fitted_attributes_fit_together():
    X, y = make_data()
    fitted = selector(n_chains=3).fit(X, y)
    assert fitted.support_.shape == fitted.selection_rates_.shape == (P,)
    assert fitted.selection_rate_intervals_.shape == (P, 2)
    assert fitted.chain_supports_.shape == (3, P)
    assert fitted.n_plays_ == N // SIZE
    assert fitted.n_features_in_ == P
    assert fitted.stop_reason_ == "rounds"
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.decoy_rates_.shape == (0,)
    assert np.isnan(fitted.e_values_).all()
    assert np.isnan(fitted.q_values_).all()
    assert np.isnan(fitted.expected_false_)
    assert (fitted.selected_since_ == -1).all()
    successes, failures = fold_counts(fitted.history_.journal, P, range(3))
    share = (1 + successes) / (2 + successes + failures)
    assert_array_equal(fitted.selection_rates_, share)
    assert_array_equal(fitted.support_, (successes + failures > 0) & (share > 0.5))
    assert_array_equal(fitted.threshold_, np.full(P, 0.5))
    low, high = fitted.selection_rate_intervals_.T
    assert ((low < share) & (share < high)).all()


CASES = {
    "numbers": (make_data, {}),
    "short parts": (make_data, {"batch_size": 40}),
    "longer than the head": (make_data, {"batch_size": 1100}),
    "uneven": (make_data, {"batch_size": 110}),
    "missing": (lambda: (np.where(np.isin(make_data()[0], [0, 1]), np.nan, make_data()[0]),
                         make_data()[1]), {}),
    "single precision": (lambda: (make_data()[0].astype(np.float32), make_data()[1]), {}),
    "whole numbers": (lambda: ((8 * make_data()[0]).astype(int), make_data()[1]), {}),
    "text": (make_frame, {}),
    "decoys": (make_data, {"decoys": "knockoffs"}),
    "decoys and text": (make_frame, {"decoys": "knockoffs", "n_chains": 2, "discount": 0.9}),
    "discount": (make_data, {"discount": 0.8}),
    "chains": (make_data, {"n_chains": 2, "n_jobs": 2}),
    "two labels": (lambda: (make_data()[0], labels_of(make_data()[1])), {}),
    "one label per part": (lambda: (make_data()[0], np.where(np.arange(N) % 500 < 320, "a", "b")),
                           {}),
    "groups": (make_frame, {"feature_groups": {"g": ["v0", "city"]}, "always_include": ["v7"]}),
}  # fmt: skip


@pytest.mark.parametrize("reward", [PValueReward(alpha=0.01), quick_bart()], ids=["p", "bart"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:.* batches hold a single class")
def test_playing_part_by_part_is_playing_the_whole(case, reward):
    make, settings = CASES[case]
    X, y = make()
    size = settings.get("batch_size", SIZE)
    whole = selector(reward, **settings).fit(X, y)
    by_parts = play_parts(selector(reward, **{**settings, "n_jobs": 1}), parts(X, y, size))
    assert_same(whole, by_parts)
    assert whole.n_plays_ == -(-N // size)
    assert by_parts.stop_reason_ == "batches"
    assert_array_equal(whole.decoy_rates_, by_parts.decoy_rates_)


@pytest.mark.parametrize("reward", [PValueReward(alpha=0.01), quick_bart()], ids=["p", "bart"])
def test_every_kind_of_frame_gives_the_same_result(reward):
    frame, y = make_frame()
    fitted = selector(reward).fit(frame, y)
    assert "city" in fitted.get_feature_names_out()
    other = pl.from_pandas(frame)
    assert_same(fitted, selector(reward).fit(other, pl.Series(y)))
    assert_same(fitted, play_parts(selector(reward), parts(other, y)))
    assert_same(fitted, selector(reward).fit_source(other.with_columns(y=y), target="y"))
    X, y = make_data()
    fitted = selector(reward).fit(X, y)
    for table in (np.asfortranarray(X), X.tolist(), pd.DataFrame(X), pd.DataFrame(X, columns=NAMES),
                  pl.DataFrame(X, schema=NAMES)):  # fmt: skip
        assert_same(selector(reward).fit(table, list(y)), fitted)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("outcome", ["numbers", "labels", "truth"])
def test_files_and_iterators_give_what_arrays_give(kind, outcome, tmp_path):
    X, y = make_data()
    y = {"numbers": y, "labels": labels_of(y), "truth": y > 0}[outcome]
    source = SOURCES[kind](named(X, y), tmp_path)
    fitted = selector(quick_bart()).fit_source(source, target="y")
    assert_same(fitted, selector(quick_bart()).fit(pd.DataFrame(X, columns=NAMES), y))
    assert_array_equal(fitted.feature_names_in_, NAMES)


@pytest.mark.parametrize("kind", SOURCES)
def test_text_and_missing_values_of_files_are_those_of_frames(kind, tmp_path):
    frame, y = make_frame()
    frame = frame.astype({"kind": object})
    source = SOURCES[kind](frame.assign(y=y), tmp_path)
    settings = dict(decoys="knockoffs", n_chains=2)
    assert_same(
        selector(**settings).fit_source(source, target="y"), selector(**settings).fit(frame, y)
    )


@pytest.mark.parametrize("kind", SOURCES)
def test_the_number_of_threads_changes_nothing(kind, tmp_path):
    frame, y = make_frame()
    source = SOURCES[kind](frame.assign(y=y), tmp_path)
    settings = dict(n_chains=3, decoys="knockoffs")
    one, two = (
        selector(quick_bart(), n_jobs=n, **settings).fit_source(source, target="y") for n in (1, 2)
    )
    assert_same(one, two)


def test_columns_to_choose_from():
    X, y = make_data()
    fitted = selector().fit_source(named(X, y), "y", columns=["v7", "v1"])
    assert_array_equal(fitted.feature_names_in_, ["v7", "v1"])
    assert_array_equal(fitted.get_feature_names_out(), ["v7"])


def test_the_first_chain_does_not_depend_on_how_many_there_are():
    X, y = make_data()
    one, three = (selector(n_chains=n, n_rounds=2).fit(X, y) for n in (1, 3))
    assert plays_of(one) == [play for play in plays_of(three) if play[0] == 0]


def test_later_rounds_resample_and_the_first_is_in_order():
    X, y = make_data()
    seen = []

    def note(X, y, rng):
        seen.append(y.copy())
        return np.ones(X.shape[1])

    selector(note, n_rounds=3).fit(X, y)
    assert len(seen) == 45
    assert_array_equal(np.concatenate(seen[:15]), y)
    second, third = np.concatenate(seen[15:30]), np.concatenate(seen[30:])
    assert not np.array_equal(second, third)
    # A bootstrap leaves out each of the distinct rows with probability 1/e.
    share = np.isin(np.unique(y), second).mean()
    assert 0.6 < share < 1.0
    assert np.isin(second, y).all()


def test_a_reward_sees_the_played_columns_of_the_batch():
    X, y = make_data()
    seen = []

    def note(X, y, rng):
        seen.append((X.copy(), y.copy()))
        return rng.random(X.shape[1])

    fitted = selector(note).fit(X, y)
    for play, (part, outcome), (X_part, y_part) in zip(
        fitted.history_.plays, seen, parts(X, y), strict=True
    ):
        assert_array_equal(part, X_part[:, play.arms])
        assert_array_equal(outcome, y_part)


def test_names_and_tables_come_out_after_reading_a_file(tmp_path):
    X, y = make_data()
    frame = named(X, y)
    fitted = selector().fit_source(SOURCES["parquet"](frame, tmp_path), target="y")
    assert_array_equal(fitted.get_feature_names_out(), ["v3", "v7"])
    assert_array_equal(fitted.get_support(indices=True), SIGNALS)
    found = fitted.set_output(transform="pandas").transform(frame[NAMES])
    assert list(found.columns) == ["v3", "v7"]
    assert_array_equal(found.to_numpy(), X[:, SIGNALS])
    found = fitted.set_output(transform="polars").transform(pl.from_pandas(frame[NAMES]))
    assert found.columns == ["v3", "v7"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame[NAMES[::-1]])


def test_a_clone_has_the_settings_and_nothing_else():
    X, y = make_data()
    original = selector(decoys="knockoffs", discount=0.9).partial_fit(X[:100], y[:100])
    copy = clone(original)
    assert not hasattr(copy, "support_")
    assert not hasattr(copy, "_reader")
    assert copy.get_params()["discount"] == 0.9
    assert_same(copy.partial_fit(X[:100], y[:100]), original)


def test_the_data_stay_as_they_are():
    X, y = make_data()
    X.flags.writeable = y.flags.writeable = False
    for reward in (PValueReward(), quick_bart(), LassoReward()):
        selector(reward, decoys="knockoffs").fit(X, y)


def test_random_states_of_all_kinds():
    X, y = make_data()
    fits = [
        selector(PValueReward(0.2), random_state=make(5)).fit(X, y).selection_rates_
        for make in (int, np.random.SeedSequence, np.random.default_rng, np.random.RandomState)
        for _ in range(2)
    ]
    for one, same in zip(fits[::2], fits[1::2], strict=True):
        assert_array_equal(one, same)
    free = [
        selector(PValueReward(0.2), random_state=None).fit(X, y).selection_rates_ for _ in range(2)
    ]
    assert not np.array_equal(*free)


def test_a_progress_bar_shows_on_request_only(capsys):
    X, y = make_data()
    selector(n_chains=2).fit(X, y)
    assert capsys.readouterr().err == ""
    selector(n_chains=2, n_rounds=2, verbose=1).fit(X, y)
    assert "30/30" in capsys.readouterr().err


def test_the_default_reward_is_bart():
    assert StreamingThompsonSelector().reward is None
    X, y = make_data(n=400)
    settings = dict(batch_size=40, random_state=0)
    one = StreamingThompsonSelector(**nested(**settings)).fit(X, y)
    two = StreamingThompsonSelector(BartReward(), **nested(**settings)).fit(X, y)
    assert_same(one, two)
