"""How a CSV file is written: its delimiter, its decimal mark, and how pyarrow is told."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from csv import Error, reader
from typing import Any, NamedTuple

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.sources.arrow import arrow_errors
from tvselect.sources.files import DataFile

HEAD = 2**20
BLOCK = 2**20
LEAST_LINES = 100
LINES_TO_LOOK_AT = 100
DELIMITERS = ",;\t|"
BAD_VALUE = re.compile(r"In CSV column #(\d+): (.*)", re.DOTALL)
WITH_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+\s*")
FRACTION = re.compile(r"[+-]?\d+[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)
MOST_PACKED, LEAST_UNPACKED = 200, 2**24


class Dialect(NamedTuple):
    """Marks between cells and before fractions, and how many bytes to read at once."""

    delimiter: str
    decimal: str
    block: int


def find_dialect(file: DataFile, delimiter: str | None, decimal: str | None) -> Dialect:
    """The dialect of a file, by its first lines; what is given is taken as it is.

    Raises
    ------
    SourceError
        When the file is no text, and for marks that are none.
    """
    with csv_errors(file.path, ()):
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


@contextmanager
def open_blocks(
    file: DataFile, dialect: Dialect, types: Mapping[str, Any] | None = None
) -> Iterator[Any]:
    """A stream of blocks of the columns with types, or of all; types are those of the first."""
    csv = load("pyarrow.csv")
    with file.open_stream() as stream:
        yield csv.open_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=False, block_size=dialect.block),
            parse_options=parse_options(dialect),
            convert_options=convert_options(dialect, types),
        )


def parse_options(dialect: Dialect) -> Any:
    """How pyarrow finds the cells."""
    csv = load("pyarrow.csv")
    return csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)


def convert_options(dialect: Dialect, types: Mapping[str, Any] | None = None) -> Any:
    """How pyarrow reads the cells: empty ones and "NA" are missing."""
    return load("pyarrow.csv").ConvertOptions(
        column_types=dict(types or {}),
        include_columns=list(types or {}),
        strings_can_be_null=True,
        decimal_point=dialect.decimal,
    )


@contextmanager
def csv_errors(path: str, header: Sequence[str]) -> Iterator[None]:
    """Turn pyarrow's errors into a SourceError that names the file and the column."""
    invalid = load("pyarrow").ArrowInvalid
    with arrow_errors(f"{path} cannot be read as CSV", "mend the file or leave it out"):
        try:
            yield
        except invalid as error:
            found = BAD_VALUE.match(str(error))
            if found is None or not header:
                raise
            raise SourceError(
                f"column {header[int(found[1])]!r} of {path}: {found[2]}",
                "mend the value, or leave the column out with {columns}",
            ) from error


def read_whole(file: DataFile) -> Any:
    """All bytes of a file as an Arrow buffer, unpacked.

    Raises
    ------
    SourceError
        When it unpacks to far more than tables do.
    """
    with csv_errors(file.path, ()), file.open_stream() as stream:
        if not file.is_packed:
            return stream.read_buffer()
        limit = max(LEAST_UNPACKED, MOST_PACKED * file.size)
        data = io.BytesIO()
        while block := stream.read(BLOCK):
            if data.tell() + len(block) > limit:
                raise SourceError(
                    f"{file.path} unpacks to more than {limit:,} bytes",
                    "unpack it yourself, or {stream}",
                )
            data.write(block)
    return load("pyarrow").py_buffer(data.getbuffer())


def _find_decimal(head: bytes, delimiter: str) -> str:
    lines = head.decode("utf-8", "replace").splitlines()[1:LINES_TO_LOOK_AT]
    try:
        cells = [cell for row in reader(lines, delimiter=delimiter) for cell in row]
    except Error:  # cut off inside quotes, or longer than a cell may be
        return "."
    commas = sum(WITH_COMMA.fullmatch(cell) is not None for cell in cells)
    points = sum(WITH_POINT.fullmatch(cell) is not None for cell in cells)
    return "," if commas > points else "."
