"""A table in files, opened once: all of it, its first rows, or chunk by chunk as a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from hashlib import file_digest, sha256
from itertools import chain
from typing import Any, final

import numpy as np

from tvselect.inputs.arrow import Field, arrow_errors, as_target, fields_of, load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.table import Table, read_table, refuse_repeated
from tvselect.omics import StoredColumns
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

ROWS_AT_ONCE = 10_000
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
    sheets: tuple[str, ...] = ()  #: Of a spreadsheet: the one that is read, and others
    is_transposed = False  #: Whether rows of the files are columns of the table
    by_column = False  #: Whether columns are read from the files as they are needed
    only_whole = ""  #: Why it can be read only as a whole

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
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first file, with the types that a stream takes them for."""

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

    def identifiers(self, name: str) -> list[str | None]:
        """A column as text, as it is written: 007 is not 7."""
        return [
            None if value is None
            else str(int(value)) if isinstance(value, float) and value.is_integer()
            else str(value)
            for value in self.read([name]).column(0).to_pylist()
        ]  # fmt: skip

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


@final
class ColumnTable(TableFiles):
    """Columns that stay in a file, behind what is known of the rows.

    Parameters
    ----------
    open_columns : callable
        Opens the file, once it is known how it is.
    known : TableFiles, optional
        A table of the rows with a column that says which row is which; by default what the file
        says itself.

    Attributes
    ----------
    file : ColumnFile
    in_file : list of str
        The names of its columns.
    rows : pyarrow.Table
        What is known of its rows, in their order: the target and covariates.
    """

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
            raise SourceError(f"{where} says nothing of the cells", "name a table: {phenotypes}")
        self.n_rows = self.file.shape[0]
        self.names = [*self.rows.column_names, *self.in_file]
        refuse_repeated(self.names, self.where, "rename the column of the rows")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What is known of the rows, then the columns of the file."""
        front = fields_of(self.rows.column_names, self.rows.schema.types)
        return (*front, *(Field(name, "number", "double") for name in self.in_file))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.in_file)}

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """All rows of some columns; of all of them where that is asked for, in memory."""
        pa = load("pyarrow")
        wanted = self.names if columns is None else list(columns)
        places = [self._place[name] for name in wanted if name in self._place]
        values = iter(self.file.read(np.array(places, np.int64)).T)
        arrays = [
            pa.array(next(values), from_pandas=True) if name in self._place else self.rows[name]
            for name in wanted
        ]
        self.require_unchanged()
        return pa.table(arrays, names=wanted)

    def head(self, n_rows: int) -> Any:
        """The first rows, of what is known of them alone."""
        return self.rows.slice(0, n_rows)

    def fingerprint(self) -> str:
        """A hash of names, sizes, both ends and samples: the file may be many gigabytes."""
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
    """The rows of a table in the order of a file's; nulls where one is not there.

    Rows are found by name, and by family where names are not enough.
    """
    if not ids:
        raise SourceError(f"{where} has no rows")
    pa = load("pyarrow")
    table = known.read()
    names = {name for _, name in ids}
    candidates = {
        name: known.identifiers(name) for name in table.column_names if name.lower() in ROW
    }
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
        keys, wanted = list(zip(known.identifiers(family), keys, strict=True)), list(ids)
    place = {key: number for number, key in enumerate(keys) if key is not None}
    doubles = [key for number, key in enumerate(keys) if place.get(key, number) != number]
    if doubles:
        raise SourceError(f"{known.where} has several rows of {doubles[0]!r}", "keep one of them")
    rows = [place.get(key) for key in wanted]
    if not any(number is not None for number in rows):
        raise SourceError(
            f"no row of {where} is in {known.where}; they are called {wanted[0]!r} there and "
            f"{keys[0] if keys else ''!r} here",
            "write the identifiers alike",
        )
    kept = [name for name in table.column_names if name not in (row, family)]
    return table.select(kept).take(pa.array(rows, pa.int64()))
