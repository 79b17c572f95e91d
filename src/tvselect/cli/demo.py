"""``tvs demo``: select the five columns that matter out of 10,000."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvselect.cli import select
from tvselect.cli.parser import Options, make_parser
from tvselect.cli.terminal import Terminal

DATA_SEED = 2021


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    """Write the wide Friedman example and run ``tvs select`` on it."""
    import tempfile

    folder = Path(options.out or tempfile.mkdtemp(prefix="tvs-demo-"))
    table = folder / "friedman.parquet"
    write_table(table, options.rows, options.columns)
    terminal.say(f"Made up: {options.rows:,} rows x {options.columns:,} columns, {table}")
    terminal.say("y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4 + noise")
    terminal.say("Five columns matter: x0, x1, x2, x3, x4. Will they be found?")
    arguments = ["select", str(table), "--target", "y", "--out", str(folder / "run")]
    arguments += ["--plays", str(options.plays), "--seed", str(options.seed)]
    terminal.say(f"$ tvs {' '.join(arguments)}")
    chosen = make_parser().parse_args(arguments, Options())
    chosen.arguments = arguments
    return select.run(chosen, terminal)


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Write Friedman's example as Parquet; a table that is there already is kept."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tvselect.inputs import as_generator
    from tvselect.runs.errors import RunError

    if n_columns < 5:
        raise RunError(f"five columns matter; say --columns 5 or more, not {n_columns}")
    if path.exists():
        raise RunError(f"{path} exists already; choose another --out")
    rng = as_generator(DATA_SEED)
    x = rng.random((n_rows, n_columns))
    f = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y = f + 10 * x[:, 3] + 5 * x[:, 4] + rng.standard_normal(n_rows)
    names = [f"x{j}" for j in range(n_columns)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table([*x.T, y], names=[*names, "y"]), path)
