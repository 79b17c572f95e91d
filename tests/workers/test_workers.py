"""Workers: the same results wherever the work is done, whatever happens to those who do it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tests.waiting import wait_for
from tvselect import workers as module
from tvselect.workers import WorkerError, difference, open_runner, pack, shares, this_build, unpack

IN_THREADS, IN_PROCESSES = open_runner("threads", 3), open_runner("processes", 2)


def add(base, task):
    """Work that holds an array."""
    if task < 0:
        raise ValueError(f"{task} is below zero")
    return base.sum() + task


def die_once(folder, task):
    """Kill the worker the first time that task 3 is done; without a folder, every time."""
    mark = folder and Path(folder) / "died"
    if not mark or (task == 3 and not mark.exists()):
        if mark:
            mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task * 10


class Unpicklable:
    """Work that never leaves this process."""

    kept: ClassVar[dict[int, object]] = {}

    def __init__(self, work):
        self.kept[id(work)] = work
        self.place = id(work)

    def __call__(self, task):
        return self.kept[self.place](task)


@contextmanager
def dask_here(n_workers, n_threads=1):
    """Dask workers in this process, and a client of them."""
    distributed = pytest.importorskip("distributed", reason="needs dask")
    settings = dict(processes=False, threads_per_worker=n_threads, dashboard_address=":0")
    with (
        distributed.LocalCluster(n_workers=n_workers, **settings) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def two_workers():
    """Of two threads each."""
    with dask_here(2, 2) as client:
        yield open_runner(client)


@pytest.fixture
def impatient(monkeypatch):
    """Limits of a moment."""
    limits = dict(BETWEEN_LOOKS=0.05, AFTER_LOSS=0.5, TO_SEND=1.0, TO_CONNECT=1, FOR_WORKERS=2)
    for name, seconds in limits.items():
        monkeypatch.setattr(module, f"SECONDS_{name}", seconds)
    monkeypatch.setattr(module, "MOST_LOSSES", 2)


# Which workers, and what they are handed


def test_a_runner_is_chosen_by_name():
    kinds = [(r.n_workers, r.shares_memory) for r in (open_runner(), IN_THREADS, IN_PROCESSES)]
    assert kinds == [(1, True), (3, True), (2, False)]
    assert open_runner(IN_THREADS) is IN_THREADS
    assert open_runner(None, -1).n_workers >= 1
    for wrong in ("proceses", "localhost:8786", 3):
        with pytest.raises(ValueError, match=r"runner must be 'threads', 'processes', the address"):
            open_runner(wrong)


def test_a_scheduler_that_is_not_there_is_one_clear_error(impatient):
    pytest.importorskip("distributed")
    with pytest.raises(WorkerError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1"):
        open_runner("tcp://127.0.0.1:1")


def test_shares_are_even_and_in_order():
    for n_tasks, n_workers in product([0, 1, 2, 6, 7, 20], [1, 2, 3, 7]):
        parts = shares(list(range(n_tasks)), n_workers)
        assert [task for part in parts for task in part] == list(range(n_tasks))
        assert len(parts) == min(n_tasks, n_workers)
        sizes = [len(part) for part in parts]
        assert max(sizes, default=0) - min(sizes, default=0) <= 1


def test_processes_are_handed_what_was_packed(tmp_path):
    thing = {
        "nested": [np.arange(10), "text", *(np.full(k, k) for k in range(12))],
        "transposed": np.arange(100_000).reshape(100, -1).T,
        "empty": np.array([], dtype=float),
    }
    np.testing.assert_equal(unpack(pack(thing, tmp_path), tmp_path), thing)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"tvselect": "0.0.1"}, f"tvselect 0.0.1, here it is {this_build()['tvselect']}"),
        ({"sources": "others"}, f"tvselect {this_build()['tvselect']} with other sources"),
        ({"numpy": "1.0"}, f"numpy 1.0, here it is {np.__version__}"),
    ],
)
def test_another_build_is_told_apart(change, said):
    assert difference(this_build(), {**this_build(), **change}) == said


def test_processes_of_another_build_are_refused(monkeypatch):
    ours = this_build()
    monkeypatch.setattr(module, "this_build", lambda: {**ours, "sources": "others"})
    with (
        open_runner("processes").bind(abs) as run,
        pytest.raises(WorkerError, match=r"a process has .*with other sources.*start again"),
    ):
        run([-1, -2])


def test_workers_of_another_build_are_refused(client, monkeypatch):
    client.run(pretend, {"numpy": "1.0"})
    try:
        with open_runner(client).bind(abs) as run, pytest.raises(WorkerError, match=r"numpy 1\.0"):
            run([-1, -2])
    finally:
        client.run(pretend, {})

    def unheard_of():
        raise ModuleNotFoundError("No module named 'tvselect.workers'")

    with open_runner(client).bind(abs) as run:
        with monkeypatch.context() as patch:
            patch.setattr(module, "this_build", unheard_of)
            with pytest.raises(WorkerError, match="no tvselect like this one"):
                run([-1])
        assert run([-1, -2]) == [1, 2]


def pretend(change):
    """Let the record of a worker say something else."""
    this_build.cache_clear()
    this_build().update(change)


# In threads and processes


@pytest.mark.parametrize("runner", [open_runner(), IN_THREADS, IN_PROCESSES])
def test_results_come_in_the_order_of_the_tasks_and_an_error_stays_what_it_is(runner):
    base = np.arange(1000.0)
    with runner.bind(partial(add, base)) as run:
        assert run([5, 1, 3, 2, 4]) == [base.sum() + k for k in (5, 1, 3, 2, 4)]
        assert run([]) == []
        with pytest.raises(ValueError, match="-4 is below zero"):
            run([1, 2, -4, 3])
        assert run([7]) == [base.sum() + 7]


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a thread")
def test_an_interrupt_ends_the_threads_before_it_is_raised(request):
    """The tasks in hand are ended, and none is begun behind the caller's back."""
    # A process that a shell has started in the background ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(partial(signal.signal, signal.SIGINT, before))
    begun = []

    def work(task):
        begun.append(task)
        if task == 1:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with open_runner("threads", 2).bind(work) as run:
        with pytest.raises(KeyboardInterrupt):
            run(range(10**6))
        n_begun = len(begun)
        assert run(["a", "b"]) == [None, None]
        assert set(begun[n_begun:]) == {"a", "b"}


