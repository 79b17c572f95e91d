"""Tables on disk as Arrow tables: all of one, its first rows, one column of it."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds

from tvselect.runs.errors import RunError
from tvselect.sources import CsvSource, FeatherSource, ParquetSource, SourceError
from tvselect.sources.arrow import arrow_errors
from tvselect.sources.chunks import ChunkedSource
from tvselect.sources.columns import refuse_repeated
from tvselect.sources.dialect import (
    BLOCK,
    Dialect,
    convert_options,
    csv_errors,
    find_dialect,
    open_blocks,
    parse_options,
)
from tvselect.sources.files import DataFile
from tvselect.sources.groups import refuse_bomb
from tvselect.sources.opening import find_tables

LARGEST_BLOCK = 2**31 - 1
TYPICAL_COMPRESSION = 4
MOST_PACKED, LEAST_UNPACKED = 200, 2**24
FRACTION = re.compile(r"[+-]?\d+[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class TableFiles:
    """The files of a table.

    Attributes
    ----------
    path : str
        As the user gave it.
    format : {"csv", "parquet", "feather"}
    files : tuple of DataFile
    dialect : Dialect or None
        Of a CSV.
    """

    path: str
    format: Literal["csv", "parquet", "feather"]
    files: tuple[DataFile, ...]
    dialect: Dialect | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return sum(int(file.filesystem.get_file_info(file.path).size) for file in self.files)

    def names(self) -> list[str]:
        """The names of the columns, each of them once."""
        if self.dialect is None:
            with self._errors():
                names = self._dataset().schema.names
        else:
            names = _first_lines(self.files[0], self.dialect)[0]
        refuse_repeated(names, self.path, "rename them")
        return list(names)

    def count_rows(self) -> tuple[int, bool]:
        """The number of rows, and whether it is only an estimate."""
        if self.dialect is None:
            with self._errors():
                return int(self._dataset().count_rows()), False
        with csv_errors(self.path, ()), self.files[0].open_stream() as stream:
            head = stream.read(self.dialect.block)
        lines = max(1, head.count(b"\n"))
        packed = TYPICAL_COMPRESSION if self.files[0].path.lower().endswith(".gz") else 1
        return round(self.n_bytes * packed / len(head) * lines), True

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows of some columns; the types of a CSV are those of all its rows."""
        if self.dialect is not None:
            parts = [_read_csv(file, self.dialect, columns) for file in self.files]
            with self._errors():
                return pa.concat_tables(parts, promote_options="permissive")
        refuse_bomb(self.count_rows()[0], self.n_bytes, self.path)
        with self._errors():
            wanted = None if columns is None else list(columns)
            return self._sound(self._dataset().to_table(columns=wanted))

    def head(self, n_rows: int) -> pa.Table:
        """The first rows, with the types that a stream takes them for."""
        if self.dialect is None:
            refuse_bomb(self.count_rows()[0], self.n_bytes, self.path)
            with self._errors():
                return self._sound(self._dataset().head(n_rows))
        held: list[Any] = []
        with csv_errors(self.path, ()), open_blocks(self.files[0], self.dialect) as blocks:
            names = blocks.schema.names
            with csv_errors(self.path, names):
                while sum(block.num_rows for block in held) < n_rows:
                    try:
                        held.append(blocks.read_next_batch())
                    except StopIteration:
                        break
            return pa.Table.from_batches(held, blocks.schema).slice(0, n_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, without the memory that the others would take."""
        if self.dialect is None:
            return self.read([name]).column(name)
        with csv_errors(self.path, ()), open_blocks(self.files[0], self.dialect) as blocks:
            kind = blocks.schema.field(name).type
        if pa.types.is_integer(kind) or pa.types.is_null(kind):
            kind = pa.float64()  # it may go on with fractions
        chunks: list[Any] = []
        for file in self.files:
            with (
                csv_errors(file.path, [name]),
                open_blocks(file, self.dialect, {name: kind}) as blocks,
            ):
                chunks += [block.column(0) for block in blocks]
        return pa.chunked_array(chunks, kind)

    def source(self, target: str, columns: Sequence[str]) -> ChunkedSource:
        """The rows as a stream."""
        if self.dialect is not None:
            delimiter, decimal, _ = self.dialect
            return CsvSource(
                self.path, target, columns=columns, delimiter=delimiter, decimal=decimal
            )
        opener = ParquetSource if self.format == "parquet" else FeatherSource
        return opener(self.path, target, columns=columns)

    def _dataset(self) -> Any:
        with self._errors():
            format = "parquet" if self.format == "parquet" else "ipc"
            filesystem = self.files[0].filesystem
            return ds.dataset(
                [file.path for file in self.files], filesystem=filesystem, format=format
            )

    def _sound(self, table: pa.Table) -> pa.Table:
        """The table, if Arrow would not read beyond its buffers."""
        if self.format == "feather":
            table.validate(full=True)
        return table

    def _errors(self) -> Any:
        name = {"parquet": "Parquet", "feather": "Feather", "csv": "CSV"}[self.format]
        remedy = "it is damaged, of another format, or its files differ: write it again"
        return arrow_errors(f"{self.path} cannot be read as {name}", remedy)


def open_table(
    path: str | Path, delimiter: str | None = None, decimal: str | None = None
) -> TableFiles:
    """The files of a table, looked at but not read.

    Raises
    ------
    OSError
        When it does not exist or may not be read.
    RunError, SourceError
        For unknown formats and files that hold no table; names it and says what to do.
    """
    text = os.fspath(path)
    suffix = Path(text).suffix
    try:
        format, files = find_tables(text)
    except SourceError as error:
        if not str(error).startswith("files ending in"):
            raise
        raise RunError(
            f"{text}: a file ending in {suffix!r} cannot be read; save it as .csv, .tsv, "
            ".parquet, .feather or .arrow"
        ) from None
    if sum(int(file.filesystem.get_file_info(file.path).size) for file in files) == 0:
        raise RunError(f"{text} is empty; it needs a line of column names and rows below it")
    if format == "csv":
        return TableFiles(text, format, tuple(files), find_dialect(files[0], delimiter, decimal))
    if delimiter is not None:
        raise RunError(f"--sep is for CSV, but {text} is {format}; leave it out")
    return TableFiles(text, format, tuple(files))


def read_whole(file: DataFile) -> pa.Buffer:
    """All bytes of a file, unpacked.

    Raises
    ------
    RunError
        When it unpacks to far more than tables do.
    """
    with csv_errors(file.path, ()), file.open_stream() as stream:
        if not file.path.lower().endswith(".gz"):
            return stream.read_buffer()
        size = int(file.filesystem.get_file_info(file.path).size)
        limit = max(LEAST_UNPACKED, MOST_PACKED * size)
        data = io.BytesIO()
        while block := stream.read(BLOCK):
            if data.tell() + len(block) > limit:
                raise RunError(
                    f"{file.path} unpacks to more than {limit:,} bytes; unpack it yourself, or "
                    "say --stream"
                )
            data.write(block)
    return pa.py_buffer(data.getbuffer())


def _read_csv(file: DataFile, dialect: Dialect, columns: Sequence[str] | None) -> pa.Table:
    """A CSV in one block, so that every row has its say in the types."""
    data = read_whole(file)
    is_wide = dialect.block > BLOCK
    options = convert_options(dialect)
    if columns is not None:
        options.include_columns = list(columns)

    def read() -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            # Threads cost more than they save where columns are many and short.
            pa.csv.ReadOptions(
                use_threads=not is_wide, block_size=min(LARGEST_BLOCK, data.size + 1)
            ),
            parse_options(dialect),
            options,
        )

    with csv_errors(file.path, ()):
        if is_wide:
            # To find out the types takes longer than to read, so those of fractions are guessed.
            header, *rows = _first_lines(file, dialect)
            cells = zip(header, rows[0], strict=False) if rows else ()
            options.column_types = {
                n: pa.float64() for n, cell in cells if FRACTION.fullmatch(cell)
            }
            with suppress(pa.ArrowInvalid):
                return read()
            options.column_types = {}
        return read()


def _first_lines(file: DataFile, dialect: Dialect) -> list[list[str]]:
    """The cells of the first two lines."""
    with csv_errors(file.path, ()), file.open_stream() as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            found = list(islice(filter(None, csv.reader(lines, delimiter=dialect.delimiter)), 2))
        except UnicodeDecodeError:
            raise RunError(f"{file.path} is no UTF-8 text; save it as CSV in UTF-8") from None
        except csv.Error as error:
            raise RunError(f"{file.path} cannot be read as CSV: {error}; mend the file") from None
    if not found:
        raise RunError(f"{file.path} is empty; it needs a line of column names and rows below it")
    return found
