"""The numbers of a run depend on its window, not on who plays, how many, or how fast."""

from __future__ import annotations

import hashlib
import os
import signal
from dataclasses import dataclass
from functools import cache
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.nested import nested
from tvselect import BartReward, Search, StreamingThompsonSelector, ThompsonSelector

QUICK = BartReward(n_trees=5, n_iterations=40, proposals_per_column=0.0)
N_COLUMNS = 40
RUNNERS = ("two threads", "two processes", "dask")


def table(kind, n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, N_COLUMNS))
    y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.standard_normal(n_rows)
    return X, (y > np.median(y) if kind == "probit" else y)


@pytest.fixture(params=RUNNERS)
def where(request):
    if request.param == "dask":
        return {"runner": request.getfixturevalue("client")}
    return {"runner": request.param.removeprefix("two "), "n_jobs": 2}


def bits(fitted):
    """A hash of every play: arms and rewards, chain by chain."""
    total = hashlib.sha256()
    for chain in range(fitted.result_.n_chains):
        for play in fitted.result_.journal.plays(chain):
            total.update(play.number.to_bytes(4, "little"))
            total.update(play.arms.astype("<i4").tobytes())
            total.update(np.packbits(play.rewards).tobytes())
    return total.hexdigest()


def offline(kind, **settings):
    settings = dict(n_plays=90, random_state=5) | settings
    return ThompsonSelector(QUICK, **nested(**settings)).fit(*table(kind))


def online(source, kind, **settings):
    settings = dict(batch_size=100, n_rounds=2, random_state=5, family=kind) | settings
    return StreamingThompsonSelector(QUICK, **nested(**settings)).fit_source(source, "y")


@cache
def offline_alone(kind="gaussian", *, window=6, n_chains=1):
    """The run that others are compared with: one thread here."""
    return offline(kind, window=window, n_chains=n_chains)


@cache
def online_alone(source, kind, **settings):
    return online(source, kind, **settings)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder for each kind, of two files; some batches of the second have a single class."""
    folders = {}
    for kind in ("gaussian", "probit"):
        X, y = table(kind, n_rows=3000)
        if kind == "probit":
            y[np.arange(3000) % 1000 < 400] = True
            y[:200] = np.arange(200) // 2 % 2
        columns = {f"v{j}": X[:, j] for j in range(N_COLUMNS)} | {"y": y.astype(float)}
        folders[kind] = tmp_path_factory.mktemp(kind)
        for k in range(2):
            part = {name: values[k::2] for name, values in columns.items()}
            pq.write_table(pa.table(part), folders[kind] / f"{k}.parquet", row_group_size=400)
    return folders


@pytest.mark.parametrize(
    ("kind", "n_chains", "window"), [("gaussian", 1, 6), ("probit", 3, 6), ("gaussian", 2, 1)]
)
def test_offline_plays_are_the_same_bits_everywhere(where, kind, n_chains, window):
    one = offline_alone(kind, window=window, n_chains=n_chains)
    other = offline(kind, window=window, n_chains=n_chains, **where)
    assert bits(one) == bits(other)
    np.testing.assert_array_equal(one.selection_rates_, other.selection_rates_)


@pytest.mark.filterwarnings("ignore:20 of 60 batches")
@pytest.mark.parametrize(
    ("kind", "settings", "reason"),
    [
        ("gaussian", dict(n_chains=3), "rounds"),
        ("probit", dict(n_chains=1), "rounds"),
        ("gaussian", dict(patience=12), "patience"),
    ],
)
def test_plays_on_a_stream_are_the_same_bits_everywhere(where, kind, settings, reason, files):
    one = online_alone(files[kind], kind, window=6, **settings)
    other = online(files[kind], kind, window=6, **settings, **where)
    assert one.stop_reason_ == other.stop_reason_ == reason
    assert reason == "patience" or one.n_plays_ == 60
    n_skipped = one.result_.n_skipped
    assert 5 < n_skipped < 30 if kind == "probit" else n_skipped == 0
    assert other.result_.n_skipped == n_skipped
    assert bits(one) == bits(other)


@pytest.mark.parametrize("patience", [None, 9])
def test_chains_that_read_a_stream_apart_play_as_they_do_together(files, patience):
    settings = dict(window=1, n_chains=2, patience=patience)
    one = online(files["gaussian"], "gaussian", **settings)
    other = online(files["gaussian"], "gaussian", **settings, n_jobs=2)
    assert one.n_plays_ == other.n_plays_
    assert bits(one) == bits(other)


def test_auto_is_the_paper_with_one_worker_and_sixteen_per_worker_else():
    assert bits(offline("gaussian", window="auto")) == bits(offline_alone(window=1))
    assert bits(offline("gaussian", window="auto", n_jobs=2)) == bits(offline_alone(window=32))
    assert bits(offline_alone(window=1)) != bits(offline_alone(window=32))
    two = dict(n_chains=2, n_jobs=2)
    auto, paper = (offline("gaussian", window=window, **two) for window in ("auto", 1))
    assert bits(auto) == bits(paper)


@pytest.mark.parametrize("n_before", [1, 20, 41, 43, 60, 77])
def test_a_run_that_is_extended_goes_on_inside_its_window(n_before, tmp_path):
    """40 plays are done with windows of up to 4: 41 and 43 end inside one."""
    path = tmp_path / "journal"
    offline("gaussian", window=6, n_plays=n_before, journal=path)
    resumed = offline("gaussian", window=6, journal=path)
    assert bits(resumed) == bits(offline_alone())


def test_a_resumed_run_keeps_its_window_whoever_plays(tmp_path):
    path = tmp_path / "journal"
    offline("gaussian", window="auto", n_jobs=2, n_plays=50, journal=path)
    with pytest.raises(ValueError, match=r"begun with window=32.*not 2; go on with window=32"):
        offline("gaussian", window=2, journal=path)
    resumed = offline("gaussian", window="auto", n_jobs=1, journal=path)
    assert bits(resumed) == bits(offline_alone(window=32))


@pytest.mark.parametrize(
    ("wrong", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), ("big", ValueError)]
)
def test_windows_that_are_none_are_refused(wrong, error):
    with pytest.raises(error, match="window"):
        offline("gaussian", window=wrong)


@pytest.mark.parametrize("n_done", [0, 20])
def test_a_dask_worker_that_is_killed_changes_nothing(client, n_done):
    """The worker dies in a play; another takes the play over, and a new one is used."""
    victim = next(iter(client.run(os.getpid).values()))
    wanted = bits(offline_alone())
    quick = dict(n_trees=5, n_iterations=40, proposals_per_column=0.0)
    reward = Deadly(**quick, victim=victim, n_done=n_done)
    selector = ThompsonSelector(
        reward, n_plays=90, search=Search(window=6, runner=client), random_state=5
    )
    assert bits(selector.fit(*table("gaussian"))) == wanted
    assert victim not in client.run(os.getpid).values()


@dataclass(eq=False, repr=False, kw_only=True)
class Deadly(BartReward):
    """Dies in one process, after some plays there."""

    victim: int = 0
    n_done: int = 0

    def start(self, data):
        feedback, n_rewarded = super().start(data), count()

        def pay(columns, rng):
            if os.getpid() == self.victim and next(n_rewarded) == self.n_done:
                os.kill(self.victim, signal.SIGKILL)
            return feedback(columns, rng)

        return pay
