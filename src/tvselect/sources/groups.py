"""Parquet and Feather (Arrow IPC): rows lie in groups, of which single columns can be read.

Folders may say more, ``year=2020/part.parquet``, as Hive writes it: these keys are columns, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import PurePath, PurePosixPath
from threading import Lock
from typing import Any, final
from urllib.parse import unquote

import numpy as np

from tvselect.inputs.arrow import Field, fields_of, load
from tvselect.inputs.errors import SourceError
from tvselect.sources.base import Chunk, LazyColumns
from tvselect.sources.files import DataFile
from tvselect.sources.tables import TableFiles, pooled

ROWS_TO_DOUBT = 2**20
ROWS_PER_BYTE = 1000
ROWS_WORTH_THREADS = 10_000
MISSING = "__HIVE_DEFAULT_PARTITION__"


@final
class GroupedFiles(TableFiles):
    """Files of groups of rows. What a file says of itself is read once."""

    def __init__(self, where: str, files: Sequence[DataFile], format: str) -> None:
        super().__init__(where, files, format)
        self._keys = _keys_of_folders(self.files)
        self._groups: list[tuple[int, int, int]] = []
        self._schemas: list[Any] = []
        for number, file in enumerate(self.files):
            with self._errors(file.path):
                opened = self._file(number)
                _refuse_bomb(max(opened.sizes, default=0), file.size, file.path)
            self._schemas.append(opened.schema)
            self._groups += [(number, g, size) for g, size in enumerate(opened.sizes) if size > 0]
        self.names = list(self._schemas[0].names)
        self.n_rows = sum(size for _, _, size in self._groups)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "_file"}

    @cached_property
    def _file(self) -> Callable[[int], _GroupFile]:
        # Parquet is unpacked as it is read: what was read does not change with the file.
        return self._reader(mapped=self.format == "Parquet")

    def _reader(self, *, mapped: bool = False) -> Callable[[int], _GroupFile]:
        """Opens files by their numbers, and holds the last one."""
        kind = _Parquet if self.format == "Parquet" else _Feather
        files, keys = self.files, self._keys

        @lru_cache(maxsize=1)
        def opened(number: int) -> _GroupFile:
            return kind(files[number].open(mapped=mapped), keys[number])

        return opened

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file."""
        return fields_of(self.names, self._schemas[0].types)

    def names_of_files(self) -> list[list[str]]:
        """The names of the columns of each file."""
        return [schema.names for schema in self._schemas]

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
        with self._errors():
            parts = [self._file(n).read_all(columns) for n in range(len(self.files))]
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
                batch.select(in_all)
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
        for place in range(n_groups) if rng is None else rng.permutation(n_groups):
            number, group, n_rows = self._groups[place]
            read = partial(self._read_group, reader, number, group)
            yield LazyColumns(read, fields, n_rows, self.files[number].path, lock).chunk()

    def _read_group(
        self, reader: Callable[[int], _GroupFile], number: int, group: int, name: str
    ) -> Any:
        values = reader(number).read(group, name)
        self.require_unchanged(number)
        return values


def _refuse_bomb(n_rows: int, n_bytes: int, path: str) -> None:
    """Raise if a file says it has more rows at once than fit into so few bytes."""
    if n_rows > max(ROWS_TO_DOUBT, ROWS_PER_BYTE * n_bytes):
        raise SourceError(
            f"{path} says that it holds {n_rows:,} rows in {n_bytes:,} bytes",
            "it is damaged, or says nothing: write it again or leave it out",
        )


