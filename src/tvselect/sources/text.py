"""Text files: in UTF-8 whatever they are packed in, and how a CSV file is written."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple, final

from tvselect.inputs.arrow import load, unpack
from tvselect.inputs.errors import SourceError
from tvselect.inputs.text import MARKS, NUMBER, Mark
from tvselect.sources.files import DataFile

HEAD = 2**20
BLOCK = 2**20
LEAST_LINES = 100
LINES_TO_LOOK_AT, LINES_TO_COUNT = 100, 20
DELIMITERS = ",;\t|"
BLANKS = " "
TYPICAL_COMPRESSION = 4
UTF_8 = "UTF-8"
CODECS = {
    UTF_8: "utf-8",
    "UTF-16": "utf-16",
    "UTF-16LE": "utf-16-le",
    "UTF-16BE": "utf-16-be",
    "Windows-1252": "cp1252",
    "Latin-1": "latin-1",
}
CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1a\x1b"})
WORDS = re.compile(rb'"[^"]*"|\S+')


@dataclass(frozen=True)
class Text:
    """A text file."""

    file: DataFile
    encoding: str  #: How the letters are written, by the first of them
    is_aligned: bool = False  #: Cells have any number of blanks between them; one is handed out

    @property
    def path(self) -> str:
        """For error messages."""
        return self.file.path

    @property
    def n_bytes(self) -> int:
        """About how many bytes there are, unpacked."""
        return self.file.size * (TYPICAL_COMPRESSION if self.file.is_packed else 1)

    @cached_property
    def head(self) -> bytes:
        """The first bytes."""
        with self.open_stream() as stream:
            return bytes(stream.read_buffer(HEAD))

    def aligned(self) -> Text:
        """The same text, with one blank in place of several."""
        return replace(self, is_aligned=True)

    def open_stream(self) -> Any:
        """The text from its start, in UTF-8."""
        pa = load("pyarrow")
        stream = self.file.open_stream()
        if self.encoding != UTF_8:
            stream = pa.transcoding_input_stream(stream, CODECS[self.encoding], "utf-8")
        return pa.PythonFile(_OneBlank(stream), mode="r") if self.is_aligned else stream

    def whole(self) -> tuple[Any, str]:
        """All of it, and the encoding that all of it has.

        Raises a SourceError when it unpacks to far more than tables have.
        """
        with self.open_stream() as stream:
            if self.encoding == UTF_8 and not self.is_aligned and not self.file.is_packed:
                data = stream.read_buffer()
            else:
                remedy = "unpack it yourself, or {stream}"
                data = unpack(stream, self.path, self.file.size, remedy)
        encoding = self.encoding
        if encoding == UTF_8 and len(data) > HEAD and not _is_utf8(data):
            encoding = find_encoding(bytes(data), self.path)
            if encoding != UTF_8:
                data = bytes(data).decode(CODECS[encoding]).encode()
        return load("pyarrow").BufferReader(data), encoding


def open_text(file: DataFile) -> Text:
    """The text of a file, its encoding found out by its first bytes."""
    with file.open_stream() as stream:
        head = bytes(stream.read_buffer(HEAD))  # read() loses memory where it fails
    return Text(file, find_encoding(head, file.path))


def find_encoding(data: bytes, path: str) -> str:
    """How the letters of a text are written.

    Raises a SourceError when it is no text.

    Examples
    --------
    >>> [find_encoding("Größe".encode(codec), "") for codec in ("utf-8", "cp1252", "utf-16")]
    ['UTF-8', 'Windows-1252', 'UTF-16']
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    for encoding, high in (("UTF-16LE", data[1::2]), ("UTF-16BE", data[::2])):
        if 2 * high.count(0) > len(high) and 2 * data.count(0) <= len(data):
            return encoding
    if data.translate(None, CONTROLS) != data:
        raise SourceError(f"{path} is no text", "save it as CSV in UTF-8")
    if _is_utf8(data):
        return UTF_8
    text = data.decode("utf-8", "surrogateescape")
    n_odd = sum("\ud800" <= letter <= "\udfff" for letter in text)
    if n_odd <= sum(letter > "\x7f" for letter in text) - n_odd:
        return UTF_8  # with some damage
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "Latin-1"
    return "Windows-1252"


def _is_utf8(data: Any) -> bool:
    """Whether bytes are UTF-8; the last letter may be cut off."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    try:
        for start in range(0, len(view), BLOCK):
            decoder.decode(view[start : start + BLOCK])
    except UnicodeDecodeError:
        return False
    return True


@final
class _OneBlank(io.RawIOBase):
    """Lines with one blank between the cells; a name is added where the header lacks one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._lines = self._split()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = b"".join(islice(self._lines, 1000))
        block, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    def _split(self) -> Iterator[bytes]:
        lines = io.BufferedReader(self._stream)
        rows = filter(None, (WORDS.findall(n) if b'"' in n else n.split() for n in lines))
        header, first = next(rows, []), next(rows, [])
        if len(first) == len(header) + 1:  # as R writes it, whose first column has no name
            header = [b'""', *header]
        for cells in chain([header, first], rows):
            yield b" ".join(cells) + b"\n"


