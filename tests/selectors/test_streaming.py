"""The streaming selector as its users meet it: what it finds, what it tells, what it refuses."""

from __future__ import annotations

import pickle
import warnings
from itertools import count, pairwise
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.bandit.journal.plays import fold_counts
from tests.selectors.runs import Interrupted, Undisturbed, assert_same, plays_of
from tests.selectors.streams import (
    NAMES,
    SIGNALS,
    SIZE,
    SOURCES,
    N,
    P,
    make_data,
    make_frame,
    named,
    parts,
    play_parts,
    selector,
)
from tvselect import BartReward, LassoReward, PValueReward, StreamingThompsonSelector
from tvselect.bandit.oracle import threshold
from tvselect.selectors import passes
from tvselect.sources import SourceError


def quick_bart():
    return BartReward(n_trees=10, n_iterations=50, kappa=0.0, penalty=0.0, shadows=0)


def labels_of(y):
    return np.where(y > 0, "yes", "no")


def rare(n=N, share=0.02, seed=3):
    """A table, and an outcome with few of the second class."""
    X, y = make_data(n, seed=seed)
    return X, (y > np.quantile(y, 1 - share)).astype(int)


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
    assert fitted.support_.shape == fitted.inclusion_probabilities_.shape == (P,)
    assert fitted.inclusion_intervals_.shape == (P, 2)
    assert fitted.chain_supports_.shape == (3, P)
    assert fitted.n_plays_ == N // SIZE
    assert fitted.n_features_in_ == P
    assert fitted.stop_reason_ == "the stream has ended after 1 round(s)"
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.decoy_probabilities_.shape == (0,)
    assert fitted.n_decoys_selected_ == 0
    assert np.isnan(fitted.false_discovery_share_)
    successes, failures = fold_counts(fitted.history_.journal, P, range(3))
    share = (1 + successes) / (2 + successes + failures)
    assert_array_equal(fitted.inclusion_probabilities_, share)
    assert_array_equal(fitted.support_, (successes + failures > 0) & (share > 0.5))
    assert_array_equal(fitted.threshold_, np.full(P, 0.5))
    low, high = fitted.inclusion_intervals_.T
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
    "groups": (make_frame, {"groups": {"g": ["v0", "city"]}, "always_include": ["v7"]}),
}  # fmt: skip


