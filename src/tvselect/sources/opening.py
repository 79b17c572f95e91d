"""The reader of any input: a table in files, or a source of batches of rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, final

import narwhals as nw
import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.outcome import missing_mask
from tvselect.inputs.text import Mark
from tvselect.sources.csv import CsvFiles, open_sheet, transposed
from tvselect.sources.files import PACKED, DataFile, Paths, find_files, hash_files, shown
from tvselect.sources.source import (
    ArraySource,
    Chunk,
    IteratorSource,
    Source,
    choose_columns,
    hash_fields,
    require_target,
)
from tvselect.sources.tables import UTF_8, ColumnTable, GroupedFiles, TableFiles

Format = Literal["Parquet", "CSV", "Feather", "Excel", "PLINK", "AnnData", "Matrix Market"]
SUFFIXES: dict[Format, tuple[str, ...]] = {
    "Parquet": (".parquet", ".pq"),
    "CSV": (
        *(text + packed for text in (".csv", ".tsv", ".txt") for packed in ("", *PACKED)),
        ".zip",
    ),
    "Feather": (".feather", ".arrow"),
    "Excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "PLINK": (".bed",),
    "AnnData": (".h5ad",),
    "Matrix Market": (".mtx", ".mtx.gz"),
}
BY_COLUMN = ("PLINK", "AnnData", "Matrix Market")


@final
class FileSource(Source):
    """Rows of files; of Parquet and Feather a batch reads only the columns that are needed.

    Later rounds take the row groups in random order and resample the rows inside each with
    replacement; of CSV, the rows inside blocks of ten batches or more. With ``complete``, rows
    without a target are left out, and ``n_rows`` remain, if known.
    """

    def __init__(
        self,
        files: TableFiles,
        target: str | None,
        columns: Sequence[str] | None = None,
        *,
        complete: bool = False,
        n_rows: int | None = None,
    ) -> None:
        self._target, self._complete = require_target(target), complete
        files.refuse_stream()
        self._table = files
        where = files.files[0].path
        chosen = choose_columns(files.fields, columns, self._target, where)
        outcome = next(field for field in files.fields if field.name == self._target)
        self._fields = (*chosen, outcome)
        files.compare(self._fields, extra=columns is not None)
        if files.n_rows == 0 or next(files.chunks(self._fields, 1, None), None) is None:
            raise SourceError(f"{where} has no rows")
        self._describe(chosen, n_rows if complete else files.n_rows)

    def identity(self) -> str:
        """A hash of names, types, and of the files' names, sizes, footers and samples."""
        found = hash_files(self._table.files, hash_fields(self._fields, self._target))
        return sha256(f"complete rows of {found}".encode()).hexdigest() if self._complete else found

    def require_unchanged(self) -> None:
        """Raise if a file was changed after it was opened."""
        self._table.require_unchanged()

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        for chunk in self._table.chunks(self._fields, size, rng):
            rows = np.flatnonzero(~missing_mask(chunk.target())) if self._complete else None
            if rows is None or rows.size == chunk.n_rows:
                yield chunk
            elif rows.size:
                yield replace(chunk, rows=rows)


def open_source(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[str] | None = None,
    format: Format | None = None,
    delimiter: str | None = None,
    decimal: Mark | None = None,
) -> Source:
    """The source that reads some data.

    Parameters
    ----------
    data : path, table, dataset, reader, iterator or Source
        A path, glob or URL, or a list of these: Parquet (``.parquet``, ``.pq``, a folder),
        CSV (``.csv``, ``.tsv``, ``.txt``, also ``.gz``, ``.bz2``, ``.zst``, ``.zip``) or Feather
        (``.feather``, ``.arrow``). An array or data frame. A pyarrow dataset or reader, a polars
        LazyFrame. An iterator of tables, or a function that returns one.
    target : str or array-like
        The column to explain, or its values for an array or data frame.
    columns : sequence of str, optional
        Those to explain it by; all others by default.
    format : {"Parquet", "CSV", "Feather", "Excel", "PLINK", "AnnData", "Matrix Market"}, optional
        Of files, where the extension does not say it; also which files of a folder are meant.
    delimiter : str, optional
        Of CSV files: by default a tab for ``.tsv``, else what the first lines have: comma,
        semicolon, tab, bar, or any number of blanks (``" "``).
    decimal : {".", ","}, optional
        Of CSV files, the mark before the fraction of a number; by default the one that the first
        rows use.

    Raises
    ------
    FileNotFoundError, PermissionError
        When a file does not exist or may not be read.
    SourceError
        For data that cannot be read, or only as a whole, and for names that are not there.

    Warns
    -----
    UserWarning
        When text is not UTF-8: how it is read. When lines stand above the names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.sources import open_source
    >>> source = open_source(np.eye(10), np.arange(10.0))
    >>> source.names[:3], [batch.n_rows for batch in source.batches(4, 0, np.random.default_rng(0))]
    (('x0', 'x1', 'x2'), [4, 4, 2])
    """
    if isinstance(data, Source):
        if target is not None or columns is not None:
            raise SourceError("a source has its target and columns already; leave them out")
        return data
    items = data if isinstance(data, list | tuple) else [data]
    if items and all(isinstance(item, str | os.PathLike) for item in items):
        require_target(target)
        files = open_files(data, format=format, delimiter=delimiter, decimal=decimal)
        if files.encoding != UTF_8:
            told = f"{files.where} is not UTF-8; it is read as {files.encoding}"
            warnings.warn(told, UserWarning, stacklevel=2)
        if files.title:
            told = f"above the names of {files.where} stands {files.title!r}, which is skipped"
            warnings.warn(told, UserWarning, stacklevel=2)
        return FileSource(files, target, columns)
    if (format, delimiter, decimal) != (None, None, None):
        raise SourceError("format, delimiter and decimal are for files; leave them out")
    if isinstance(data, np.ndarray) or nw.dependencies.is_into_dataframe(data):
        return ArraySource(data, target, columns=columns)
    if type(data).__module__.startswith("pyarrow"):
        return _open_arrow(data, require_target(target), columns)
    return IteratorSource(data, target, columns=columns)


