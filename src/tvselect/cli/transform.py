"""``tvs transform``: keep only the selected columns of a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvselect.cli.select import mark
from tvselect.cli.terminal import Terminal


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    """Write the table with the selected columns, and the target if it is there."""
    from tvselect.runs.folder import RunFolder
    from tvselect.runs.transform import transform

    folder = RunFolder(Path(options.run))
    n_rows, columns = transform(
        folder, options.table, options.out, force=options.force, delimiter=mark(options.sep)
    )
    if terminal.is_json:
        terminal.print_json({"out": options.out, "n_rows": n_rows, "columns": columns})
    elif terminal.is_pretty:
        terminal.print(f"Written: {options.out}, {n_rows:,} rows, columns {', '.join(columns)}")
    return 0
