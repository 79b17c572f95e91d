"""Files whose rows lie in groups, of which single columns can be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field
from tvselect.sources.arrow import ArrowChunk, pooled, read_fields
from tvselect.sources.chunks import Chunk
from tvselect.sources.columns import compare_columns
from tvselect.sources.files import DataFile
from tvselect.sources.stored import TableFiles

ROWS_TO_DOUBT = 2**20
ROWS_PER_BYTE = 1000


class GroupedFile(ABC):
    """An open file.

    Attributes
    ----------
    schema : pyarrow.Schema
    sizes : list of int
        The number of rows of each group.
    """

    schema: Any
    sizes: list[int]

    @abstractmethod
    def read(self, group: int, name: str) -> Any:
        """The Arrow array of a column of a group; reads nothing else."""

    @abstractmethod
    def read_all(self, columns: list[str] | None) -> Any:
        """All rows of some columns as an Arrow table."""

    @abstractmethod
    def batches(self, n_rows: int) -> Iterator[Any]:
        """Record batches, those of about the first rows first."""


class GroupedFiles(TableFiles):
    """Such files. What a file says of itself is read once."""

    def __init__(
        self, where: str, files: Sequence[DataFile], open: Callable[[Any], GroupedFile], format: str
    ) -> None:
        super().__init__(where, files)
        self.format, self._open = format, open
        self._groups: list[tuple[int, int, int]] = []
        self._schemas: list[Any] = []
        self._reader = _Reader(self.files, open)
        for number, file in enumerate(self.files):
            with self._errors(file.path):
                opened = self._reader.at(number)
                refuse_bomb(max(opened.sizes, default=0), file.size, file.path)
            self._schemas.append(opened.schema)
            self._groups += [(number, g, size) for g, size in enumerate(opened.sizes) if size > 0]
        self.names = list(self._schemas[0].names)
        self.n_rows = sum(size for _, _, size in self._groups)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reader": None}

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file."""
        return read_fields(self._schemas[0])

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns."""
        wanted = None if columns is None else list(columns)
        refuse_bomb(self.estimate_rows(), self.n_bytes, self.where)
        if len(self.files) > 1:
            names = set(self.names if wanted is None else wanted)
            fields = tuple(field for field in self.fields if field.name in names)
            self.compare(fields, extra=wanted is not None)
        reader = self._reader or _Reader(self.files, self._open)
        with self._errors():
            parts = [reader.at(number).read_all(wanted) for number in range(len(self.files))]
            if len(parts) == 1:
                return parts[0]
            order = self.names if wanted is None else wanted
            parts = [part.select(order) for part in parts]
            return load("pyarrow").concat_tables(parts, promote_options="permissive")

    def head(self, n_rows: int) -> Any:
        """The first rows."""
        refuse_bomb(self.estimate_rows(), self.n_bytes, self.where)
        reader = self._reader or _Reader(self.files, self._open)
        with self._errors():
            batches = (
                batch.select(self.names)
                for number in range(len(self.files))
                for batch in reader.at(number).batches(n_rows)
            )
            table = next(pooled(batches, n_rows), None) or self._schemas[0].empty_table()
            return table.slice(0, n_rows)

    def compare(self, fields: tuple[Field, ...], *, extra: bool) -> None:
        """Raise unless every file has these columns."""
        for file, schema in zip(self.files, self._schemas, strict=True):
            found = self.fields if schema is self._schemas[0] else read_fields(schema)
            compare_columns(fields, found, file.path, extra=extra)

    def chunks(
        self, fields: tuple[Field, ...], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The groups, in random order with ``rng``; columns are read as they are asked for."""
        reader = _Reader(self.files, self._open)
        names = tuple(field.name for field in fields)
        n_groups = len(self._groups)
        for place in range(n_groups) if rng is None else rng.permutation(n_groups):
            number, group, n_rows = self._groups[place]
            read = partial(reader.read, number, group)
            path = self.files[number].path
            yield ArrowChunk(read, names[:-1], names[-1], n_rows, path, reader.lock)


def refuse_bomb(n_rows: int, n_bytes: int, path: str) -> None:
    """Raise if a file says it has more rows at once than fit into so few bytes."""
    if n_rows > max(ROWS_TO_DOUBT, ROWS_PER_BYTE * n_bytes):
        raise SourceError(
            f"{path} says that it holds {n_rows:,} rows in {n_bytes:,} bytes",
            "it is damaged, or says nothing: write it again or leave it out",
        )


class _Reader:
    """Some files, one open at a time."""

    def __init__(self, files: Sequence[DataFile], open: Callable[[Any], GroupedFile]) -> None:
        self.lock = Lock()
        self._files = files
        self._open = open
        self._number: int | None = None
        self._stream: Any = None
        self._file: GroupedFile

    def __del__(self) -> None:
        # Not when the pass ends: its last batch is read after that.
        if self._stream is not None:
            self._stream.close()

    def at(self, number: int) -> GroupedFile:
        """A file, open."""
        if self._number != number:
            if self._stream is not None:
                self._stream.close()
            self._number = None
            self._stream = self._files[number].open()
            self._file = self._open(self._stream)
            self._number = number
        return self._file

    def read(self, number: int, group: int, name: str) -> Any:
        """A column of a group of a file."""
        return self.at(number).read(group, name)
