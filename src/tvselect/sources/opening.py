"""The source for whatever a user hands in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.sources import csv, feather, parquet
from tvselect.sources.arrays import ArraySource
from tvselect.sources.base import Source
from tvselect.sources.columns import require_target
from tvselect.sources.csv import CsvFiles
from tvselect.sources.feather import open_feather
from tvselect.sources.files import Paths, find_files, shown
from tvselect.sources.iterators import IteratorSource
from tvselect.sources.parquet import ParquetSource, is_plain_dataset, open_parquet
from tvselect.sources.stored import FileSource, TableFiles


def open_source(data: Any, target: Any = None, *, columns: Sequence[str] | None = None) -> Source:
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
        return FileSource(open_files(data), target, columns)
    if isinstance(data, np.ndarray) or nw.dependencies.is_into_dataframe(data):
        return ArraySource(data, target, columns=columns)
    if type(data).__module__.startswith("pyarrow"):
        return _open_arrow(data, require_target(target), columns)
    return IteratorSource(data, target, columns=columns)


class UnknownFormatError(SourceError):
    """A file whose extension says no format that can be read.

    Attributes
    ----------
    where, suffix : str
    """

    def __init__(
        self, problem: str, remedy: str = "", *, where: str = "", suffix: str = ""
    ) -> None:
        super().__init__(problem, remedy)
        self.where, self.suffix = where, suffix


def open_files(
    paths: Paths, *, delimiter: str | None = None, decimal: str | None = None
) -> TableFiles:
    """The table in some files, by their extensions; looked at but not read.

    Raises
    ------
    FileNotFoundError, PermissionError
        When a file does not exist or may not be read.
    SourceError
        For unknown extensions, several formats at once and files that hold no table.
    """
    files = find_files(paths, parquet.SUFFIXES)
    where = shown(paths)
    suffixes = {_suffix(file.path) for file in files}
    known = (*parquet.SUFFIXES, *csv.SUFFIXES, *feather.SUFFIXES)
    if unknown := sorted(suffixes - set(known)):
        raise UnknownFormatError(
            f"files ending in {unknown[0]!r} cannot be read; known are {', '.join(known)}",
            "use ParquetSource or CsvSource if the extension is wrong",
            where=where,
            suffix=unknown[0],
        )
    if suffixes <= set(csv.SUFFIXES):
        return CsvFiles(where, files, delimiter, decimal)
    for opener, its_own in (
        (open_parquet, parquet.SUFFIXES),
        (open_feather, feather.SUFFIXES),
    ):
        if suffixes <= set(its_own):
            opened = opener(where, files)
            if delimiter is not None:
                raise SourceError(f"{where} is {opened.format}", "{delimiter} is for CSV alone")
            return opened
    raise SourceError(f"the files are of several formats ({', '.join(sorted(suffixes))})")


def _open_arrow(data: Any, target: str, columns: Sequence[str] | None) -> Source:
    if isinstance(data, load("pyarrow").RecordBatch):
        return ArraySource(load("pyarrow").table(data), target, columns=columns)
    if not hasattr(data, "get_fragments"):
        return IteratorSource(data, target, columns=columns)
    if is_plain_dataset(data):
        return ParquetSource(data, target, columns=columns)
    one_at_a_time = partial(data.to_batches, batch_readahead=0, fragment_readahead=0)
    return IteratorSource(one_at_a_time, target, columns=columns)


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