class Dialect(NamedTuple):
    """How a CSV file is written."""

    delimiter: str  #: Between cells; a blank stands for any number of blanks
    decimal: Mark  #: Before the fraction of a number
    block: int  #: How many bytes to read at once
    known: tuple[Mark, ...] = ()  #: Marks that cannot be anything but those before fractions
    doubtful: tuple[str, ...] = ()  #: Columns of numbers that may be read in two ways: as text
    is_given: bool = False  #: Whether the user says what stands before fractions

    @property
    def usual(self) -> Mark:
        """What is before fractions as a rule: there are semicolons because commas are."""
        return "," if self.delimiter == ";" else "."

    @property
    def is_wide(self) -> bool:
        """Whether lines are long."""
        return self.block > BLOCK


def find_dialect(text: Text, delimiter: str | None, decimal: Mark | None) -> Dialect:
    """The dialect of a file by its first lines; what is given is taken as it is."""
    head = text.head
    # The header, without what is in quotes.
    line = re.sub(rb'"[^"]*"', b"", head).split(b"\n", 1)[0]
    if delimiter is None:
        delimiter = _find_delimiter(text, line)
    if len(delimiter) != 1 or not delimiter.isascii():
        raise SourceError(f"the delimiter must be a single character, got {delimiter!r}")
    if decimal not in (None, *MARKS):
        raise SourceError(f"decimal must be '.' or ',', got {decimal!r}")
    # pyarrow reads some thirty blocks ahead, and a block must hold some lines.
    block = max(BLOCK, LEAST_LINES * len(line))
    if decimal is not None:
        return Dialect(delimiter, decimal, block, (decimal,), is_given=True)
    return _with_decimal(Dialect(delimiter, ".", block), head)


def _find_delimiter(text: Text, header: bytes) -> str:
    if ".tsv" in text.path.lower() and b"\t" in header:
        return "\t"
    found = [mark for mark in DELIMITERS if mark.encode() in header]
    n_marks = sum(header.count(mark.encode()) for mark in found)
    if len(found) == 1 and len(header.split()) <= n_marks + 1:
        return found[0]
    # Names may hold marks and blanks; what is between cells is as often in every line.
    alike = {mark: _cells_of_all(text.head, mark) for mark in found}
    if any(n_cells > 1 for n_cells in alike.values()):
        return max(found, key=lambda mark: alike[mark])
    if _cells_of_all(text.aligned().head, BLANKS) > 1:
        return BLANKS
    return max(DELIMITERS, key=lambda mark: header.count(mark.encode()))


def _cells_of_all(head: bytes, mark: str) -> int:
    """How many cells a line has, if the first ones are alike; else none."""
    counts = {len(row) for row in _rows(head, mark, LINES_TO_COUNT)}
    return counts.pop() if len(counts) == 1 else 0


def _with_decimal(dialect: Dialect, head: bytes) -> Dialect:
    """What is before fractions by the first rows, and which columns do not say."""
    is_comma = dialect.delimiter == ","
    has_commas = b'"' in head if is_comma else b"," in head
    if not has_commas and not (dialect.usual == "," and b"." in head):
        return dialect._replace(known=(".",))
    rows = _rows(head, dialect.delimiter, LINES_TO_LOOK_AT)
    if not rows:
        return dialect
    times: dict[Mark, int] = {".": 0, ",": 0}
    open_columns: set[int] = set()
    sure_columns: set[int] = set()
    for row in rows[1:]:
        for place, text in enumerate(row):
            if "," not in text and "." not in text:
                continue
            marks = [mark for mark in MARKS if NUMBER[mark].fullmatch(text.strip())]
            if len(marks) == 1:
                times[marks[0]] += 1
                sure_columns.add(place)
            elif marks:
                open_columns.add(place)
    known = tuple(mark for mark in MARKS if times[mark])
    if is_comma:
        return dialect._replace(known=known)
    doubtful = [] if len(known) == 1 else sorted(open_columns - sure_columns)
    return dialect._replace(
        decimal="," if times[","] > times["."] else ".",
        known=known,
        doubtful=tuple(rows[0][place] for place in doubtful if place < len(rows[0])),
    )


def _rows(head: bytes, mark: str, most: int) -> list[list[str]]:
    """The first rows, without one that is cut off; none where they cannot be read."""
    lines = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
    try:
        rows = [row for row in islice(csv.reader(lines, delimiter=mark), most + 1) if row]
    except csv.Error:  # longer than a cell may be
        return []
    is_cut = len(head) >= HEAD or len(rows) > most
    return rows[:-1] if is_cut and len(rows) > 2 else rows