def test_a_task_whose_process_is_killed_is_done_again(tmp_path, impatient):
    with IN_PROCESSES.bind(partial(die_once, str(tmp_path))) as run:
        assert run([1, 2, 3, 4, 5]) == [10, 20, 30, 40, 50]
        assert (tmp_path / "died").exists()
        assert run([6]) == [60]
    with (
        open_runner("processes").bind(partial(die_once, None)) as run,
        pytest.raises(WorkerError, match=r"lost 2 times.*use fewer"),
    ):
        run([1])


SCRIPT = """
import os, sys, time
from pathlib import Path
from tvselect.workers import open_runner

def work(task):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(task)
    return task

with open_runner("processes", 2).bind(work) as run:
    print(run([float(seconds) for seconds in sys.argv[2:]]))
"""


@pytest.mark.parametrize("piped", [False, True])
def test_scripts_need_no_guard(piped, tmp_path):
    """Processes of the standard library run the caller's script again, and so without end."""
    (tmp_path / "script.py").write_text(SCRIPT)
    name = "-" if piped else str(tmp_path / "script.py")
    done = subprocess.run(
        [sys.executable, name, str(tmp_path), "0", "0.5"],
        input=SCRIPT if piped else None, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[0.0, 0.5]\n", "")


def test_nothing_is_left_behind_when_the_driver_is_killed(tmp_path):
    temporary, workers = tmp_path / "temporary", tmp_path / "workers"
    temporary.mkdir()
    workers.mkdir()
    driver = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(workers), "100", "100"],
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    wait_for(lambda: len(list(workers.iterdir())) == 2)
    [folder] = temporary.glob("tvselect-*")
    driver.kill()
    driver.wait()
    wait_for(lambda: not any(alive(int(worker.name)) for worker in workers.iterdir()))
    assert not folder.exists()


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


# On a Dask cluster


def test_a_dask_worker_uses_all_its_threads(two_workers):
    together = threading.Barrier(4, timeout=60)

    def meet(task):
        together.wait()
        return task * 10

    with two_workers.bind(Unpicklable(meet)) as run:
        assert run([1, 2, 3, 4]) == [10, 20, 30, 40]
        assert run([5, 6, 7, 8]) == [50, 60, 70, 80]


