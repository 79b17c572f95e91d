"""The rows of a study on disk: one line of JSON per finished task, then Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

LINES = "rows.jsonl"
PARQUET = "rows.parquet"

FINISHED = "finished"
MEASURES = ("fdp", "power", "hamming", "seconds")
LEVELS = (0.1, 0.2)
LARGEST = 1e12

Row = dict[str, Any]


def read_rows(folder: str | Path) -> list[Row]:
    """All rows of the study in ``folder``.

    A line that a kill cut off is left out, its task has to run again.

    Raises
    ------
    FileNotFoundError
        When the folder holds no study.
    ValueError
        For a line of something else; names it.
    """
    path = Path(folder) / LINES
    if not path.exists():
        raise FileNotFoundError(f"{folder} holds no study: there is no {LINES} in it")
    rows: list[Row] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            row = json.loads(line.decode())
        except (ValueError, RecursionError):
            continue
        if (wrong := _wrong_field(row)) is not None:
            raise ValueError(
                f"line {number} of {path} is no row of a study (at {wrong!r}); remove the line, "
                "and its task runs again"
            )
        rows.append(row)
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
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / PARQUET
    rows = read_rows(folder)
    try:
        pq.write_table(pa.Table.from_pylist(rows), path)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"the rows in {folder / LINES} differ in the types of their fields ({error}); remove "
            "the odd ones, and their tasks run again"
        ) from error
    return path


def _wrong_field(row: Any) -> str | None:
    """The field that keeps a value from being a row, None if it is one."""
    if not isinstance(row, dict):
        return "{"
    checks: dict[str, Callable[[Any], bool]] = {
        **dict.fromkeys(("key", "setup", "method", "status"), _is_text),
        **dict.fromkeys(("n_rows", "n_columns", "replicate"), _is_count),
    }
    if row.get("status") == FINISHED:
        checks |= dict.fromkeys(MEASURES, _is_measure) | {"exact": _is_truth}
    if "selection_rates" in row:
        checks["selection_rates"] = _are_rates
    if "at" in row:
        checks["at"] = _is_judged
    return next((name for name, fits in checks.items() if not fits(row.get(name))), None)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < LARGEST


def _is_measure(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < LARGEST


def _are_rates(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and _is_count(pair[0]) and _is_measure(pair[1])
        for pair in value
    )


def _is_judged(value: Any) -> bool:
    """Whether these are the scores of all levels, with claims or without."""
    return (
        isinstance(value, list)
        and all(isinstance(one, dict) for one in value)
        and [one.get("level") for one in value] == list(LEVELS)
        and all(
            all(_is_measure(one.get(name)) for name in ("n_true", "n_false", "fdp"))
            and all(
                one.get(name) is None or _is_measure(one[name])
                for name in ("n_claims", "n_false_claims", "claim_fdp", "claim_size")
            )
            for one in value
        )
    )


def by_cpu(rows: Iterable[Row]) -> list[Row]:
    """The rows with seconds of CPU for those on the clock, which other work lengthens."""
    return [{**row, "seconds": row.get("cpu_seconds", row["seconds"])} for row in rows]
