"""CSV files: encoding, dialect and rows; sheets and transposed tables, which become CSV."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from itertools import chain, islice
from threading import Lock
from typing import Any, NamedTuple, final
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

import numpy as np

from tvselect.inputs.arrow import Field, fields_of, load, most_unpacked, unpack
from tvselect.inputs.errors import SourceError, needed
from tvselect.inputs.table import refuse_repeated
from tvselect.inputs.text import MARKS, NUMBER, Mark, number_of
from tvselect.sources.files import ZIP_FAULTS, DataFile
from tvselect.sources.source import Chunk, LazyColumns
from tvselect.sources.tables import UTF_8, TableFiles, pooled
from tvselect.words import is_utf8

HEAD, BLOCK, LARGEST_BLOCK = 2**20, 2**20, 2**31 - 1
LINES_OF_BLOCK, LINES_TO_LOOK_AT, LINES_TO_COUNT, LINES_OF_TITLE = 100, 100, 20, 10
LONGEST_TITLE = 2000
BATCHES_TO_RESAMPLE = 10
TYPICAL_COMPRESSION = 4
DELIMITERS, BLANKS = ",;\t|", " "
CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1a\x1b"})
WORDS = re.compile(rb'"[^"]*"|\S+')
BAD_VALUE = re.compile(r"In CSV column #(\d+): (.*)", re.DOTALL)
FRACTION = re.compile(r"[+-]?\d+[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)
LARGEST_WHOLE = 2.0**53
NEEDED = "it needs a line of column names and rows below it"


@dataclass(frozen=True)
class Text:
    """A text file, read as UTF-8 whatever its encoding and compression."""

    file: DataFile
    encoding: str  #: By its first megabyte
    is_aligned: bool = False  #: Cells are separated by any number of blanks, read as one
    title: bytes = b""  #: Lines above the names of the columns, as UTF-8

    @cached_property
    def head(self) -> bytes:
        """The first bytes."""
        with self.open_stream() as stream:
            return bytes(stream.read_buffer(HEAD))

    def open_stream(self) -> Any:
        """The text from its start."""
        pa = load("pyarrow")
        stream = self.file.open_stream()
        if self.encoding != UTF_8:
            stream = pa.transcoding_input_stream(stream, self.encoding, "utf-8")
        stream.read(len(self.title))
        return pa.PythonFile(_OneBlank(stream), mode="r") if self.is_aligned else stream

    def whole(self) -> tuple[Any, str]:
        """All of it, and its encoding; raises if it unpacks to more than a plausible table."""
        with self.open_stream() as stream:
            if self.encoding == UTF_8 and not self.is_aligned and not self.file.is_packed:
                data = stream.read_buffer()
            else:
                remedy = "unpack it yourself, or {stream}"
                data = unpack(stream, self.file.path, self.file.size, remedy)
        encoding = self.encoding
        if encoding == UTF_8 and len(data) > HEAD and not _is_utf8(data):
            encoding = find_encoding(bytes(data), self.file.path)
            if encoding != UTF_8:
                data = bytes(data).decode(encoding).encode()
        return load("pyarrow").BufferReader(data), encoding


def find_encoding(data: bytes, path: str) -> str:
    """The encoding of a text; raises a SourceError for anything else."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
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
    try:
        for start in range(0, len(data), BLOCK):
            decoder.decode(memoryview(data)[start : start + BLOCK])
    except UnicodeDecodeError:
        return False
    return True


@final
class _OneBlank:
    """A file whose cells are separated by one blank."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream, self._left = stream, b""
        self._lines = _with_one_blank(io.BufferedReader(stream))

    def read(self, size: int) -> bytes:
        if not self._left:
            self._left = b"".join(islice(self._lines, 1000))
        block, self._left = self._left[:size], self._left[size:]
        return block

    def close(self) -> None:
        self.closed = True
        self._stream.close()


def _with_one_blank(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines with cells separated by one blank; with a name for the row names that R writes."""
    rows = filter(None, (WORDS.findall(n) if b'"' in n else n.split() for n in lines))
    header, first = next(rows, []), next(rows, [])
    if len(first) == len(header) + 1:
        header = [b'""', *header]
    return (b" ".join(cells) + b"\n" for cells in chain([header, first], rows))


