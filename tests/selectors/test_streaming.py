"""The streaming selector as its users meet it: what it finds, tells and refuses, when it ends."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tests.decoyed import Marginal
from tests.selectors.runs import assert_same
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
    rare,
    selector,
)
from tvselect import BartReward, LassoReward
from tvselect.rewards import Data, Reward

both_rewards = pytest.mark.parametrize(
    "reward", [Marginal(alpha=0.01), quick_bart()], ids=["p", "bart"]
)


def test_without_decoys_there_is_no_evidence():
    fitted = selector().fit(*make_data())
    assert fitted.stop_reason_ == "rounds"
    assert fitted.decoy_rates_.shape == (0,)
    assert np.isnan([*fitted.e_values_, *fitted.q_values_, fitted.expected_false_]).all()
    assert (fitted.selected_since_ == -1).all()


def changed(change_X=lambda X: X, change_y=lambda y: y):
    def make():
        X, y = make_data()
        return change_X(X), change_y(y)

    return make


CASES = {
    "numbers": (make_data, {}),
    "short parts": (make_data, {"batch_size": 40}),
    "longer than the head": (make_data, {"batch_size": 1100}),
    "uneven": (make_data, {"batch_size": 110}),
    "missing": (changed(lambda X: np.where(np.isin(X, [0, 1]), np.nan, X)), {}),
    "single precision": (changed(lambda X: X.astype(np.float32)), {}),
    "whole numbers": (changed(lambda X: (8 * X).astype(int)), {}),
    "text": (make_frame, {}),
    "decoys": (make_data, {"decoys": "knockoffs"}),
    "decoys and text": (make_frame, {"decoys": "knockoffs", "n_chains": 2, "discount": 0.9}),
    "discount": (make_data, {"discount": 0.8}),
    "chains": (make_data, {"n_chains": 2, "n_jobs": 2}),
    "two labels": (changed(change_y=labels_of), {}),
    "one label per part": (
        changed(change_y=lambda y: np.where(np.arange(N) % 500 < 320, "a", "b")),
        {},
    ),
    "groups": (make_frame, {"feature_groups": {"g": ["v0", "city"]}, "always_include": ["v7"]}),
}


@both_rewards
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


@both_rewards
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
    for table in (X.tolist(), pd.DataFrame(X), pl.DataFrame(X, schema=NAMES)):
        assert_same(selector(reward).fit(table, list(y)), fitted)


def test_later_rounds_resample_and_the_first_is_in_order():
    X, y = make_data()
    seen = []

    def note(X, y, rng):
        seen.append(y.copy())
        return np.ones(X.shape[1])

    selector(note, n_rounds=3).fit(X, y)
    first, second, third = (np.concatenate(seen[k : k + 15]) for k in (0, 15, 30))
    assert_array_equal(first, y)
    assert not np.array_equal(second, third)
    # A bootstrap leaves out each of the distinct rows with probability 1/e.
    assert 0.6 < np.isin(np.unique(y), second).mean() < 1.0
    assert np.isin(second, y).all()


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        *(("csv", outcome) for outcome in ("numbers", "labels", "truth")),
        *(("parquet", outcome) for outcome in ("labels", "truth")),
        ("frame", "truth"),
        ("tables", "labels"),
    ],
)
def test_files_and_iterators_give_what_frames_give_by_any_number_of_threads(
    kind, outcome, tmp_path
):
    frame, y = make_frame()
    frame = frame.astype({"kind": object})
    y = {"numbers": y, "labels": labels_of(y), "truth": y > 0}[outcome]
    source, settings = SOURCES[kind](frame.assign(y=y), tmp_path), dict(decoys="knockoffs")
    wanted = selector(n_chains=2, **settings).fit(frame, y)
    for n_jobs in (1, 2):
        fitted = selector(n_chains=2, n_jobs=n_jobs, **settings).fit_source(source, "y")
        assert_same(fitted, wanted)
    assert_array_equal(fitted.feature_names_in_, list(frame))


class Watching(Reward):
    """Pays at random and keeps what it was shown."""

    rewards_stand_ins = False
    seen: list[Data] = []  # noqa: RUF012

    def start(self, data):
        self.seen.append(data)
        return lambda columns, rng: rng.integers(0, 2, columns.size).astype(float)


@pytest.mark.parametrize(("decoys", "n_candidates"), [(None, P), ("shuffled", 2 * P)])
def test_a_reward_sees_the_played_columns_of_the_batch_and_how_many_compete(decoys, n_candidates):
    X, y = make_data()
    Watching.seen.clear()
    plays = selector(Watching(), decoys=decoys).fit(X, y).result_.plays
    for play, data, (part, outcome) in zip(plays, Watching.seen, parts(X, y), strict=True):
        own = play.arms[play.arms < P]
        if decoys is None:
            assert_array_equal(data.X, part[:, own])
        assert data.X.shape[1] == play.arms.size
        assert data.n_candidates == n_candidates
        assert_array_equal(data.outcome.values, outcome)


def test_columns_of_a_file_may_be_chosen():
    frame = named(*make_data())
    fitted = selector().fit_source(frame, "y", columns=["v7", "v1"])
    assert_array_equal(fitted.feature_names_in_, ["v7", "v1"])
    assert_array_equal(fitted.get_feature_names_out(), ["v7"])


def test_a_progress_bar_shows_on_request_only(capsys):
    X, y = make_data()
    selector(n_chains=2).fit(X, y)
    assert capsys.readouterr().err == ""
    selector(n_chains=2, n_rounds=2, verbose=1).fit(X, y)
    assert "30/30" in capsys.readouterr().err


# Outcomes of two classes.


@pytest.mark.parametrize("make", [Marginal, quick_bart])
def test_parts_with_a_single_class_are_skipped_and_counted(make):
    X, y = rare()
    y[:50] = 0
    single = [np.unique(part).size == 1 for _, part in parts(X, y, 50)]
    assert 5 < sum(single) < 25
    with pytest.warns(RuntimeWarning, match=rf"{sum(single)} of 30 batches hold a single class"):
        fitted = selector(make(), batch_size=50).fit(X, y)
    assert fitted.result_.n_skipped == sum(single)
    assert [play.arms.size == 0 for play in fitted.result_.plays] == single
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
    assert not (decoys and fitted.support_.any())


@pytest.mark.parametrize("reward", [Marginal(alpha=1e-3), BartReward()], ids=["p", "bart"])
def test_rare_positives_still_find_the_signals(reward):
    X, y = rare(n=20_000, share=0.02)
    fitted = selector(reward, batch_size=1000).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_more_values_than_two_are_refused_by_name_and_part_unless_they_were_announced():
    X, y = make_data()
    labels = labels_of(y).astype(object)
    labels[777] = "maybe"
    with pytest.raises(ValueError, match=r"batch 7: y has the value 'maybe'.*say family='classes'"):
        selector().fit_source(iter(parts(X, labels)))
    announced = selector(family="classes").fit_source(iter(parts(X, labels)))
    assert set(SIGNALS) <= set(np.flatnonzero(announced.support_))
    assert set(SIGNALS) <= set(np.flatnonzero(selector().fit(X, labels).support_))
    with pytest.raises(ValueError, match="y has 3 classes"):
        selector(family="probit").fit(X, np.array([1, 2, 3] * 500))
    counts = np.where(np.arange(N) < 300, y > 0, y.round())
    with pytest.raises(ValueError, match=r"batch 3: .* say family='gaussian'"):
        selector().fit_source(iter(parts(X, counts)))
    fitted = selector(family="gaussian").fit_source(iter(parts(X, counts)))
    assert_same(fitted, selector().fit(X, counts))
    assert (fitted.n_plays_, fitted.result_.n_skipped) == (15, 0)


@pytest.mark.parametrize("outcome", [0, "a", 2.5, True])
@pytest.mark.parametrize("settings", [dict(n_rounds=2), dict(n_rounds=None, patience=5)])
def test_a_constant_outcome_selects_nothing_and_says_so(outcome, settings):
    X, _ = make_data()
    with pytest.warns(RuntimeWarning, match="every batch was skipped") as warned:
        fitted = selector(**settings).fit(X, np.full(N, outcome))
    assert warned[0].filename == __file__
    assert fitted.n_plays_ == fitted.result_.n_skipped == 30
    assert not fitted.support_.any()
    assert_array_equal(fitted.selection_rates_, np.full(P, 0.5))


def test_a_sorted_outcome_is_played_once_it_is_resampled():
    X, y = make_data()
    order = np.argsort(y > 0, kind="stable")
    fitted = selector(Marginal(0.01), n_rounds=6, batch_size=50).fit(X[order], y[order] > 0)
    assert 28 <= fitted.result_.n_skipped < 32
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


# When it ends.


def test_a_short_last_part_is_skipped():
    X, y = make_data(n=1209)
    fitted = selector(quick_bart()).fit(X, y)
    assert (fitted.n_plays_, fitted.result_.n_skipped) == (13, 1)
    assert fitted.result_.plays[-1].arms.size == 0
    rounds = selector(quick_bart(), n_rounds=2).fit(X, y)
    assert (rounds.n_plays_, rounds.result_.n_skipped) == (26, 2)


def test_patience_stops_a_steady_game_and_skipped_parts_do_not_count():
    X, y = make_data()
    fitted = selector(n_rounds=None, patience=6).fit(X, y)
    assert fitted.stop_reason_ == "patience"
    assert 6 < fitted.n_plays_ < 60
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    y = np.where(np.arange(N) < 1000, 1, y > 0)
    with pytest.warns(RuntimeWarning, match="10 of 1[0-9] batches"):
        fitted = selector(patience=4).fit(X, y)
    assert fitted.result_.n_skipped == 10 < fitted.n_plays_


def test_a_bare_iterator_is_read_once():
    X, y = make_data()
    assert_same(selector().fit_source(iter(parts(X, y, 33))), selector().fit(X, y))
    for settings in (dict(n_rounds=2), dict(n_rounds=None, patience=3)):
        with pytest.raises(ValueError, match="can be read only once: use n_rounds=1"):
            selector(**settings).fit_source(iter(parts(X, y)))
    assert selector(n_rounds=2).fit_source(lambda: iter(parts(X, y))).n_plays_ == 30


@pytest.mark.parametrize("decoys", [None, "shuffled"])
def test_rows_sorted_by_a_number_are_told_where_nothing_is_selected(decoys):
    X, y = make_data()
    order = np.argsort(y)
    with pytest.warns(RuntimeWarning, match=r"sorted by y, .* Shuffle the rows"):
        fitted = selector(Marginal(alpha=1e-9), decoys=decoys).fit(X[order], y[order])
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
    fitted = selector(Marginal(alpha=1e-9), **settings).fit(X[::-1], y)
    assert not fitted.support_.any()
    assert not [str(one.message) for one in recwarn if "sorted" in str(one.message)]


# What it refuses.

BAD_SETTINGS = {
    "no rows": (dict(batch_size=0), ValueError, "batch_size"),
    "half a row": (dict(batch_size=2.5), TypeError, "batch_size"),
    "few rows": (
        dict(reward=BartReward(min_leaf=8), batch_size=15),
        ValueError,
        "15 rows .* at least 16",
    ),
    "one row": (dict(batch_size=1), ValueError, "1 rows .* at least 2;.* batch_size="),
    "no round": (dict(n_rounds=0), ValueError, "n_rounds"),
    "half a round": (dict(n_rounds=0.5), TypeError, "n_rounds"),
    "for ever": (dict(n_rounds=None), ValueError, "patience or time_limit"),
    "discount 0": (dict(discount=0.0), ValueError, "discount"),
    "discount above 1": (dict(discount=1.01), ValueError, "discount"),
    "nan discount": (dict(discount=float("nan")), ValueError, "discount"),
    "text discount": (dict(discount="none"), TypeError, "discount"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_refused_by_name(case):
    settings, error, match = BAD_SETTINGS[case]
    with pytest.raises(error, match=match):
        selector(**settings).fit(*make_data())
    if "batch_size" not in settings:
        with pytest.raises(error, match=match):
            selector(**settings).partial_fit(*make_data())


# Columns that change, and some that begin to vary after the rows by which others are cut.


def changing(n=6000, p=20, seed=0):
    """The role of the first column ends halfway, that of the second begins."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.where(np.arange(n) < n // 2, X[:, 0], X[:, 1]) + rng.standard_normal(n)


