"""Parquet and Feather (Arrow IPC): rows lie in groups, of which single columns can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field, fields_of
from tvselect.sources.chunks import Chunk, lazy_chunk
from tvselect.sources.columns import compare_columns
from tvselect.sources.files import DataFile
from tvselect.sources.partitions import GroupFile, KeyedFile, find_keys
from tvselect.sources.stored import TableFiles, pooled

ROWS_TO_DOUBT = 2**20
ROWS_PER_BYTE = 1000
ROWS_WORTH_THREADS = 10_000


class ParquetFile:
    """An open Parquet file.

    Attributes
    ----------
    schema : pyarrow.Schema
    sizes : list of int
        The number of rows of each group.
    """

    def __init__(self, stream: Any) -> None:
        # Pre-buffering would read and hold whole row groups ahead.
        self._file = load("pyarrow.parquet").ParquetFile(stream, pre_buffer=False)
        self.schema = self._file.schema_arrow
        metadata = self._file.metadata
        self.sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]

    def read(self, group: int, name: str) -> Any:
        """The Arrow array of a column of a group; reads nothing else."""
        return self._file.read_row_group(group, columns=[name], use_threads=False).column(name)

    def read_all(self, columns: Sequence[str] | None) -> Any:
        """All rows of some columns as an Arrow table."""
        # Threads cost more than they save where columns are many and short.
        threads = sum(self.sizes) > ROWS_WORTH_THREADS
        return self._file.read(columns=columns, use_threads=threads)

    def batches(self, n_rows: int) -> Iterator[Any]:
        """Record batches, those of about the first rows first."""
        yield from self._file.iter_batches(batch_size=n_rows)


class FeatherFile:
    """An open Feather file, with the face of :class:`ParquetFile`; a group is a record batch."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.schema = load("pyarrow.ipc").open_file(self._stream).schema
        # The sizes stand in front of the groups: the first column is read along with them.
        reader = self._reader(self.schema.names[:1])
        self.sizes = [reader.get_batch(g).num_rows for g in range(reader.num_record_batches)]

    def read(self, group: int, name: str) -> Any:
        """The Arrow array of a column of a group."""
        return _sound(self._reader([name]).get_batch(group).column(0))

    def read_all(self, columns: Sequence[str] | None) -> Any:
        """All rows of some columns."""
        return _sound(self._reader(columns).read_all())

    def batches(self, n_rows: int) -> Iterator[Any]:
        """All record batches."""
        reader = self._reader(None)
        for group in range(reader.num_record_batches):
            yield _sound(reader.get_batch(group))

    def _reader(self, columns: Sequence[str] | None) -> Any:
        ipc = load("pyarrow.ipc")
        options = ipc.IpcReadOptions(use_threads=False)
        if columns is not None:
            options.included_fields = [self.schema.get_field_index(name) for name in columns]
        return ipc.open_file(self._stream, options=options)