def find_title(head: bytes) -> bytes:
    r"""The lines above the names of the columns: a title, where one stands there, and empty ones.

    A title is a line with its first cell alone. Below it there are names, at least three different
    ones and none of them a number, and rows of as many cells.

    Examples
    --------
    >>> find_title(b"Sales 2023;;\n\nSegment;Age;Sales\nA;31;7\nB;45;9\n")
    b'Sales 2023;;\n\n'
    """
    if len(head.split(b"\n", 1)[0]) > LONGEST_TITLE:
        return b""
    text = head[:HEAD].decode("utf-8-sig", "replace")
    for mark in DELIMITERS:
        reader, start, n_titles = csv.reader(io.StringIO(text, newline=""), delimiter=mark), 0, 0
        with suppress(csv.Error):
            for row in islice(reader, LINES_OF_TITLE):
                filled = [cell for cell in map(str.strip, row) if cell]
                if len(filled) > 1:
                    break
                start, n_titles = reader.line_num, n_titles + len(filled)
                if filled and not row[0].strip():
                    break
            else:
                continue
            rows = list(filter(None, islice(reader, 2)))
            if (
                n_titles
                and 2 < len(row) == len(set(filled)) == len(filled)
                and rows
                and {len(other) for other in rows} == {len(row)}
                and np.isnan([number_of(cell) for cell in filled]).all()
            ):
                return b"".join(head.splitlines(keepends=True)[:start])
    return b""


class Dialect(NamedTuple):
    """How a CSV file is written."""

    delimiter: str  #: A blank stands for any number of blanks
    decimal: Mark
    block: int  #: How many bytes to read at once
    known: tuple[Mark, ...] = ()  #: Marks that are certainly decimal ones
    doubtful: tuple[str, ...] = ()  #: Ambiguous columns of numbers, read as text
    is_given: bool = False  #: Whether the user gave the decimal mark

    @property
    def usual(self) -> Mark:
        """The usual decimal mark: semicolons are there because of decimal commas."""
        return "," if self.delimiter == ";" else "."


def find_dialect(
    head: bytes, path: str, delimiter: str | None = None, decimal: Mark | None = None
) -> Dialect:
    """The dialect of a file by its first lines, unless it is given."""
    # The header, without what is in quotes.
    header = re.sub(rb'"[^"]*"', b"", head).split(b"\n", 1)[0]
    if delimiter is None:
        delimiter = _find_delimiter(head, header, path)
    if len(delimiter) != 1 or not delimiter.isascii():
        raise SourceError(f"the delimiter must be a single character, got {delimiter!r}")
    if decimal not in (None, *MARKS):
        raise SourceError(f"decimal must be '.' or ',', got {decimal!r}")
    # pyarrow reads some thirty blocks ahead, and a block must hold some lines.
    block = max(BLOCK, LINES_OF_BLOCK * len(header))
    if decimal is not None:
        return Dialect(delimiter, decimal, block, (decimal,), is_given=True)
    return _with_decimal(Dialect(delimiter, ".", block), head)


def _find_delimiter(head: bytes, header: bytes, path: str) -> str:
    if ".tsv" in path.lower() and b"\t" in header:
        return "\t"
    found = [mark for mark in DELIMITERS if mark.encode() in header]
    n_marks = sum(header.count(mark.encode()) for mark in found)
    if len(found) == 1 and len(header.split()) <= n_marks + 1:
        return found[0]
    # Names may contain marks and blanks; the delimiter is equally frequent in all lines.
    n_cells = {mark: _cells_of_all(head, mark) for mark in found}
    if any(n > 1 for n in n_cells.values()):
        return max(found, key=lambda mark: n_cells[mark])
    if _cells_of_all(head, BLANKS) > 1:
        return BLANKS
    return max(DELIMITERS, key=lambda mark: header.count(mark.encode()))


def _cells_of_all(head: bytes, mark: str) -> int:
    """How many cells each of the first lines has; 0 if they differ."""
    counts = {len(row) for row in _rows(head, mark, LINES_TO_COUNT)}
    return counts.pop() if len(counts) == 1 else 0