@pytest.mark.parametrize("reward", [PValueReward(alpha=0.01), quick_bart()], ids=["p", "bart"])
@pytest.mark.parametrize("case", CASES)
def test_playing_part_by_part_is_playing_the_whole(case, reward):
    make, settings = CASES[case]
    X, y = make()
    size = settings.get("batch_size", SIZE)
    whole = selector(reward, **settings).fit(X, y)
    by_parts = play_parts(selector(reward, **{**settings, "n_jobs": 1}), parts(X, y, size))
    assert_same(whole, by_parts)
    assert whole.n_plays_ == -(-N // size)
    assert by_parts.stop_reason_ == "every batch handed in is played"
    assert_array_equal(whole.decoy_probabilities_, by_parts.decoy_probabilities_)


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


# Two classes


@pytest.mark.parametrize("make", [PValueReward, quick_bart])
def test_parts_with_a_single_class_are_skipped_and_counted(make):
    X, y = rare()
    single = [np.unique(part).size == 1 for _, part in parts(X, y, 50)]
    assert 5 < sum(single) < 25
    y[:50] = 0
    single[0] = True
    fitted = selector(make(), batch_size=50).fit(X, y)
    assert fitted.history_.n_skipped == sum(single)
    assert fitted.n_plays_ == len(single)
    assert [play.arms.size == 0 for play in fitted.history_.plays] == single
    assert_same(fitted, play_parts(selector(make()), parts(X, y, 50)))
    assert_same(fitted, selector(make(), batch_size=50).fit(X, np.where(y, "t", "f")))


@pytest.mark.parametrize("reward", [PValueReward(alpha=1e-3), BartReward()], ids=["p", "bart"])
def test_rare_positives_still_find_the_signals(reward):
    X, y = rare(n=20_000, share=0.02)
    fitted = selector(reward, batch_size=1000).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_skipped_parts_do_not_count_for_patience():
    X, y = make_data()
    y = np.where(np.arange(N) < 1000, 1, y > 0)
    fitted = selector(patience=4).fit(X, y)
    assert fitted.history_.n_skipped == 10
    assert fitted.n_plays_ > 10


def test_a_third_class_is_refused_by_name_and_part():
    X, y = make_data()
    y = labels_of(y).astype(object)
    y[777] = "maybe"
    with pytest.raises(ValueError, match=r"batch 7: y has the value 'maybe'.*'no', 'yes'"):
        selector().fit_source(iter(parts(X, y)))
    with pytest.raises(TypeError, match="y holds text or mixed values with 3"):
        selector().fit(X, y)
    with pytest.raises(TypeError, match="batch 0: y holds text or mixed values with 3"):
        selector().partial_fit(X, y)
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
    assert_array_equal(fitted.inclusion_probabilities_, np.full(P, 0.5))


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


# Decoys


def test_decoys_are_one_per_numeric_column_and_never_selected():
    frame, y = make_frame()
    settings = dict(decoys="knockoffs", always_include=["v0"], groups={"g": ["v1", "v2"]})
    fitted = selector(PValueReward(alpha=0.9), n_chains=2, **settings).fit(frame, y)
    assert_array_equal(fitted.history_.decoy_of, [*range(1, P), P + 1])
    assert fitted.decoy_probabilities_.shape == (P,)
    assert fitted.support_.shape == fitted.inclusion_probabilities_.shape == (P + 3,)
    assert fitted.n_decoys_selected_ >= 10
    n_arms = fitted.history_.arm_of_feature.max() + 1
    assert n_arms == P + 3 - 2
    assert fitted.history_.journal.header.n_arms == n_arms + P
    assert max(play.arms.max() for play in fitted.history_.plays) >= n_arms
    successes, failures = fold_counts(fitted.history_.journal, n_arms + P, range(2))
    share = (1 + successes) / (2 + successes + failures)
    assert_array_equal(fitted.decoy_probabilities_, share[n_arms:])
    passed = share[n_arms:] > 0.5
    assert fitted.n_decoys_selected_ == (passed & (successes + failures > 0)[n_arms:]).sum()
    n_selected = fitted.support_[fitted.history_.decoy_of].sum()
    assert fitted.false_discovery_share_ == min(1.0, fitted.n_decoys_selected_ / n_selected)
    path = fitted.history_.decoy_trajectories()
    assert path.shape == (16, P)


def test_decoys_do_not_come_through_where_signals_do():
    X, y = make_data()
    fitted = selector(decoys="knockoffs", n_rounds=2).fit(X, y)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert fitted.n_decoys_selected_ == 0
    assert fitted.false_discovery_share_ == 0.0


def test_decoys_have_the_cost_and_the_prior_of_their_columns():
    X, y = make_data()
    cost, b = np.full(P, 0.6), np.ones(P)
    cost[2], b[5] = 0.05, 50.0
    fitted = selector(decoys="knockoffs", cost=cost, prior=(1.0, b)).fit(X, y)
    arms = fitted._stream.chains[0].arms
    assert_array_equal(arms.threshold, np.tile(threshold(cost), 2))
    assert_array_equal(arms.prior_b, np.tile(b, 2))
    assert_array_equal(fitted.threshold_, threshold(cost))
    assert_array_equal(fitted.history_.decoy_trajectories()[0], 1 / (1 + b))


def test_a_table_of_text_alone_has_no_decoys():
    frame, y = make_frame()
    fitted = selector(decoys="knockoffs").fit(frame[["city", "kind"]], y)
    assert fitted.decoy_probabilities_.size == fitted.n_decoys_selected_ == 0
    assert_array_equal(fitted.get_feature_names_out(), ["city"])


def test_the_known_size_counts_variables_not_decoys():
    X, y = make_data()
    fitted = selector(decoys="knockoffs", n_features_to_select=2, n_rounds=4).fit(X, y)
    assert max(play.arms.size for play in fitted.history_.plays) <= 2
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)


def test_decoys_of_noise_are_paid_like_the_noise():
    """Without signals a column and its knockoff are exchangeable: equal chances of a payoff.

    Each play pays an arm with the same probability q, so that the two shares of payoffs differ
    by a normal number of variance q (1 - q) (1/n + 1/m); columns of one batch share their y
    and correlate a little, hence 4 standard errors and not 2.
    """
    rng = np.random.default_rng(5)
    p = 20
    X = rng.standard_normal((20_000, p)) + rng.standard_normal((20_000, 1))
    y = rng.standard_normal(20_000)
    fitted = selector(PValueReward(alpha=0.3), decoys="knockoffs").fit(X, y)
    successes, failures = fold_counts(fitted.history_.journal, 2 * p)
    n = np.array([(successes + failures)[:p].sum(), (successes + failures)[p:].sum()])
    paid = np.array([successes[:p].sum(), successes[p:].sum()])
    assert n.min() > 200
    q = paid.sum() / n.sum()
    z = np.diff(paid / n)[0] / np.sqrt(q * (1 - q) * (1 / n).sum())
    assert abs(z) < 4