@pytest.mark.parametrize("error", [ValueError, OSError, TimeoutError, KeyError, threading.Lock])
def test_an_error_of_the_work_on_a_cluster_is_raised_as_it_is(two_workers, error):
    """Also one of a kind that the loss of a worker would raise; one that cannot travel is told."""

    def fail(task):
        if task == 2 and error is threading.Lock:
            told = ValueError("of the work")
            told.lock = error()
            raise told
        if task == 2:
            raise error("of the work")
        return task

    kind = RuntimeError if error is threading.Lock else error
    with two_workers.bind(fail) as run:
        with pytest.raises(kind, match="of the work"):
            run([1, 2, 3, 4])
        assert run([1, 3]) == [1, 3]


def test_two_runs_on_one_cluster_wait_for_each_other(two_workers, impatient):
    """While the first one holds both workers, the second one is not taken for lost."""
    gate, begun = threading.Event(), threading.Semaphore(0)

    def hold(task):
        begun.release()
        assert gate.wait(60)
        return task

    with (
        two_workers.bind(Unpicklable(hold)) as run,
        two_workers.bind(partial(add, np.zeros(3))) as other,
        ThreadPoolExecutor(2) as aside,
    ):
        slow = aside.submit(run, [1, 2, 3, 4])
        assert all(begun.acquire(timeout=60) for _ in range(4))
        waiting = aside.submit(other, [5, 6])
        with pytest.raises(TimeoutError):
            waiting.result(1.5)
        gate.set()
        assert slow.result(60) == [1, 2, 3, 4]
        assert waiting.result(60) == [5.0, 6.0]


def test_an_error_stops_the_other_workers(two_workers):
    """They end the task in hand and begin no other one."""
    begun, gate, stopped = [], threading.Event(), threading.Event()

    def work(task):
        if task == 0:
            assert gate.wait(60)
            raise ValueError("of the work")
        begun.append(task)
        gate.set()
        return stopped.wait(60)

    with two_workers.bind(Unpicklable(work)) as run:
        with pytest.raises(ValueError, match="of the work"):
            run(range(12))
        stopped.set()
        assert run([12]) == [True]
    assert {*begun} <= {3, 6, 9, 12}


def test_a_cluster_whose_last_worker_goes_is_one_clear_error(impatient):
    begun, gate = threading.Event(), threading.Event()

    def hold(task):
        begun.set()
        return gate.wait(60)

    with dask_here(n_workers=1) as client:

        def close():
            assert begun.wait(60)
            client.cluster.scale(0)

        with open_runner(client).bind(Unpicklable(hold)) as run, ThreadPoolExecutor(1) as aside:
            going = aside.submit(close)
            with pytest.raises(WorkerError, match="has had no worker"):
                run([1])
            gate.set()
            going.result(60)


@pytest.mark.parametrize(
    ("what", "sizes"),
    [
        ("scatter", [2]), ("gather", [2]), ("run", [2]), ("scatter", [1, 2]), ("gather", [1, 2]),
        ("scatter", [3]), ("gather", [3]), ("run", [3]), ("gather", [3, 3]),
    ],
)  # fmt: skip
def test_dask_that_does_not_answer_is_asked_anew(what, sizes, impatient, monkeypatch):
    """A worker that is killed at the wrong moment may leave Dask waiting for ever.

    ``sizes`` are the numbers of workers from the first, or second, call on that is not answered.
    """
    with (
        dask_here(n_workers=3) as client,
        open_runner(client).bind(partial(add, np.zeros(3))) as run,
    ):
        answer, left, n_silent = getattr(client, what), list(sizes), len(sizes)

        async def for_ever():
            await asyncio.Event().wait()

        def silent(*args, **settings):
            if not left:
                return answer(*args, **settings)
            client.cluster.scale(left.pop())
            return for_ever()

        with monkeypatch.context() as patch:
            patch.setattr(client, what, silent)
            if n_silent == 1:
                assert run([1, 2, 3]) == [1.0, 2.0, 3.0]
            else:
                with pytest.raises(WorkerError, match=r"lost 2 times.*or did not answer"):
                    run([1, 2, 3])
