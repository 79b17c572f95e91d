"""What was silently wrong."""

from __future__ import annotations

import json
import os
import subprocess
import warnings

import numpy as np
import pyarrow.parquet as pq

from tests.cli.makers import make_table
from tests.hardening.faults.base import (
    DEADLINE,
    TVS,
    StillThereError,
    expect,
    fault,
    said,
    select,
    tvs,
    wait_for,
)


@fault(
    "8", "A column that is constant in the first 1,000 rows of a stream", "can never be selected"
)
def vary_late(folder):
    from tvselect import StreamingThompsonSelector

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    y = 3 * X[:, 3] - 2 * X[:, 5] + rng.normal(size=5000)
    X[:1000, [1, 3]] = 0.0
    fitted = StreamingThompsonSelector("pvalue", batch_size=100, random_state=0).fit(X, y)
    found = np.flatnonzero(fitted.support_).tolist()
    expect(found == [3, 5], found)
    return "selected once it varies; one of noise that begins to vary is not"


@fault(
    "8",
    "3 positives in 2,000 rows of a stream",
    "17 of 20 batches skipped, noise selected, no warning",
)
def skip_batches(folder):
    from tvselect import StreamingThompsonSelector

    X, y = np.random.default_rng(0).normal(size=(2000, 12)), np.zeros(2000, dtype=int)
    y[[100, 700, 1500]] = 1
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        fitted = StreamingThompsonSelector(batch_size=100, random_state=0).fit(X, y)
    expect(len(heard) == 1 and not fitted.support_.any(), [str(one.message) for one in heard])
    return f"nothing is selected, and a warning: `{heard[0].message}`"


@fault("9", "Two rewards of one name", "a journal goes on with the other one")
def swap_rewards(folder):
    from tests.selectors.test_fingerprint import KINDS
    from tvselect import ThompsonSelector
    from tvselect.bandit.journal import JournalError

    X = np.random.default_rng(0).normal(size=(50, 4))
    for kind, make in KINDS.items():
        if kind in (
            "array",
            "namespace",
            "compiled",
            "cached",
        ):  # as arguments only, or not callable so
            continue
        journal = folder / kind
        ThompsonSelector(make(0.5), n_plays=3, journal=journal, random_state=1).fit(X, X[:, 0])
        try:
            ThompsonSelector(make(0.9), n_plays=6, journal=journal).fit(X, X[:, 0])
        except JournalError:
            continue
        raise StillThereError(kind)
    return f"refused for {len(KINDS) - 3} kinds: partials, closures, defaults, objects, ..."


@fault("10", "A worker with another version", "gives other numbers without a word")
def mix_versions(folder):
    import distributed

    from tests.workers.test_workers import pretend
    from tvselect.workers import WorkerError, open_runner

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(pretend, {"tvselect": "0.0.9"})
        with open_runner(client).bind(abs) as run:
            try:
                run([-1])
            except WorkerError as error:
                text = str(error).replace(cluster.workers[0].worker_address, "ADDRESS")
                return f"refused: `{text}`"
    raise StillThereError("it was played on")


def two_groups(path, order):
    rng = np.random.default_rng(0)
    tables = [make_table(20_000, seed=int(seed)) for seed in rng.integers(100, size=2)]
    with pq.ParquetWriter(
        path, tables[0].schema, write_statistics=False, use_dictionary=False, compression="none"
    ) as writer:
        for k in order:
            writer.write_table(tables[k], row_group_size=20_000)


@fault("11", "Row groups permuted in place", '`resume` ends "done"')
def permute_groups(folder):
    options = ("--reward", "pvalue", "--stream", "--batch-size", "2000", "--max-fdr", "none")
    path = folder / "t.parquet"
    two_groups(path, (0, 1))
    before = path.stat()
    done = select(folder, *options, table="t.parquet")
    expect(done.returncode == 0, done.stderr)
    two_groups(path, (1, 0))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    expect(path.stat().st_size == before.st_size, "the size has changed")
    return said(tvs(folder, "resume", "run", "--rounds", 2))


@fault("11", "A Parquet replaced in mid-run", 'the run ends "done"')
def replace_tables(folder):
    for name, seed in (("t", 1), ("other", 2)):
        table = make_table(40_000, seed=seed)
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=1000)
    options = ("--reward", "pvalue", "--stream", "--batch-size", 1000, "--max-fdr", "none",
               "--rounds", 100, "--seed", 1)  # fmt: skip
    process = subprocess.Popen(
        [*TVS, *map(str, ("select", "t.parquet", "-t", "y", *options, "--out", "run"))],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(folder / "run" / "journal.sqlite-wal", process)
    os.replace(folder / "other.parquet", folder / "t.parquet")
    _, err = process.communicate(timeout=DEADLINE)
    run = json.loads((folder / "run" / "run.json").read_text())
    expect(process.returncode == 1 and run["state"] == "failed", (run["state"], err))
    return f'ends with an error, state "{run["state"]}": the file was changed or replaced'


@fault("15", "A time limit of nearly 0", "no plays, nothing selected, no warning")
def give_no_time(folder):
    done = select(folder, "--reward", "pvalue", "--time-limit", "1e-9")
    expect("was over before the first play" in done.stderr, done.stderr)
    return f"`{done.stderr.removeprefix('tvs: ').strip()}`"
