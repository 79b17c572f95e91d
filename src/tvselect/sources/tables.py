"""A table in files: read as a whole, its first rows, or chunk by chunk.

Of Parquet and Feather single columns of row groups are read. Columns may also be in one file, and
what is known of the rows in another table.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property, lru_cache, partial
from hashlib import file_digest, sha256
from itertools import chain
from pathlib import PurePath
from threading import Lock
from typing import Any, NamedTuple, final
from urllib.parse import unquote

import numpy as np

from tvselect.inputs.arrow import Field, arrow_errors, as_target, fields_of, load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.table import Table, read_table, refuse_repeated
from tvselect.omics import StoredColumns
from tvselect.sources.files import DataFile, hash_files
from tvselect.sources.source import Chunk, LazyColumns, compare_columns

UTF_8 = "UTF-8"
ROWS_AT_ONCE, ROWS_WORTH_THREADS = 10_000, 10_000
ROWS_TO_DOUBT, ROWS_PER_BYTE = 2**20, 1000
KEY = re.compile(r"(?<![^/])([^/=]+)=([^/]*)/")  # of a folder, as by Hive: year=2020/part.parquet
WHOLE = re.compile(r"-?[0-9]{1,18}")
MISSING_KEY = "__HIVE_DEFAULT_PARTITION__"
FAMILY = ("fid", "#fid", "family", "family_id")
ROW = ("iid", "#iid", "id", "sample", "person", "barcode", "barcodes", "cell", "cell_id", "index")


class TableFiles(ABC):
    """The files of a table."""

    where: str  #: As the user gave them
    files: tuple[DataFile, ...]
    format: str
    names: list[str]  #: Of the columns of the first file
    n_rows: int | None  #: None where it is not known before all is read
    encoding = UTF_8  #: Of text
    title = ""  #: Of text: what stands above the names of its columns
    sheets: tuple[str, ...] = ()  #: Of a spreadsheet: the one that is read, and others
    is_transposed = False  #: Whether rows of the files are columns of the table
    by_column = False  #: Whether columns are read from the files as they are needed
    only_whole = ""  #: Why it can be read only as a whole

    def __init__(self, where: str, files: Sequence[DataFile], format: str) -> None:
        self.where, self.files, self.format = where, tuple(files), format
        self._stamps = self._take_stamps()

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A worker may have copies of the files: those must stay as it finds them.
        self.__dict__.update(state)
        self._stamps = self._take_stamps()

    def _take_stamps(self) -> tuple[tuple[int, ...], ...]:
        with arrow_errors(f"{self.where} cannot be read", "look whether it is still there"):
            return tuple(file.stamp() for file in self.files)

    def require_unchanged(self, number: int | None = None) -> None:
        """Raise if a file, or the local one of this number, was changed after it was opened."""
        for k, (file, stamp) in enumerate(zip(self.files, self._stamps, strict=True)):
            if number is not None and (number != k or not file.is_local):
                continue
            with suppress(OSError):
                if file.stamp() == stamp:
                    continue
            raise SourceError(
                f"{file.path} was changed or replaced while it was read",
                "start a new run, on a table that stays as it is",
            )

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return sum(file.size for file in self.files)

    @property
    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file, with the types that a stream assumes."""

    def estimate_rows(self) -> int:
        """About how many rows there are."""
        assert self.n_rows is not None
        return self.n_rows

    @abstractmethod
    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns as an Arrow table; the types are those of all rows."""

    @abstractmethod
    def head(self, n_rows: int) -> Any:
        """The first rows as an Arrow table, with the types that a stream assumes."""

    def column(self, name: str) -> Any:
        """One column as an Arrow array; the others are not held in memory."""
        return self.read([name]).column(0)

    def read_cells(self, columns: Sequence[str]) -> Any:
        """All rows of some columns as text, of CSV exactly as written: 007 is not 7."""
        pa, table = load("pyarrow"), self.read(columns)
        with self._errors():
            return table.cast(pa.schema([(name, pa.string()) for name in columns]))

    @abstractmethod
    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The rows in chunks, the last of the fields as the target; with ``rng`` in any order."""

    def columns_of_files(self) -> Iterator[tuple[str, Sequence[Field]]]:
        """The path of each file and its columns."""
        yield self.where, self.fields

    @cached_property
    def in_some(self) -> dict[str, int]:
        """Columns that only some of the files have, and how many have them."""
        files = [[field.name for field in fields] for _, fields in self.columns_of_files()]
        counts = Counter(chain.from_iterable(files))
        return {name: n for name, n in counts.items() if n < len(files)}

    def compare(self, fields: Sequence[Field], *, extra: bool) -> None:
        """Raise unless every file has these columns; ``extra`` says whether it may have more."""
        for path, found in self.columns_of_files():
            compare_columns(fields, found, path, extra=extra)

    def refuse_stream(self) -> None:
        """Raise if it can be read only as a whole."""
        if self.only_whole:
            raise SourceError(
                f"{self.where} cannot be read batch by batch: {self.only_whole}",
                "save it as Parquet, which can",
            )

    def fingerprint(self) -> str:
        """A hash of all bytes of the files; raises if a file was changed after it was opened."""
        total = sha256()
        for file in self.files:
            with open(file.path, "rb") if file.is_local else file.open() as stream:
                total.update(file_digest(stream, "sha256").digest())
        self.require_unchanged()
        return total.hexdigest()

    def _errors(self, where: str = "") -> AbstractContextManager[None]:
        return arrow_errors(
            f"{where or self.where} cannot be read as {self.format}",
            "it is damaged, cut off or of another format: write it again or leave it out",
        )


