"""20,000 rows x 100,000 columns of a sparse matrix, one cell in a hundred filled.

``make bench-sparse`` makes the matrix, selects from it and records time and memory. As an array of
doubles the table would take 16 GB. Memory is what the process owns (``RssAnon``, looked at ten
times a second), the matrix included.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmarks.records import heading, in_fresh_process, record
from benchmarks.very_wide import MemoryWatch

N_ROWS, N_COLUMNS, FILLED, N_PLAYS = 20_000, 100_000, 0.01, 500
N_SIGNALS, EFFECT = 8, 3.0


def make(n_rows: int, n_columns: int, seed: int) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Counts in every other column and positive numbers in the others; an outcome, its columns."""
    rng = np.random.default_rng(seed)
    columns = np.repeat(np.arange(n_columns, dtype=np.int32), max(5, round(FILLED * n_rows)))
    rows = rng.integers(n_rows, size=columns.size, dtype=np.int32)
    values = rng.standard_exponential(columns.size, dtype=np.float32)
    is_count = columns % 2 == 0
    values[is_count] = np.ceil(values[is_count])
    X = coo_array((values, (rows, columns)), shape=(n_rows, n_columns)).tocsr()
    signals = np.sort(rng.choice(n_columns, N_SIGNALS, replace=False))
    effects = EFFECT * np.where(np.arange(N_SIGNALS) % 2 == 0, 1.0, -1.0)
    y = (X[:, signals].toarray() > 0.0) @ effects + rng.standard_normal(n_rows)
    return X, y, signals


def one_run(n_rows: int, n_columns: int, seed: int) -> dict[str, float]:
    from tvselect import ThompsonSelector

    warm_up, target, _ = make(50, 100, 0)
    ThompsonSelector(n_plays=2, random_state=0).fit(warm_up, target)
    X, y, signals = make(n_rows, n_columns, seed)
    watch = MemoryWatch()
    watch.start()
    started = time.perf_counter()
    selector = ThompsonSelector(n_plays=N_PLAYS, random_state=seed).fit(X, y)
    seconds = time.perf_counter() - started
    watch.stop()
    found = selector.get_support(indices=True)
    return {
        "seconds": seconds,
        "owned": watch.owned,
        "signals": int(np.isin(signals, found).sum()),
        "false": int((~np.isin(found, signals)).sum()),
        "matrix": sum(part.nbytes for part in (X.data, X.indices, X.indptr)) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--columns", type=int, default=N_COLUMNS)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = ["--rows", str(options.rows), "--columns", str(options.columns)]
    if options.run is not None:
        print(json.dumps(one_run(options.rows, options.columns, options.run)))
        return
    lines = [
        *heading("Sparse matrices", "make bench-sparse"),
        f"{options.rows:,} rows x {options.columns:,} columns in CSR format, {FILLED:.0%} of the "
        f"cells filled, {N_SIGNALS} columns that shift the outcome by {EFFECT:g} standard "
        f"deviations where they are filled; default settings (decoys, FDR 0.1), {N_PLAYS} plays, "
        "one thread. Seconds: all of the fit. Memory: the most that the process owned, the matrix "
        f"included; as doubles the table alone would take "
        f"{options.rows * options.columns * 8 / 1e9:.0f} GB.",
        "",
        "| seed | signals found | false | seconds | memory, MB | of these the matrix, MB |",
        "|---|---|---|---|---|---|",
    ]
    for seed in range(1, options.seeds + 1):
        r = in_fresh_process("sparse", "--run", seed, *size)
        lines.append(
            f"| {seed} | {r['signals']} of {N_SIGNALS} | {r['false']} | {r['seconds']:.0f} | "
            f"{r['owned']:,.0f} | {r['matrix']:,.0f} |"
        )
        print(lines[-1], flush=True)
    record("sparse.md", lines)


if __name__ == "__main__":
    main()
