"""Runs that stop and go on: journals, interrupts, kills."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal

from tests.bandit.plays import fold_counts
from tests.decoyed import Marginal
from tests.nested import nested
from tests.selectors.runs import Interrupted, Undisturbed, assert_same, check_kills, plays_of
from tvselect import BartReward, LassoReward, ThompsonSelector
from tvselect.bandit.engine import StopReason
from tvselect.bandit.journal import Journal, JournalError

N, P = 60, 20
REWARD = Marginal(alpha=0.05)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.journal"


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    return X, X[:, 3] - X[:, 7] + rng.standard_normal(N)


def selector(reward=REWARD, **settings):
    settings = {"n_plays": 20, "max_fdr": None, "random_state": 0, **settings}
    return ThompsonSelector(reward, **nested(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        dict(),
        dict(n_chains=2, n_jobs=2),
        dict(random_state=np.random.default_rng(4)),
        dict(reward=BartReward(n_iterations=30), n_features_to_select=4),
        dict(feature_groups=[j // 2 for j in range(P)], always_include=[5]),
        dict(reward=BartReward.with_decoys().set_params(n_trees=10), max_fdr=0.1, burn_in=6),
        dict(reward=REWARD, max_fdr=0.1, burn_in=15),
    ],
    ids=["one", "two chains", "generator", "bart", "groups", "decoys", "burn-in"],
)
def test_a_journal_in_two_halves_is_the_whole_run(path, settings):
    X, y = make_data()
    half = selector(n_plays=10, journal=path, **settings).fit(X, y)
    assert half.n_plays_ == 10
    resumed = selector(journal=str(path), **settings).fit(X, y)
    assert [play for play in plays_of(resumed) if play[1] < 10] == plays_of(half)
    if "random_state" in settings:
        settings["random_state"] = np.random.default_rng(4)
    whole = selector(**settings).fit(X, y)
    assert_same(resumed, whole)
    assert_array_equal(resumed.q_values_, whole.q_values_)
    assert_same(selector(journal=path, **settings).fit(X, y), whole)
    with Journal(path) as journal:
        assert journal.n_plays(0) == 20
    path.unlink()
    assert len(resumed.result_.plays) == 20  # in memory, too


def test_a_second_fit_begins_anew():
    X, y = make_data()
    fitted = selector().fit(X, y)
    before = plays_of(fitted)
    assert plays_of(fitted.fit(X, y)) == before
    assert_same(fitted.fit(*make_data(1)), selector().fit(*make_data(1)))


def test_a_resumed_run_keeps_the_seed_of_the_journal(path):
    X, y = make_data()
    selector(n_plays=10, journal=path, random_state=None).fit(X, y)
    resumed = selector(journal=path, random_state=None).fit(X, y)
    at_once = selector(random_state=resumed.result_.journal.header.entropy).fit(X, y)
    assert_same(resumed, at_once)
    with pytest.warns(RuntimeWarning, match="another random_state"):
        assert_same(selector(journal=path, random_state=5).fit(X, y), at_once)


OTHERS = {
    "outcome": dict(data=lambda X, y: (X, y + 1)),
    "table": dict(data=lambda X, y: (X + 1e-9, y)),
    "columns": dict(data=lambda X, y: (X[:, :-1], y)),
    "order": dict(data=lambda X, y: (X[:, ::-1], y)),
    "single precision": dict(data=lambda X, y: (X.astype(np.float32), y)),
    "reward": dict(reward=Marginal(alpha=0.06)),
    "kind of reward": dict(reward=LassoReward()),
    "cost": dict(cost=0.5),
    "cost of a column": dict(cost=np.r_[np.full(P - 1, (np.sqrt(5) - 1) / 2), 0.6]),
    "prior": dict(prior=(1.0, 1.0 + 1e-12)),
    "number wanted": dict(n_features_to_select=5),
    "groups": dict(feature_groups={"g": [0, 1]}),
    "always": dict(always_include=[2]),
    "chains": dict(n_chains=2),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_journal_of_another_game_is_refused_and_left_untouched(case, path):
    X, y = make_data()
    selector(n_plays=3, journal=path).fit(X, y)
    before = path.read_bytes()
    settings = dict(OTHERS[case])
    data = settings.pop("data", lambda X, y: (X, y))(X, y)
    with pytest.raises(JournalError, match="another data set or other settings"):
        selector(journal=path, **settings).fit(*data)
    assert path.read_bytes() == before
    assert selector(journal=path).fit(X, y).n_plays_ == 20


def test_the_same_game_stated_otherwise_is_the_same_game(path):
    X, y = make_data()
    labels = [0, 0, *range(2, P)]
    selector(n_plays=5, journal=path, feature_groups=labels, cost=0.6).fit(X, y)
    with sklearn.config_context(print_changed_only=False):
        resumed = selector(
            journal=path,
            feature_groups={"g": [1, 0]},
            cost=np.full(P, 0.6),
            prior=[1, np.ones(P)],
            patience=500,
            time_limit=1e6,
            verbose=0,
            n_jobs=2,
        ).fit(np.asfortranarray(X), list(y))
    assert_same(resumed, selector(feature_groups=labels, cost=0.6).fit(X, y))


def test_another_version_of_tvselect_is_warned_of(path, monkeypatch):
    X, y = make_data()
    selector(n_plays=2, journal=path).fit(X, y)
    monkeypatch.setattr("tvselect.selectors.search.version", lambda _: "99")
    with pytest.warns(RuntimeWarning, match=r"begun by tvselect .*; this is 99"):
        selector(n_plays=3, journal=path).fit(X, y)


@pytest.mark.parametrize("n_chains", [1, 3])
@pytest.mark.parametrize("by", [KeyboardInterrupt, RuntimeError])
def test_an_interrupt_or_an_error_leaves_a_journal_that_goes_on_to_the_same_end(by, n_chains, path):
    X, y = make_data()
    stopped = selector(Interrupted(at=7 * n_chains, by=by), n_chains=n_chains, journal=path)
    if by is KeyboardInterrupt:
        with pytest.warns(RuntimeWarning, match="interrupted"):
            stopped.fit(X, y)
        assert stopped.stop_reason_ is StopReason.INTERRUPTED
        assert stopped.n_plays_ == 6
        won, lost = fold_counts(stopped.result_.journal, P, range(n_chains))
        assert_array_equal(stopped.selection_rates_, (1 + won) / (2 + won + lost))
    else:
        with pytest.raises(RuntimeError, match="no luck"):
            stopped.fit(X, y)
    with Journal(path) as journal:
        assert journal.n_plays(0) == 6
    resumed = selector(Undisturbed(), n_chains=n_chains, journal=path).fit(X, y)
    assert_same(resumed, selector(Undisturbed(), n_chains=n_chains).fit(X, y))


def test_an_interrupt_in_the_first_play_leaves_a_fitted_selector_that_selects_nothing():
    with pytest.warns(RuntimeWarning, match="interrupted") as warned:
        fitted = selector(Interrupted(at=1)).fit(*make_data())
    assert warned[0].filename == __file__
    assert fitted.n_plays_ == 0
    assert not fitted.support_.any()
    assert_array_equal(fitted.selection_rates_, np.full(P, 0.5))


RUNS = {
    "offline": """
    from tvselect import Search, ThompsonSelector

    def run(journal, n_plays):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((30, 50)), rng.standard_normal(30)
        print("ready", flush=True)
        fitted = ThompsonSelector(
            slow_coin, n_plays=n_plays, random_state=1,
            search=Search(n_chains=2, journal=journal),
        ).fit(X, y)
        return fitted.selection_rates_.tobytes().hex()