@pytest.mark.parametrize(
    ("reward", "size", "n_seeds"),
    [(Marginal(alpha=1e-3), 100, 4), (BartReward(), 200, 1)],
    ids=["p", "bart"],
)
@pytest.mark.parametrize("discount", [0.8, 0.9])
def test_with_a_discount_a_role_that_ends_is_dropped_and_a_new_one_found(
    discount, reward, size, n_seeds
):
    errors = []
    for seed in range(n_seeds):
        X, y = changing(seed=seed)
        fitted = selector(reward, batch_size=size, discount=discount, random_state=seed)
        half = clone(fitted).fit(X[:3000], y[:3000])
        errors.append((half.support_ != (np.arange(20) == 0)).sum())
        fitted.fit(X, y)
        errors.append((fitted.support_ != (np.arange(20) == 1)).sum())
    assert np.mean(errors) <= 0.5, errors


def test_without_a_discount_a_role_that_ends_is_remembered():
    assert selector().fit(*changing()).support_[0]
    assert_same(selector(discount=1).fit(*make_data()), selector().fit(*make_data()))


@both_rewards
def test_values_outside_the_range_of_the_head_fall_into_the_end_bins(reward):
    X, y = make_data(n=2000)
    X[1500:, 0], X[1500:, 3] = 1e300, np.sign(X[1500:, 3]) * 1e9
    fitted = selector(reward).fit(X, y)
    assert fitted.n_plays_ == 20
    assert fitted.support_[3]