def _with_decimal(dialect: Dialect, head: bytes) -> Dialect:
    """The decimal mark by the first rows, and which columns are ambiguous."""
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
    for place, cell in chain.from_iterable(map(enumerate, rows[1:])):
        if "," in cell or "." in cell:
            marks = [mark for mark in MARKS if NUMBER[mark].fullmatch(cell.strip())]
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
    """The first rows, without one that is cut off; none if they cannot be read."""
    is_cut = len(head) >= HEAD
    if mark == BLANKS:
        head = b"".join(islice(_with_one_blank(io.BytesIO(head)), most + 2))
    lines = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
    try:
        rows = [row for row in islice(csv.reader(lines, delimiter=mark), most + 1) if row]
    except csv.Error:  # longer than a cell may be
        return []
    return rows[:-1] if (is_cut or len(rows) > most) and len(rows) > 2 else rows


@final
class CsvFiles(TableFiles):
    """The table in CSV files, or in a text ``made`` from one; empty cells and "NA" are missing."""

    dialect: Dialect
    n_rows = None

    def __init__(
        self,
        where: str,
        files: Sequence[DataFile],
        delimiter: str | None,
        decimal: Mark | None,
        *,
        made: bytes | None = None,
        format: str = "CSV",
    ) -> None:
        super().__init__(where, files, format)
        if made is None:
            self._texts = tuple(map(self._open, self.files))
        else:
            self._texts = (Text(replace(self.files[0], data=made), UTF_8, title=find_title(made)),)
        first = self._texts[0]
        self.encoding = next((t.encoding for t in self._texts if t.encoding != UTF_8), UTF_8)
        with self._errors(first.file.path):
            self.dialect = find_dialect(first.head, first.file.path, delimiter, decimal)
        mark = self.dialect.delimiter
        arrow = load("pyarrow.csv")
        self._parsing = arrow.ParseOptions(delimiter=mark, newlines_in_values=True)
        if mark == BLANKS:
            self._texts = tuple(replace(text, is_aligned=True) for text in self._texts)
        self.names = self._first_lines(self._texts[0])[0]
        self.title = " ".join(re.findall(r"[^\s,;|]+", first.title.decode("utf-8-sig", "replace")))
        if self.files[0].data is not None:
            self.only_whole = "what came is gone"

    def _open(self, file: DataFile) -> Text:
        with self._errors(file.path), file.open_stream() as stream:
            head = bytes(stream.read_buffer(HEAD))  # read() loses memory where it fails
            text = Text(file, find_encoding(head, file.path))
            return replace(text, title=find_title(head if text.encoding == UTF_8 else text.head))

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file, by its first rows."""
        with self._blocks(self._texts[0]) as blocks:
            fields = fields_of(blocks.schema.names, blocks.schema.types)
        return tuple(
            field._replace(type="text that is not UTF-8") if field.type == "binary" else field
            for field in fields
        )

    def estimate_rows(self) -> int:
        """An estimate by the length of the first lines."""
        with self._errors():
            head = self._texts[0].head
        files = [text.file for text in self._texts]
        n_bytes = sum(f.size * (TYPICAL_COMPRESSION if f.is_packed else 1) for f in files)
        return round(n_bytes / len(head) * max(1, head.count(b"\n")))

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns; types are inferred from all of them."""
        parts = [self._read(text, self._options(columns or ())) for text in self._texts]
        with self._errors():
            return load("pyarrow").concat_tables(parts, promote_options="permissive")

    def read_cells(self, columns: Sequence[str]) -> Any:
        """All rows of some columns as text, exactly as written."""
        pa, arrow = load("pyarrow"), load("pyarrow.csv")
        as_is = arrow.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=list(columns),
            null_values=[],
        )
        return pa.concat_tables([self._read(text, as_is) for text in self._texts])

    def head(self, n_rows: int) -> Any:
        """The first rows, with the types that a stream assumes."""
        with self._blocks(self._texts[0]) as blocks:
            table = next(pooled(blocks, n_rows), None) or blocks.schema.empty_table()
            return table.slice(0, n_rows)

    def column(self, name: str) -> Any:
        """One column, read block by block."""
        chunks: list[Any] = []
        for text in self._texts:
            with self._blocks(text, [f for f in self.fields if f.name == name]) as blocks:
                chunks += [block.column(0) for block in blocks]
                kind = blocks.schema.types[0]
        return load("pyarrow").chunked_array(chunks, kind)

    def columns_of_files(self) -> Iterator[tuple[str, Sequence[Field]]]:
        """The path of each file and its columns, with the types of the first file's."""
        known = {field.name: field for field in self.fields}
        for text in self._texts:
            names = self._first_lines(text)[0]
            yield text.file.path, [known.get(name, Field(name, "number", "")) for name in names]

    def compare(self, fields: Sequence[Field], *, extra: bool) -> None:
        """Raise unless every file has these columns; values are checked as they come."""
        for field in fields:
            if field.name in self.dialect.doubtful:
                raise SourceError(
                    f"column {field.name!r} of {self.where} holds numbers such as 51,067, which "
                    "nothing tells whether they have fractions",
                    "write them without marks of thousands, or say {decimal}",
                )
        super().compare(fields, extra=extra)

    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The blocks of the files; with ``rng`` at least ten batches together."""
        least = 1 if rng is None else BATCHES_TO_RESAMPLE * size
        for number, text in enumerate(self._texts):
            path = text.file.path
            with self._blocks(text, fields) as blocks:
                for table in pooled(blocks, least):
                    self.require_unchanged(number)
                    yield LazyColumns(table.column, fields, len(table), path, Lock()).chunk()

    def _read(self, text: Text, options: Any) -> Any:
        """A file in one block, so that types are inferred from all rows."""
        pa, arrow = load("pyarrow"), load("pyarrow.csv")
        with self._reading(text):
            data, encoding = text.whole()
            if encoding != UTF_8:
                self.encoding = encoding
            is_wide, types = self.dialect.block > BLOCK, options.column_types
            # Threads cost more than they save where columns are many and short.
            block_size = min(LARGEST_BLOCK, data.size() + 1)
            how = arrow.ReadOptions(use_threads=not is_wide, block_size=block_size)
            if is_wide:
                # Inferring types takes longer than reading: those of fractions are guessed.
                header, *rows = self._first_lines(text)
                cells = zip(header, rows[0], strict=False) if rows else ()
                guessed = {name: pa.float64() for name, cell in cells if FRACTION.fullmatch(cell)}
                options.column_types = guessed | types
                with suppress(pa.ArrowInvalid):
                    return arrow.read_csv(data, how, self._parsing, options)
                options.column_types = types
                data.seek(0)
            return arrow.read_csv(data, how, self._parsing, options)

    def _first_lines(self, text: Text) -> list[list[str]]:
        """The cells of the first two lines."""
        path = text.file.path
        with self._errors(path), text.open_stream() as stream:
            lines = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
            try:
                rows = csv.reader(lines, delimiter=self.dialect.delimiter)
                found = list(islice(filter(None, rows), 2))
            except csv.Error as error:
                raise SourceError(f"{path} cannot be read as CSV: {error}", "mend it") from None
        if not found:
            raise SourceError(f"{path} is empty", NEEDED)
        if not is_utf8("".join(found[0])):
            raise SourceError(
                f"{path} is damaged: its first line is not UTF-8", "save it as CSV in UTF-8"
            )
        return found

    @contextmanager
    def _blocks(self, text: Text, fields: Sequence[Field] | None = None) -> Iterator[Any]:
        """Blocks of some columns, or of all with the types of the first block."""
        pa, arrow = load("pyarrow"), load("pyarrow.csv")
        options = self._options()
        if fields is not None:  # whole numbers may be followed by fractions
            known = {"string": pa.string(), "bool": pa.bool_()}
            options.include_columns = [field.name for field in fields]
            options.column_types = {
                field.name: _type_of_date(field.type)
                if field.kind == "date"
                else known.get(field.type, pa.float64())
                for field in fields
            }
        how = arrow.ReadOptions(use_threads=False, block_size=self.dialect.block)
        with self._reading(text), text.open_stream() as stream:
            yield arrow.open_csv(stream, how, self._parsing, options)

    def _options(self, columns: Sequence[str] = ()) -> Any:
        """Empty cells and "NA" are missing; ambiguous columns are text."""
        return load("pyarrow.csv").ConvertOptions(
            column_types=dict.fromkeys(self.dialect.doubtful, load("pyarrow").string()),
            include_columns=list(columns),
            strings_can_be_null=True,
            decimal_point=self.dialect.decimal,
        )

    @contextmanager
    def _reading(self, text: Text) -> Iterator[None]:
        """Turn pyarrow's errors into a SourceError that names the file and the column."""
        with self._errors(text.file.path):
            try:
                yield
            except load("pyarrow").ArrowInvalid as error:
                found = BAD_VALUE.match(str(error))
                if found is None:
                    raise
                name = self._first_lines(text)[0][int(found[1])]
                raise SourceError(
                    f"column {name!r} of {text.file.path}: {found[2]}",
                    "mend the value, or leave the column out with {columns}",
                ) from error