def pooled(blocks: Iterable[Any], least: int) -> Iterator[Any]:
    """Record batches put together to tables of at least some rows."""
    pa = load("pyarrow")
    held: list[Any] = []
    for block in chain(blocks, [None]):
        if block is not None:
            held.append(block if isinstance(block, pa.Table) else pa.Table.from_batches([block]))
        n_rows = sum(map(len, held))
        if n_rows >= least or (block is None and n_rows > 0):
            yield pa.concat_tables(held, promote_options="permissive")
            held = []


class GroupFile(NamedTuple):
    """An open file of groups of rows: row groups of Parquet, record batches of Feather."""

    schema: Any
    sizes: list[int]  #: The number of rows of each group
    column: Callable[[int, str], Any]  #: Of a group; reads nothing else
    read: Callable[[Sequence[str] | None], Any]  #: All rows of some columns
    batches: Callable[[int], Iterator[Any]]  #: All rows, some at a time


def open_parquet(stream: Any) -> GroupFile:
    """A Parquet file."""
    # Pre-buffering would read and hold whole row groups ahead.
    file = load("pyarrow.parquet").ParquetFile(stream, pre_buffer=False)
    sizes = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
    # Threads cost more than they save where columns are many and short.
    threads = sum(sizes) > ROWS_WORTH_THREADS
    return GroupFile(
        file.schema_arrow,
        sizes,
        lambda g, name: file.read_row_group(g, columns=[name], use_threads=False).column(name),
        lambda columns: file.read(columns=columns, use_threads=threads),
        lambda n_rows: file.iter_batches(batch_size=n_rows),
    )


def open_feather(stream: Any) -> GroupFile:
    """A Feather file, whose data is validated: damaged offsets would crash what reads it."""
    ipc = load("pyarrow.ipc")
    schema = ipc.open_file(stream).schema
    place_of = {name: place for place, name in enumerate(schema.names)}  # repeated, too

    def open_columns(columns: Sequence[str] | None) -> Any:
        options = ipc.IpcReadOptions(use_threads=False)
        if columns is not None:
            options.included_fields = [place_of[name] for name in columns]
        return ipc.open_file(stream, options=options)

    def sound(data: Any) -> Any:
        data.validate(full=True)
        return data

    # The number of rows is stored in each group: the first column is read along with it.
    first = open_columns(schema.names[:1])
    groups = range(first.num_record_batches)
    return GroupFile(
        schema,
        [first.get_batch(g).num_rows for g in groups],
        lambda g, name: sound(open_columns([name]).get_batch(g).column(0)),
        lambda columns: sound(open_columns(columns).read_all()),
        lambda _: map(sound, map(open_columns(None).get_batch, groups)),
    )


