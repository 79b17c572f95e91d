"""A Dask cluster: a laptop's, Slurm's, Kubernetes', any that a client can reach."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from typing import Any, final

import cloudpickle

from tvselect.runners.base import (
    MOST_LOSSES,
    Run,
    Runner,
    Work,
    WorkerError,
    do_share,
    run_shares,
)

SECONDS_FOR_WORKERS = 60
SECONDS_TO_CONNECT = 10
SECONDS_BETWEEN_LOOKS = 2


@final
class DaskRunner(Runner):
    """The workers of a Dask cluster.

    The data goes to every worker once; a worker that joins later fetches it from another.
    Then only the arms of a play, its seed and its rewards travel.

    Parameters
    ----------
    client : distributed.Client or str
        A client, or the address of a scheduler such as ``tcp://head-node:8786``.
    """

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
        self.wait_for_workers()

    @property
    def n_workers(self) -> int:
        """Threads of all workers."""
        return max(1, len(self.places()))

    def places(self) -> list[str]:
        """The workers' addresses, each as often as it has threads."""
        nthreads: dict[str, int] = self._client.nthreads()
        return [address for address, n in sorted(nthreads.items()) for _ in range(n)]

    @contextmanager
    def hand_out(self, work: Work) -> Iterator[Run]:
        """See :meth:`Runner.hand_out`."""
        crew = _Crew(self, self._client, work)
        try:
            yield crew.run
        finally:
            crew.close()

    def close(self) -> None:
        """Leave the cluster, if this runner has gone there by itself."""
        if self._own:
            self._client.close()

    def wait_for_workers(self) -> list[str]:
        """Wait until there is one, for a minute at most; returns :meth:`places`."""
        distributed = load_distributed()
        try:
            self._client.wait_for_workers(1, timeout=SECONDS_FOR_WORKERS)
        except (TimeoutError, distributed.TimeoutError):
            raise WorkerError(
                f"the Dask cluster has had no worker for {SECONDS_FOR_WORKERS} s; start one with "
                "'dask worker ADDRESS'"
            ) from None
        return self.places()


class Hand:
    """Lives on a worker, holds the work, and does its share of the tasks.

    Tasks come and results go as bytes: what cannot be read at the other end is an error
    there, and not an answer that never arrives.

    Parameters
    ----------
    work : callable
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
        self._n_threads = n_threads

    def do(self, parts: bytes) -> bytes:
        """The results of every part, or the error of the work."""
        self.n_begun += 1
        try:
            answer = cloudpickle.dumps(("results", self._do(pickle.loads(parts))))
        except Exception as error:
            answer = cloudpickle.dumps(("error", _as_it_can_travel(error)))
        self.n_done += 1
        return answer

    def _do(self, parts: list[Sequence[Any]]) -> list[list[Any]]:
        if len(parts) == 1:
            return [do_share(self._work, parts[0])]
        with ThreadPoolExecutor(self._n_threads) as pool:
            return list(pool.map(partial(do_share, self._work), parts))


def _as_it_can_travel(error: Exception) -> Exception:
    """The error, or a likeness of one that cannot be read at the other end."""
    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Call:
    """A call of a hand that is under way."""

    def __init__(self, hand: Any, number: int, parts: list[Sequence[Any]]) -> None:
        self._hand, self._number = hand, number
        self._answer = hand.do(cloudpickle.dumps(parts))

    def result(self, timeout: float) -> list[list[Any]]:
        kind, value = pickle.loads(self._answer.result(timeout=timeout))
        if kind == "error":
            raise _WorkError(value)
        results: list[list[Any]] = value
        return results

    def is_lost(self) -> bool:
        """Whether the worker has not heard of it, has answered long ago, or cannot be asked."""
        try:
            return bool(self._hand.n_begun < self._number or self._hand.n_done >= self._number)
        except Exception:
            return True


class _WorkError(Exception):
    """Wraps an error that is not one of the worker."""


class _Crew:
    """Hands on all workers; new ones where workers have joined or were lost.

    A hand is an actor: it is called directly, where a task of its own would cost the
    scheduler several times as much as the call.
    """

    def __init__(self, runner: DaskRunner, client: Any, work: Work) -> None:
        self._runner, self._client, self._work = runner, client, work
        self._held = self._scatter()
        self._hands: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}  # a hand is let go with the last future of it
        self._n_calls: Counter[str] = Counter()

    def run(self, tasks: Sequence[Any]) -> list[Any]:
        with self._client.as_current():
            try:
                return run_shares(tasks, self._runner.n_workers, self._attempt, self._recover)
            except _WorkError as wrapped:
                raise wrapped.args[0] from None

    def _attempt(self, parts: dict[int, Sequence[Any]]) -> dict[int, list[Any]]:
        places = self._runner.places() or self._runner.wait_for_workers()
        numbers: dict[str, list[int]] = {}
        for k, place in zip(parts, cycle(places), strict=False):
            numbers.setdefault(place, []).append(k)
        self._hire(Counter(places), set(numbers))
        calls: dict[str, _Call] = {}
        for place in numbers.keys() & self._hands.keys():
            self._n_calls[place] += 1
            with suppress(RuntimeError):  # the worker is known to be lost
                mine = [parts[k] for k in numbers[place]]
                calls[place] = _Call(self._hands[place], self._n_calls[place], mine)
        done: dict[int, list[Any]] = {}
        for place, call in calls.items():
            with suppress(OSError):
                done |= zip(numbers[place], self._answer(call, place), strict=True)
        return done

    def _answer(self, call: _Call, place: str) -> list[list[Any]]:
        """What a call brings, for as long as there is a worker who may answer it."""
        lost_before = False
        while True:
            try:
                return call.result(SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                self._look_after(place)
                lost = call.is_lost()
                if lost and lost_before:
                    raise OSError(f"the answer of {place} is lost") from None
                lost_before = lost

    def _hire(self, n_threads: Mapping[str, int], places: set[str]) -> None:
        """Put a hand on every one of these places that has none."""
        asked = {
            place: self._client.submit(
                Hand, self._held, n_threads[place], actor=True, workers=[place], pure=False
            )
            for place in places - self._hands.keys()
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
                self._hands[place] = self._hired(future, place)
                self._kept[place] = future
                self._n_calls[place] = 0

    def _hired(self, future: Any, place: str) -> Any:
        while True:
            try:
                return future.result(timeout=SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                self._look_after(place)

    def _look_after(self, place: str) -> None:
        if place not in self._runner.places() or self._held.status != "finished":
            raise OSError(f"{place} has gone, or the data with other workers")

    def _recover(self) -> None:
        self._runner.wait_for_workers()
        self._let_go()
        self._held = self._scatter()

    def close(self) -> None:
        self._let_go()
        self._held = None

    def _let_go(self) -> None:
        self._hands = {}
        self._kept = {}

    def _scatter(self) -> Any:
        """Send the work to all workers; again when one of them dies just then."""
        for _ in range(MOST_LOSSES):
            with suppress(KeyError, OSError):
                return self._client.scatter(self._work, broadcast=True, hash=False)
            self._runner.wait_for_workers()
        raise WorkerError(
            f"the data could not be sent to the workers of the Dask cluster in {MOST_LOSSES} "
            "attempts; look at their memory and their logs"
        )


def load_distributed() -> Any:
    """Dask's package, or an error that says how to install it."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "a Dask cluster needs dask: pip install 'tvselect[dask]'"
        ) from None
    return distributed
