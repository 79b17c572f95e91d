"""The read-out of a run, a record that does not change, and the table of what was found."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from tests.decoyed import Marginal, fit_signals
from tests.selectors.streams import make_data, parts, selector
from tvselect import ThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import Play
from tvselect.bandit.engine import StopReason
from tvselect.bandit.journal import Journal
from tvselect.inputs import Numbered
from tvselect.selectors.layout import lay_out_arms
from tvselect.selectors.results import Asked, SearchResult

ASKED = Asked(is_stream=False, reward="r", family="auto", seed=1, window=1, fingerprint="f")


def history_of(plays, n_arms, *, n_chains=1, prior=(1.0, 1.0), **more):
    journal = Journal()
    for chain in range(n_chains):
        for play in plays:
            journal.append([replace(play, chain=chain)])
    arms = Arms(n_arms, discount=more.get("discount", 1.0))
    for play in plays:
        arms.update(play.arms, play.rewards)
    return SearchResult(
        journal=journal, n_plays=journal.n_plays(),
        layout=lay_out_arms(Numbered(n_arms)), prior=prior, threshold=0.5, asked=ASKED,
        stop_reason=StopReason.PLAYS, successes=np.tile(arms.successes, (n_chains, 1)),
        failures=np.tile(arms.failures, (n_chains, 1)), **more,
    )  # fmt: skip


def random_plays(rng, n_arms, n_plays):
    plays = []
    for number in range(n_plays):
        arms = np.flatnonzero(rng.random(n_arms) < 0.4).astype(np.int32)
        plays.append(Play(number, arms, rng.random(arms.size) < 0.5, 0.25))
    return plays


@given(
    seed=st.integers(0, 10_000),
    n_plays=st.integers(0, 20),
    discount=st.just(1.0) | st.floats(0.01, 1.0),
)
@settings(max_examples=80, deadline=None)
def test_paths_are_the_means_of_the_counts_and_a_discount_makes_played_arms_forget(
    seed, n_plays, discount
):
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(1, 12))
    plays = random_plays(rng, n_arms, n_plays)
    prior_a, prior_b = rng.uniform(0.5, 3, (2, n_arms))
    won, lost = np.zeros((2, n_arms))
    rows = [prior_a / (prior_a + prior_b)]
    for play in plays:
        won[play.arms] = discount * won[play.arms] + play.rewards
        lost[play.arms] = discount * lost[play.arms] + ~play.rewards
        rows.append((prior_a + won) / (prior_a + won + prior_b + lost))
    result = history_of(plays, n_arms, prior=(prior_a, prior_b), discount=discount)
    chosen = rng.integers(0, n_arms, 5)
    assert_allclose(result.paths(chosen), np.array(rows)[:, chosen], rtol=1e-12)
    assert_array_equal(result.paths(np.arange(n_arms))[-1], result.means())
    times = sum((np.bincount(play.arms, minlength=n_arms) for play in plays), np.zeros(n_arms))
    assert_array_equal(result.times_played, times)


@given(seed=st.integers(0, 10_000), n_plays=st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_some_steps_are_rows_of_all_and_chains_are_added_up(seed, n_plays):
    rng = np.random.default_rng(seed)
    plays = random_plays(rng, 6, n_plays)
    result = history_of(plays, 6, n_chains=3)
    steps = np.unique(rng.integers(0, n_plays + 1, 4))
    every, one = result.paths(np.arange(6)), result.paths(np.arange(6), chain=1)
    assert_array_equal(result.paths(np.arange(6), steps), every[steps])
    counted = Arms(6)
    for number, play in enumerate(plays, start=1):
        counted.update(play.arms, play.rewards)
        s, f = counted.successes, counted.failures
        assert_array_equal(one[number], (1 + s) / (2 + s + f))
        assert_array_equal(every[number], (1 + 3 * s) / (2 + 3 * (s + f)))
    played, paid = result.sizes(steps)
    assert_array_equal(played, np.array([0, *(play.arms.size for play in plays)])[steps])
    assert_array_equal(paid, np.array([0, *(play.rewards.sum() for play in plays)])[steps])
    assert result.seconds == 3 * 0.25 * n_plays


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_a_play_without_arms_changes_nothing(discount):
    none = np.array([], np.int32), np.array([], np.bool_)
    one = Play(1, np.array([1, 2], np.int32), np.array([True, False]), 0.1)
    plays = [Play(0, *none, 0.0), one, Play(2, *none, 0.0), Play(3, *none, 0.0)]
    result = history_of(plays, 3, discount=discount)
    before, after = [0.5, 0.5, 0.5], [1 / 2, 2 / 3, 1 / 3]
    assert_allclose(result.paths(np.arange(3)), [before, before, after, after, after])
    assert result.n_skipped == 3


def test_without_plays_there_is_the_prior():
    result = history_of([], 2, prior=(3.0, 1.0))
    assert result.paths(np.arange(2)).tolist() == [[0.75, 0.75]]
    assert not result.support.any()
    assert result.seconds == 0.0


def test_a_few_of_very_many_arms():
    arms = np.arange(0, 1_000_000, 59, np.int32)
    rewards = np.zeros(arms.size, np.bool_)
    result = history_of([Play(t, arms, rewards, 0.0) for t in range(500)], 1_000_000)
    assert_allclose(result.paths(np.arange(20))[-1, :2], [1 / 502, 0.5])


def test_of_too_many_arms_the_best_are_selected():
    arms, paid = np.arange(4, dtype=np.int32), np.ones(4, np.bool_)
    plays = [Play(0, arms, paid, 0.0), Play(1, arms[2:], paid[2:], 0.0)]
    assert history_of(plays, 4).support.tolist() == [True] * 4
    assert history_of(plays, 4, n_wanted=3).support.tolist() == [True, False, True, True]
    assert history_of(plays, 4, n_wanted=2).support.tolist() == [False, False, True, True]


def reading(result):
    """Everything that a result says."""
    steps = np.arange(result.n_plays + 1)
    said = [
        result.support, result.means(), result.intervals(slice(None)), result.times_played,
        result.seconds,
        result.chain_supports, result.spread, result.sizes(steps), result.n_skipped,
        result.paths(np.arange(result.layout.n_arms)), [play.number for play in result.plays],
        result.stop_reason, result.asked,
    ]  # fmt: skip
    return [np.asarray(value, dtype=object).tolist() for value in said]


def test_an_old_history_stays_as_it_was_after_more_batches():
    settings = dict(n_chains=2, decoys="knockoffs", discount=0.9)
    fitted = selector(Marginal(alpha=0.2), **settings)
    histories, readings = [], []
    for part in parts(*make_data(600), 60):
        histories.append(fitted.partial_fit(*part).result_)
        readings.append(reading(histories[-1]))
    assert [result.n_plays for result in histories] == list(range(1, 11))
    assert [reading(result) for result in histories] == readings


# The table of what was found, one row per column.


def test_one_row_per_column_and_the_best_on_top():
    fitted, X, _ = fit_signals([0, 0.65, 0, 0.6, 0])
    frame = fitted.to_frame()
    assert frame.columns.tolist() == [
        "name", "selected", "q_value", "selection_rate", "low", "high", "times_played",
        "ranking", "claim",
    ]  # fmt: skip
    assert set(frame.name[:2]) == {"c1", "c3"}
    assert frame.ranking.is_monotonic_increasing
    by_column = frame.sort_index()
    assert by_column.index.tolist() == list(range(5))
    assert by_column.name.tolist() == list(X.columns)
    for name, values in {
        "selected": fitted.support_,
        "q_value": fitted.q_values_,
        "selection_rate": fitted.selection_rates_,
        "low": fitted.selection_rate_intervals_[:, 0],
        "high": fitted.selection_rate_intervals_[:, 1],
        "times_played": fitted.result_.times_played[:5],
        "ranking": fitted.ranking_,
    }.items():
        assert_array_equal(by_column[name], values)


def test_claims_are_numbered_from_one():
    fitted, _, _ = fit_signals([0.65, 0.6, 0, 0, 0], twins=[(0, 2)])
    frame = fitted.to_frame().sort_index()
    for number, claim in enumerate(fitted.claims_, start=1):
        assert frame.index[frame.claim == number].tolist() == sorted(claim.columns)
    assert frame.claim.isna().sum() == 2
    assert frame.claim[0] == frame.claim[2] != frame.claim[1]


def test_the_median_model_has_no_q_values():
    frame = fit_signals([0.65, 0, 0], max_fdr=None)[0].to_frame()
    assert frame.q_value.isna().all()
    assert frame.selected.sum() == 1


def test_columns_always_included_come_first():
    fitted, _, _ = fit_signals([0.65, 0, 0], always_include=["c2"])
    first = fitted.to_frame().iloc[0]
    assert (first["name"], first.q_value, first.selection_rate) == ("c2", 0.0, 1.0)
    assert first.times_played == fitted.n_plays_


def test_a_stream_and_its_evidence():
    fitted = selector(Marginal(alpha=0.1), decoys="shuffled").fit(*make_data(4000))
    frame = fitted.to_frame().sort_index()
    assert_array_equal(frame.e_value, fitted.e_values_)
    assert_array_equal(frame.selected_since.isna(), ~fitted.support_)
    assert frame.selected_since[3] == fitted.selected_since_[3] > 0
    assert frame.claim.isna().all()


def test_without_pandas_or_a_fit(monkeypatch):
    with pytest.raises(NotFittedError):
        ThompsonSelector().to_frame()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        selector().fit(*make_data(300)).to_frame()
