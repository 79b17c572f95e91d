"""A Dask cluster: a laptop's, Slurm's, Kubernetes', any that a client can reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, final

from tvselect.runners.base import Run, Runner, Work, WorkerError, do_share, run_shares

SECONDS_FOR_WORKERS = 60
SECONDS_TO_CONNECT = 10


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


class _Crew:
    """Workers that hold the work, or are given it again when it is lost with them."""

    def __init__(self, runner: DaskRunner, client: Any, work: Work) -> None:
        self._runner, self._client, self._work = runner, client, work
        self._held = self._scatter()

    def run(self, tasks: Sequence[Any]) -> list[Any]:
        return run_shares(tasks, self._runner.n_workers, self._attempt, self._recover)

    def _attempt(self, parts: dict[int, Sequence[Any]]) -> dict[int, list[Any]]:
        distributed = load_distributed()
        losses = (
            distributed.KilledWorker,
            distributed.CancelledError,
            distributed.scheduler.NoValidWorkerError,
        )
        places = self._runner.places() or self._runner.wait_for_workers()
        # Left to itself, Dask sends tasks that are this short to one and the same worker.
        futures = {
            k: self._client.submit(
                do_share,
                self._held,
                part,
                pure=False,
                workers=places[k % len(places)],
                allow_other_workers=True,
            )
            for k, part in parts.items()
        }
        done: dict[int, list[Any]] = {}
        try:
            for k, future in futures.items():
                with suppress(*losses):
                    done[k] = future.result()
        except BaseException:
            self._client.cancel(list(futures.values()), force=True)
            raise
        return done

    def _recover(self) -> None:
        self._runner.wait_for_workers()
        self._held = self._scatter()

    def close(self) -> None:
        self._held = None

    def _scatter(self) -> Any:
        return self._client.scatter(self._work, broadcast=True, hash=False)


def load_distributed() -> Any:
    """Dask's package, or an error that says how to install it."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "a Dask cluster needs dask: pip install 'tvselect[dask]'"
        ) from None
    return distributed