def _type_of_date(name: str) -> Any:
    """The Arrow type of dates of that name, as they are inferred from CSV."""
    pa = load("pyarrow")
    return pa.timestamp("ns", "UTC") if "tz=" in name else pa.type_for_alias(name)


def transposed(files: TableFiles, decimal: Mark | None) -> CsvFiles:
    """The same table with its rows as columns, named by the first column."""
    first, *others = files.names
    refuse_repeated(files.names, files.where, "rename them")
    if not others:
        raise SourceError(
            f"{files.where} has one column", "to transpose it, it needs names and values"
        )
    delimiter = files.dialect.delimiter if isinstance(files, CsvFiles) else ","
    delimiter = delimiter.replace(BLANKS, ",")
    cells = files.read_cells(files.names)
    names = cells.column(0).to_pylist()
    if not all(names):
        row = [bool(name) for name in names].index(False) + 1
        raise SourceError(
            f"row {row} of {files.where} has no name in its first column, {first!r}",
            "a column-to-be needs one",
        )
    rows = (column.to_pylist() for column in cells.columns[1:])
    made = _as_csv(chain([names], rows), delimiter)
    turned = CsvFiles(files.where, files.files, delimiter, decimal, made=made, format=files.format)
    turned.is_transposed, turned.only_whole = True, "it is transposed"
    turned.encoding, turned.sheets, turned.title = files.encoding, files.sheets, files.title
    return turned