class _GroupFile:
    """An open file, with the keys of its folders as columns behind its own."""

    schema: Any
    sizes: list[int]  #: The number of rows of each group

    def __init__(self, schema: Any, sizes: list[int], keys: dict[str, Any]) -> None:
        own = set(schema.names)
        self._keys = {name: value for name, value in keys.items() if name not in own}
        self.schema, self.sizes = schema, sizes
        for name, value in self._keys.items():
            self.schema = self.schema.append(load("pyarrow").field(name, value.type))

    def read(self, group: int, name: str) -> Any:
        """The Arrow array of a column of a group; reads nothing else."""
        if name in self._keys:
            return load("pyarrow").repeat(self._keys[name], self.sizes[group])
        return self._read(group, name)

    def read_all(self, columns: Sequence[str] | None) -> Any:
        """All rows of some columns as an Arrow table."""
        own = None if columns is None else [name for name in columns if name not in self._keys]
        table = self._read_all(own)
        for name in self._keys if columns is None else columns:
            if name in self._keys:
                values = load("pyarrow").repeat(self._keys[name], table.num_rows)
                table = table.append_column(name, values)
        return table

    def batches(self, n_rows: int) -> Iterator[Any]:
        """Record batches, those of about the first rows first."""
        pa = load("pyarrow")
        for batch in self._batches(n_rows):
            if not self._keys:
                yield batch
                continue
            keys = (pa.repeat(value, batch.num_rows) for value in self._keys.values())
            yield pa.RecordBatch.from_arrays([*batch.columns, *keys], schema=self.schema)

    def _read(self, group: int, name: str) -> Any:
        raise NotImplementedError

    def _read_all(self, columns: Sequence[str] | None) -> Any:
        raise NotImplementedError

    def _batches(self, n_rows: int) -> Iterator[Any]:
        raise NotImplementedError


@final
class _Parquet(_GroupFile):
    def __init__(self, stream: Any, keys: dict[str, Any]) -> None:
        # Pre-buffering would read and hold whole row groups ahead.
        self._file = load("pyarrow.parquet").ParquetFile(stream, pre_buffer=False)
        metadata = self._file.metadata
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        super().__init__(self._file.schema_arrow, sizes, keys)

    def _read(self, group: int, name: str) -> Any:
        return self._file.read_row_group(group, columns=[name], use_threads=False).column(name)

    def _read_all(self, columns: Sequence[str] | None) -> Any:
        # Threads cost more than they save where columns are many and short.
        threads = sum(self.sizes) > ROWS_WORTH_THREADS
        return self._file.read(columns=columns, use_threads=threads)

    def _batches(self, n_rows: int) -> Iterator[Any]:
        yield from self._file.iter_batches(batch_size=n_rows)


@final
class _Feather(_GroupFile):
    """A group is a record batch."""

    def __init__(self, stream: Any, keys: dict[str, Any]) -> None:
        self._stream = stream
        self._own = load("pyarrow.ipc").open_file(self._stream).schema
        # The sizes stand in front of the groups: the first column is read along with them.
        reader = self._reader(self._own.names[:1])
        sizes = [reader.get_batch(g).num_rows for g in range(reader.num_record_batches)]
        super().__init__(self._own, sizes, keys)

    def _read(self, group: int, name: str) -> Any:
        return _sound(self._reader([name]).get_batch(group).column(0))

    def _read_all(self, columns: Sequence[str] | None) -> Any:
        return _sound(self._reader(columns).read_all())

    def _batches(self, n_rows: int) -> Iterator[Any]:
        reader = self._reader(None)
        for group in range(reader.num_record_batches):
            yield _sound(reader.get_batch(group))

    def _reader(self, columns: Sequence[str] | None) -> Any:
        ipc = load("pyarrow.ipc")
        options = ipc.IpcReadOptions(use_threads=False)
        if columns is not None:
            options.included_fields = [self._own.get_field_index(name) for name in columns]
        return ipc.open_file(self._stream, options=options)


def _sound(data: Any) -> Any:
    # Arrow believes what a file says of its buffers, and would read beyond them.
    data.validate(full=True)
    return data


def _keys_of_folders(files: Sequence[DataFile]) -> list[dict[str, Any]]:
    """The keys of each file as Arrow scalars: whole numbers if all are, else text."""
    pa = load("pyarrow")
    found = [_keys_of(file) for file in files]
    types = {}
    for name in dict.fromkeys(name for keys in found for name in keys):
        values = {keys.get(name) for keys in found} - {None}
        types[name] = pa.int64() if all(map(_is_whole, values)) else pa.string()
    return [
        {
            name: pa.scalar(keys.get(name), pa.string()).cast(type)
            for name, type in types.items()
        }
        for keys in found
    ]  # fmt: skip


def _keys_of(file: DataFile) -> dict[str, str | None]:
    if not file.root:
        return {}
    inside = PurePosixPath(PurePath(file.path).as_posix()).relative_to(
        PurePath(file.root).as_posix()
    )
    pairs = (part.split("=", 1) for part in inside.parts[:-1] if "=" in part)
    return {
        unquote(name): None if value == MISSING else unquote(value) for name, value in pairs if name
    }


def _is_whole(text: str | None) -> bool:
    digits = (text or "").removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19
