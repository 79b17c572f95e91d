"""Where plays run: in threads, in processes, or on the workers of a Dask cluster.

The state of a run stays with the driver. Workers receive the work once, with the data that it
holds, and then do tasks. The work is a pure function of a task: results do not depend on which
worker does it, how many there are, or whether a task is repeated because its worker was lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
import platform
import shutil
import signal
import tempfile
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from itertools import cycle, takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

import tvselect
from tvselect.core import library
from tvselect.inputs.errors import needed

Work = Callable[[Any], Any]
"""A pure function of one task."""
TaskMap = Callable[[Sequence[Any]], list[Any]]
"""``run(tasks)``: the results in the order of the tasks."""
Shares = Mapping[int, Sequence[Any]]
"""Tasks that are neighbours, by number."""

MOST_LOSSES = 5
SECONDS_TO_CONNECT, SECONDS_FOR_WORKERS, SECONDS_TO_SEND = 10, 60, 600
SECONDS_BETWEEN_LOOKS, SECONDS_AFTER_LOSS = 2, 60


class WorkerError(RuntimeError):
    """Workers that are lost again and again, or that cannot be reached."""


@dataclass(frozen=True)
class Runner:
    """Workers, wherever they are.

    ``bind(work)`` sends the work and its data to every worker once. It is a context manager of a
    function that runs a list of tasks: one whose worker is lost is repeated by another, and an
    error of the work is raised unchanged.
    """

    n_workers: int  #: Tasks that run at the same time
    bind: Callable[[Work], AbstractContextManager[TaskMap]]
    shares_memory: bool = False  #: Whether tasks are passed as they are, not copied
    is_remote: bool = False  #: Whether the workers may be on other machines
    close: Callable[[], Any] = tuple  #: Closes what was opened for this runner


def open_runner(runner: Any = None, n_jobs: int | None = None) -> Runner:
    """Choose where plays run.

    "threads", the default, share one copy of the data. "processes" of this machine, for rewards in
    plain Python, map the data into memory from files. ``n_jobs`` is their number. An address such
    as ``tcp://head-node:8786``, or a ``distributed.Client``, is a Dask cluster, whose scheduler and
    workers must be trusted, as they run code of this process and it unpickles their answers. There,
    files of columns (PLINK, cells) are opened under the same path; other data is sent once.
    """
    if isinstance(runner, Runner):
        return runner
    if runner is None or (isinstance(runner, str) and runner in ("threads", "processes")):
        n_workers = 1
        if n_jobs != 1:
            from joblib import effective_n_jobs

            n_workers = max(1, effective_n_jobs(n_jobs))
        if runner == "processes":
            return Runner(n_workers, partial(in_processes, n_workers))
        return Runner(n_workers, partial(in_threads, n_workers), shares_memory=True)
    if hasattr(runner, "scheduler_info"):
        return Runner(len(_places(runner)), partial(on_cluster, runner), is_remote=True)
    if isinstance(runner, str) and "://" in runner:
        client = _client_of(runner)
        try:
            return replace(open_runner(client), close=client.close)
        except BaseException:
            client.close()
            raise
    raise ValueError(
        f"runner must be 'threads', 'processes', the address of a Dask scheduler such as "
        f"'tcp://head-node:8786', a distributed.Client or a Runner, got {runner!r}"
    )


@contextmanager
def opened(runner: Any = None, n_jobs: int | None = None) -> Iterator[Runner]:
    """A runner as :func:`open_runner` chooses it, closed afterwards unless it was given."""
    chosen = open_runner(runner, n_jobs)
    try:
        yield chosen
    finally:
        if chosen is not runner:
            chosen.close()


# In threads ---------------------------------------------------------------------------------------


@contextmanager
def in_threads(n_workers: int, work: Work) -> Iterator[TaskMap]:
    """Threads of this process; the caller's own, where it is a single one."""
    if n_workers == 1:
        yield lambda tasks: [work(task) for task in tasks]
        return
    # Ctrl-C could leave a lock of futures or events locked; this queue has none. joblib.Parallel
    # takes 11 ms to hand over a window, this 0.05 ms; a play takes one or two.
    queues: list[SimpleQueue[Any]] = [SimpleQueue() for _ in range(n_workers)]

    def serve(jobs: SimpleQueue[Any]) -> None:
        for job in iter(jobs.get, None):
            job()

    def wait_for_threads() -> None:
        done: SimpleQueue[None] = SimpleQueue()
        for jobs in queues:
            jobs.put(partial(done.put, None))
        for _ in queues:
            done.get()

    def run(tasks: Sequence[Any]) -> list[Any]:
        if len(tasks) == 1:
            return [work(tasks[0])]
        results: list[Any] = [None] * len(tasks)
        places = iter(range(len(tasks)))
        errors: list[BaseException] = []

        def pull() -> None:
            """Do one task after the other: a job for each would cost more."""
            try:
                for place in places:
                    if errors:
                        return
                    results[place] = work(tasks[place])
            except BaseException as error:
                errors.append(error)

        try:
            for jobs in queues:
                jobs.put(pull)
            wait_for_threads()
        except BaseException as interrupt:
            errors.append(interrupt)
            wait_for_threads()  # no thread goes on working after the error
            raise
        if errors:
            raise errors[0]
        return results

    threads = [threading.Thread(target=serve, args=(jobs,), daemon=True) for jobs in queues]
    try:
        for thread in threads:
            thread.start()
        yield run
    finally:
        for jobs in queues:
            jobs.put(None)
        for thread in threads:
            if thread.is_alive():
                thread.join()


