"""Files whose rows lie in groups, of which single columns can be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from tvselect.sources.arrow import ArrowChunk, arrow_errors
from tvselect.sources.base import SourceError
from tvselect.sources.chunks import Chunk, ChunkedSource
from tvselect.sources.columns import (
    Field,
    categorical_mask,
    choose_columns,
    compare_columns,
    hash_fields,
    require_target,
)
from tvselect.sources.files import DataFile, hash_files

ROWS_TO_DOUBT = 2**20
ROWS_PER_BYTE = 1000


class GroupedFile(ABC):
    """An open file.

    Attributes
    ----------
    fields : tuple of Field
    """

    fields: tuple[Field, ...]

    @abstractmethod
    def group_sizes(self) -> list[int]:
        """The number of rows of each group."""

    @abstractmethod
    def read(self, group: int, name: str) -> Any:
        """The Arrow array of a column of a group; reads nothing else."""


class GroupedSource(ChunkedSource):
    """Rows of such files.

    A batch reads the columns that are asked for and the target. The columns of the current
    group are kept, so that each is read at most once in a pass. Later rounds take the groups
    in random order and resample the rows inside each.
    """

    def __init__(
        self, files: list[DataFile], target: str | None, columns: Sequence[str] | None, format: str
    ) -> None:
        self._files = files
        self._target = require_target(target)
        self._groups: list[tuple[int, int, int]] = []
        self._fields: tuple[Field, ...]
        for number, file in enumerate(files):
            fields, sizes = self._look(file, format)
            if number == 0:
                chosen = choose_columns(fields, columns, self._target, file.path)
                outcome = next(field for field in fields if field.name == self._target)
                self._fields = (*chosen, outcome)
            compare_columns(self._fields, fields, file.path, extra=columns is not None)
            self._groups += [(number, g, size) for g, size in enumerate(sizes) if size > 0]
        self.n_rows = sum(size for _, _, size in self._groups)
        if self.n_rows == 0:
            raise SourceError(f"{files[0].path} has no rows")
        self.names = tuple(field.name for field in self._fields[:-1])
        self.categorical = categorical_mask(self._fields[:-1])
        self.can_repeat = True

    def identity(self) -> str:
        """A hash of names, types, and of the files' names, sizes and ends."""
        return hash_files(self._files, hash_fields(self._fields, self._target))

    @abstractmethod
    def _open(self, stream: Any) -> GroupedFile:
        """Read what a file says of itself."""

    def _look(self, file: DataFile, format: str) -> tuple[tuple[Field, ...], list[int]]:
        """The columns of a file and the sizes of its groups."""
        with (
            arrow_errors(
                f"{file.path} cannot be read as {format}",
                "it is damaged, cut off or of another format: write it again or leave it out",
            ),
            file.open() as stream,
        ):
            opened = self._open(stream)
            sizes = opened.group_sizes()
            refuse_bomb(max(sizes, default=0), stream.size(), file.path)
            return opened.fields, sizes

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        reader = _Reader(self._files, self._open)
        n_groups = len(self._groups)
        for place in range(n_groups) if rng is None else rng.permutation(n_groups):
            number, group, n_rows = self._groups[place]
            yield ArrowChunk(
                partial(reader.read, number, group),
                self.names,
                self._target,
                n_rows,
                self._files[number].path,
                reader.lock,
            )


def refuse_bomb(n_rows: int, n_bytes: int, path: str) -> None:
    """Raise if a file says it has more rows at once than fit into so few bytes."""
    if n_rows > max(ROWS_TO_DOUBT, ROWS_PER_BYTE * n_bytes):
        raise SourceError(
            f"{path} says that it holds {n_rows:,} rows in {n_bytes:,} bytes; it is damaged, or "
            "says nothing: write it again or leave it out"
        )


class _Reader:
    """The files of a pass, one open at a time."""

    def __init__(self, files: list[DataFile], open: Callable[[Any], GroupedFile]) -> None:
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

    def read(self, number: int, group: int, name: str) -> Any:
        """A column of a group of a file."""
        if self._number != number:
            if self._stream is not None:
                self._stream.close()
            self._number = None
            self._stream = self._files[number].open()
            self._file = self._open(self._stream)
            self._number = number
        return self._file.read(group, name)
