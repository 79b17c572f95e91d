"""The source for whatever a user hands in."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.text import Mark
from tvselect.sources.base import Source
from tvselect.sources.by_column import ColumnTable
from tvselect.sources.columns import require_target
from tvselect.sources.csv import CsvFiles
from tvselect.sources.files import PACKED, DataFile, Paths, StandardInput, find_files, shown
from tvselect.sources.groups import GroupedFiles
from tvselect.sources.iterators import IteratorSource
from tvselect.sources.memory import ArraySource
from tvselect.sources.sheets import read_sheet
from tvselect.sources.stored import FileSource, TableFiles
from tvselect.sources.texts import UTF_8
from tvselect.sources.transposing import transposed

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
        When text is not UTF-8: how it is read.

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
    if _is_paths(data):
        require_target(target)
        files = open_files(data, format=format, delimiter=delimiter, decimal=decimal)
        if files.encoding != UTF_8:
            told = f"{files.where} is no UTF-8 text; its letters are read as {files.encoding}"
            warnings.warn(told, UserWarning, stacklevel=2)
        return FileSource(files, target, columns)
    if (format, delimiter, decimal) != (None, None, None):
        raise SourceError("format, delimiter and decimal are for files; leave them out")
    if isinstance(data, np.ndarray) or nw.dependencies.is_into_dataframe(data):
        return ArraySource(data, target, columns=columns)
    if type(data).__module__.startswith("pyarrow"):
        return _open_arrow(data, require_target(target), columns)
    return IteratorSource(data, target, columns=columns)


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
) -> TableFiles:
    """The table in some files, of a format or by their extensions; looked at but not read.

    Parameters
    ----------
    paths : path, folder, glob or URL, or a list of these; or "-" for standard input
    format, delimiter, decimal
        See :func:`open_source`.
    sheet : str, optional
        Of a spreadsheet; the first that holds something.
    transpose : bool
        Rows are to be columns, named by the first column.
    phenotypes : path, optional
        Of genotypes (PLINK): a table with a column IID and the outcomes and covariates of people;
        of a matrix (.mtx) one with a column barcode and those of cells.
    layer : str, optional
        Of an AnnData file: where the numbers are.

    Raises
    ------
    FileNotFoundError, PermissionError
        When a file does not exist or may not be read.
    SourceError
        For unknown extensions, several formats at once and files that hold no table.
    """
    if format is not None and format not in SUFFIXES:
        raise SourceError(f"format must be one of {', '.join(SUFFIXES)}, got {format!r}")
    found = find_files(paths, SUFFIXES[format or "Parquet"])
    where = shown(paths)
    format = format or _format_of(found, where)
    if format != "Excel" and sheet is not None:
        raise SourceError(f"{where} is {format}", "{sheet} is for spreadsheets alone")
    if format != "CSV" and delimiter is not None:
        raise SourceError(f"{where} is {format}", "{delimiter} is for CSV alone")
    if format not in ("PLINK", "Matrix Market") and phenotypes is not None:
        raise SourceError(f"{where} is {format}", "{phenotypes} is for PLINK and .mtx alone")
    if format != "AnnData" and layer is not None:
        raise SourceError(f"{where} is {format}", "{layer} is for AnnData alone")
    files: TableFiles
    if format in ("PLINK", "AnnData", "Matrix Market"):
        if transpose or decimal is not None:
            raise SourceError(f"{where} is {format}", "it can be read in one way only")
        return _open_by_column(where, found, format, phenotypes, layer)
    if format == "Excel":
        files = _open_sheet(where, found, sheet, decimal)
    elif format == "CSV":
        files = CsvFiles(where, found, delimiter, decimal)
    else:
        files = GroupedFiles(where, found, format)
    return transposed(files, decimal) if transpose else files


def _open_by_column(
    where: str,
    found: Sequence[DataFile],
    format: Format,
    phenotypes: Paths | None,
    layer: str | None,
) -> ColumnTable:
    if len(found) > 1:
        raise SourceError(f"{where}: {format} is read alone", "pass one file")
    if not found[0].is_local:
        raise SourceError(f"{where}: {format} is read from this machine", "copy it first")
    known = None if phenotypes is None else open_files(phenotypes)
    if isinstance(known, ColumnTable):
        raise SourceError(f"{known.where} is {known.format}, no table of the rows of {where}")
    path, beside = found[0].path, []
    if format == "AnnData":
        from tvselect.omics.cells import open_h5ad

        read = partial(open_h5ad, path, layer)
    elif format == "PLINK":
        from tvselect.omics.plink import BESIDE, open_plink

        beside = [Path(path).with_suffix(suffix) for suffix in BESIDE]
        read = partial(open_plink, path)
    else:
        from tvselect.omics.cells import beside_market, open_market

        beside = list(beside_market(path))
        read = partial(open_market, path)
    files = (*found, *find_files(beside, ())) if beside else found
    return ColumnTable(where, files, format, read, known)


def _open_sheet(
    where: str, found: Sequence[DataFile], name: str | None, decimal: Mark | None
) -> CsvFiles:
    if len(found) > 1:
        raise SourceError(f"{where}: a spreadsheet is read alone", "pass one file")
    sheet = read_sheet(found[0], name)
    files = CsvFiles(where, found, ",", decimal, texts=[sheet.text], format="Excel")
    files.sheets = (sheet.name, *sheet.others)
    return files


def _format_of(files: Sequence[DataFile], where: str) -> Format:
    if isinstance(files[0], StandardInput):
        return "CSV"
    by_suffix = {suffix: format for format, some in SUFFIXES.items() for suffix in some}
    suffixes = sorted({_suffix(file.path, by_suffix) for file in files})
    for suffix in suffixes:
        if suffix not in by_suffix:
            raise SourceError(f"{where}: a file ending in {suffix!r} cannot be read", "{format}")
    formats = {by_suffix[suffix] for suffix in suffixes}
    if len(formats) > 1:
        raise SourceError(f"the files are of several formats ({', '.join(suffixes)})")
    return formats.pop()


def _open_arrow(data: Any, target: str, columns: Sequence[str] | None) -> Source:
    if isinstance(data, load("pyarrow").RecordBatch):
        return ArraySource(load("pyarrow").table(data), target, columns=columns)
    if not hasattr(data, "get_fragments"):
        return IteratorSource(data, target, columns=columns)
    if _is_plain_dataset(data):
        files = [DataFile(path, data.filesystem) for path in data.files]
        return FileSource(GroupedFiles("the dataset", files, "Parquet"), target, columns)
    one_at_a_time = partial(data.to_batches, batch_readahead=0, fragment_readahead=0)
    return IteratorSource(one_at_a_time, target, columns=columns)


def _is_plain_dataset(dataset: Any) -> bool:
    """Whether a pyarrow dataset is no more than Parquet files: no filter, no partition columns."""
    ds = load("pyarrow.dataset")
    if not isinstance(dataset, ds.FileSystemDataset) or getattr(dataset, "_scan_options", None):
        return False
    return isinstance(dataset.format, ds.ParquetFileFormat) and not any(
        ds.get_partition_keys(fragment.partition_expression) for fragment in dataset.get_fragments()
    )


def _is_paths(data: Any) -> bool:
    if isinstance(data, str | os.PathLike):
        return True
    is_list = isinstance(data, list | tuple) and len(data) > 0
    return is_list and all(isinstance(item, str | os.PathLike) for item in data)


def _suffix(path: str, known: Iterable[str]) -> str:
    """The longest ending that is known, or the last one."""
    fitting = [suffix for suffix in known if path.lower().endswith(suffix)]
    return max(fitting, key=len, default=os.path.splitext(path)[1].lower())
