"""The rows of a study."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.mutation import JSON_LINES
from fuzz.targets.base import Target
from tvstudy.rows import LINES, read_rows, write_parquet
from tvstudy.tables import calibration_table, error_table, hamming_table, verdict


def row_seeds() -> list[bytes]:
    """Finished, unfinished and failed tasks; a line that was cut off."""
    lines = []
    for replicate in range(2):
        for number, method in enumerate(("TVS", "LASSO, CV")):
            task = {
                "key": f"linear/30/10/{replicate}/{method}", "setup": "linear", "n_rows": 30,
                "n_columns": 10, "replicate": replicate, "method": method,
            }  # fmt: skip
            found = {
                "status": "finished", "seconds": 0.5, "fdp": 0.1, "power": 0.8, "hamming": number,
                "exact": False, "selected": [0, 1], "n_plays": None,
                "selection_rates": [[0, 0.95], [7, 0.3]], "peak_mb": 90.5, "version": "0.1.0",
            }  # fmt: skip
            lines.append(json.dumps(task | found))
    late = task | {"status": "not finished", "seconds": 2.0, "version": "0.1.0"}
    failed = task | {"status": "failed", "error": "ValueError: no", "version": "0.1.0"}
    whole = "\n".join(lines).encode() + b"\n"
    return [whole, whole + json.dumps(late).encode() + b"\n" + json.dumps(failed).encode(),
            whole[:-40]]  # fmt: skip


def read(data: bytes, folder: Path) -> None:
    """Read the rows, make every table and the Parquet file of them."""
    (folder / LINES).write_bytes(data)
    rows = read_rows(folder)
    hamming_table(rows)
    error_table(rows)
    verdict(rows, "TVS")
    calibration_table(rows, "TVS")
    if len(data) % 4 == 0:  # it takes longer than all the rest
        write_parquet(folder)


TARGETS = (
    Target("study-rows", "rows.jsonl of a study, its tables and its Parquet file", row_seeds, read,
           tokens=(b'"status": "finished"', b'"selection_rates": ', b"\n", b"{}", b"[]",
                   b"1\n", b"null\n"),
           changes=JSON_LINES, share=60),
)  # fmt: skip
