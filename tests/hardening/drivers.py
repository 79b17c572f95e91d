"""What the soak starts: files, drivers that play until they are told to stop, a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.records import ROOT
from tvselect import BartReward, Search, StreamingThompsonSelector
from tvselect.bandit.journal import Journal
from tvselect.runs.folder import RunFolder

N_FILES, N_ROWS, N_COLUMNS = 12, 4_000, 40
WINDOW = 8
SLOW_SHARE, SLOW_SECONDS = 0.02, 1.0


def make_files(folder: Path) -> None:
    """Files with two signals among 40 columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir()
    for k in range(N_FILES):
        X = rng.random((N_ROWS, N_COLUMNS))
        y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + 3 * rng.standard_normal(N_ROWS)
        columns = {f"x{j}": X[:, j] for j in range(N_COLUMNS)} | {"y": y}
        pq.write_table(pa.table(columns), folder / f"{k:02}.parquet", row_group_size=1_000)


def drive(folder: Path, journal: Path, cluster: str | None, *, locked: bool) -> None:
    """Play until Ctrl-C, alone in the folder of the journal; on a cluster with a slow disk."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    if cluster is not None:
        slow_down(np.random.default_rng())
    selector = StreamingThompsonSelector(
        BartReward(n_iterations=300),
        batch_size=500,
        n_rounds=None,
        time_limit=1e6,
        search=Search(window=WINDOW, runner=cluster, journal=journal),
        random_state=7,
    )
    with RunFolder(journal.parent).held() if locked else nullcontext():
        selector.fit_source(folder, "y")


def slow_down(rng: np.random.Generator) -> None:
    """Let some writes into the journal take their time."""
    write = Journal._write

    def slowly(self: Journal, *what: Any) -> None:
        if rng.random() < SLOW_SHARE:
            time.sleep(rng.exponential(SLOW_SECONDS))
        write(self, *what)

    Journal._write = slowly  # type: ignore[method-assign]


def be_a_cluster() -> None:
    """Two workers; says where they are, and stays until its input ends.

    A worker that is killed again while it comes back is brought back, too: by default a
    ``LocalCluster`` gives it up after 15 s.
    """
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
    ):
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


def start(*arguments: Any, **settings: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.hardening.soak", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, **settings)
