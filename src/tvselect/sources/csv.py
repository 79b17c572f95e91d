"""CSV files: how they are written is found out, and told to pyarrow."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from csv import Error, reader
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, final

import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field, fields_of
from tvselect.sources.chunks import Chunk, lazy_chunk
from tvselect.sources.columns import compare_columns
from tvselect.sources.files import DataFile
from tvselect.sources.stored import TableFiles, pooled

HEAD = 2**20
BLOCK = 2**20
LARGEST_BLOCK = 2**31 - 1
LEAST_LINES = 100
LINES_TO_LOOK_AT = 100
BATCHES_TO_RESAMPLE = 10
TYPICAL_COMPRESSION = 4
MOST_PACKED, LEAST_UNPACKED = 200, 2**24
DELIMITERS = ",;\t|"
BAD_VALUE = re.compile(r"In CSV column #(\d+): (.*)", re.DOTALL)
WITH_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+\s*")
FRACTION = re.compile(r"[+-]?\d+[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)


class Dialect(NamedTuple):
    """Marks between cells and before fractions, and how many bytes to read at once."""

    delimiter: str
    decimal: str
    block: int


@final
class CsvFiles(TableFiles):
    """The table in some CSV files, also compressed ones.

    The first line has the names. The first rows tell numbers from text; empty cells and "NA"
    are missing values.

    Attributes
    ----------
    dialect : Dialect
        By the first lines, unless it is given.
    """

    n_rows = None

    def __init__(
        self, where: str, files: Sequence[DataFile], delimiter: str | None, decimal: str | None
    ) -> None:
        super().__init__(where, files, "CSV")
        with self._errors(self.files[0].path):
            self.dialect = _find_dialect(self.files[0], delimiter, decimal)
        self.names = self._first_lines(self.files[0])[0]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file, by its first rows."""
        return self._look(self.files[0])

    def estimate_rows(self) -> int:
        """About how many rows there are, by the length of the first lines."""
        first = self.files[0]
        with self._errors(first.path), first.open_stream() as stream:
            head = stream.read(self.dialect.block)
        packed = TYPICAL_COMPRESSION if first.is_packed else 1
        return round(self.n_bytes * packed / len(head) * max(1, head.count(b"\n")))

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns; the types are those of all rows."""
        parts = [self._read(file, columns) for file in self.files]
        with self._errors():
            return load("pyarrow").concat_tables(parts, promote_options="permissive")

    def read_cells(self, columns: Sequence[str]) -> Any:
        """All rows of some columns as text to the letter, "NA" and empty cells too."""
        pa, csv = load("pyarrow"), load("pyarrow.csv")
        types = {name: pa.string() for name in columns}
        as_is = csv.ConvertOptions(
            column_types=types, include_columns=list(columns), null_values=[]
        )
        blocks: list[Any] = []
        for file in self.files:
            how = csv.ReadOptions(block_size=self.dialect.block)
            with self._bad_values(file):
                blocks += csv.open_csv(self._whole(file), how, self._parse_options(), as_is)
        return pa.Table.from_batches(blocks, pa.schema(types))

    def head(self, n_rows: int) -> Any:
        """The first rows, with the types that a stream takes them for."""
        with self._blocks(self.files[0]) as blocks:
            table = next(pooled(blocks, n_rows), None) or blocks.schema.empty_table()
            return table.slice(0, n_rows)

    def column(self, name: str) -> Any:
        """One column, read block by block."""
        pa = load("pyarrow")
        field = next(field for field in self.fields if field.name == name)
        types = self._types([field])
        if field.kind not in ("number", "text"):
            return pa.chunked_array([pa.nulls(1, types[name])])
        chunks: list[Any] = []
        for file in self.files:
            with self._blocks(file, types) as blocks:
                chunks += [block.column(0) for block in blocks]
        return pa.chunked_array(chunks, types[name])

    def compare(self, fields: Sequence[Field], *, extra: bool) -> None:
        """Raise unless every file has these columns; values are checked as they come."""
        known = {field.name: field for field in self.fields}
        for file in self.files:
            alike = [known.get(field.name, field) for field in self._look(file)]
            compare_columns(fields, alike, file.path, extra=extra)

    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The blocks of the files; with ``rng`` at least ten batches together."""
        least = 1 if rng is None else BATCHES_TO_RESAMPLE * size
        for number, file in enumerate(self.files):
            with self._blocks(file, self._types(fields)) as blocks:
                for table in pooled(blocks, least):
                    self.require_unchanged(number)
                    yield lazy_chunk(table.column, fields, table.num_rows, file.path, Lock())

    def _look(self, file: DataFile) -> tuple[Field, ...]:
        with self._blocks(file) as blocks:
            fields = fields_of(blocks.schema.names, blocks.schema.types)
        return tuple(
            field._replace(type="text that is not UTF-8") if field.type == "binary" else field
            for field in fields
        )

    def _types(self, fields: Iterable[Field]) -> dict[str, Any]:
        """The types to read: a column of whole numbers may go on with fractions."""
        pa = load("pyarrow")
        known = {"string": pa.string(), "bool": pa.bool_()}
        return {field.name: known.get(field.type, pa.float64()) for field in fields}

    def _read(self, file: DataFile, columns: Sequence[str] | None) -> Any:
        """A file in one block, so that every row has its say in the types."""
        pa, csv = load("pyarrow"), load("pyarrow.csv")
        data = self._whole(file)
        is_wide = self.dialect.block > BLOCK
        options = self._convert_options()
        options.include_columns = columns or []
        # Threads cost more than they save where columns are many and short.
        block_size = min(LARGEST_BLOCK, data.size() + 1)
        how = csv.ReadOptions(use_threads=not is_wide, block_size=block_size)
        with self._errors(file.path):
            if is_wide:
                # To find out the types takes longer than to read: those of fractions are guessed.
                header, *rows = self._first_lines(file)
                cells = zip(header, rows[0], strict=False) if rows else ()
                options.column_types = {
                    name: pa.float64() for name, cell in cells if FRACTION.fullmatch(cell)
                }
                with suppress(pa.ArrowInvalid):
                    return csv.read_csv(data, how, self._parse_options(), options)
                options.column_types = {}
                data.seek(0)
            return csv.read_csv(data, how, self._parse_options(), options)

    def _whole(self, file: DataFile) -> Any:
        """All bytes of a file, unpacked; raises when these are far more than tables have."""
        pa = load("pyarrow")
        with self._errors(file.path), file.open_stream() as stream:
            if not file.is_packed:
                return pa.BufferReader(stream.read_buffer())
            limit = max(LEAST_UNPACKED, MOST_PACKED * file.size)
            data = io.BytesIO()
            while block := stream.read(BLOCK):
                if data.tell() + len(block) > limit:
                    raise SourceError(
                        f"{file.path} unpacks to more than {limit:,} bytes",
                        "unpack it yourself, or {stream}",
                    )
                data.write(block)
        return pa.BufferReader(data.getbuffer())

    def _first_lines(self, file: DataFile) -> list[list[str]]:
        """The cells of the first two lines."""
        with self._errors(file.path), file.open_stream() as stream:
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

    @contextmanager
    def _blocks(self, file: DataFile, types: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """A stream of blocks of the columns with types, or of all; types are those of the first."""
        csv = load("pyarrow.csv")
        how = csv.ReadOptions(use_threads=False, block_size=self.dialect.block)
        with self._bad_values(file), file.open_stream() as stream:
            options = self._convert_options(types)
            yield csv.open_csv(stream, how, self._parse_options(), options)

    def _parse_options(self) -> Any:
        csv = load("pyarrow.csv")
        return csv.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=True)

    def _convert_options(self, types: Mapping[str, Any] | None = None) -> Any:
        """Empty cells and "NA" are missing."""
        return load("pyarrow.csv").ConvertOptions(
            column_types=dict(types or {}),
            include_columns=list(types or {}),
            strings_can_be_null=True,
            decimal_point=self.dialect.decimal,
        )

    @contextmanager
    def _bad_values(self, file: DataFile) -> Iterator[None]:
        """Turn pyarrow's errors into a SourceError that names the file and the column."""
        with self._errors(file.path):
            try:
                yield
            except load("pyarrow").ArrowInvalid as error:
                found = BAD_VALUE.match(str(error))
                if found is None:
                    raise
                name = self._first_lines(file)[0][int(found[1])]
                raise SourceError(
                    f"column {name!r} of {file.path}: {found[2]}",
                    "mend the value, or leave the column out with {columns}",
                ) from error


