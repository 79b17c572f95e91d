"""Rows of CSV files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from csv import Error, reader
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, final

import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field
from tvselect.sources.arrow import ArrowChunk, pooled, read_fields
from tvselect.sources.chunks import Chunk
from tvselect.sources.columns import compare_columns
from tvselect.sources.dialect import (
    BLOCK,
    FRACTION,
    convert_options,
    csv_errors,
    find_dialect,
    open_blocks,
    parse_options,
    read_whole,
)
from tvselect.sources.files import DataFile, Paths, find_files, shown
from tvselect.sources.stored import FileSource, TableFiles

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
BATCHES_TO_RESAMPLE = 10
LARGEST_BLOCK = 2**31 - 1
TYPICAL_COMPRESSION = 4


@final
class CsvSource(FileSource):
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
        files = CsvFiles(shown(data), find_files(data, SUFFIXES), delimiter, decimal)
        super().__init__(files, target, columns)


@final
class CsvFiles(TableFiles):
    """The table in some CSV files.

    Attributes
    ----------
    dialect : Dialect
    """

    format = "CSV"
    n_rows = None

    def __init__(
        self, where: str, files: Sequence[DataFile], delimiter: str | None, decimal: str | None
    ) -> None:
        super().__init__(where, files)
        self.dialect = find_dialect(self.files[0], delimiter, decimal)
        self.names = self._first_lines()[0]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file, by its first rows."""
        return self._look(self.files[0])

    def estimate_rows(self) -> int:
        """About how many rows there are, by the length of the first lines."""
        first = self.files[0]
        with csv_errors(first.path, ()), first.open_stream() as stream:
            head = stream.read(self.dialect.block)
        packed = TYPICAL_COMPRESSION if first.is_packed else 1
        return round(self.n_bytes * packed / len(head) * max(1, head.count(b"\n")))

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns; the types are those of all rows."""
        parts = [self._read(file, columns) for file in self.files]
        with self._errors():
            return load("pyarrow").concat_tables(parts, promote_options="permissive")

    def head(self, n_rows: int) -> Any:
        """The first rows, with the types that a stream takes them for."""
        with csv_errors(self.where, ()), open_blocks(self.files[0], self.dialect) as blocks:
            with csv_errors(self.where, blocks.schema.names):
                table = next(pooled(blocks, n_rows), None) or blocks.schema.empty_table()
            return table.slice(0, n_rows)

    def column(self, name: str) -> Any:
        """One column, read block by block."""
        pa = load("pyarrow")
        field = next(field for field in self.fields if field.name == name)
        kind = self._types([field])[name]
        if field.kind not in ("number", "text"):
            return pa.chunked_array([pa.nulls(1, kind)])
        chunks: list[Any] = []
        for file in self.files:
            with (
                csv_errors(file.path, [name]),
                open_blocks(file, self.dialect, {name: kind}) as blocks,
            ):
                chunks += [block.column(0) for block in blocks]
        return pa.chunked_array(chunks, kind)

    def compare(self, fields: tuple[Field, ...], *, extra: bool) -> None:
        """Raise unless every file has these columns; values are checked as they come."""
        known = {field.name: field for field in self.fields}
        for file in self.files:
            alike = [known.get(field.name, field) for field in self._look(file)]
            compare_columns(fields, alike, file.path, extra=extra)

    def chunks(
        self, fields: tuple[Field, ...], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The blocks of the files; with ``rng`` at least ten batches together."""
        least = 1 if rng is None else BATCHES_TO_RESAMPLE * size
        names = tuple(field.name for field in fields)
        for file in self.files:
            with (
                csv_errors(file.path, self._first_lines(file)[0]),
                open_blocks(file, self.dialect, self._types(fields)) as blocks,
            ):
                for table in pooled(blocks, least):
                    yield ArrowChunk(
                        table.column, names[:-1], names[-1], table.num_rows, file.path, Lock()
                    )

    def _look(self, file: DataFile) -> tuple[Field, ...]:
        with csv_errors(file.path, ()), open_blocks(file, self.dialect) as blocks:
            fields = read_fields(blocks.schema)
        return tuple(
            Field(name, kind, "text that is not UTF-8" if type == "binary" else type)
            for name, kind, type in fields
        )

    def _types(self, fields: Iterable[Field]) -> dict[str, Any]:
        """The types to read: a column of whole numbers may go on with fractions."""
        pa = load("pyarrow")
        known = {"string": pa.string(), "bool": pa.bool_()}
        return {field.name: known.get(field.type, pa.float64()) for field in fields}

    def _read(self, file: DataFile, columns: Sequence[str] | None) -> Any:
        """A file in one block, so that every row has its say in the types."""
        pa, csv = load("pyarrow"), load("pyarrow.csv")
        data = read_whole(file)
        is_wide = self.dialect.block > BLOCK
        options = convert_options(self.dialect)
        if columns is not None:
            options.include_columns = list(columns)
        # Threads cost more than they save where columns are many and short.
        how = csv.ReadOptions(use_threads=not is_wide, block_size=min(LARGEST_BLOCK, data.size + 1))
        with csv_errors(file.path, ()):
            if is_wide:
                # To find out the types takes longer than to read: those of fractions are guessed.
                header, *rows = self._first_lines(file)
                cells = zip(header, rows[0], strict=False) if rows else ()
                options.column_types = {
                    name: pa.float64() for name, cell in cells if FRACTION.fullmatch(cell)
                }
                with suppress(pa.ArrowInvalid):
                    return csv.read_csv(
                        pa.BufferReader(data), how, parse_options(self.dialect), options
                    )
                options.column_types = {}
            return csv.read_csv(pa.BufferReader(data), how, parse_options(self.dialect), options)

    def _first_lines(self, file: DataFile | None = None) -> list[list[str]]:
        """The cells of the first two lines."""
        file = file or self.files[0]
        with csv_errors(file.path, ()), file.open_stream() as stream:
            lines = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
            try:
                rows = reader(lines, delimiter=self.dialect.delimiter)
                found = list(islice(filter(None, rows), 2))
            except Error as error:
                raise SourceError(
                    f"{file.path} cannot be read as CSV: {error}", "mend the file"
                ) from None
        if not found:
            raise SourceError(
                f"{file.path} is empty", "it needs a line of column names and rows below it"
            )
        if any("\ud800" <= letter <= "\udfff" for letter in "".join(found[0])):
            raise SourceError(f"{file.path} is no UTF-8 text", "save it as CSV in UTF-8")
        return found