""",
    "stream": """
    from tvselect import Search, StreamingThompsonSelector
    from tvselect.trees import bin_table

    bin_table(np.eye(2))  # loads the native core once and not after every kill

    def run(journal, n_plays):
        # Tables of other sizes than the batches; the head is full in the first round, and
        # batches of a single class are skipped.
        rng = np.random.default_rng(0)
        size = max(4, 1100 // (n_plays // 2))
        n = n_plays // 2 * size
        X, y = rng.standard_normal((n, 20)), np.where(rng.random(n) < 0.4, "yes", "no")
        tables = [(X[i : i + 77], y[i : i + 77]) for i in range(0, n, 77)]
        print("ready", flush=True)
        fitted = StreamingThompsonSelector(
            slow_coin, batch_size=size, n_rounds=2, random_state=1,
            search=Search(n_chains=2, journal=journal), decoys="knockoffs", discount=0.95,
        ).fit_source(tables)
        numbers = np.concatenate([fitted.selection_rates_, fitted.decoy_rates_])
        assert fitted.n_plays_ == n_plays
        return numbers.tobytes().hex()
""",
}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize(("kind", "n_kills", "n_plays"), [("offline", 5, 60), ("stream", 3, 40)])
def test_a_run_that_is_killed_and_resumed_ends_like_one_that_is_not(
    kind, n_kills, n_plays, tmp_path
):
    check_kills(RUNS[kind], n_kills, n_plays, tmp_path)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("kind", RUNS)
def test_a_run_that_is_killed_two_hundred_times_ends_the_same(kind, tmp_path, record_result):
    record_result("Killed and resumed", kind, check_kills(RUNS[kind], 200, 600, tmp_path))
