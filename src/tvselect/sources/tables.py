"""A table in files, opened once: all of it, its first rows, or chunk by chunk as a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from hashlib import file_digest, sha256
from itertools import chain
from typing import Any, final

import numpy as np

from tvselect.inputs.arrow import arrow_errors, load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field
from tvselect.sources.base import (
    Chunk,
    Source,
    categorical_mask,
    choose_columns,
    compare_columns,
    hash_fields,
    require_target,
)
from tvselect.sources.files import DataFile, hash_files
from tvselect.sources.text import UTF_8


class TableFiles(ABC):
    """The files of a table.

    Attributes
    ----------
    where : str
        As the user gave them.
    files : tuple of DataFile
    format : str
    names : list of str
        Of the columns of the first file.
    fields : tuple of Field
        The columns of the first file, with the types that a stream takes them for.
    n_rows : int or None
        None where it is not known before all is read.
    encoding : str
        Of text.
    sheets : tuple of str
        Of a spreadsheet: the one that is read, and others.
    is_transposed : bool
        Whether rows of the files are columns of the table.
    by_column : bool
        Whether columns are read from the files as they are needed, in memory or not.
    only_whole : str
        Why it can be read only as a whole, or empty.
    """

    names: list[str]
    n_rows: int | None
    encoding = UTF_8
    sheets: tuple[str, ...] = ()
    is_transposed = False
    by_column = False
    only_whole = ""

    def __init__(self, where: str, files: Sequence[DataFile], format: str) -> None:
        self.where, self.files, self.format = where, tuple(files), format
        self._stamps = self._take_stamps()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stamps": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A worker may have copies of the files: those must stay as it finds them.
        self.__dict__.update(state)
        self._stamps = self._take_stamps()

    def _take_stamps(self) -> tuple[tuple[int, ...], ...]:
        with arrow_errors(f"{self.where} cannot be read", "look whether it is still there"):
            return tuple(file.stamp() for file in self.files)

    def require_unchanged(self, number: int | None = None) -> None:
        """Raise if a file is another one than when it was opened.

        With a number only that file is looked at, and only if it lies on this machine: to ask
        elsewhere takes as long as to read.
        """
        for k, file in enumerate(self.files):
            if number is not None and (number != k or not file.is_local):
                continue
            try:
                is_same = file.stamp() == self._stamps[k]
            except OSError:
                is_same = False
            if not is_same:
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
    def fields(self) -> tuple[Field, ...]: ...  # noqa: D102

    def estimate_rows(self) -> int:
        """About how many rows there are."""
        assert self.n_rows is not None
        return self.n_rows

    @abstractmethod
    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns as an Arrow table; the types are those of all rows."""

    @abstractmethod
    def head(self, n_rows: int) -> Any:
        """The first rows as an Arrow table, with the types that a stream takes them for."""

    def column(self, name: str) -> Any:
        """One column as an Arrow array, without the memory that the others would take."""
        return self.read([name]).column(0)

    @abstractmethod
    def chunks(
        self, fields: Sequence[Field], size: int, rng: np.random.Generator | None
    ) -> Iterator[Chunk]:
        """The rows in chunks, the last of the fields as the target; with ``rng`` in any order."""

    def names_of_files(self) -> list[list[str]]:
        """The names of the columns of each file."""
        return [self.names]

    def columns_of_files(self) -> Iterator[tuple[str, Sequence[Field]]]:
        """The path of each file and its columns."""
        yield self.where, self.fields

    @cached_property
    def in_some(self) -> dict[str, int]:
        """Columns that not all of the files have, and how many have them."""
        names = self.names_of_files()
        counts = Counter(chain.from_iterable(names))
        return {name: n for name, n in counts.items() if n < len(names)}

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
        """A hash of all bytes of the files; raises if these are not what was opened."""
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
            held.append(pa.Table.from_batches([block]))
        n_rows = sum(map(len, held))
        if n_rows >= least or (block is None and n_rows > 0):
            yield pa.concat_tables(held, promote_options="permissive")
            held = []


@final
class FileSource(Source):
    """Rows of files, handed out in batches; :func:`open_source` makes it.

    A batch of Parquet and Feather files reads the columns that are asked for, nothing else. The
    columns of one row group are kept in memory while its rows are handed out: row groups of
    10,000 to 100,000 rows keep that small. Later rounds take the row groups in random order and
    resample the rows inside each with replacement. CSV is read block by block; later rounds
    resample the rows inside blocks of ten batches or more.

    Parameters
    ----------
    files : TableFiles
    target : str
        The column to explain.
    columns : sequence of str, optional
        Those to explain it by; all others by default.

    Raises
    ------
    SourceError
        When a file is damaged or has other columns, and for names that are not there.
    """

    def __init__(
        self, files: TableFiles, target: str | None, columns: Sequence[str] | None = None
    ) -> None:
        self._target = require_target(target)
        files.refuse_stream()
        self._table = files
        where = files.files[0].path
        chosen = choose_columns(files.fields, columns, self._target, where)
        outcome = next(field for field in files.fields if field.name == self._target)
        self._fields = (*chosen, outcome)
        files.compare(self._fields, extra=columns is not None)
        self.names = tuple(field.name for field in chosen)
        self.categorical = categorical_mask(chosen)
        self.n_rows = files.n_rows
        self.can_repeat = True
        if self.n_rows == 0 or next(self._chunks(1, None), None) is None:
            raise SourceError(f"{where} has no rows")

    def identity(self) -> str:
        """A hash of names, types, and of the files' names, sizes, footers and samples."""
        return hash_files(self._table.files, hash_fields(self._fields, self._target))

    def require_unchanged(self) -> None:
        """Raise if a file is another one than when it was opened."""
        self._table.require_unchanged()

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        return self._table.chunks(self._fields, size, rng)
