"""Rows of CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, final

import numpy as np

from tvselect.sources.arrow import ArrowChunk, load, read_fields
from tvselect.sources.base import SourceError
from tvselect.sources.chunks import Chunk, ChunkedSource
from tvselect.sources.columns import (
    Field,
    categorical_mask,
    choose_columns,
    compare_columns,
    hash_fields,
    require_target,
)
from tvselect.sources.dialect import csv_errors, find_dialect, open_blocks
from tvselect.sources.files import DataFile, Paths, find_files, hash_files

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
BATCHES_TO_RESAMPLE = 10


@final
class CsvSource(ChunkedSource):
    """Rows of CSV files, also compressed ones, read as a stream.

    The first line has the names. The first rows tell numbers from text; empty cells and "NA"
    are missing values. Later rounds resample the rows inside blocks of ten batches or more.

    Parameters
    ----------
    data : path, folder, glob or URL, or a list of these
    target : str
        The column to explain.
    columns : sequence of str, optional
        Those to explain it by; all others by default.
    delimiter : str, optional
        By default a tab for ``.tsv``, else what the first line has most: comma, semicolon,
        tab or bar.
    decimal : {".", ","}, optional
        The mark before the fraction of a number; by default the one that the first rows use.

    Raises
    ------
    SourceError
        When a file is no such text or has other columns, and for names that are not there.
    """

    def __init__(
        self,
        data: Paths,
        target: str | None,
        *,
        columns: Sequence[str] | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> None:
        self._target = require_target(target)
        self._files = find_files(data, SUFFIXES)
        self._dialect = find_dialect(self._files[0], delimiter, decimal)
        headers = [self._look(file) for file in self._files]
        where = self._files[0].path
        chosen = choose_columns(headers[0], columns, self._target, where)
        outcome = next(field for field in headers[0] if field.name == self._target)
        self._fields = (*chosen, outcome)
        kinds = {field.name: field for field in headers[0]}
        for file, header in zip(self._files, headers, strict=True):
            # A later file's first rows may look different; its values are checked as they come.
            alike = [kinds.get(field.name, field) for field in header]
            compare_columns(self._fields, alike, file.path, extra=columns is not None)
        self._headers = [tuple(field.name for field in header) for header in headers]
        self.names = tuple(field.name for field in chosen)
        self.categorical = categorical_mask(chosen)
        self.n_rows = None
        self.can_repeat = True
        if next(self._chunks(1, None), None) is None:
            raise SourceError(f"{where} has no rows below its header")

    def identity(self) -> str:
        """A hash of names, types, and of the files' names, sizes and ends."""
        return hash_files(self._files, hash_fields(self._fields, self._target))

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        least = 1 if rng is None else BATCHES_TO_RESAMPLE * size
        for file, header in zip(self._files, self._headers, strict=True):
            with (
                csv_errors(file.path, header),
                open_blocks(file, self._dialect, self._types()) as blocks,
            ):
                for table in _pooled(blocks, least):
                    yield ArrowChunk(
                        table.column, self.names, self._target, table.num_rows, file.path, Lock()
                    )

    def _look(self, file: DataFile) -> tuple[Field, ...]:
        """The columns of a file, by its first rows."""
        with csv_errors(file.path, ()), open_blocks(file, self._dialect) as blocks:
            fields = read_fields(blocks.schema)
        return tuple(
            Field(name, kind, "text that is not UTF-8" if type == "binary" else type)
            for name, kind, type in fields
        )

    def _types(self) -> dict[str, Any]:
        """The types to read: a column of whole numbers may go on with fractions."""
        pa = load("pyarrow")
        known = {"string": pa.string(), "bool": pa.bool_()}
        return {field.name: known.get(field.type, pa.float64()) for field in self._fields}


def _pooled(blocks: Iterable[Any], least: int) -> Iterator[Any]:
    """Blocks put together to tables of at least some rows."""
    table = load("pyarrow").Table
    held: list[Any] = []
    for block in blocks:
        held.append(block)
        if sum(part.num_rows for part in held) >= least:
            yield table.from_batches(held)
            held = []
    if sum(part.num_rows for part in held) > 0:
        yield table.from_batches(held)