# In processes -------------------------------------------------------------------------------------

_work: Work | str | None = None
"""The work, if this process is a worker; or why the process cannot be used."""


@contextmanager
def in_processes(n_workers: int, work: Work) -> Iterator[TaskMap]:
    """Processes of this machine, which are replaced when one of them dies."""
    from loky import ProcessPoolExecutor
    from loky.backend import get_context

    pool: Any = None

    def attempt(left: Shares) -> dict[int, list[Any]]:
        nonlocal pool
        done: dict[int, list[Any]] = {}
        futures: dict[int, Future[list[Any]]] = {}
        try:
            with suppress(BrokenProcessPool):
                for k, share in left.items():
                    futures[k] = pool.submit(_do_share, share)
            wait(futures.values(), return_when=FIRST_EXCEPTION)
            for k, future in futures.items():
                with suppress(BrokenProcessPool):
                    done[k] = future.result()
        finally:
            for future in futures.values():
                future.cancel()
        if len(done) < len(left):
            pool.shutdown()
            pool = start()
        return done

    with tempfile.TemporaryDirectory(prefix="tvselect-") as folder:
        handed = Path(folder), pack(work, Path(folder)), os.getpid(), this_build()
        # Fresh interpreters, as a fork may hold locks of threads it does not have. Unlike those of
        # the standard library they do not run the caller's script again. joblib.Parallel uses
        # them, too, but would send the work with every task.
        settings = dict(context=get_context("loky"), initializer=_begin, initargs=handed)
        start = partial(ProcessPoolExecutor, n_workers, **settings)
        pool = start()
        try:
            yield partial(_insist, attempt, n_workers)
        finally:
            pool.shutdown()


