"""Tables of which a file holds the many columns, and another what is known of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, final

import numpy as np

from tvselect.inputs import Table
from tvselect.inputs.arrow import as_target, load
from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field, fields_of
from tvselect.inputs.table import read_table, refuse_repeated
from tvselect.omics import StoredColumns
from tvselect.sources.base import Chunk
from tvselect.sources.csv import CsvFiles
from tvselect.sources.files import DataFile, hash_files
from tvselect.sources.tables import TableFiles

ROWS_AT_ONCE = 10_000
FAMILY = ("fid", "#fid", "family", "family_id")
ROW = ("iid", "#iid", "id", "sample", "person", "barcode", "barcodes", "cell", "cell_id", "index")


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
        name: _as_texts(known, table, name) for name in table.column_names if name.lower() in ROW
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
        keys, wanted = list(zip(_as_texts(known, table, family), keys, strict=True)), list(ids)
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


def _as_texts(known: TableFiles, table: Any, name: str) -> list[str | None]:
    """Identifiers as they are written: 007 is not 7."""
    if isinstance(known, CsvFiles):
        return [cell or None for cell in known.read_cells([name]).column(0).to_pylist()]
    values = table[name].to_pylist()
    return [
        None if value is None
        else str(int(value)) if isinstance(value, float) and value.is_integer()
        else str(value)
        for value in values
    ]  # fmt: skip