@pytest.mark.parametrize(
    "reward", [Marginal(alpha=0.01), quick_bart(), LassoReward()], ids=["p", "bart", "lasso"]
)
def test_new_categories_count_as_missing_or_other(reward):
    frame, y = make_frame(n=2000)
    frame = frame[["v7", "city"]].fillna({"city": "Bern"})
    frame.loc[1500:, "city"] = "Genf"
    frame.loc[1300:1399:2, "city"] = "Zug"
    fitted = selector(reward).fit(frame, y)
    assert fitted.n_plays_ == 20
    assert fitted.support_[0]


@both_rewards
@pytest.mark.parametrize("rows", [slice(None), slice(0, 1000), slice(1000, 1200)])
@pytest.mark.parametrize("name", ["v3", "city"])
def test_columns_may_be_missing_for_a_while(name, rows, reward):
    frame, y = make_frame(n=2000)
    frame.loc[frame.index[rows], name] = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = selector(reward).fit(frame, y)
    told = [str(warning.message) for warning in caught]
    is_empty_text = name == "city" and rows.start != 1000
    assert len(told) == is_empty_text
    if is_empty_text:
        assert "without a value in the first 1000 rows of the stream: 'city'" in told[0]
    assert fitted.n_plays_ == 20
    if is_empty_text or rows == slice(None):
        assert not fitted.support_[list(frame).index(name)]
    assert fitted.support_[7]


