"""The rows of a study on disk: one line of JSON per finished task, then Parquet."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

LINES = "rows.jsonl"
PARQUET = "rows.parquet"

Row = dict[str, Any]


def read_rows(folder: str | Path) -> list[Row]:
    """All rows of a study; a line that a kill cut off is left out, its task has to run again."""
    path = Path(folder) / LINES
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no study: there is no {LINES} in it")
    rows: list[Row] = []
    for line in path.read_text().splitlines():
        with suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return rows


def append_row(folder: Path, row: Row) -> None:
    """Add a row; when this returns it outlives the process."""
    with (folder / LINES).open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(row).encode() + b"\n")


def write_parquet(folder: Path) -> Path:
    """The rows as one Parquet file, for whatever reads tables."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "rows as Parquet need pyarrow: pip install 'tvselect[stream]'"
        ) from None
    path = folder / PARQUET
    pq.write_table(pa.Table.from_pylist(read_rows(folder)), path)
    return path
