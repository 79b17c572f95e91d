"""Sparse BART on a wide Friedman table: 300 rows, 10,000 columns, five of them matter.

y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4 + noise
"""

import time

import numpy as np

from tvselect import bin_table, run_bart

N_ROWS, N_COLUMNS = 300, 10_000


def main() -> None:
    rng = np.random.default_rng(2021)
    X = rng.random((N_ROWS, N_COLUMNS))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = f + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(N_ROWS)

    bin_table(X[:, :2])  # the first use on a machine compiles
    started = time.perf_counter()
    table = bin_table(X)
    seconds = time.perf_counter() - started
    print(f"{N_ROWS} rows x {N_COLUMNS} columns made into one-byte codes in {seconds:.2f} s.")

    found = run_bart(
        table, y, sparse=True, n_trees=50, n_iterations=50_000, random_state=0, verbose=1
    )
    print(found)
    chosen = [str(name) for name in found.table()["variable"][: (found.mean_splits >= 1).sum()]]
    print(f"\nOne split per forest or more: {', '.join(chosen)}. The signals are x0 to x4.")
    print(f"50,000 iterations of 50 trees took {found.seconds:.1f} s.")


if __name__ == "__main__":
    main()