def test_rewards_that_take_no_missing_values_say_so():
    X, y = make_data()
    X[1234] = np.nan
    with pytest.raises(ValueError, match=r"NaN, which the reward cannot take, in column 'x"):
        selector(LassoReward()).fit(X, y)


@pytest.mark.parametrize(
    "reward", [Marginal(alpha=0.01), quick_bart(), LassoReward()], ids=["p", "bart", "lasso"]
)
@pytest.mark.parametrize("max_fdr", [None, 0.1])
def test_constant_columns_are_not_selected(reward, max_fdr):
    X, y = make_data()
    X[:, 0] = 7.0
    X[:1200, 1] = -1.0
    fitted = selector(reward, max_fdr=max_fdr).fit(X, y)
    assert not fitted.support_[:2].any()
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))


def late_data():
    X, y = make_data(n=3500)
    X[:1000, [3, 5]] = 0.0
    return X, y


@pytest.mark.parametrize("decoys", [None, "knockoffs", "shuffled"])
def test_columns_that_begin_to_vary_are_found(decoys):
    X, y = late_data()
    kind = np.random.default_rng(5).choice(["p", "q"], 3500)
    kind[:1000] = "p"
    frame = pd.DataFrame(X, columns=NAMES).assign(kind=kind)
    fitted = selector(quick_bart(), decoys=decoys).fit(frame, y + 9.0 * (kind == "q"))
    assert fitted.support_[[*SIGNALS, P]].all()
    assert np.count_nonzero(fitted.support_) <= 4


def test_columns_that_begin_to_vary_by_parts_by_threads_and_after_a_stop(tmp_path):
    X, y = late_data()
    settings = {"decoys": "knockoffs", "n_chains": 2}
    once = selector(quick_bart(), **settings).fit(X, y)
    assert_same(once, selector(quick_bart(), n_jobs=2, **settings).fit(X, y))
    settings["journal"] = tmp_path / "run.tvs"
    by_parts = parts(X, y)
    play_parts(selector(quick_bart(), **settings), by_parts[:15])
    assert_same(once, play_parts(selector(quick_bart(), **settings), by_parts[15:]))
