"""A table with the selected columns only."""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tvselect.files import replacing
from tvselect.runs import RunError, hint
from tvselect.runs.folder import RunFolder, from_csv
from tvselect.sources.csv import BLANKS, CsvFiles
from tvselect.sources.opening import SUFFIXES as FORMATS

SUFFIXES = (".csv.gz", ".tsv.gz", ".csv", ".tsv", ".parquet", ".pq", ".feather", ".arrow")
ROWS_AT_ONCE = 10_000


def transform(
    folder: RunFolder,
    table: str,
    out: str,
    *,
    force: bool = False,
    delimiter: str | None = None,
    phenotypes: str | None = None,
) -> tuple[int, list[str]]:
    """Write a table with the selected columns, and the target if the table has it.

    From CSV to CSV cells are copied unchanged. Returns the number of rows and the columns.
    """
    path = Path(out).expanduser()
    suffix = next((suffix for suffix in SUFFIXES if out.lower().endswith(suffix)), None)
    if suffix is None:
        raise RunError(f"{out}: the ending says the format, one of {', '.join(SUFFIXES)}")
    run = folder.read_run()
    wanted = {variable.name for variable in from_csv(folder.selected)}
    if not wanted:
        raise RunError(f"{folder.path} has selected no variable: there is nothing to keep")
    # What was said of the run's own table holds as far as the new one is of such a format.
    before = run.plan.file
    is_of = {name: table.lower().endswith(endings) for name, endings in FORMATS.items()}
    has_people = is_of["PLINK"] or is_of["Matrix Market"]
    file = replace(
        before,
        table=table,
        delimiter=delimiter,
        decimal=None,
        sheet=before.sheet if is_of["Excel"] else None,
        phenotypes=phenotypes or (before.phenotypes if has_people else None),
        layer=before.layer if is_of["AnnData"] else None,
        names=before.names if is_of["AnnData"] else None,
    )
    files = file.open()
    for name in sorted(wanted.difference(files.names)):
        raise RunError(f"no column named {name!r} in {table}; {hint(name, files.names)}")
    if path.exists() and any(os.path.samefile(path, file.path) for file in files.files):
        raise RunError(f"{out} is the table itself; choose another file")
    if path.exists() and not force:
        raise RunError(f"{out} exists already; choose another file, or say --force")
    if not path.parent.is_dir():
        raise RunError(f"the folder {path.parent} does not exist; make it first")
    wanted |= {run.plan.target} | ({run.plan.event} if run.plan.event else set())
    columns = [name for name in files.names if name in wanted]
    mark = "\t" if ".tsv" in suffix else ","
    if (".csv" in suffix or ".tsv" in suffix) and isinstance(files, CsvFiles):
        kept = files.read_cells(columns)
        if ".csv" in suffix:
            mark = files.dialect.delimiter.strip(BLANKS) or mark
    else:
        kept = files.read(columns)
    _write(kept, path, suffix, mark)
    return kept.num_rows, columns


def _write(table: pa.Table, path: Path, suffix: str, mark: str) -> None:
    with replacing(path) as part:
        if suffix in (".parquet", ".pq"):
            pa.parquet.write_table(table, part)
        elif suffix in (".feather", ".arrow"):
            pa.feather.write_feather(table, str(part))
        else:
            opener = gzip.open if suffix.endswith(".gz") else open
            with opener(part, "wt", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, delimiter=mark, lineterminator="\n")
                writer.writerow(table.column_names)
                for block in table.to_batches(ROWS_AT_ONCE):
                    cells = (column.to_pylist() for column in block.columns)
                    writer.writerows(zip(*cells, strict=True))
