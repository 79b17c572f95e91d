"""A Dask cluster: a laptop's, Slurm's, Kubernetes', any that a client can reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle
from typing import Any, final

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

    Parameters
    ----------
    work : callable
    n_threads : int
        Of the worker: so many parts are done at the same time.
    """

    def __init__(self, work: Work, n_threads: int) -> None:
        self._work = work
        self._n_threads = n_threads

    def do(self, parts: list[Sequence[Any]]) -> tuple[list[list[Any]], Exception | None]:
        """The results of every part; or an error of the work, which is not one of the worker."""
        try:
            if len(parts) == 1:
                return [do_share(self._work, parts[0])], None
            with ThreadPoolExecutor(self._n_threads) as pool:
                return list(pool.map(partial(do_share, self._work), parts)), None
        except Exception as error:
            return [], error


class _Crew:
    """Hands on all workers; new ones where workers have joined or were lost.

    A hand is an actor: it is called directly, where a task of its own would cost the
    scheduler several times as much as the call.
    """

    def __init__(self, runner: DaskRunner, client: Any, work: Work) -> None:
        self._runner, self._client, self._work = runner, client, work
        self._held = self._scatter()
        self._hands: dict[str, Any] = {}

    def run(self, tasks: Sequence[Any]) -> list[Any]:
        with self._client.as_current():
            return run_shares(tasks, self._runner.n_workers, self._attempt, self._recover)

    def _attempt(self, parts: dict[int, Sequence[Any]]) -> dict[int, list[Any]]:
        places = self._runner.places() or self._runner.wait_for_workers()
        numbers: dict[str, list[int]] = {}
        for k, place in zip(parts, cycle(places), strict=False):
            numbers.setdefault(place, []).append(k)
        self._hire(Counter(places), set(numbers))
        answers = {}
        for place in numbers.keys() & self._hands.keys():
            with suppress(RuntimeError):  # the worker is known to be lost
                answers[place] = self._hands[place].do([parts[k] for k in numbers[place]])
        done: dict[int, list[Any]] = {}
        for place, answer in answers.items():
            try:
                results, error = self._patiently(answer, place)
            except OSError:
                continue
            if error is not None:
                raise error
            done |= zip(numbers[place], results, strict=True)
        return done

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
                self._hands[place] = self._patiently(future, place)

    def _patiently(self, answer: Any, place: str) -> Any:
        """An answer, for as long as there is a worker who can give it."""
        while True:
            try:
                return answer.result(timeout=SECONDS_BETWEEN_LOOKS)
            except TimeoutError:
                if place not in self._runner.places() or self._held.status != "finished":
                    raise OSError(f"{place} has gone, or the data with other workers") from None

    def _recover(self) -> None:
        self._runner.wait_for_workers()
        self._hands = {}
        self._held = self._scatter()

    def close(self) -> None:
        self._hands = {}
        self._held = None

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
