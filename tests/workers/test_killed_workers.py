"""Workers that are killed at random moments, or run out of memory: nothing is lost."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest

from tests.nested import nested
from tests.workers.test_same_bits import bits, table
from tvselect import BartReward, ThompsonSelector
from tvselect.bandit.journal import Journal
from tvselect.rewards import Reward
from tvselect.workers import WorkerError

N_RUNS = 20
N_PLAYS = 200
WANTED = 2**33


@contextmanager
def two_workers(**settings):
    distributed = pytest.importorskip("distributed")
    settings = dict(n_workers=2, threads_per_worker=1, dashboard_address=":0") | settings
    with (
        distributed.LocalCluster(processes=True, **settings) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.long
def test_a_worker_killed_at_a_random_moment_changes_nothing(record_result):
    """One of two Dask workers is killed (SIGKILL) somewhere in the first 90 % of the time."""
    rng = np.random.default_rng(2026)
    settings = dict(n_plays=N_PLAYS, window=8, random_state=3)
    reward = BartReward(n_trees=10, n_iterations=1000)
    with two_workers() as client:
        selector = ThompsonSelector(reward, **nested(runner=client, **settings))
        selector.fit(*table("gaussian"))
        started = time.perf_counter()
        wanted = bits(selector.fit(*table("gaussian")))
        seconds = time.perf_counter() - started
    n_killed = 0
    for _ in range(N_RUNS):
        with two_workers() as client:
            victim = int(rng.choice(sorted(client.run(os.getpid).values())))
            killer = threading.Timer(rng.uniform(0, 0.9 * seconds), _kill, [victim])
            killer.start()
            selector = ThompsonSelector(reward, **nested(runner=client, **settings))
            assert bits(selector.fit(*table("gaussian"))) == wanted
            n_killed += killer.finished.is_set()
            killer.cancel()
            killer.join()
    assert n_killed >= N_RUNS - 2  # a run may be over before its worker dies
    record_result(
        "a Dask worker killed at a random moment",
        f"{N_RUNS} runs of {N_PLAYS} plays, two workers",
        f"{n_killed} workers killed, all runs finished, all bit-identical to an undisturbed one",
    )


def _kill(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class Hungry(Reward):
    """Pays the first column of a play; plays of few columns want a lot of room, and use some.

    While the file ``scarce`` is there, a worker gets no more than half of what they want.
    """

    rewards_stand_ins = False

    def __init__(self, scarce="", n_used=0):
        self.scarce, self.n_used = scarce, n_used

    def start(self, data):
        def pay(columns, rng):
            if columns.size <= 10:
                with less_room() if Path(self.scarce).is_file() else nullcontext():
                    room = np.empty(WANTED // 8)
                room[: self.n_used] = 1.0
            payoffs = np.zeros(columns.size)
            payoffs[0] = 1.0
            return payoffs

        return pay


@contextmanager
def less_room():
    """Some gigabytes of addresses more for this process, fewer than wanted."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + WANTED // 2, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_a_process_out_of_memory_is_one_error_and_the_run_can_go_on(tmp_path):
    scarce = tmp_path / "scarce"
    reward, kept = Hungry(str(scarce)), dict(journal=tmp_path / "journal", runner="processes")

    def fit(**settings):
        settings = nested(n_plays=60, window=4, random_state=0, **settings)
        return ThompsonSelector(reward, **settings).fit(*table("gaussian"))

    scarce.touch()
    with pytest.raises(MemoryError, match="Unable to allocate"):
        fit(n_jobs=2, **kept)
    with Journal(tmp_path / "journal") as journal:
        assert 2 <= journal.n_plays() < 60
    scarce.unlink()
    assert bits(fit(**kept)) == bits(fit())


@pytest.mark.long
def test_a_dask_worker_out_of_memory_is_one_clear_error_and_no_play_is_lost(tmp_path):
    """The nanny kills a worker that takes more than its limit, and the next one, and the next."""
    settings = dict(n_plays=60, random_state=0, journal=tmp_path / "journal")
    said = r"if memory was short, use fewer of them|look at its log and its memory"
    with two_workers(n_workers=1, memory_limit="600MB") as client:
        selector = ThompsonSelector(Hungry(n_used=2**28), **nested(runner=client, **settings))
        with pytest.raises(WorkerError, match=said):
            selector.fit(*table("gaussian"))
    with Journal(tmp_path / "journal") as journal:
        assert 2 <= journal.n_plays() < 60
