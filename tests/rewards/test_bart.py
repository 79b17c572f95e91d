from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tvselect import BartReward
from tvselect.inputs import read_outcome
from tvselect.rewards import Data
from tvselect.rewards import bart as room
from tvselect.rewards.bart import rows_seen


def data_of(n_rows=60, n_columns=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns))
    y = 10 * X[:, 3] + rng.standard_normal(n_rows)
    return Data(X, read_outcome(y, n_rows), tuple(f"x{j}" for j in range(n_columns)))


@pytest.fixture
def lengths(monkeypatch):
    """The settings of every chain that a reward starts."""
    seen = []
    start = room.start_chain

    def spy(table, response, prior, **settings):
        seen.append({"prior": prior, **settings})
        return start(table, response, prior, **settings)

    monkeypatch.setattr(room, "start_chain", spy)
    return seen


def test_the_paper_counts_its_forests_after_burn_in(lengths):
    BartReward.paper(30).start(data_of())(np.arange(40), np.random.default_rng(0))
    assert lengths[0]["n_iterations"] == 130
    assert not lengths[0]["prior"].sparse
    assert lengths[0]["prior"].theta_floor == 0.001
    assert lengths[0]["prior"].n_trees == 10
    assert lengths[0]["shadows"] is None
    np.testing.assert_array_equal(lengths[0]["column_weights"], 1.0)
    BartReward.paper(30, n_burn=0, sparse=True).start(data_of())(
        np.arange(40), np.random.default_rng(0)
    )
    assert lengths[1]["n_iterations"] == 30
    assert lengths[1]["prior"].sparse


@pytest.mark.parametrize(("n_played", "wanted"), [(2, 50), (25, 50), (26, 52), (40, 80)])
def test_every_column_is_proposed_kappa_times_on_average(lengths, n_played, wanted):
    """Half of the D proposals of an iteration are births: M D / 2 = proposals_per_column q."""
    reward = BartReward(n_iterations=50, proposals_per_column=10.0, n_trees=10)
    reward.start(data_of())(np.arange(n_played), np.random.default_rng(0))
    assert lengths[0]["n_iterations"] == wanted
    assert lengths[0]["n_burn"] == wanted // 2


@pytest.mark.parametrize(("penalty", "weight"), [(0.0, 1.0), (0.5, 0.5), (1.0, 0.25)])
def test_columns_of_a_small_play_are_weighed_by_its_share_of_the_table(lengths, penalty, weight):
    BartReward(n_iterations=10, penalty=penalty, screening=False, shadows=0).start(data_of())(
        np.arange(10), np.random.default_rng(0)
    )
    np.testing.assert_allclose(lengths[0]["column_weights"], np.full(10, weight))


def test_a_batch_that_holds_some_columns_knows_how_many_there_are(lengths):
    data = data_of()
    part = Data(data.X[:, :10], data.outcome, data.names[:10], n_candidates=400)
    reward = BartReward(n_iterations=10, penalty=1.0, screening=False, shadows=0)
    reward.start(part)(np.arange(10), np.random.default_rng(0))
    np.testing.assert_allclose(lengths[0]["column_weights"], np.full(10, 10 / 400))


def test_a_small_play_is_filled_up_with_shadows_that_pay_the_whole_penalty(lengths):
    data = data_of()
    part = Data(data.X, data.outcome, data.names, n_candidates=600)
    play = BartReward(n_iterations=10, shadows=30).start(part)
    play(np.arange(12), np.random.default_rng(0))
    assert lengths[0]["shadows"].size == 18
    assert lengths[0]["column_weights"].size == 30
    np.testing.assert_allclose(lengths[0]["column_weights"][12:], 30 / 600)
    play(np.arange(30), np.random.default_rng(0))
    assert lengths[1]["shadows"] is None


def test_a_column_that_stands_out_is_let_off_the_penalty(lengths):
    data = data_of()
    X = data.X.copy()
    X[:, 3] = data.outcome.values
    BartReward(n_iterations=10).start(Data(X, data.outcome, data.names))(
        np.arange(10), np.random.default_rng(0)
    )
    weights = lengths[0]["column_weights"]
    assert weights[3] == 1.0
    np.testing.assert_allclose(np.delete(weights, 3), 30 / 40)


@pytest.mark.parametrize("n_columns", [3, 10])
def test_noise_alone_is_rarely_paid(n_columns):
    """A shadow is as good as a column of noise.

    A column and the K shadows of a play are exchangeable, so that it stands above all but a
    tenth of these, and is paid, with probability (1 + (K - 1) / 10) / (K + 1) at the most.
    """
    rng = np.random.default_rng(5)
    n_plays, n_paid = 40, 0
    for seed in range(n_plays):
        X, y = rng.random((100, n_columns)), rng.standard_normal(100)
        data = Data(X, read_outcome(y, 100), tuple(f"x{j}" for j in range(n_columns)))
        play = BartReward(n_iterations=200, min_splits=0.1).start(data)
        n_paid += play(np.arange(n_columns), np.random.default_rng(seed)).sum()
    n_shadows = 30 - n_columns
    most = (1 + (n_shadows - 1) / 10) / (n_shadows + 1)
    assert 0 < n_paid <= stats.binom(n_plays * n_columns, most).ppf(0.999)


@pytest.mark.parametrize(
    ("max_samples", "n_rows", "wanted"),
    [
        (None, 4000, 4000),
        ("auto", 1000, 1000),
        ("auto", 1001, 500),
        (300, 200, 200),
        (300, 400, 300),
        (0.5, 301, 150),
        (1.0, 301, 301),
    ],
)
def test_rows_of_a_play(max_samples, n_rows, wanted):
    assert rows_seen(max_samples, data_of(n_rows, 1 + 3)) == wanted


def test_a_rare_class_keeps_a_hundred_rows():
    X = np.zeros((10_000, 1))
    rare = Data(X, read_outcome(np.arange(10_000) < 200, 10_000), ("x0",))
    assert rows_seen("auto", rare) == 5000
    even = Data(X, read_outcome(np.arange(10_000) < 5000, 10_000), ("x0",))
    assert rows_seen("auto", even) == 500


def test_a_play_sees_all_rows_of_a_batch():
    data = data_of(2000, 4)
    batch = Data(data.X, data.outcome, data.names, cuts=data.binned().cuts)
    assert rows_seen("auto", batch) == 2000


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (dict(n_iterations=0), ValueError),
        (dict(n_iterations=2.5), TypeError),
        (dict(n_burn=1000), ValueError),
        (dict(proposals_per_column=-1.0), ValueError),
        (dict(screening="no"), TypeError),
        (dict(shadows=-1), ValueError),
        (dict(theta_floor=1.0), ValueError),
        (dict(min_splits=0.0), ValueError),
        (dict(penalty=-1.0), ValueError),
        (dict(penalty="much"), TypeError),
        (dict(rule="first"), ValueError),
        (dict(max_samples="some"), ValueError),
        (dict(max_samples=8), ValueError),
        (dict(min_leaf=31), ValueError),
    ],
)
def test_wrong_settings_are_named(settings, error):
    with pytest.raises(
        error, match=next(iter(settings)).replace("max_samples", "max_samples|rows")
    ):
        BartReward(**settings).start(data_of())


def test_burn_in_of_the_paper_is_checked():
    with pytest.raises(ValueError, match="n_burn"):
        BartReward.paper(100, n_burn=-1)


def test_a_play_needs_rows_for_two_leaves():
    assert BartReward(min_leaf=7).min_rows == 14
