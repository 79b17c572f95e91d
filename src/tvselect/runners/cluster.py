"""A Dask cluster: a laptop's, Slurm's, Kubernetes', any that a client can reach."""

from __future__ import annotations

import asyncio
import pickle
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import cycle, takewhile
from typing import Any, final

import cloudpickle

from tvselect.runners.base import (
    MOST_LOSSES,
    Runner,
    TaskMap,
    Work,
    WorkerError,
    do_share,
    run_shares,
)
from tvselect.runners.build import difference, this_build

SECONDS_FOR_WORKERS = 60
SECONDS_TO_CONNECT = 10
SECONDS_BETWEEN_LOOKS = 2


@final
class DaskRunner(Runner):
    """The workers of a Dask cluster.

    The data goes to every worker once; one that joins later fetches it from another. A file of
    columns (PLINK, cells) is opened by every worker under the same path instead. Then only the
    arms of a play, its seed and its rewards travel.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler such as ``tcp://head-node:8786``. Scheduler and
        workers run code of this process and it unpickles what they say: both must be trusted.
    """

    is_remote = True

    def __init__(self, client: Any) -> None:
        distributed = load_distributed()
        self._own = isinstance(client, str)
        if isinstance(client, str):
            try:
                client = distributed.Client(
                    client, timeout=SECONDS_TO_CONNECT, set_as_default=False
                )
            except (OSError, ValueError) as error:
                raise WorkerError(
                    f"no Dask scheduler answers at {client}: {error}; start one with "
                    "'dask scheduler', or look at the address"
                ) from None
        self._client = client
        try:
            self.wait_for_workers()
        except BaseException:
            self.close()
            raise

    @property
    def n_workers(self) -> int:
        """Threads of all workers."""
        return max(1, len(self.places()))

    def places(self) -> list[str]:
        """The workers' addresses, each as often as it has threads."""
        nthreads: dict[str, int] = self._client.nthreads()
        return [address for address, n in sorted(nthreads.items()) for _ in range(n)]

    @contextmanager
    def bind(self, work: Work) -> Iterator[TaskMap]:
        """See :meth:`Runner.bind`."""
        pool = _ActorPool(self, self._client, work)
        try:
            yield pool.run
        finally:
            pool.close()

    def close(self) -> None:
        """Leave the cluster, if this runner has gone there by itself."""
        if self._own:
            self._client.close()

    def require_same_build(self, places: Iterable[str]) -> None:
        """Refuse workers at ``places`` with another tvselect, or other libraries: other numbers.

        Raises
        ------
        WorkerError
            Names the worker and what is different there.
        """
        said = self._client.run(this_build, workers=list(places), on_error="return")
        for place, build in said.items():
            if isinstance(build, OSError):  # lost, as it will be found out
                continue
            if isinstance(build, Exception):
                what = f"no tvselect like this one ({type(build).__name__}: {build})"
            else:
                what = difference(this_build(), build)
            if what:
                raise WorkerError(
                    f"the worker {place} has {what}; its numbers would be others: install the "
                    "same there, and start it again"
                )

    def wait_for_workers(self) -> list[str]:
        """Wait until there is one, for a minute at most; returns :meth:`places`."""
        distributed = load_distributed()
        try:
            self._client.wait_for_workers(1, timeout=SECONDS_FOR_WORKERS)
        except (TimeoutError, distributed.TimeoutError):
            raise WorkerError(
                f"the Dask cluster has had no worker for {SECONDS_FOR_WORKERS} s; start one with "
                "'dask worker ADDRESS'; if there was one, look at its log and its memory"
            ) from None
        return self.places()


class WorkerActor:
    """Lives on a worker, holds the work, and does its share of the tasks.

    Tasks come and results go as bytes: what cannot be read at the other end is an error
    there, and not an answer that never arrives.

    Parameters
    ----------
    n_threads : int
        Of the worker: so many parts are done at the same time.

    Attributes
    ----------
    n_begun, n_done : int
        Calls so far.
    """

    n_begun: int = 0
    n_done: int = 0

    def __init__(self, work: Work, n_threads: int) -> None:
        self._work = work
        self._pool = ThreadPoolExecutor(n_threads)
        self._stopped = False

    async def do(self, parts: bytes) -> bytes:
        """The results of every part, or the error of the work."""
        self.n_begun += 1
        loop = asyncio.get_running_loop()
        try:
            shares = [loop.run_in_executor(self._pool, self._do, p) for p in pickle.loads(parts)]
            answer = cloudpickle.dumps(("results", await asyncio.gather(*shares)))
        except Exception as error:
            error.add_note(f"On a worker:\n{traceback.format_exc()}")
            answer = cloudpickle.dumps(("error", _as_it_can_travel(error)))
        self.n_done += 1
        return answer

    def stop(self) -> None:
        """Begin no more tasks."""
        self._stopped = True

    def _do(self, tasks: Sequence[Any]) -> list[Any]:
        return do_share(self._work, takewhile(lambda _: not self._stopped, tasks))


def _as_it_can_travel(error: Exception) -> Exception:
    """The error, or a likeness of one that cannot be read at the other end."""
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Call:
    """A call of an actor that is under way."""

    def __init__(self, actor: Any, number: int, parts: bytes) -> None:
        self._actor, self._number = actor, number
        self._answer = actor.do(parts)

    def result(self, timeout: float) -> list[list[Any]]:
        kind, value = pickle.loads(self._answer.result(timeout=timeout))
        if kind == "error":
            raise _WorkError(value)
        results: list[list[Any]] = value
        return results

    def tell_of_failure(self) -> None:
        """Raise the error of the work, if that has come already."""
        if self._answer.done():
            with suppress(OSError):
                self.result(SECONDS_TO_CONNECT)

    def is_lost(self) -> bool:
        """Whether the worker has not heard of it, has answered long ago, or cannot be asked."""
        try:
            return bool(self._actor.n_begun < self._number or self._actor.n_done >= self._number)
        except Exception:
            return True


