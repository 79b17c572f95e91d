"""10,000,000 columns of two values, 500 rows, from a file that is never read into memory.

``make bench-very-wide`` makes the file (one byte per value, column by column: 5 GB, in a temporary
folder, removed afterwards), selects from it and records time and memory. Memory is what the
process owns (``RssAnon``, looked at ten times a second); pages of the file that the operating
system keeps at hand, and can drop at any moment, are shown beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.records import heading, record

N_ROWS, N_COLUMNS, N_PLAYS = 500, 10_000_000, 100
COLUMNS_AT_A_TIME = 20_000
SIGNALS = (17, 2_345_678, 5_000_000, 7_654_321, 9_999_998)


def make_file(path: Path, n_columns: int) -> None:
    """Zeros and ones; how many ones a column has is drawn between 5 and 50 %."""
    rng = np.random.default_rng(11)
    X = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.uint8, shape=(N_ROWS, n_columns), fortran_order=True
    )
    for first in tqdm(range(0, n_columns, COLUMNS_AT_A_TIME), desc="making the file"):
        width = min(COLUMNS_AT_A_TIME, n_columns - first)
        shares = rng.uniform(0.05, 0.5, width).astype(np.float32)
        values = rng.random((width, N_ROWS), dtype=np.float32) < shares[:, None]
        X[:, first : first + width] = values.T
    X.flush()


def outcome(X: np.ndarray, seed: int) -> tuple[np.ndarray, list[int]]:
    """Two columns on their own, a pair that works together, one that helps a little less."""
    places = [place * X.shape[1] // N_COLUMNS for place in SIGNALS]
    a, b, c, d, e = (X[:, place].astype(float) for place in places)
    noise = np.random.default_rng(seed).standard_normal(len(X))
    return 4 * a + 4 * b + 3 * (c + d) + 2 * c * d + 2.5 * e + noise, places


class MemoryWatch(threading.Thread):
    """The most memory that the process owned, and the most that was mapped from files."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.owned = self.mapped = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        """Look until told to stop."""
        while not self._over.wait(0.1):
            fields = dict(
                line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()
            )
            self.owned = max(self.owned, int(fields["RssAnon"].split()[0]) / 1024)
            self.mapped = max(self.mapped, int(fields["RssFile"].split()[0]) / 1024)

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self.join()


def one_run(path: str, seed: int) -> dict[str, float]:
    from tvselect import ThompsonSelector

    warm_up = (np.random.default_rng(0).random((50, 10)) < 0.5).astype(np.uint8)
    ThompsonSelector(n_plays=2, random_state=0).fit(warm_up, warm_up[:, 0] + np.arange(50.0))
    X = np.load(path, mmap_mode="r")
    y, places = outcome(X, seed)
    watch = MemoryWatch()
    watch.start()
    started = time.perf_counter()
    selector = ThompsonSelector(n_plays=N_PLAYS, random_state=seed, verbose=1).fit(X, y)
    seconds = time.perf_counter() - started
    watch.stop()
    found = np.flatnonzero(selector.support_)
    sizes = [play.arms.size for play in selector.result_.journal.plays(0)]
    return {
        "seconds": seconds,
        "owned": watch.owned,
        "mapped": watch.mapped,
        "signals": int(np.isin(places, found).sum()),
        "false": int((~np.isin(found, places)).sum()),
        "first": sizes[0],
        "last": sizes[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=N_COLUMNS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        print(json.dumps(one_run(options.run[0], int(options.run[1]))))
        return
    lines = [
        *heading("Very wide: ten million columns of two values", "make bench-very-wide"),
        f"{N_ROWS} rows x {options.columns:,} columns in a memory-mapped .npy file, default "
        f"reward, {N_PLAYS} plays, one thread. Seconds: all of the fit, with reading and encoding "
        "the file. Owned: peak memory of the process without pages of the file; mapped: pages of "
        "files.",
        "",
        "| seed | signals found | false | seconds | MB owned | MB mapped | columns of the first "
        "play | of the last |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.npy"
        make_file(path, options.columns)
        lines[-4] += f" The file: {path.stat().st_size / 1e6:,.0f} MB."
        for seed in range(1, options.seeds + 1):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.very_wide", "--run", str(path), str(seed)],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            r = json.loads(done.stdout)
            lines.append(
                f"| {seed} | {r['signals']} of {len(SIGNALS)} | {r['false']} | "
                f"{r['seconds']:.0f} | {r['owned']:,.0f} | {r['mapped']:,.0f} | "
                f"{r['first']:,} | {r['last']:,} |"
            )
            print(lines[-1], flush=True)
    record("very_wide.md", lines)


if __name__ == "__main__":
    main()
