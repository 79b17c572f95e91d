"""The source for whatever a user hands in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import narwhals as nw
import numpy as np

from tvselect.sources import csv, feather, parquet
from tvselect.sources.arrays import ArraySource
from tvselect.sources.arrow import load
from tvselect.sources.base import Source, SourceError
from tvselect.sources.columns import require_target
from tvselect.sources.csv import CsvSource
from tvselect.sources.feather import FeatherSource
from tvselect.sources.files import DataFile, Paths, find_files
from tvselect.sources.iterators import IteratorSource
from tvselect.sources.parquet import ParquetSource, is_plain_dataset


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
        return _open_files(data, require_target(target), columns)
    if isinstance(data, np.ndarray) or nw.dependencies.is_into_dataframe(data):
        return ArraySource(data, target, columns=columns)
    if type(data).__module__.startswith("pyarrow"):
        return _open_arrow(data, require_target(target), columns)
    return IteratorSource(data, target, columns=columns)


def find_tables(paths: Paths) -> tuple[Literal["parquet", "csv", "feather"], list[DataFile]]:
    """The files that are meant, and their format by their extensions.

    Raises
    ------
    FileNotFoundError, PermissionError
        When a file does not exist or may not be read.
    SourceError
        For unknown extensions and several formats at once.
    """
    files = find_files(paths, parquet.SUFFIXES)
    suffixes = {_suffix(file.path) for file in files}
    if suffixes <= set(parquet.SUFFIXES):
        return "parquet", files
    if suffixes <= set(csv.SUFFIXES):
        return "csv", files
    if suffixes <= set(feather.SUFFIXES):
        return "feather", files
    known = (*parquet.SUFFIXES, *csv.SUFFIXES, *feather.SUFFIXES)
    unknown = sorted(suffixes - set(known))
    if unknown:
        raise SourceError(
            f"files ending in {unknown[0]!r} cannot be read; known are {', '.join(known)}. Use "
            "ParquetSource or CsvSource if the extension is wrong"
        )
    raise SourceError(f"the files are of several formats ({', '.join(sorted(suffixes))})")


def _open_files(paths: Paths, target: str, columns: Sequence[str] | None) -> Source:
    format, _ = find_tables(paths)
    opener = {"parquet": ParquetSource, "csv": CsvSource, "feather": FeatherSource}[format]
    return opener(paths, target, columns=columns)


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