# Drift


def changing(n=6000, p=20, seed=0):
    """The role of the first column ends halfway, that of the second begins."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.where(np.arange(n) < n // 2, X[:, 0], X[:, 1]) + rng.standard_normal(n)


@pytest.mark.parametrize(
    ("reward", "size"),
    [(PValueReward(alpha=1e-3), 100), (BartReward(), 200)],
    ids=["p", "bart"],
)
@pytest.mark.parametrize("discount", [0.8, 0.9])
def test_with_a_discount_a_role_that_ends_is_dropped_and_a_new_one_found(discount, reward, size):
    errors = []
    for seed in range(1 if isinstance(reward, BartReward) else 4):
        X, y = changing(seed=seed)
        fitted = selector(reward, batch_size=size, discount=discount, random_state=seed)
        half = clone(fitted).fit(X[:3000], y[:3000])
        errors.append((half.support_ != (np.arange(20) == 0)).sum())
        fitted.fit(X, y)
        errors.append((fitted.support_ != (np.arange(20) == 1)).sum())
    assert np.mean(errors) <= 0.5, errors


def test_without_a_discount_a_role_that_ends_is_remembered():
    X, y = changing()
    fitted = selector().fit(X, y)
    assert fitted.support_[0]


def test_trajectories_are_the_fold_of_the_plays():
    X, y = changing(n=3000)
    fitted = selector(discount=0.85, prior=(2.0, 1.0), decoys="knockoffs").fit(X, y)
    a, b = np.zeros((2, 40))
    wanted = [np.full(40, 2 / 3)]
    for play in fitted.history_.plays:
        a[play.arms] = 0.85 * a[play.arms] + play.rewards
        b[play.arms] = 0.85 * b[play.arms] + ~play.rewards
        wanted.append((2 + a) / (3 + a + b))
    path = fitted.history_.trajectories(range(20))
    assert_allclose(path, np.array(wanted)[:, :20], rtol=1e-12)
    assert_allclose(fitted.history_.decoy_trajectories(), np.array(wanted)[:, 20:], rtol=1e-12)
    assert_allclose(path[-1], fitted.inclusion_probabilities_, rtol=1e-12)
    assert_allclose(wanted[-1][20:], fitted.decoy_probabilities_, rtol=1e-12)


def test_a_discount_of_one_forgets_nothing():
    X, y = make_data()
    assert_same(selector(discount=1).fit(X, y), selector().fit(X, y))
    assert_same(selector(discount=1.0).fit(X, y), selector().fit(X, y))


# What the head of the stream did not see


@pytest.mark.parametrize("reward", [PValueReward(alpha=0.01), quick_bart()], ids=["p", "bart"])
def test_values_outside_the_range_of_the_head_fall_into_the_end_bins(reward):
    X, y = make_data(n=2000)
    X[1500:, 0], X[1500:, 3] = 1e300, np.sign(X[1500:, 3]) * 1e9
    fitted = selector(reward).fit(X, y)
    assert fitted.n_plays_ == 20
    assert fitted.support_[3]


@pytest.mark.parametrize(
    "reward", [PValueReward(alpha=0.01), quick_bart(), LassoReward()], ids=["p", "bart", "lasso"]
)
def test_new_categories_count_as_missing_or_other(reward):
    frame, y = make_frame(n=2000)
    frame = frame[["v7", "city"]].fillna({"city": "Bern"})
    frame.loc[1500:, "city"] = "Genf"
    frame.loc[1300:1399:2, "city"] = "Zug"
    fitted = selector(reward).fit(frame, y)
    assert fitted.n_plays_ == 20
    assert fitted.support_[0]


@pytest.mark.parametrize("reward", [PValueReward(alpha=0.01), quick_bart()], ids=["p", "bart"])
@pytest.mark.parametrize("rows", [slice(None), slice(0, 1000), slice(1000, 1200)])
@pytest.mark.parametrize("name", ["v3", "city"])
def test_columns_may_be_missing_for_a_while(name, rows, reward):
    frame, y = make_frame(n=2000)
    frame.loc[frame.index[rows], name] = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = selector(reward).fit(frame, y)
    told = [str(warning.message) for warning in caught]
    if rows.start == 1000:
        assert told == []
    else:
        assert len(told) == 1
        assert f"column {name!r} has no value in the first 1000 rows" in told[0]
    assert fitted.n_plays_ == 20
    place = list(frame).index(name)
    if rows == slice(None) or (rows.start == 0 and isinstance(reward, BartReward)):
        assert not fitted.support_[place]
    assert fitted.support_[7]


def test_rewards_that_take_no_missing_values_say_so():
    X, y = make_data()
    X[1234] = np.nan
    with pytest.raises(ValueError, match=r"NaN, which the reward cannot take, in column 'x"):
        selector(LassoReward()).fit(X, y)


@pytest.mark.parametrize(
    "reward", [PValueReward(alpha=0.01), quick_bart(), LassoReward()], ids=["p", "bart", "lasso"]
)
@pytest.mark.parametrize("decoys", [None, "knockoffs"])
def test_constant_columns_are_not_selected(reward, decoys):
    X, y = make_data()
    X[:, 0] = 7.0
    X[:1200, 1] = -1.0
    fitted = selector(reward, decoys=decoys).fit(X, y)
    assert not fitted.support_[:2].any()
    assert set(SIGNALS) <= set(np.flatnonzero(fitted.support_))


# When it ends


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
    assert fitted.stop_reason_ == "the model has not changed for 6 plays"
    assert 6 < fitted.n_plays_ < 60
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    fitted = selector(n_rounds=2, patience=1000).fit(X, y)
    assert fitted.stop_reason_ == "the stream has ended after 2 round(s)"
    assert fitted.n_plays_ == 30


def stop_after(monkeypatch, n_batches):
    """A time limit that is reached after some batches."""
    ticks = count()
    monkeypatch.setattr(passes, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    return n_batches + 0.5


@pytest.mark.parametrize("n", [1, 4, 22])
def test_the_time_limit_stops_between_plays(n, monkeypatch):
    X, y = make_data()
    limit = stop_after(monkeypatch, n)
    fitted = selector(n_rounds=None, time_limit=limit).fit(X, y)
    assert fitted.stop_reason_ == f"the time limit of {n}.5 s is reached"
    assert fitted.n_plays_ == n
    assert plays_of(fitted) == plays_of(selector(n_rounds=2).fit(X, y))[:n]


def test_no_time_at_all_selects_nothing():
    X, y = make_data()
    fitted = selector(time_limit=1e-9).fit(X, y)
    assert fitted.n_plays_ == 0
    assert "time limit" in fitted.stop_reason_
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
    assert_array_equal(
        fitted.inclusion_probabilities_, (1 + successes) / (2 + successes + failures)
    )


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
    assert_array_equal(
        fitted.inclusion_probabilities_, (1 + successes) / (2 + successes + failures)
    )
    assert fitted.stop_reason_ == "stopped by an error"


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


BAD_SETTINGS = {
    "no rows": (dict(batch_size=0), ValueError, "batch_size"),
    "half a row": (dict(batch_size=2.5), TypeError, "batch_size"),
    "few rows": (dict(reward=BartReward(min_leaf=8), batch_size=15), ValueError, "15.* 16 rows"),
    "one row": (dict(batch_size=1), ValueError, "batch_size=1 .* 2 rows"),
    "no round": (dict(n_rounds=0), ValueError, "n_rounds"),
    "half a round": (dict(n_rounds=0.5), TypeError, "n_rounds"),
    "for ever": (dict(n_rounds=None), ValueError, "patience or time_limit"),
    "no patience": (dict(patience=0), ValueError, "patience"),
    "no time": (dict(time_limit=0), ValueError, "time_limit"),
    "nan seconds": (dict(time_limit=float("nan")), ValueError, "time_limit"),
    "no chain": (dict(n_chains=0), ValueError, "n_chains"),
    "no thread": (dict(n_jobs=0), ValueError, "n_jobs"),
    "discount 0": (dict(discount=0.0), ValueError, "discount"),
    "discount above 1": (dict(discount=1.01), ValueError, "discount"),
    "nan discount": (dict(discount=float("nan")), ValueError, "discount"),
    "text discount": (dict(discount="none"), TypeError, "discount"),
    "decoys": (dict(decoys="copies"), ValueError, "decoys must be 'knockoffs'"),
    "true decoys": (dict(decoys=True), ValueError, "decoys must be 'knockoffs'"),
    "family": (dict(family="poisson"), ValueError, "family must be"),
    "no family": (dict(family=None), ValueError, "family must be"),
    "cost 1": (dict(cost=1.0), ValueError, "cost"),
    "costs of others": (dict(cost=np.full(P + 1, 0.5)), ValueError, "cost has shape"),
    "prior 0": (dict(prior=(0.0, 1.0)), ValueError, "prior"),
    "one prior": (dict(prior=1.0), ValueError, "pair"),
    "too many wanted": (dict(n_features_to_select=P + 1), ValueError, "12 arms"),
    "none wanted": (dict(n_features_to_select=0), ValueError, "n_features_to_select"),
    "unknown group": (dict(groups={"g": ["nobody"]}), ValueError, "nobody"),
    "unknown column": (dict(always_include=[P]), ValueError, "always_include"),
    "all included": (dict(always_include=range(P)), ValueError, "nothing left"),
    "reward of no kind": (dict(reward=5), TypeError, "callable"),
    "bad reward": (dict(reward=PValueReward(alpha=2.0)), ValueError, "alpha"),
    "negative seed": (dict(random_state=-1), ValueError, "random_state"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_refused_by_name(case, tmp_path):
    settings, error, match = BAD_SETTINGS[case]
    path = tmp_path / "run.journal"
    with pytest.raises(error, match=match):
        selector(**settings, journal=path).fit(*make_data())
    if "batch_size" not in settings:
        with pytest.raises(error, match=match):
            selector(**settings).partial_fit(*make_data())
    if "reward" not in case:
        assert not path.exists()


X0, Y0 = make_data(n=120)
BAD_DATA = {
    "nan in y": (X0, np.r_[Y0[:-1], np.nan], ValueError, "y has 1 missing .* row 119"),
    "short y": (X0, Y0[:-1], ValueError, "119 values but X has 120 rows"),
    "no y": (X0, None, ValueError, "y"),
    "two outcomes": (X0, np.c_[Y0, Y0], ValueError, "single column"),
    "text array": (np.full((120, 2), "a"), Y0, ValueError, "(?i)numeric"),
    "no column": (X0[:, :0], Y0, ValueError, "0 feature"),
    "one dimension": (Y0, Y0, ValueError, "2D array"),
    "complex": (X0 + 1j, Y0, ValueError, "Complex"),
    "infinite": (np.where(X0.max() == X0, np.inf, X0), Y0, ValueError, "infinity in column 'x"),
    "dates": (pd.DataFrame({"a": X0[:, 0], "d": pd.Timestamp(0)}), Y0, TypeError, "'d'"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_are_refused_clearly(case):
    X, y, error, match = BAD_DATA[case]
    with pytest.raises(error, match=match):
        selector().fit(X, y)


def test_an_infinite_value_is_refused_wherever_it_is_played():
    X, y = make_data()
    for row in (50, 450, 1450):
        bad = pd.DataFrame(X, columns=NAMES)
        bad.loc[row] = np.inf
        with pytest.raises(ValueError, match="infinity in column 'v"):
            selector().fit(bad, y)


# Part by part


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
                 ValueError, "infinity in column 'v0'"),
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
@pytest.mark.parametrize("case", BAD_PARTS)
def test_a_bad_part_leaves_the_selector_as_it_was(case, at, journaled, undisturbed, tmp_path):
    make, error, match = BAD_PARTS[case]
    good = parts(FRAME, OUTCOME)
    fitted = selector(n_chains=2, decoys="knockoffs")
    if journaled:
        fitted.set_params(journal=tmp_path / "run.journal")
    play_parts(fitted, good[:at])
    plays, state = plays_of(fitted), state_of(fitted)
    with pytest.raises(error, match=match):
        fitted.partial_fit(*make(1000, 1100))
    assert plays_of(fitted) == plays
    assert state_of(fitted) == state
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


def test_a_clone_has_the_settings_and_nothing_else():
    X, y = make_data()
    original = selector(decoys="knockoffs", discount=0.9).partial_fit(X[:100], y[:100])
    copy = clone(original)
    assert not hasattr(copy, "support_")
    assert not hasattr(copy, "_stream")
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
        selector(PValueReward(0.2), random_state=make(5)).fit(X, y).inclusion_probabilities_
        for make in (int, np.random.SeedSequence, np.random.default_rng, np.random.RandomState)
        for _ in range(2)
    ]
    for one, same in zip(fits[::2], fits[1::2], strict=True):
        assert_array_equal(one, same)
    free = [
        selector(PValueReward(0.2), random_state=None).fit(X, y).inclusion_probabilities_
        for _ in range(2)
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
    one = StreamingThompsonSelector(batch_size=200, random_state=0).fit(X, y)
    two = StreamingThompsonSelector(BartReward(), batch_size=200, random_state=0).fit(X, y)
    assert_same(one, two)