@final
class GroupedFiles(TableFiles):
    """Parquet or Feather files; Hive keys of folders are columns behind those of the files."""

    def __init__(self, where: str, files: Sequence[DataFile], format: str) -> None:
        super().__init__(where, files, format)
        self._keys = keys_of_folders(self.files)
        self._groups: list[tuple[int, int, int]] = []
        self._schemas: list[Any] = []
        for number, (file, keys) in enumerate(zip(self.files, self._keys, strict=True)):
            with self._errors(file.path):
                opened = self._file(number)
                _refuse_bomb(max(opened.sizes, default=0), file.size, file.path)
            schema = opened.schema
            for name in keys.keys() & set(schema.names):
                del keys[name]
            for name, value in keys.items():
                schema = schema.append(load("pyarrow").field(name, value.type))
            self._schemas.append(schema)
            self._groups += [(number, g, size) for g, size in enumerate(opened.sizes) if size > 0]
        self.names = list(self._schemas[0].names)
        self.n_rows = sum(size for _, _, size in self._groups)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_file"}

    @cached_property
    def _file(self) -> Callable[[int], GroupFile]:
        # Only of Parquet: its data is unpacked, and so does not change with the mapped file.
        return self._reader(mapped=self.format == "Parquet")

    def _reader(self, *, mapped: bool = False) -> Callable[[int], GroupFile]:
        """A function that opens files by number, and keeps the last one open."""
        kind = open_parquet if self.format == "Parquet" else open_feather
        files = self.files
        return lru_cache(maxsize=1)(lambda number: kind(files[number].open(mapped=mapped)))

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file."""
        return fields_of(self.names, self._schemas[0].types)

    def columns_of_files(self) -> Iterator[tuple[str, Sequence[Field]]]:
        """The path of each file and its columns."""
        for number, (file, schema) in enumerate(zip(self.files, self._schemas, strict=True)):
            yield file.path, fields_of(schema.names, schema.types) if number else self.fields

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns."""
        _refuse_bomb(self.estimate_rows(), self.n_bytes, self.where)
        order = self.names if columns is None else list(columns)
        if len(self.files) > 1:
            wanted = set(order)
            fields = tuple(field for field in self.fields if field.name in wanted)
            self.compare(fields, extra=columns is not None)
        parts = []
        with self._errors():
            for number, keys in enumerate(self._keys):
                own = None if columns is None else [name for name in columns if name not in keys]
                parts.append(self._with_keys(number, self._file(number).read(own)))
            if columns is None and len(parts) == 1:
                return parts[0]
            parts = [part.select(order) for part in parts]
            return load("pyarrow").concat_tables(parts, promote_options="permissive")

    def head(self, n_rows: int) -> Any:
        """The first rows."""
        _refuse_bomb(self.estimate_rows(), self.n_bytes, self.where)
        in_all = [name for name in self.names if name not in self.in_some]
        with self._errors():
            batches = (
                self._with_keys(number, load("pyarrow").Table.from_batches([batch])).select(in_all)
                for number in range(len(self.files))
                for batch in self._file(number).batches(n_rows)
            )
            table = next(pooled(batches, n_rows), None) or self._schemas[0].empty_table()
            return table.slice(0, n_rows)

    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The groups, in random order with ``rng``; columns are read as they are asked for."""
        reader, lock = self._reader(), Lock()
        n_groups = len(self._groups)

        def read(number: int, group: int, n_rows: int, name: str) -> Any:
            if name in self._keys[number]:
                values = load("pyarrow").repeat(self._keys[number][name], n_rows)
            else:
                values = reader(number).column(group, name)
            self.require_unchanged(number)
            return values

        for place in range(n_groups) if rng is None else rng.permutation(n_groups):
            number, group, n_rows = self._groups[place]
            path = self.files[number].path
            read_column = partial(read, number, group, n_rows)
            yield LazyColumns(read_column, fields, n_rows, path, lock).chunk()

    def _with_keys(self, number: int, table: Any) -> Any:
        for name, value in self._keys[number].items():
            table = table.append_column(name, load("pyarrow").repeat(value, len(table)))
        return table


def _refuse_bomb(n_rows: int, n_bytes: int, path: str) -> None:
    """Raise if a file claims more rows than fit into its bytes."""
    if n_rows > max(ROWS_TO_DOUBT, ROWS_PER_BYTE * n_bytes):
        raise SourceError(
            f"{path} claims to hold {n_rows:,} rows in {n_bytes:,} bytes",
            "it is damaged or has only nulls: write it again or leave it out",
        )


def keys_of_folders(files: Sequence[DataFile]) -> list[dict[str, Any]]:
    """The keys of each file as Arrow scalars: whole numbers if all are, else text."""
    pa = load("pyarrow")
    inside = [PurePath(f.path).relative_to(f.root).as_posix() if f.root else "" for f in files]
    found = [{unquote(name): value for name, value in KEY.findall(path)} for path in inside]
    keys: list[dict[str, Any]] = [{} for _ in files]
    for name in dict.fromkeys(chain.from_iterable(found)):
        texts = [some.get(name, MISSING_KEY) for some in found]
        values = [None if text == MISSING_KEY else unquote(text) for text in texts]
        is_whole = all(value is None or WHOLE.fullmatch(value) for value in values)
        column = pa.array(values, pa.string()).cast(pa.int64() if is_whole else pa.string())
        for some, value in zip(keys, column, strict=True):
            some[name] = value
    return keys


@final
class ColumnTable(TableFiles):
    """Columns that stay in a file, behind what is known of its rows: in ``known``, or in itself."""

    by_column = True

    def __init__(
        self,
        where: str,
        files: Sequence[DataFile],
        format: str,
        open_columns: Callable[[], StoredColumns],
        known: TableFiles | None,
    ) -> None:
        super().__init__(where, (*files, *(() if known is None else known.files)), format)
        self.file, self.in_file, ids, self.rows = open_columns()
        if known is not None:
            self.rows = _in_order(known, ids, where)
        elif self.rows is None:
            raise SourceError(f"{where} has no data on the cells", "name a table: {phenotypes}")
        if any(family for family, _ in ids):
            families = [f"0 {name}" if family == "0" else family for family, name in ids]
            self.rows = self.rows.append_column("fid", [families])
        self.n_rows = self.file.shape[0]
        self.names = [*self.rows.column_names, *self.in_file]
        refuse_repeated(self.names, self.where, "rename the column of the rows")
        self._place = {name: j for j, name in enumerate(self.in_file)}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What is known of the rows, then the columns of the file."""
        front = fields_of(self.rows.column_names, self.rows.schema.types)
        return (*front, *(Field(name, "number", "double") for name in self.in_file))

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns; of all of them where that is asked for, in memory."""
        pa = load("pyarrow")
        wanted = self.names if columns is None else list(columns)
        behind = [name for name in wanted if name in self._place]
        values = self.file.read(np.array([self._place[name] for name in behind], np.int64))
        read = {
            name: pa.array(x, from_pandas=True) for name, x in zip(behind, values.T, strict=True)
        }
        self.require_unchanged()
        return pa.table({name: read[name] if name in read else self.rows[name] for name in wanted})

    def head(self, n_rows: int) -> Any:
        """The first rows, of what is known of them alone."""
        return self.rows.slice(0, n_rows)

    def fingerprint(self) -> str:
        """A hash of names, sizes and samples, as the file may have many gigabytes."""
        self.require_unchanged()
        return hash_files(self.files, "")

    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """Ten thousand rows or more at a time; columns are read as they are asked for."""
        *used, target = (field.name for field in fields)
        behind = [name for name in used if name in self._place]
        front = [name for name in used if name not in self._place]
        columns = np.array([self._place[name] for name in behind], np.int64)
        order = {name: j for j, name in enumerate((*front, *behind))}
        n_rows, step = self.file.shape[0], max(ROWS_AT_ONCE, 10 * size)
        starts = np.arange(0, n_rows, step)
        for first in starts if rng is None else rng.permutation(starts):
            some = np.arange(first, min(first + step, n_rows))
            rows = self.rows.slice(int(first), some.size)
            table = Table.of_matrix(np.empty((some.size, 0)), ())
            table = read_table(rows.select(front)) if front else table
            table = table.beside(self.file.at(some, columns), behind)
            table = table.take(np.array([order[name] for name in used]))
            yield Chunk(table, partial(as_target, rows[target]))


def _in_order(known: TableFiles, ids: Sequence[tuple[str, str]], where: str) -> Any:
    """The rows of a table in the order of a file's, null if missing; found by (family and) name."""
    if not ids:
        raise SourceError(f"{where} has no rows")
    pa = load("pyarrow")
    table = known.read()
    names = {name for _, name in ids}

    def identifiers(name: str) -> list[str | None]:
        return [cell or None for cell in known.read_cells([name]).column(0).to_pylist()]

    candidates = {name: identifiers(name) for name in table.column_names if name.lower() in ROW}
    if not candidates:
        raise SourceError(
            f"{known.where} has no column IID or barcode that says which row is which; it has "
            f"{', '.join(table.column_names[:5])}",
            "name the column of the identifiers IID",
        )
    row = max(candidates, key=lambda name: len(names.intersection(candidates[name])))
    family = next((name for name in table.column_names if name.lower() in FAMILY), None)
    keys: list[Any] = candidates[row]
    wanted: list[Any] = [name for _, name in ids]
    if family is not None and len(names) < len(wanted):
        keys, wanted = list(zip(identifiers(family), keys, strict=True)), list(ids)
    place = {key: number for number, key in enumerate(keys) if key is not None}
    for number, key in enumerate(keys):
        if place.get(key, number) != number:
            raise SourceError(f"{known.where} has several rows of {key!r}", "keep one of them")
    rows = [place.get(key) for key in wanted]
    if all(number is None for number in rows):
        raise SourceError(
            f"no row of {where} is in {known.where}; they are called {wanted[0]!r} there and "
            f"{keys[0] if keys else ''!r} here",
            "write the identifiers alike",
        )
    kept = [name for name in table.column_names if name not in (row, family)]
    return table.select(kept).take(pa.array(rows, pa.int64()))
