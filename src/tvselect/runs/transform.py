"""A table with the selected columns only."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tvselect.files import replacing
from tvselect.runs import RunError, hint
from tvselect.runs.data import local_path
from tvselect.runs.folder import RunFolder, from_csv
from tvselect.sources import open_files
from tvselect.sources.csv import CsvFiles
from tvselect.sources.opening import SUFFIXES as FORMATS
from tvselect.sources.text import BLANKS

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".feather", ".arrow")
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

    From CSV to CSV every cell stays as it is, to the letter.

    Returns
    -------
    n_rows, columns

    Raises
    ------
    OSError, RunError, SourceError
        When a column is missing, the format of ``out`` is unknown or it exists already.
    """
    path = Path(out).expanduser()
    suffix = next((s for s in sorted(SUFFIXES, key=len)[::-1] if out.lower().endswith(s)), None)
    if suffix is None:
        raise RunError(f"{out}: the ending says the format, one of {', '.join(SUFFIXES)}")
    run = folder.read_run()
    wanted = {variable.name for variable in from_csv(folder.selected)}
    if not wanted:
        raise RunError(f"{folder.path} has selected no variable: there is nothing to keep")
    is_workbook = table.lower().endswith(FORMATS["Excel"])
    by_column = (*FORMATS["PLINK"], *FORMATS["Matrix Market"])
    if table.lower().endswith(by_column) and phenotypes is None:
        phenotypes = local_path(run.plan.phenotypes)
    files = open_files(
        table,
        delimiter=delimiter,
        sheet=run.plan.sheet if is_workbook else None,
        transpose=run.plan.transpose,
        phenotypes=phenotypes,
        layer=run.plan.layer if table.lower().endswith(FORMATS["AnnData"]) else None,
    )
    names = files.names
    for name in sorted(wanted - set(names)):
        raise RunError(f"no column named {name!r} in {table}; {hint(name, names)}")
    if path.exists() and any(os.path.samefile(path, file.path) for file in files.files):
        raise RunError(f"{out} is the table itself; choose another file")
    if path.exists() and not force:
        raise RunError(f"{out} exists already; choose another file, or say --force")
    if not path.parent.is_dir():
        raise RunError(f"the folder {path.parent} does not exist; make it first")
    columns = [
        name for name in names if name in wanted or name in (run.plan.target, run.plan.event)
    ]
    is_text = ".csv" in suffix or ".tsv" in suffix
    if is_text and isinstance(files, CsvFiles):
        kept, delimiter = files.read_cells(columns), files.dialect.delimiter.strip(BLANKS)
    else:
        kept, delimiter = files.read(columns), None
    _write(kept, path, suffix, delimiter)
    return kept.num_rows, columns


def _write(table: pa.Table, path: Path, suffix: str, delimiter: str | None) -> None:
    with replacing(path) as part:
        if suffix in (".parquet", ".pq"):
            pa.parquet.write_table(table, part)
        elif suffix in (".feather", ".arrow"):
            pa.feather.write_feather(table, str(part))
        else:
            opener = gzip.open if suffix.endswith(".gz") else open
            with opener(part, "wt", encoding="utf-8", newline="") as file:
                mark = "\t" if ".tsv" in suffix else (delimiter or ",")
                writer = csv.writer(file, delimiter=mark, lineterminator="\n")
                writer.writerow(table.column_names)
                for block in table.to_batches(ROWS_AT_ONCE):
                    cells = (column.to_pylist() for column in block.columns)
                    writer.writerows(zip(*cells, strict=True))