def open_sheet(where: str, file: DataFile, name: str | None, decimal: Mark | None) -> CsvFiles:
    """A sheet of a workbook by name, or the first that is not empty."""
    how = "reading spreadsheets needs python-calamine: pip install 'tvselect[excel]'"
    calamine = needed("python_calamine", how)
    with file.open() as stream:
        data = stream.read()
    try:
        _refuse_damaged(data, file.path)
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        filled = {n: s for n in book.sheet_names if (s := book.get_sheet_by_name(n)).height > 0}
        if name is not None and name not in filled:
            others = ", ".join(map(repr, filled)) or "none that holds anything"
            raise SourceError(f"{file.path} has no sheet {name!r}; it has {others}")
        if not filled:
            raise SourceError(f"{file.path} is empty", NEEDED)
        chosen = next(iter(filled)) if name is None else name
        rows = filled[chosen].to_python()
    except calamine.PasswordError:
        raise SourceError(f"{file.path} is locked", "save it without a password") from None
    except (OSError, ExpatError, calamine.CalamineError) as error:
        raise SourceError(
            f"{file.path} cannot be read as a spreadsheet: {error}",
            "it is damaged, cut off or of another format: save it again",
        ) from error
    used = [place for place in range(len(rows[0])) if any(row[place] != "" for row in rows)]
    cells = ([_cell(row[place]) for place in used] for row in rows)
    made = _as_csv(row for row in cells if any(row))
    files = CsvFiles(where, [file], ",", decimal, made=made, format="Excel")
    files.sheets = (chosen, *(other for other in filled if other != chosen))
    files.only_whole = "it is a spreadsheet"
    return files


def _refuse_damaged(data: bytes, path: str) -> None:
    """Raise for an archive bomb, and an ExpatError for a truncated .ods: calamine would hang."""
    n_bytes, limit = 0, most_unpacked(len(data))
    with suppress(*ZIP_FAULTS, KeyError), ZipFile(io.BytesIO(data)) as archive:
        n_bytes = sum(item.file_size for item in archive.infolist())
        if n_bytes <= limit:
            with archive.open("content.xml") as content:
                ParserCreate("utf-8").ParseFile(content)  # whatever it says of itself
    if n_bytes > limit:
        raise SourceError(f"{path} unpacks to more than {limit:,} bytes", "save it as Parquet")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < LARGEST_WHOLE else repr(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return repr(value / timedelta(days=1)) if isinstance(value, timedelta) else str(value)


def _as_csv(rows: Iterable[Sequence[str]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()