def pack(thing: object, folder: Path) -> bytes:
    """An object as bytes, its arrays as files, which any number of processes map into memory."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    head: bytes = cloudpickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    for number, buffer in enumerate(buffers):
        (folder / str(number)).write_bytes(buffer.raw())
    return head


def unpack(head: bytes, folder: Path) -> Any:
    """The object again; its arrays cannot be written to."""
    files = sorted(folder.iterdir(), key=lambda file: int(file.name))
    buffers = [np.memmap(file, mode="r") if file.stat().st_size else b"" for file in files]
    return pickle.loads(head, buffers=buffers)


def _begin(folder: Path, head: bytes, driver: int, build: dict[str, str]) -> None:
    """Prepare a new process."""
    from threadpoolctl import threadpool_limits

    global _work
    threading.Thread(target=_leave_with, args=(driver, folder), daemon=True).start()
    # The driver handles Ctrl-C, after the plays under way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    _work = difference(build, this_build()) or unpack(head, folder)


def _leave_with(driver: int, folder: Path) -> None:
    """End when the driver has ended, even if it was killed, and remove its files."""
    while os.getppid() == driver:
        time.sleep(1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _do_share(tasks: Sequence[Any]) -> list[Any]:
    if isinstance(_work, str):
        what = "it was installed anew or edited while this one ran; start again"
        raise WorkerError(f"a process has {_work}: {what}")
    assert _work is not None
    return [_work(task) for task in tasks]


# On a cluster -------------------------------------------------------------------------------------

_stopped: set[str] = set()
"""Calls of ``run`` whose remaining tasks this process, if it is a worker, leaves out."""


class _WorkError(Exception):
    """An error of the work, not of the cluster; its argument is the pickled error."""


@contextmanager
def on_cluster(client: Any, work: Work) -> Iterator[TaskMap]:
    """Workers of a Dask cluster, which repeats the tasks of lost ones elsewhere.

    Every worker keeps a copy of the work under a name of its own, as Dask drops all copies of one
    name but one, and fetches it from the first one: a broadcast during which a worker is killed
    never ends. Every wait for Dask has a limit, or ends when no worker runs anything; all is then
    sent anew.
    """
    from distributed import CancelledError, KilledWorker

    sent: Any = None
    copies: dict[str, Any] = {}

    def attempt(left: Shares, call: str) -> dict[int, list[Any]]:
        nonlocal sent
        parts: list[Any] = []
        try:
            places = _places(client)
            for lost in copies.keys() - places:
                del copies[lost]
            if new := sorted(set(places) - copies.keys()):
                _require_same_build(client, new)
                if sent is None or sent.status != "finished":
                    sending = client.scatter(work, workers=new[:1], hash=False, asynchronous=True)
                    sent = _ask(client, sending, new[:1], SECONDS_TO_SEND)
            for place in new:
                copies[place] = client.submit(
                    _keep, sent, workers=[place], allow_other_workers=True, pure=False
                )
            works = [copies[place] for _, place in zip(left, cycle(places), strict=False)]
            tasks = list(left.values())
            parts = client.map(_do_there, works, tasks, call=call, workers=places, pure=False)
            gathering = client.gather(parts, asynchronous=True)
            found = _ask(client, gathering, places, SECONDS_TO_SEND, is_work=True)
            return dict(zip(left, found, strict=True))
        except (OSError, KeyError, CancelledError):  # a worker was lost
            sent = None
            copies.clear()
            return {}
        finally:
            for part in parts:
                part.release()

    def run(tasks: Sequence[Any]) -> list[Any]:
        call = uuid.uuid4().hex
        try:
            return _insist(partial(attempt, call=call), len(_places(client)), tasks)
        except BaseException as error:
            # Workers begin no other task of this call.
            with suppress(Exception):
                stopping = client.run(_stop, call, asynchronous=True)
                _ask(client, stopping, (), SECONDS_BETWEEN_LOOKS)
            if isinstance(error, _WorkError):
                raise pickle.loads(error.args[0]) from None
            if isinstance(error, KilledWorker):
                raise _lost() from None
            raise

    yield run


def _keep(work: Work) -> Work:
    return work


def _stop(call: str) -> None:
    _stopped.add(call)


def _do_there(work: Work, tasks: Sequence[Any], call: str) -> list[Any]:
    """Do several tasks, until the call is stopped."""
    import cloudpickle

    try:
        return [work(task) for task in takewhile(lambda _: call not in _stopped, tasks)]
    except Exception as error:
        error.add_note(f"On a worker:\n{traceback.format_exc()}")
        try:
            pickle.loads(said := cloudpickle.dumps(error))
        except Exception:
            said = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    raise _WorkError(said)


def _ask(
    client: Any,
    question: Coroutine[Any, Any, Any],
    places: Collection[str],
    seconds: float,
    *,
    is_work: bool = False,
) -> Any:
    """The answer of Dask, or a TimeoutError: work may take long, unless a worker is lost."""
    answer = asyncio.run_coroutine_threadsafe(question, client.loop.asyncio_loop)
    started = time.monotonic()
    end, is_whole = started + seconds, True
    try:
        while True:
            try:
                return answer.result(SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                now = time.monotonic()
                if answer.done():
                    raise
                if now >= end:
                    if not (is_work and is_whole and _is_running(client)):
                        raise
                    end = now + seconds
                elif is_whole and not set(places) <= set(_places(client)):
                    end = min(end, now + max(SECONDS_AFTER_LOSS, 2 * (now - started)))
                    is_whole = False
    finally:
        answer.cancel()


def _is_running(client: Any) -> bool:
    """Whether a worker runs anything, of this client or of another one."""
    running = client.scheduler.call_stack(keys=None)
    return bool(_ask(client, running, (), SECONDS_AFTER_LOSS))


def _places(client: Any) -> list[str]:
    """The addresses of workers, each as often as it has threads; waits a minute for the first."""
    deadline = time.monotonic() + SECONDS_FOR_WORKERS
    while True:
        try:
            known = client.sync(client.scheduler.ncores, callback_timeout=SECONDS_FOR_WORKERS)
        except OSError as error:
            raise WorkerError(
                f"the Dask scheduler does not answer: {error}; look at its log, and start again"
            ) from None
        if known:
            return [place for place, n_threads in sorted(known.items()) for _ in range(n_threads)]
        if time.monotonic() > deadline:
            raise WorkerError(
                f"the Dask cluster has had no worker for {SECONDS_FOR_WORKERS} s; start one with "
                "'dask worker ADDRESS'; if there was one, look at its log and its memory"
            )
        time.sleep(0.1)


def _client_of(address: str) -> Any:
    dask = needed("distributed", "a Dask cluster needs dask: pip install 'tvselect[dask]'")
    try:
        return dask.Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise WorkerError(
            f"no Dask scheduler answers at {address}: {error}; start one with "
            "'dask scheduler', or look at the address"
        ) from None


def _require_same_build(client: Any, places: Sequence[str]) -> None:
    """Refuse workers with another tvselect or other libraries, which may give other numbers."""
    asking = client.run(this_build, workers=places, on_error="return", asynchronous=True)
    for place, build in _ask(client, asking, places, SECONDS_TO_SEND).items():
        if isinstance(build, OSError):  # a lost worker, which is noticed later
            continue
        if isinstance(build, Exception):
            what = f"no tvselect like this one ({type(build).__name__}: {build})"
        else:
            what = difference(this_build(), build)
        if what:
            raise WorkerError(
                f"the worker {place} has {what}, which may give other numbers; install the same "
                "there, and start it again"
            )


# For all of them ----------------------------------------------------------------------------------


def _insist(
    attempt: Callable[[Shares], dict[int, list[Any]]], n_workers: int, tasks: Sequence[Any]
) -> list[Any]:
    """Do all tasks; shares that are lost with a worker are tried again."""
    left = dict(enumerate(shares(tasks, n_workers)))
    done: dict[int, list[Any]] = {}
    for _ in range(MOST_LOSSES):
        done |= attempt(left) if left else {}
        left = {k: share for k, share in left.items() if k not in done}
        if not left:
            return [result for k in sorted(done) for result in done[k]]
    raise _lost()


def _lost() -> WorkerError:
    return WorkerError(
        f"workers were lost {MOST_LOSSES} times during the same plays, or did not answer; if "
        "memory was short, use fewer of them or give them more"
    )


def shares(tasks: Sequence[Any], n_workers: int) -> list[Sequence[Any]]:
    """Split the tasks into consecutive parts of about the same size, one per worker."""
    n_shares = min(n_workers, len(tasks))
    places = np.array_split(range(len(tasks)), n_shares) if n_shares else []
    return [tasks[part[0] : part[-1] + 1] for part in places]


@cache
def this_build() -> dict[str, str]:
    """Version and sources of this package and its native core, and the libraries behind them."""
    folder = Path(tvselect.__file__).parent
    sources = hashlib.sha256(str(library.tvs_source()).encode())
    for file in sorted(folder.rglob("*.py")):
        sources.update(file.relative_to(folder).as_posix().encode() + b"\0")
        sources.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return {
        "tvselect": tvselect.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "sources": sources.hexdigest(),
    }


def difference(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """How another build differs from ours, in words; empty if it is the same."""
    name = next((name for name in ours if theirs[name] != ours[name]), None)
    if name == "sources":
        return f"tvselect {theirs['tvselect']} with other sources"
    return "" if name is None else f"{name} {theirs[name]}, here it is {ours[name]}"
