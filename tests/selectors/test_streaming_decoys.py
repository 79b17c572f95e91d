"""Decoys on streams: pairs that are played together, and the evidence that they give."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.bandit.plays import fold_counts
from tests.decoyed import Marginal
from tests.selectors.streams import (
    SIGNALS,
    P,
    make_data,
    make_frame,
    parts,
    play_parts,
    quick_bart,
    selector,
    stop_after,
)
from tvselect import BartReward, StreamingThompsonSelector
from tvselect.bandit.oracle import threshold
from tvselect.control import STAKES, q_values_by_evidence
from tvselect.selectors.results import Ledger

each_kind = pytest.mark.parametrize("decoys", ["knockoffs", "shuffled"])


def stakes(plays, n_arms):
    """Counted anew, play by play and arm by arm."""
    log_e = np.zeros((STAKES.size, n_arms))
    for play in plays:
        rewards = dict(zip(play.arms.tolist(), play.rewards.tolist(), strict=True))
        for arm in range(n_arms):
            won = [rewards[arm + k * n_arms] for k in range(4) if arm in rewards]
            if any(won):
                log_e[:, arm] += np.log(1 - STAKES + STAKES * 4 * won[0] / sum(won))
    return np.log(np.exp(log_e).mean(axis=0))


@each_kind
def test_every_arm_has_a_decoy_and_is_played_with_it(decoys):
    frame, y = make_frame()
    settings = dict(decoys=decoys, always_include=["v0"], feature_groups={"g": ["v1", "v2"]})
    fitted = selector(Marginal(alpha=0.9), n_chains=2, **settings).fit(frame, y)
    n_arms, layout = P + 3 - 2, fitted.result_.layout
    assert (layout.n_candidates, layout.n_copies) == (n_arms, 3)
    assert fitted.result_.journal.header.n_arms == 4 * n_arms
    for play in fitted.result_.plays:
        own, *copies = play.arms.reshape(4, -1)
        for k, copy in enumerate(copies, start=1):
            assert_array_equal(copy, own + k * n_arms)
    successes, failures = fold_counts(fitted.result_.journal, 4 * n_arms, range(2))
    share = (1 + successes) / (2 + successes + failures)
    assert_array_equal(fitted.decoy_rates_, share[n_arms:])
    for found in (fitted.support_, fitted.e_values_, fitted.q_values_, fitted.selected_since_):
        assert found.shape == (P + 3,)
    assert np.isnan(fitted.e_values_[0])
    assert fitted.support_[0]
    assert fitted.e_values_[1] == fitted.e_values_[2]


@each_kind
def test_e_values_are_those_of_the_rewards_of_columns_and_decoys(decoys):
    X, y = make_data(n=4000)
    fitted = selector(Marginal(alpha=0.1), decoys=decoys, n_chains=2).fit(X, y)
    journal = fitted.result_.journal
    by_chain = [stakes(journal.plays(chain), P) for chain in range(2)]
    log_e = np.log(np.exp(by_chain).mean(axis=0))
    q_values = q_values_by_evidence(log_e)
    assert_allclose(fitted.e_values_, np.exp(log_e), rtol=1e-12)
    assert_allclose(fitted.q_values_, q_values, rtol=1e-12)
    assert_array_equal(fitted.support_, q_values <= 0.1)
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert_allclose(fitted.expected_false_, 2 * fitted.q_values_[SIGNALS].max())
    for support, mine in zip(fitted.chain_supports_, by_chain, strict=True):
        assert_array_equal(support, q_values_by_evidence(mine) <= 0.1)


def test_selected_since_is_the_batch_from_which_on_it_is_selected():
    X, y = make_data(n=4000)
    fitted = selector(Marginal(alpha=0.1), decoys="shuffled", max_fdr=0.3)
    sets = np.array([fitted.partial_fit(*part).support_ for part in parts(X, y)])
    for j, since in enumerate(fitted.selected_since_):
        assert (since > 0) == sets[-1, j]
        assert since < 0 or sets[since - 1 :, j].all()
        assert since < 2 or not sets[since - 2, j]
    whole = selector(Marginal(alpha=0.1), decoys="plain", max_fdr=0.3).fit(X, y)
    assert_array_equal(whole.selected_since_, fitted.selected_since_)


@each_kind
def test_rounds_are_a_table_in_the_end_and_half_of_the_evidence(decoys, monkeypatch):
    settings = dict(decoys=decoys, n_chains=2, reward=quick_bart())
    once = selector(**settings).fit(*make_data())
    again = selector(n_rounds=3, **settings).fit(*make_data())
    journal, n = again.result_.journal, once.n_plays_
    assert again.n_plays_ == 3 * n
    e_values = []
    for chain in range(2):
        plays = list(journal.plays(chain, n))
        assert all(np.array_equal(play.arms, plays[0].arms) for play in plays)
        product = np.ones((3, P))
        for first, second in zip(plays[:n], plays[n:], strict=True):
            won = (first.rewards + 1 * second.rewards).reshape(4, P)  # all twelve lead
            share = 4 * won[0] / np.maximum(won.sum(axis=0), 1)
            product *= np.where(won.any(axis=0), 1 - STAKES[:, None] * (1 - share), 1)
        e_values.append(product.mean(axis=0))
    assert_allclose(again.e_values_, (once.e_values_ + np.mean(e_values, axis=0)) / 2)
    assert (again.selected_since_[again.support_] <= 3 * n).all()
    stopped = selector(n_rounds=3, time_limit=stop_after(monkeypatch, 2 * n + 3), **settings).fit(
        *make_data()
    )
    assert stopped.stop_reason_ == "time limit"
    assert_allclose(stopped.e_values_, once.e_values_ / 2)


def test_rounds_prove_weak_signals_that_one_round_does_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 100))
    y = 0.2 * X[:, :10].sum(axis=1) + rng.standard_normal(6000)
    settings = dict(batch_size=300, random_state=0)
    one, three = (
        StreamingThompsonSelector(n_rounds=n_rounds, **settings).fit(X, y).support_
        for n_rounds in (1, 3)
    )
    assert one[:10].sum() <= 4
    assert three[:10].sum() >= 7
    assert not three[10:].any()


@pytest.mark.parametrize("correlated", [False, True])
def test_rounds_prove_nothing_in_streams_of_noise(correlated):
    """e-BH at 0.1: of 20 null streams at most a tenth + 3 s.e. select; e-values average to 1."""
    ever, n_streams, e_values = 0, 20, []
    for seed in range(n_streams):
        rng = np.random.default_rng(2000 + seed)
        X, y = rng.standard_normal((1000, 40)), rng.standard_normal(1000)
        X = np.cumsum(X, axis=1) if correlated else X
        fitted = selector(quick_bart(), decoys="shuffled", n_rounds=4, random_state=seed).fit(X, y)
        ever += fitted.support_.any()
        e_values.append(fitted.e_values_.mean())
    assert ever / n_streams <= 0.1 + 3 * np.sqrt(0.09 / n_streams)
    assert np.mean(e_values) <= 1 + 3 * np.std(e_values) / np.sqrt(n_streams)


@each_kind
def test_later_rounds_prove_nothing_where_evidence_fades(decoys):
    once = selector(decoys=decoys, discount=0.99).fit(*make_data())
    again = selector(decoys=decoys, discount=0.99, n_rounds=4).fit(*make_data())
    assert again.n_plays_ == 4 * once.n_plays_
    assert again.result_.evidence.n_batches == once.n_plays_
    assert_array_equal(again.e_values_, once.e_values_)
    assert_array_equal(again.selected_since_, once.selected_since_)
    assert (again.selection_rates_ != once.selection_rates_).any()
    more = play_parts(again, parts(*make_data(seed=9)))
    assert more.result_.evidence.n_batches == 2 * once.n_plays_
    assert (more.e_values_[SIGNALS] > once.e_values_[SIGNALS]).all()


def test_signals_are_proven_and_the_default_has_decoys():
    settings = dict(batch_size=100, random_state=0)
    fitted = StreamingThompsonSelector(Marginal(), **settings).fit(*make_data(n=3000))
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert fitted.result_.evidence.max_fdr == 0.1
    assert fitted.result_.asked.decoys == "shuffled"


def test_decoys_have_the_cost_and_the_prior_of_their_columns():
    cost, b = np.full(P, 0.6), np.ones(P)
    cost[2], b[5] = 0.05, 50.0
    fitted = selector(decoys="knockoffs", cost=cost, prior=(1.0, b)).fit(*make_data())
    result = fitted.result_
    assert_array_equal(result.threshold, np.tile(threshold(cost), 4))
    assert_array_equal(result.prior[1], np.tile(b, 4))
    assert_array_equal(fitted.threshold_, threshold(cost))
    assert_array_equal(result.paths(np.arange(P, 2 * P))[0], 1 / (1 + b))


@each_kind
def test_text_has_shuffled_decoys(decoys):
    frame, y = make_frame(n=4000)
    fitted = selector(decoys=decoys).fit(frame[["city", "kind"]], y)
    assert_array_equal(fitted.get_feature_names_out(), ["city"])


def test_as_many_are_selected_as_were_asked_for():
    fitted = selector(decoys="knockoffs", n_features_to_select=2, n_rounds=2).fit(*make_data())
    assert_array_equal(np.flatnonzero(fitted.support_), SIGNALS)
    assert (
        selector(decoys="knockoffs", n_features_to_select=7).fit(*make_data()).support_.sum() == 7
    )


def test_a_role_that_has_ended_is_proven_no_longer_where_payoffs_fade():
    X, y = make_data(n=6000)
    y[3000:] = np.random.default_rng(0).standard_normal(3000)
    faded, kept = (
        selector(decoys="shuffled", discount=discount).fit(X, y) for discount in (0.85, None)
    )
    assert (faded.q_values_[SIGNALS] > 0.1).all()
    before = selector(decoys="shuffled", discount=0.85).fit(X[:3000], y[:3000])
    assert before.support_[SIGNALS].all()
    assert not faded.support_.any()
    assert kept.support_[SIGNALS].all()


def test_too_few_batches_are_said_to_be_too_few():
    X, y = make_data(n=800)
    nothing = np.random.default_rng(0).standard_normal(800)
    for n_rows, y_, n_likely in ((200, y, P), (300, y, 2), (300, nothing, 1)):
        with pytest.warns(
            RuntimeWarning, match=rf"selected: to prove {n_likely} of 12 .* least \d"
        ):
            fitted = selector(decoys="knockoffs", n_rounds=5).fit(X[:n_rows], y_[:n_rows])
        assert not fitted.support_.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector(decoys="knockoffs").fit(*make_data(n=3000))


@each_kind
@pytest.mark.parametrize("kind", ["normal", "0/1", "skewed"])
def test_a_column_of_noise_is_rewarded_as_often_as_its_decoys(decoys, kind):
    """Without signals a column and its decoys are exchangeable: its share of rewards is 1/4.

    Columns of one batch share their outcome and correlate a little, hence 4 standard errors.
    """
    rng = np.random.default_rng(5)
    p = 20
    X = rng.standard_normal((20_000, p)) + rng.standard_normal((20_000, 1))
    X = {"normal": X, "0/1": (X > 1) + 0.0, "skewed": np.exp(X)}[kind]
    y = rng.standard_normal(20_000)
    fitted = selector(Marginal(alpha=0.3), decoys=decoys).fit(X, y)
    shares = []
    for play in fitted.result_.plays:
        won = play.rewards.reshape(4, -1)
        won = won[:, won.any(axis=0)]
        shares += (won[0] / won.sum(axis=0)).tolist()
    assert len(shares) > 200
    assert abs(np.mean(shares) - 0.25) < 4 * np.std(shares) / np.sqrt(len(shares))


def test_rows_that_stand_copied_are_evidence_once_to_the_bit():
    """In a batch, and where it begins with copies of the last row of the batch before."""
    frame, y = make_frame()
    once, copied = (
        StreamingThompsonSelector(Marginal(), random_state=0, decoys="shuffled") for _ in range(2)
    )
    rows = np.repeat(np.arange(100), 3)
    once.partial_fit(frame[:100], y[:100]).partial_fit(frame[100:200], y[100:200])
    with pytest.warns(UserWarning, match="200 of the first 300 rows are copies .* count once"):
        copied.partial_fit(frame.iloc[rows], y[rows])
    rows = np.append(99, np.repeat(np.arange(100, 200), 3))
    copied.partial_fit(frame.iloc[rows], y[rows])
    assert_array_equal(once.selection_rates_, copied.selection_rates_)
    assert_array_equal(once.e_values_, copied.e_values_)


@pytest.mark.parametrize("batch_size", [500, 499])
def test_rows_that_stand_copied_make_noise_no_surer(batch_size):
    """Law: one of six e-values of noise is at least 600 with a probability of 1/100 at most."""
    rng = np.random.default_rng(0)
    X, y = (np.repeat(rng.normal(size=(2_500, *more)), 5, axis=0) for more in ((6,), ()))
    fitted = StreamingThompsonSelector(
        BartReward(n_trees=10, n_iterations=100, shadows=0), batch_size=batch_size, random_state=0
    )
    with pytest.warns(UserWarning, match="count once"):
        assert fitted.fit(X, y).e_values_.max() < 600.0


@pytest.mark.parametrize(
    ("shape", "decoys", "correlated"),
    [
        ((3000, 10), "knockoffs", False),
        # More columns than a crowd: who plays is chosen by the first rows.
        ((1000, 60), "shuffled", False),
        ((1000, 60), "shuffled", True),
    ],
)
def test_streams_of_noise_hold_nothing_at_any_time(shape, decoys, correlated):
    """Ville: over 20 null streams, the share that ever holds anything is at most 0.1 + 3 s.e."""
    ever, n_streams = 0, 20
    reward = BartReward(n_trees=10, n_iterations=100, penalty=0.0, shadows=0)
    for seed in range(n_streams):
        rng = np.random.default_rng(1000 + seed)
        X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
        X = np.cumsum(X, axis=1) if correlated else X
        fitted = selector(reward, decoys=decoys, random_state=seed)
        ever += any(fitted.partial_fit(*part).support_.any() for part in parts(X, y))
    assert ever / n_streams <= 0.1 + 3 * np.sqrt(0.09 / n_streams)


def test_the_first_rows_say_who_plays_and_a_play_has_few_variables():
    X, y = make_data(n=3000)
    noise = np.random.default_rng(0).standard_normal((3000, 200))
    fitted = selector(BartReward(n_trees=10, n_iterations=100)).fit(np.hstack([X, noise]), y)
    plays = fitted.result_.plays
    assert max(play.arms.size for play in plays[:20]) <= 4 * 40
    assert all(np.isin(SIGNALS, play.arms).all() for play in plays[2:6])


def test_the_bar_says_what_is_proven_and_how_far_the_next_one_is(capsys):
    X, y = make_data(n=1500)
    fitted = selector(Marginal(alpha=0.1), decoys="shuffled", verbose=1).fit(X, y)
    assert f"proven={fitted.support_.sum()}" in capsys.readouterr().err
    ledger = Ledger(100, 3, 1, 0.1, 1.0)
    assert ledger.outlook() == {"proven": 0}
    ledger.n_batches, ledger.log_e[0, :2] = 4, (np.log(1001.0), np.log(100.0))
    # The second of two needs 100 / (2 * 0.1) = 500: 4 * log(500) / log(100) batches in all.
    assert ledger.outlook() == {"proven": 1, "next_in": 2}