class GroupedFiles(TableFiles):
    """Files of groups of rows. What a file says of itself is read once.

    Parameters
    ----------
    where : str
    files : sequence of DataFile
    format : {"Parquet", "Feather"}
    """

    def __init__(self, where: str, files: Sequence[DataFile], format: str) -> None:
        super().__init__(where, files, format)
        self._groups: list[tuple[int, int, int]] = []
        self._schemas: list[Any] = []
        # Parquet is unpacked as it is read: what was read does not change with the file.
        self._reader = _Reader(self.files, format, mapped=format == "Parquet")
        for number, file in enumerate(self.files):
            with self._errors(file.path):
                opened = self._reader.at(number)
                refuse_bomb(max(opened.sizes, default=0), file.size, file.path)
            self._schemas.append(opened.schema)
            self._groups += [(number, g, size) for g, size in enumerate(opened.sizes) if size > 0]
        self.names = list(self._schemas[0].names)
        self.n_rows = sum(size for _, _, size in self._groups)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_reader": _Reader(self.files, self.format)}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file."""
        return fields_of(self.names, self._schemas[0].types)

    @cached_property
    def in_some(self) -> dict[str, int]:
        """Columns that not all of the files have, and how many have them."""
        counts = Counter(name for schema in self._schemas for name in schema.names)
        return {name: n for name, n in counts.items() if n < len(self.files)}

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns."""
        refuse_bomb(self.estimate_rows(), self.n_bytes, self.where)
        order = self.names if columns is None else list(columns)
        if len(self.files) > 1:
            wanted = set(order)
            fields = tuple(field for field in self.fields if field.name in wanted)
            self.compare(fields, extra=columns is not None)
        with self._errors():
            parts = [self._reader.at(n).read_all(columns) for n in range(len(self.files))]
            if columns is None and len(parts) == 1:
                return parts[0]
            parts = [part.select(order) for part in parts]
            return load("pyarrow").concat_tables(parts, promote_options="permissive")

    def head(self, n_rows: int) -> Any:
        """The first rows."""
        refuse_bomb(self.estimate_rows(), self.n_bytes, self.where)
        with self._errors():
            batches = (
                batch.select([name for name in self.names if name not in self.in_some])
                for number in range(len(self.files))
                for batch in self._reader.at(number).batches(n_rows)
            )
            table = next(pooled(batches, n_rows), None) or self._schemas[0].empty_table()
            return table.slice(0, n_rows)

    def compare(self, fields: Sequence[Field], *, extra: bool) -> None:
        """Raise unless every file has these columns."""
        for file, schema in zip(self.files, self._schemas, strict=True):
            is_first = schema is self._schemas[0]
            found = self.fields if is_first else fields_of(schema.names, schema.types)
            compare_columns(fields, found, file.path, extra=extra)

    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The groups, in random order with ``rng``; columns are read as they are asked for."""
        reader, lock = _Reader(self.files, self.format), Lock()
        n_groups = len(self._groups)
        for place in range(n_groups) if rng is None else rng.permutation(n_groups):
            number, group, n_rows = self._groups[place]
            read = partial(self._read_group, reader, number, group)
            yield lazy_chunk(read, fields, n_rows, self.files[number].path, lock)

    def _read_group(self, reader: _Reader, number: int, group: int, name: str) -> Any:
        values = reader.read(number, group, name)
        self.require_unchanged(number)
        return values


def refuse_bomb(n_rows: int, n_bytes: int, path: str) -> None:
    """Raise if a file says it has more rows at once than fit into so few bytes."""
    if n_rows > max(ROWS_TO_DOUBT, ROWS_PER_BYTE * n_bytes):
        raise SourceError(
            f"{path} says that it holds {n_rows:,} rows in {n_bytes:,} bytes",
            "it is damaged, or says nothing: write it again or leave it out",
        )


def _sound(data: Any) -> Any:
    # Arrow believes what a file says of its buffers, and would read beyond them.
    data.validate(full=True)
    return data


class _Reader:
    """Some files, one open at a time."""

    def __init__(self, files: Sequence[DataFile], format: str, *, mapped: bool = False) -> None:
        self._files, self._mapped = files, mapped
        self._open = ParquetFile if format == "Parquet" else FeatherFile
        self._keys = find_keys(files)
        self._number: int | None = None
        self._stream: Any = None
        self._file: GroupFile

    def close(self) -> None:
        """Close the file that is open."""
        if self._stream is not None:
            self._stream.close()

    __del__ = close  # not when the pass ends: its last batch is read after that

    def at(self, number: int) -> GroupFile:
        """A file, open."""
        if self._number != number:
            self.close()
            self._number = None
            self._stream = self._files[number].open(mapped=self._mapped)
            self._file = self._open(self._stream)
            if self._keys[number]:
                self._file = KeyedFile(self._file, self._keys[number])
            self._number = number
        return self._file

    def read(self, number: int, group: int, name: str) -> Any:
        """A column of a group of a file."""
        return self.at(number).read(group, name)
