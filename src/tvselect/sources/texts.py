"""The text of a file as UTF-8, whatever it is packed in and written in."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, final

from tvselect.inputs.arrow import load, unpack
from tvselect.inputs.errors import SourceError
from tvselect.sources.files import DataFile

HEAD = 2**20
BLOCK = 2**20
TYPICAL_COMPRESSION = 4
UTF_8 = "UTF-8"
WESTERN = "Windows-1252"
CODECS = {
    UTF_8: "utf-8",
    "UTF-16": "utf-16",
    "UTF-16LE": "utf-16-le",
    "UTF-16BE": "utf-16-be",
    WESTERN: "cp1252",
    "Latin-1": "latin-1",
}
CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1a\x1b"})
WORDS = re.compile(rb'"[^"]*"|\S+')


@dataclass(frozen=True)
class Text:
    """A text file.

    Attributes
    ----------
    file : DataFile
    encoding : str
        How the letters are written, by the first of them.
    is_aligned : bool
        Cells have any number of blanks between them, and are handed out with one.
    """

    file: DataFile
    encoding: str
    is_aligned: bool = False

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

        Raises
        ------
        SourceError
            When it unpacks to far more than tables have.
        """
        with self.open_stream() as stream:
            is_plain = self.encoding == UTF_8 and not self.is_aligned and not self.file.is_packed
            data = (
                stream.read_buffer()
                if is_plain
                else unpack(stream, self.path, self.file.size, "unpack it yourself, or {stream}")
            )
        encoding = self.encoding
        if encoding == UTF_8 and len(data) > HEAD and not _is_utf8(data):
            encoding = find_encoding(bytes(data), self.path)
            if encoding != UTF_8:
                data = bytes(data).decode(CODECS[encoding]).encode()
        return load("pyarrow").BufferReader(data), encoding


@final
@dataclass(frozen=True)
class HeldText(Text):
    """Text that was made of a file, in memory."""

    data: bytes = b""

    @property
    def n_bytes(self) -> int:
        """How many bytes there are."""
        return len(self.data)

    def open_stream(self) -> Any:
        """The text from its start."""
        return load("pyarrow").BufferReader(self.data)

    def whole(self) -> tuple[Any, str]:
        """All of it."""
        return self.open_stream(), self.encoding


def open_text(file: DataFile) -> Text:
    """The text of a file, its encoding found out by its first bytes."""
    with file.open_stream() as stream:
        head = bytes(stream.read_buffer(HEAD))  # read() loses memory where it fails
    return Text(file, find_encoding(head, file.path))


def find_encoding(data: bytes, path: str) -> str:
    """How the letters of a text are written.

    Raises
    ------
    SourceError
        When it is no text.

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
    return WESTERN


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
            self._left = b"".join(line for _, line in zip(range(1000), self._lines, strict=False))
        block, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    def _split(self) -> Iterator[bytes]:
        rows = filter(None, map(_words, io.BufferedReader(self._stream)))
        header, first = next(rows, []), next(rows, [])
        if len(first) == len(header) + 1:  # as R writes it, whose first column has no name
            header = [b'""', *header]
        for cells in chain([header, first], rows):
            yield b" ".join(cells) + b"\n"


def _words(line: bytes) -> list[bytes]:
    return WORDS.findall(line) if b'"' in line else line.split()
