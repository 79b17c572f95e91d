"""A table with the selected columns only."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tvselect.inputs.arrow import as_text, kind_of
from tvselect.inputs.errors import needed
from tvselect.records import replacing
from tvselect.runs import RunError, hint, new_file
from tvselect.runs.folder import RunFolder, from_csv
from tvselect.sources.csv import BLANKS, CsvFiles
from tvselect.sources.opening import SUFFIXES as FORMATS

SUFFIXES = (
    ".csv.gz", ".tsv.gz", ".csv", ".tsv", ".xlsx", ".parquet", ".pq", ".feather", ".arrow",
)  # fmt: skip
MOST_OF_SHEET = {"rows": 2**20 - 1, "columns": 2**14}
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
    """Write the selected columns, and the target if it is there; returns n_rows and columns."""
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
    path = Path(out).expanduser()
    if path.exists() and any(os.path.samefile(path, file.path) for file in files.files):
        raise RunError(f"{out} is the table itself; choose another file")
    path = new_file(out, SUFFIXES, force=force)
    suffix = next(suffix for suffix in SUFFIXES if out.lower().endswith(suffix))
    wanted |= {run.plan.target} | ({run.plan.event} if run.plan.event else set())
    columns = [name for name in files.names if name in wanted]
    mark = "\t" if ".tsv" in suffix else ","
    if (".csv" in suffix or ".tsv" in suffix) and isinstance(files, CsvFiles):
        kept = files.read_cells(columns)
        if ".csv" in suffix:
            mark = files.dialect.delimiter.strip(BLANKS) or mark
    else:
        kept = files.read(columns)
    if suffix == ".xlsx":
        for n, (what, most) in zip(kept.shape, MOST_OF_SHEET.items(), strict=True):
            if n > most:
                raise RunError(f"{out}: a sheet holds {most:,} {what}, not {n:,}; write .parquet")
    _write(kept, path, suffix, mark)
    return kept.num_rows, columns


def _write(table: pa.Table, path: Path, suffix: str, mark: str) -> None:
    with replacing(path) as part:
        if suffix in (".parquet", ".pq"):
            pa.parquet.write_table(table, part)
        elif suffix in (".feather", ".arrow"):
            pa.feather.write_feather(table, str(part))
        elif suffix == ".xlsx":
            _write_sheet(table, part)
        else:
            opener = gzip.open if suffix.endswith(".gz") else open
            texts = (as_text(c).levels for c in table.columns if kind_of(c.type) == "text")
            is_ascii = all(map(str.isascii, chain(table.column_names, *texts)))
            encoding = "utf-8" if is_ascii else "utf-8-sig"  # which Excel recognises
            with opener(part, "wt", encoding=encoding, newline="") as file:
                writer = csv.writer(file, delimiter=mark, lineterminator="\n")
                writer.writerow(table.column_names)
                writer.writerows(_rows(table))


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for block in table.to_batches(ROWS_AT_ONCE):
        yield from zip(*(column.to_pylist() for column in block.columns), strict=True)


def _write_sheet(table: pa.Table, path: Path) -> None:
    how = "writing spreadsheets needs openpyxl: pip install 'tvselect[excel]'"
    openpyxl = needed("openpyxl", how)
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Selected")
    for row in chain([table.column_names], _rows(table)):
        sheet.append([_cell(openpyxl, sheet, value) for value in row])
    book.save(path)


def _cell(openpyxl: Any, sheet: Any, value: Any) -> Any:
    """A value of a sheet; text is never a formula."""
    if value is None or isinstance(value, bool | int | float | Decimal | date):
        is_zoned = isinstance(value, datetime) and value.tzinfo is not None
        is_number = not isinstance(value, float) or isfinite(value)
        return str(value) if is_zoned else value if is_number else None
    cell = openpyxl.cell.WriteOnlyCell(
        sheet, openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("", str(value))
    )
    cell.data_type = "s"
    return cell
