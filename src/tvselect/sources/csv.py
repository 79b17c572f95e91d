"""CSV files, and what is made into CSV: spreadsheets and tables whose rows are to be columns."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from csv import Error, reader, writer
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import cached_property
from importlib import import_module
from itertools import chain, islice
from threading import Lock
from typing import Any, final
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

import numpy as np

from tvselect.inputs.arrow import Field, fields_of, load, most_unpacked
from tvselect.inputs.errors import SourceError
from tvselect.inputs.table import refuse_repeated
from tvselect.inputs.text import Mark
from tvselect.sources.base import Chunk, LazyColumns
from tvselect.sources.files import ZIP_FAULTS, DataFile
from tvselect.sources.tables import TableFiles, pooled
from tvselect.sources.text import BLANKS, UTF_8, Dialect, Text, find_dialect, open_text

LARGEST_BLOCK = 2**31 - 1
BATCHES_TO_RESAMPLE = 10
BAD_VALUE = re.compile(r"In CSV column #(\d+): (.*)", re.DOTALL)
FRACTION = re.compile(r"[+-]?\d+[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)
LARGEST_WHOLE = 2.0**53
DAY = timedelta(days=1)


@final
class CsvFiles(TableFiles):
    """The table in some CSV files, also compressed ones, or in text made of another file.

    The first line has the names. The first rows tell numbers from text; empty cells and "NA"
    are missing values. ``made`` is text that was made of the first file, where this is no CSV.
    """

    dialect: Dialect  #: By the first lines, unless it is given
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
            self._texts = (Text(replace(self.files[0], data=made), UTF_8),)
        self.encoding = next((t.encoding for t in self._texts if t.encoding != UTF_8), UTF_8)
        with self._errors(self.files[0].path):
            self.dialect = find_dialect(self._texts[0], delimiter, decimal)
            if self.dialect.delimiter == BLANKS:
                self._texts = tuple(text.aligned() for text in self._texts)
        self.names = self._first_lines(self._texts[0])[0]
        if self.files[0].data is not None:
            self.only_whole = "what came is gone"

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file, by its first rows."""
        return self._look(self._texts[0])

    def names_of_files(self) -> list[list[str]]:
        """The names of the columns of each file."""
        return [self._first_lines(text)[0] for text in self._texts]

    def estimate_rows(self) -> int:
        """About how many rows there are, by the length of the first lines."""
        with self._errors(self._texts[0].path), self._texts[0].open_stream() as stream:
            head = bytes(stream.read_buffer(self.dialect.block))
        n_bytes = sum(text.n_bytes for text in self._texts)
        return round(n_bytes / len(head) * max(1, head.count(b"\n")))

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns; the types are those of all rows."""
        parts = [self._read(text, columns) for text in self._texts]
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
        for text in self._texts:
            how = csv.ReadOptions(block_size=self.dialect.block)
            with self._bad_values(text):
                blocks += csv.open_csv(self._whole(text), how, self._parse_options(), as_is)
        return pa.Table.from_batches(blocks, pa.schema(types))

    def identifiers(self, name: str) -> list[str | None]:
        """A column as text to the letter."""
        return [cell or None for cell in self.read_cells([name]).column(0).to_pylist()]

    def head(self, n_rows: int) -> Any:
        """The first rows, with the types that a stream takes them for."""
        with self._blocks(self._texts[0]) as blocks:
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
        for text in self._texts:
            with self._blocks(text, types) as blocks:
                chunks += [block.column(0) for block in blocks]
        return pa.chunked_array(chunks, types[name])

    def columns_of_files(self) -> Iterator[tuple[str, Sequence[Field]]]:
        """The path of each file and its columns, with the types of the first file's."""
        known = {field.name: field for field in self.fields}
        for text in self._texts:
            yield text.path, [known.get(field.name, field) for field in self._look(text)]

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
            with self._blocks(text, self._types(fields)) as blocks:
                for table in pooled(blocks, least):
                    self.require_unchanged(number)
                    columns = LazyColumns(table.column, fields, len(table), text.path, Lock())
                    yield columns.chunk()

    def _open(self, file: DataFile) -> Text:
        with self._errors(file.path):
            return open_text(file)

    def _look(self, text: Text) -> tuple[Field, ...]:
        with self._blocks(text) as blocks:
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

    def _read(self, text: Text, columns: Sequence[str] | None) -> Any:
        """A file in one block, so that every row has its say in the types."""
        pa, csv = load("pyarrow"), load("pyarrow.csv")
        data = self._whole(text)
        is_wide = self.dialect.is_wide
        options = self._convert_options()
        options.include_columns = columns or []
        # Threads cost more than they save where columns are many and short.
        block_size = min(LARGEST_BLOCK, data.size() + 1)
        how = csv.ReadOptions(use_threads=not is_wide, block_size=block_size)
        with self._errors(text.path):
            if is_wide:
                # To find out the types takes longer than to read: those of fractions are guessed.
                header, *rows = self._first_lines(text)
                cells = zip(header, rows[0], strict=False) if rows else ()
                guessed = {name: pa.float64() for name, cell in cells if FRACTION.fullmatch(cell)}
                options.column_types = guessed | self._doubtful()
                with suppress(pa.ArrowInvalid):
                    return csv.read_csv(data, how, self._parse_options(), options)
                options.column_types = self._doubtful()
                data.seek(0)
            return csv.read_csv(data, how, self._parse_options(), options)

    def _whole(self, text: Text) -> Any:
        """All bytes of a file, unpacked; raises when these are far more than tables have."""
        with self._errors(text.path):
            data, encoding = text.whole()
        if encoding != UTF_8:
            self.encoding = encoding
        return data

    def _first_lines(self, text: Text) -> list[list[str]]:
        """The cells of the first two lines."""
        with self._errors(text.path), text.open_stream() as stream:
            lines = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
            try:
                rows = reader(lines, delimiter=self.dialect.delimiter)
                found = list(islice(filter(None, rows), 2))
            except Error as error:
                raise SourceError(
                    f"{text.path} cannot be read as CSV: {error}", "mend the file"
                ) from None
        if not found:
            raise _is_empty(text.path)
        if any("\ud800" <= letter <= "\udfff" for letter in "".join(found[0])):
            raise SourceError(
                f"{text.path} is damaged: its first line is no UTF-8 text",
                "save it as CSV in UTF-8",
            )
        return found

    @contextmanager
    def _blocks(self, text: Text, types: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """A stream of blocks of the columns with types, or of all; types are those of the first."""
        csv = load("pyarrow.csv")
        how = csv.ReadOptions(use_threads=False, block_size=self.dialect.block)
        with self._bad_values(text), text.open_stream() as stream:
            options = self._convert_options(types)
            yield csv.open_csv(stream, how, self._parse_options(), options)

    def _doubtful(self) -> dict[str, Any]:
        """Columns that may be read in two ways come as text, so that none is chosen unseen."""
        return dict.fromkeys(self.dialect.doubtful, load("pyarrow").string())

    def _parse_options(self) -> Any:
        csv = load("pyarrow.csv")
        return csv.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=True)

    def _convert_options(self, types: Mapping[str, Any] | None = None) -> Any:
        """Empty cells and "NA" are missing."""
        return load("pyarrow.csv").ConvertOptions(
            column_types=self._doubtful() if types is None else dict(types),
            include_columns=list(types or {}),
            strings_can_be_null=True,
            decimal_point=self.dialect.decimal,
        )

    @contextmanager
    def _bad_values(self, text: Text) -> Iterator[None]:
        """Turn pyarrow's errors into a SourceError that names the file and the column."""
        with self._errors(text.path):
            try:
                yield
            except load("pyarrow").ArrowInvalid as error:
                found = BAD_VALUE.match(str(error))
                if found is None:
                    raise
                name = self._first_lines(text)[0][int(found[1])]
                raise SourceError(
                    f"column {name!r} of {text.path}: {found[2]}",
                    "mend the value, or leave the column out with {columns}",
                ) from error


