"""``make check-faults`` writes docs/results/faults.md and fails if one of them is still there."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.records import heading, record
from tests.hardening.faults import files_and_cells, let_in, lost, silently_wrong  # noqa: F401
from tests.hardening.faults.base import FAULTS, StillThereError


def main() -> int:
    """Try all of them; returns how many are still there."""
    lines = [
        *heading("Faults of version 0.1.0, tried again", "make check-faults"),
        '"Before" is what the review reported of version 0.1.0, "now" is what this command saw.',
        "",
        "| | fault | before | now |",
        "|---|---|---|---|",
    ]
    n_left = 0
    for number, what, before, check in sorted(FAULTS, key=lambda fault: int(fault[0])):
        with tempfile.TemporaryDirectory() as name:
            try:
                after = check(Path(name).resolve())
            except (StillThereError, subprocess.TimeoutExpired) as error:
                n_left += 1
                after = f"**still there**: {error}"
            after = after.replace(str(Path(name).resolve()), "FOLDER").replace("|", "\\|")
            lines.append(f"| {number} | {what} | {before} | {after} |")
            print(lines[-1], file=sys.stderr, flush=True)
    record("faults.md", lines)
    return n_left


if __name__ == "__main__":
    sys.exit(main())