def _open_arrow(data: Any, target: str, columns: Sequence[str] | None) -> Source:
    if isinstance(data, load("pyarrow").RecordBatch):
        return ArraySource(load("pyarrow").table(data), target, columns=columns)
    ds = load("pyarrow.dataset")
    if not isinstance(data, ds.Dataset):
        return IteratorSource(data, target, columns=columns)
    is_parquet = isinstance(getattr(data, "format", None), ds.ParquetFileFormat)
    is_filtered = bool(getattr(data, "_scan_options", None))
    if is_parquet and not is_filtered:
        keys = (ds.get_partition_keys(f.partition_expression) for f in data.get_fragments())
        if not any(keys):  # no more than Parquet files
            files = [DataFile(path, data.filesystem) for path in data.files]
            return FileSource(GroupedFiles("the dataset", files, "Parquet"), target, columns)
    one_at_a_time = partial(data.to_batches, batch_readahead=0, fragment_readahead=0)
    return IteratorSource(one_at_a_time, target, columns=columns)


def open_files(
    paths: Paths,
    *,
    format: Format | None = None,
    delimiter: str | None = None,
    decimal: Mark | None = None,
    sheet: str | None = None,
    transpose: bool = False,
    phenotypes: Paths | None = None,
    layer: str | None = None,
    names: str | None = None,
) -> TableFiles:
    """Open the table in some files, of a format or by their extensions, without reading it.

    ``paths`` may be "-" for standard input, ``sheet`` one of a spreadsheet (by default the first
    that is not empty); with ``transpose`` rows become columns, named by the first column.
    ``phenotypes`` is a table of the people (column IID) or cells (barcode) of genotypes or an .mtx
    file; ``layer`` is one of an AnnData file, ``names`` the column of its ``var`` with the names of
    genes.
    """
    if format is not None and format not in SUFFIXES:
        raise SourceError(f"format must be one of {', '.join(SUFFIXES)}, got {format!r}")
    found = find_files(paths, SUFFIXES[format or "Parquet"])
    where = shown(paths)
    format = format or _format_of(found, where)
    for value, owners, remedy in (
        (sheet, ("Excel",), "{sheet} is for spreadsheets alone"),
        (delimiter, ("CSV",), "{delimiter} is for CSV alone"),
        (phenotypes, ("PLINK", "Matrix Market"), "{phenotypes} is for PLINK and .mtx alone"),
        (layer, ("AnnData",), "{layer} is for AnnData alone"),
        (names, ("AnnData",), "{names} is for AnnData alone"),
    ):
        if value is not None and format not in owners:
            raise SourceError(f"{where} is {format}", remedy)
    if len(found) > 1 and format not in ("Parquet", "CSV", "Feather"):
        kind = "a spreadsheet" if format == "Excel" else format
        raise SourceError(f"{where}: {kind} is read alone", "pass one file")
    files: TableFiles
    if format in BY_COLUMN:
        if transpose or decimal is not None:
            raise SourceError(f"{where} is {format}", "it can be read in one way only")
        return _open_by_column(where, found[0], format, phenotypes, layer, names)
    if format == "Excel":
        files = open_sheet(where, found[0], sheet, decimal)
    elif format == "CSV":
        files = CsvFiles(where, found, delimiter, decimal)
    else:
        files = GroupedFiles(where, found, format)
    return transposed(files, decimal) if transpose else files


def _format_of(files: Sequence[DataFile], where: str) -> Format:
    if files[0].data is not None:
        return "CSV"
    formats: set[Format] = set()
    for file in files:
        name = file.path.lower()
        known = [format for format, suffixes in SUFFIXES.items() if name.endswith(suffixes)]
        if not known:
            ending = os.path.splitext(name)[1]
            raise SourceError(f"{where}: a file ending in {ending!r} cannot be read", "{format}")
        formats.update(known)
    if len(formats) > 1:
        raise SourceError(f"the files are of several formats ({', '.join(sorted(formats))})")
    return formats.pop()


def _open_by_column(
    where: str,
    file: DataFile,
    format: Format,
    phenotypes: Paths | None,
    layer: str | None,
    names: str | None,
) -> ColumnTable:
    if not file.is_local:
        raise SourceError(f"{where}: {format} is read from this machine", "copy it first")
    known = None if phenotypes is None else open_files(phenotypes)
    if isinstance(known, ColumnTable):
        raise SourceError(f"{known.where} is {known.format}, no table of the rows of {where}")
    path, beside = file.path, list[Path]()
    if format == "PLINK":
        from tvselect.omics.plink import BESIDE, open_plink

        read, beside = partial(open_plink, path), [Path(path).with_suffix(end) for end in BESIDE]
    else:
        from tvselect.omics.cells import beside_market, open_h5ad, open_market

        if format == "AnnData":
            read = partial(open_h5ad, path, layer, names)
        else:
            read, beside = partial(open_market, path), [*beside_market(path)]
    files = (file, *(found for each in beside for found in find_files(each, ())))
    return ColumnTable(where, files, format, read, known)