def _find_dialect(file: DataFile, delimiter: str | None, decimal: str | None) -> Dialect:
    """The dialect of a file, by its first lines; what is given is taken as it is."""
    with file.open_stream() as stream:
        head = bytes(stream.read(HEAD))
    if b"\0" in head:
        raise SourceError(f"{file.path} is no UTF-8 text", "save it as CSV in UTF-8")
    # The header, without what is in quotes.
    line = re.sub(rb'"[^"]*"', b"", head).split(b"\n", 1)[0]
    if delimiter is None:
        is_tabbed = file.path.lower().endswith((".tsv", ".tsv.gz"))
        delimiter = "\t" if is_tabbed else max(DELIMITERS, key=lambda m: line.count(m.encode()))
    if len(delimiter) != 1 or not delimiter.isascii():
        raise SourceError(f"the delimiter must be a single character, got {delimiter!r}")
    if decimal is None:
        decimal = "." if delimiter == "," else _find_decimal(head, delimiter)
    # pyarrow reads some thirty blocks ahead, and a block must hold some lines.
    return Dialect(delimiter, decimal, max(BLOCK, LEAST_LINES * len(line)))


def _find_decimal(head: bytes, delimiter: str) -> str:
    lines = head.decode("utf-8", "replace").splitlines()[1:LINES_TO_LOOK_AT]
    try:
        cells = [cell for row in reader(lines, delimiter=delimiter) for cell in row]
    except Error:  # cut off inside quotes, or longer than a cell may be
        return "."
    commas = sum(WITH_COMMA.fullmatch(cell) is not None for cell in cells)
    points = sum(WITH_POINT.fullmatch(cell) is not None for cell in cells)
    return "," if commas > points else "."
