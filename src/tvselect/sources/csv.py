"""Rows of CSV files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, final

import numpy as np

from tvselect.sources.arrow import ArrowChunk, arrow_errors, load, read_fields
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
from tvselect.sources.files import DataFile, Paths, find_files, hash_files

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
HEAD = 2**20
BLOCK = 2**20
LEAST_LINES = 100
BATCHES_TO_RESAMPLE = 10
BAD_VALUE = re.compile(r"In CSV column #(\d+): (.*)", re.DOTALL)


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
        By default a tab for ``.tsv``, else what the first line has most: comma, semicolon
        or tab.

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
    ) -> None:
        self._target = require_target(target)
        self._files = find_files(data, SUFFIXES)
        line = _first_line(self._files[0])
        is_tabbed = self._files[0].path.lower().endswith((".tsv", ".tsv.gz"))
        self._delimiter = delimiter or ("\t" if is_tabbed else _find_delimiter(line))
        # pyarrow reads some thirty blocks ahead, and a block must hold some lines.
        self._block = max(BLOCK, LEAST_LINES * len(line))
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
            with _csv_errors(file.path, header), self._read(file, self._types()) as blocks:
                for table in _pooled(blocks, least):
                    yield ArrowChunk(
                        table.column, self.names, self._target, table.num_rows, file.path, Lock()
                    )

    def _look(self, file: DataFile) -> tuple[Field, ...]:
        """The columns of a file, by its first rows."""
        with _csv_errors(file.path, ()):
            if b"\0" in _head(file):
                raise SourceError(f"{file.path} is no UTF-8 text; save it as CSV in UTF-8")
            with self._read(file, {}) as blocks:
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

    @contextmanager
    def _read(self, file: DataFile, types: dict[str, Any]) -> Iterator[Any]:
        """A stream of blocks of the columns with types, or of all."""
        csv = load("pyarrow.csv")
        with file.open_stream() as stream:
            yield csv.open_csv(
                stream,
                read_options=csv.ReadOptions(use_threads=False, block_size=self._block),
                parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types=types, include_columns=list(types), strings_can_be_null=True
                ),
            )


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


@contextmanager
def _csv_errors(path: str, header: Sequence[str]) -> Iterator[None]:
    invalid = load("pyarrow").ArrowInvalid
    with arrow_errors(f"{path} cannot be read as CSV", "mend the file or leave it out"):
        try:
            yield
        except invalid as error:
            found = BAD_VALUE.match(str(error))
            if found is None:
                raise
            raise SourceError(
                f"column {header[int(found[1])]!r} of {path}: {found[2]}; mend the value, or "
                "leave the column out with columns="
            ) from error


def _head(file: DataFile) -> bytes:
    with file.open_stream() as stream:
        return bytes(stream.read(HEAD))


def _first_line(file: DataFile) -> bytes:
    """The header without what is in quotes."""
    with _csv_errors(file.path, ()):
        text = re.sub(rb'"[^"]*"', b"", _head(file))
    return text.split(b"\n", 1)[0]


def _find_delimiter(line: bytes) -> str:
    return max(",;\t", key=lambda mark: line.count(mark.encode()))
