"""A Parquet data set larger than its process: 2,000,000 rows x 500 columns, one pass.

``make bench-stream`` makes the files (about 4 GB, in a temporary folder, removed afterwards),
prints the table and records it. Every run has a process of its own: peak memory and bytes read
are what the operating system counted for it (``ru_maxrss``; ``rchar`` of /proc/self/io).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.records import heading, record

N_COLUMNS = 500
ROWS_PER_GROUP = 20_000
ROWS_PER_FILE = 500_000
SIGNALS = 5


def make_files(folder: Path, n_rows: int) -> None:
    """Friedman's function of the first five of 500 uniform columns; binary y: above its mean."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    names = [f"x{j}" for j in range(N_COLUMNS)] + ["y", "bought"]
    writer = None
    for first in tqdm(range(0, n_rows, ROWS_PER_GROUP), desc="making the files"):
        if first % ROWS_PER_FILE == 0 and writer is not None:
            writer.close()
            writer = None
        X = rng.random((N_COLUMNS, ROWS_PER_GROUP), dtype=np.float32)
        f = 10 * np.sin(np.pi * X[0] * X[1]) + 20 * (X[2] - 0.5) ** 2 + 10 * X[3] + 5 * X[4]
        y = f + rng.standard_normal(ROWS_PER_GROUP)
        bought = f + 3 * rng.standard_normal(ROWS_PER_GROUP) > 14.4
        columns = [pa.array(column) for column in (*X, y.astype(np.float32), bought)]
        group = pa.table(columns, names=names)
        if writer is None:
            path = folder / f"part-{first // ROWS_PER_FILE:03}.parquet"
            writer = pq.ParquetWriter(path, group.schema, use_dictionary=False, compression="none")
        writer.write_table(group, row_group_size=ROWS_PER_GROUP)
    if writer is not None:
        writer.close()


def bytes_read() -> int:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def one_run(files: list[str], target: str) -> dict[str, object]:
    from tvselect import StreamingThompsonSelector

    warm_up = np.random.default_rng(0).random((50, 10))
    StreamingThompsonSelector(random_state=0).fit(warm_up, warm_up[:, 0])
    columns = [f"x{j}" for j in range(N_COLUMNS)]
    before = bytes_read()
    started = time.perf_counter()
    selector = StreamingThompsonSelector(random_state=0)
    selector.fit_source(files, target=target, columns=columns)
    found = np.flatnonzero(selector.support_)
    return {
        "seconds": time.perf_counter() - started,
        "bytes": bytes_read() - before,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "plays": selector.n_plays_,
        "signals": int((found < SIGNALS).sum()),
        "false": int((found >= SIGNALS).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        print(json.dumps(one_run(options.run[1:], options.run[0])))
        return
    lines = [
        *heading("A stream larger than memory", "make bench-stream"),
        f"Friedman's function in {N_COLUMNS} float32 columns, Parquet files of "
        f"{ROWS_PER_FILE:,} rows in row groups of {ROWS_PER_GROUP:,}; one pass, batches of 1,000 "
        "rows, default reward, one thread. Peak: memory of the whole process. Read: bytes that "
        "the operating system counted.",
        "",
        "| rows | y | file, MB | read, MB | share | peak, MB | seconds | rows per second | found "
        "| false |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, options.rows)
        paths = sorted(folder.glob("*.parquet"))
        for n_files in sorted({1, max(1, len(paths) // 2), len(paths)}):
            for target in ("y", "bought"):
                files = [str(path) for path in paths[:n_files]]
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.stream", "--run", target, *files],
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                r = json.loads(done.stdout)
                size = sum(path.stat().st_size for path in paths[:n_files])
                n_rows = min(n_files * ROWS_PER_FILE, options.rows)
                lines.append(
                    f"| {n_rows:,} | {'continuous' if target == 'y' else 'binary'} | "
                    f"{size / 1e6:.0f} | {r['bytes'] / 1e6:.0f} | {r['bytes'] / size:.3f} | "
                    f"{r['peak']:.0f} | {r['seconds']:.1f} | {n_rows / r['seconds']:,.0f} | "
                    f"{r['signals']} of {SIGNALS} | {r['false']} |"
                )
                print(lines[-1], flush=True)
    record("stream.md", lines)


if __name__ == "__main__":
    main()
