"""The source for whatever a user hands in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import narwhals as nw
import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.sources.base import Source
from tvselect.sources.columns import require_target
from tvselect.sources.csv import CsvFiles
from tvselect.sources.files import DataFile, Paths, find_files, shown
from tvselect.sources.groups import GroupedFiles
from tvselect.sources.iterators import IteratorSource
from tvselect.sources.memory import ArraySource
from tvselect.sources.stored import FileSource, TableFiles

Format = Literal["Parquet", "CSV", "Feather"]
SUFFIXES: dict[Format, tuple[str, ...]] = {
    "Parquet": (".parquet", ".pq"),
    "CSV": (".csv", ".tsv", ".csv.gz", ".tsv.gz"),
    "Feather": (".feather", ".arrow"),
}


def open_source(
    data: Any,
    target: Any = None,
    *,
    columns: Sequence[str] | None = None,
    format: Format | None = None,
    delimiter: str | None = None,
    decimal: Literal[".", ","] | None = None,
) -> Source:
    """The source that reads some data.

    Parameters
    ----------
    data : path, table, dataset, reader, iterator or Source
        A path, glob or URL, or a list of these: Parquet (``.parquet``, ``.pq``, a folder),
        CSV (``.csv``, ``.tsv``, also ``.gz``) or Feather (``.feather``, ``.arrow``). An array
        or data frame. A pyarrow dataset or reader, a polars LazyFrame. An iterator of tables,
        or a function that returns one.
    target : str or array-like
        The column to explain, or its values for an array or data frame.
    columns : sequence of str, optional
        Those to explain it by; all others by default.
    format : {"Parquet", "CSV", "Feather"}, optional
        Of files, where the extension does not say it; also which files of a folder are meant.
    delimiter : str, optional
        Of CSV files: by default a tab for ``.tsv``, else what the first line has most: comma,
        semicolon, tab or bar.
    decimal : {".", ","}, optional
        Of CSV files, the mark before the fraction of a number; by default the one that the first
        rows use.

    Raises
    ------
    FileNotFoundError, PermissionError
        When a file does not exist or may not be read.
    SourceError
        For data that cannot be read, and names that are not there.
    """
    if isinstance(data, Source):
        if target is not None or columns is not None:
            raise SourceError("a source has its target and columns already; leave them out")
        return data
    if _is_paths(data):
        require_target(target)
        files = open_files(data, format=format, delimiter=delimiter, decimal=decimal)
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
    decimal: str | None = None,
) -> TableFiles:
    """The table in some files, of a format or by their extensions; looked at but not read.

    Raises
    ------
    FileNotFoundError, PermissionError
        When a file does not exist or may not be read.
    SourceError
        For unknown extensions, several formats at once and files that hold no table.
    """
    if format is not None and format not in SUFFIXES:
        raise SourceError(f"format must be one of {', '.join(SUFFIXES)}, got {format!r}")
    files = find_files(paths, SUFFIXES[format or "Parquet"])
    where = shown(paths)
    format = format or _format_of(files, where)
    if format == "CSV":
        return CsvFiles(where, files, delimiter, decimal)
    opened = GroupedFiles(where, files, format)
    if delimiter is not None:
        raise SourceError(f"{where} is {format}", "{delimiter} is for CSV alone")
    return opened


def _format_of(files: Sequence[DataFile], where: str) -> Format:
    by_suffix = {suffix: format for format, some in SUFFIXES.items() for suffix in some}
    suffixes = sorted({_suffix(file.path) for file in files})
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


def _suffix(path: str) -> str:
    for suffix in (".csv.gz", ".tsv.gz"):
        if path.lower().endswith(suffix):
            return suffix
    return os.path.splitext(path)[1].lower()