def _is_empty(path: str) -> SourceError:
    return SourceError(f"{path} is empty", "it needs a line of column names and rows below it")


def transposed(files: TableFiles, decimal: Mark | None) -> CsvFiles:
    """The same table with its rows as columns, named by the first column.

    The names of the columns, which would be those of the rows, are left out.
    """
    first, *others = files.names
    refuse_repeated(files.names, files.where, "rename them")
    if not others:
        raise SourceError(
            f"{files.where} has one column", "to transpose it, it needs names and values"
        )
    delimiter = ","
    if isinstance(files, CsvFiles):
        cells = files.read_cells(files.names)
        delimiter = "," if files.dialect.delimiter == BLANKS else files.dialect.delimiter
    else:
        pa = load("pyarrow")
        cells = files.read().cast(pa.schema([(name, pa.string()) for name in files.names]))
    names = cells.column(0).to_pylist()
    for number, name in enumerate(names, start=1):
        if not name:
            raise SourceError(
                f"row {number} of {files.where} has no name in its first column, {first!r}",
                "a column-to-be needs one",
            )
    rows = (column.to_pylist() for column in cells.columns[1:])
    made = _as_csv(chain([names], rows), delimiter)
    turned = CsvFiles(files.where, files.files, delimiter, decimal, made=made, format=files.format)
    turned.is_transposed, turned.only_whole = True, "it is transposed"
    turned.encoding, turned.sheets = files.encoding, files.sheets
    return turned