class _WorkError(Exception):
    """Wraps an error that is not one of the worker."""


class _ActorPool:
    """Actors on all workers; new ones where workers have joined or were lost.

    An actor is called directly, where a task of its own would cost the
    scheduler several times as much as the call.
    """

    def __init__(self, runner: DaskRunner, client: Any, work: Work) -> None:
        self._runner, self._client, self._work = runner, client, work
        self._held: Any = None
        self._actors: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}  # an actor is let go with the last future of it
        self._n_calls: Counter[str] = Counter()

    def run(self, tasks: Sequence[Any]) -> list[Any]:
        with self._client.as_current():
            try:
                return run_shares(tasks, self._runner.n_workers, self._attempt, self._recover)
            except _WorkError as wrapped:
                self._stop()
                raise wrapped.args[0] from None
            except BaseException:
                self._stop()
                raise

    def _attempt(self, parts: dict[int, Sequence[Any]]) -> dict[int, list[Any]]:
        places = self._runner.places() or self._runner.wait_for_workers()
        numbers: dict[str, list[int]] = {}
        for k, place in zip(parts, cycle(places), strict=False):
            numbers.setdefault(place, []).append(k)
        self._place_actors(Counter(places), set(numbers))
        calls: dict[str, _Call] = {}
        for place in numbers.keys() & self._actors.keys():
            mine = cloudpickle.dumps([parts[k] for k in numbers[place]])
            with suppress(RuntimeError):  # the worker is known to be lost
                calls[place] = _Call(self._actors[place], self._n_calls[place] + 1, mine)
                self._n_calls[place] += 1
        done: dict[int, list[Any]] = {}
        for place, call in calls.items():
            try:
                results = self._answer(call, place, calls.values())
                done |= zip(numbers[place], results, strict=True)
            except OSError:
                self._let_go([place])
        return done

    def _answer(self, call: _Call, place: str, calls: Iterable[_Call]) -> list[list[Any]]:
        """What a call brings, unless its worker is lost or another call has failed."""
        lost_before = False
        while True:
            try:
                return call.result(SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                for other in calls:
                    other.tell_of_failure()
                lost = place not in self._runner.places() or call.is_lost()
                if lost and lost_before:
                    raise OSError(f"the answer of {place} is lost") from None
                lost_before = lost

    def _place_actors(self, n_threads: Mapping[str, int], places: set[str]) -> None:
        """Put an actor on every one of these places that has none."""
        if places <= self._actors.keys():
            return
        self._runner.require_same_build(places - self._actors.keys())
        if self._held is None or self._held.status != "finished":
            self._held = self._scatter()
        asked = {
            place: self._client.submit(
                WorkerActor, self._held, n_threads[place], actor=True, workers=[place], pure=False
            )
            for place in places - self._actors.keys()
        }
        distributed = load_distributed()
        losses = (
            OSError,
            distributed.KilledWorker,
            distributed.CancelledError,
            distributed.scheduler.NoValidWorkerError,
        )
        for place, future in asked.items():
            with suppress(*losses):
                self._actors[place] = self._placed(future, place)
                self._kept[place] = future
                self._n_calls[place] = 0

    def _placed(self, future: Any, place: str) -> Any:
        while True:
            try:
                return future.result(timeout=SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                if place not in self._runner.places() or self._held.status != "finished":
                    raise OSError(f"{place} has gone, or the data with another worker") from None

    def _recover(self) -> None:
        places = self._runner.wait_for_workers()
        self._let_go(self._actors.keys() - set(places))

    def _stop(self) -> None:
        """Nobody goes on working behind the caller's back."""
        with suppress(Exception):
            for answer in [actor.stop() for actor in self._actors.values()]:
                answer.result(timeout=SECONDS_BETWEEN_LOOKS)
        self.close()

    def close(self) -> None:
        self._let_go(list(self._actors))
        self._held = None

    def _let_go(self, places: Iterable[str]) -> None:
        for place in places:
            self._actors.pop(place, None)
            self._kept.pop(place, None)

    def _scatter(self) -> Any:
        """Send the work to all workers; again when one of them dies just then."""
        for _ in range(MOST_LOSSES):
            with suppress(KeyError, OSError):
                return self._sent(set(self._runner.wait_for_workers()))
        raise WorkerError(
            f"the data could not be sent to the workers of the Dask cluster in {MOST_LOSSES} "
            "attempts; look at their memory and their logs"
        )

    def _sent(self, places: set[str]) -> Any:
        """The work at all workers; a broadcast does not end by itself when one of them has gone."""
        sending = asyncio.run_coroutine_threadsafe(
            self._client.scatter(self._work, broadcast=True, hash=False, asynchronous=True),
            self._client.loop.asyncio_loop,
        )
        try:
            while not sending.done():
                with suppress(TimeoutError):
                    sending.result(timeout=SECONDS_BETWEEN_LOOKS)
                if not places <= set(self._runner.places()):
                    raise OSError("a worker has gone while the data was sent")
            return sending.result()
        finally:
            sending.cancel()


def load_distributed() -> Any:
    """Dask's package, or an error that says how to install it."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "a Dask cluster needs dask: pip install 'tvselect[dask]'"
        ) from None
    return distributed
