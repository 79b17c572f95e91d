"""CSV files: how they are written is found out, and told to pyarrow."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from csv import Error, reader
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, final

import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field, fields_of
from tvselect.inputs.text import Mark
from tvselect.sources.chunks import Chunk, lazy_chunk
from tvselect.sources.columns import compare_columns
from tvselect.sources.dialect import BLANKS, find_dialect
from tvselect.sources.files import DataFile, StandardInput
from tvselect.sources.stored import TableFiles, pooled
from tvselect.sources.texts import UTF_8, Text, open_text

LARGEST_BLOCK = 2**31 - 1
BATCHES_TO_RESAMPLE = 10
BAD_VALUE = re.compile(r"In CSV column #(\d+): (.*)", re.DOTALL)
FRACTION = re.compile(r"[+-]?\d+[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)


@final
class CsvFiles(TableFiles):
    """The table in some CSV files, also compressed ones, or in text made of other files.

    The first line has the names. The first rows tell numbers from text; empty cells and "NA"
    are missing values.

    Parameters
    ----------
    where : str
    files : sequence of DataFile
    delimiter, decimal : str or None
        Found out if not given.
    texts : sequence of Text, optional
        Made of the files, where these are no CSV.
    format : str
        Of the files.

    Attributes
    ----------
    dialect : Dialect
        By the first lines, unless it is given.
    encoding : str
        How the letters are written, by what was read so far.
    """

    n_rows = None

    def __init__(
        self,
        where: str,
        files: Sequence[DataFile],
        delimiter: str | None,
        decimal: Mark | None,
        *,
        texts: Sequence[Text] = (),
        format: str = "CSV",
    ) -> None:
        super().__init__(where, files, format)
        self._texts = tuple(texts) or tuple(map(self._open, self.files))
        self.encoding = next((t.encoding for t in self._texts if t.encoding != UTF_8), UTF_8)
        with self._errors(self.files[0].path):
            self.dialect = find_dialect(self._texts[0], delimiter, decimal)
            if self.dialect.delimiter == BLANKS:
                self._texts = tuple(text.aligned() for text in self._texts)
        self.names = self._first_lines(self._texts[0])[0]

    @property
    def only_whole(self) -> str:
        """Why it can be read only as a whole, or empty."""
        if self.is_transposed:
            return "it is transposed"
        if isinstance(self.files[0], StandardInput):
            return "what came is gone"
        return "it is a spreadsheet" if self.format == "Excel" else ""

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file, by its first rows."""
        return self._look(self._texts[0])

    @cached_property
    def in_some(self) -> dict[str, int]:
        """Columns that not all of the files have, and how many have them."""
        counts = Counter(name for text in self._texts for name in self._first_lines(text)[0])
        return {name: n for name, n in counts.items() if n < len(self._texts)}

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

    def compare(self, fields: Sequence[Field], *, extra: bool) -> None:
        """Raise unless every file has these columns; values are checked as they come."""
        known = {field.name: field for field in self.fields}
        for field in fields:
            if field.name in self.dialect.doubtful:
                raise SourceError(
                    f"column {field.name!r} of {self.where} holds numbers such as 51,067, which "
                    "nothing tells whether they have fractions",
                    "write them without marks of thousands, or say {decimal}",
                )
        for text in self._texts:
            alike = [known.get(field.name, field) for field in self._look(text)]
            compare_columns(fields, alike, text.path, extra=extra)

    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The blocks of the files; with ``rng`` at least ten batches together."""
        least = 1 if rng is None else BATCHES_TO_RESAMPLE * size
        for number, text in enumerate(self._texts):
            with self._blocks(text, self._types(fields)) as blocks:
                for table in pooled(blocks, least):
                    self.require_unchanged(number)
                    yield lazy_chunk(table.column, fields, table.num_rows, text.path, Lock())

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
            raise SourceError(
                f"{text.path} is empty", "it needs a line of column names and rows below it"
            )
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