def open_sheet(where: str, file: DataFile, name: str | None, decimal: Mark | None) -> CsvFiles:
    """A sheet of a workbook by its name, or the first that holds something."""
    try:
        calamine = import_module("python_calamine")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "reading spreadsheets needs python-calamine: pip install 'tvselect[excel]'"
        ) from None
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
            raise _is_empty(file.path)
        chosen = next(iter(filled)) if name is None else name
        rows = filled[chosen].to_python()
    except calamine.PasswordError:
        raise SourceError(f"{file.path} is locked", "save it without a password") from None
    except (OSError, ExpatError, calamine.CalamineError) as error:
        raise SourceError(
            f"{file.path} cannot be read as a spreadsheet: {error}",
            "it is damaged, cut off or of another format: save it again",
        ) from error
    used = [any(row[place] != "" for row in rows) for place in range(len(rows[0]))]
    cells = ([_cell(v) for v, is_used in zip(row, used, strict=True) if is_used] for row in rows)
    made = _as_csv(row for row in cells if any(row))
    files = CsvFiles(where, [file], ",", decimal, made=made, format="Excel")
    files.sheets = (chosen, *(other for other in filled if other != chosen))
    files.only_whole = "it is a spreadsheet"
    return files


def _refuse_damaged(data: bytes, path: str) -> None:
    """Raise for an archive that unpacks to far more than tables, and for a .ods that was cut off.

    An ExpatError, for the second: calamine would look for the end of the file for ever.
    """
    n_bytes, limit = 0, most_unpacked(len(data))
    with suppress(*ZIP_FAULTS, KeyError), ZipFile(io.BytesIO(data)) as archive:
        n_bytes = sum(item.file_size for item in archive.infolist())
        if n_bytes <= limit:
            with archive.open("content.xml") as content:
                ParserCreate("utf-8").ParseFile(content)  # whatever it says of itself
    if n_bytes > limit:
        raise SourceError(f"{path} unpacks to more than {limit:,} bytes", "save it as Parquet")


def _as_csv(rows: Iterable[Sequence[str]], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < LARGEST_WHOLE else repr(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, timedelta):
        return repr(value / DAY)
    return str(value)
