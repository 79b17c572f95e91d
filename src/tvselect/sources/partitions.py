"""Columns that stand in the names of folders, ``year=2020/part.parquet``, as Hive writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath, PurePosixPath
from typing import Any, Protocol, final
from urllib.parse import unquote

from tvselect.inputs.arrow import load
from tvselect.sources.files import DataFile

MISSING = "__HIVE_DEFAULT_PARTITION__"


class GroupFile(Protocol):
    """An open file of groups of rows."""

    schema: Any
    sizes: list[int]

    def read(self, group: int, name: str) -> Any: ...  # noqa: D102

    def read_all(self, columns: Sequence[str] | None) -> Any: ...  # noqa: D102

    def batches(self, n_rows: int) -> Iterator[Any]: ...  # noqa: D102


def find_keys(files: Sequence[DataFile]) -> list[dict[str, Any]]:
    """The keys of each file as Arrow scalars: whole numbers if all are, else text."""
    pa = load("pyarrow")
    found = [_keys_of(file) for file in files]
    names = dict.fromkeys(name for keys in found for name in keys)
    types = {}
    for name in names:
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


@final
class KeyedFile:
    """An open file with columns that have one value, behind its own.

    Parameters
    ----------
    file : GroupFile
    keys : mapping
        The values by name; what the file has itself is left out.
    """

    def __init__(self, file: GroupFile, keys: Mapping[str, Any]) -> None:
        own = set(file.schema.names)
        self._file, self._keys = file, {n: v for n, v in keys.items() if n not in own}
        self.schema, self.sizes = file.schema, file.sizes
        for name, value in self._keys.items():
            self.schema = self.schema.append(load("pyarrow").field(name, value.type))

    def read(self, group: int, name: str) -> Any:
        """The Arrow array of a column of a group."""
        if name in self._keys:
            return load("pyarrow").repeat(self._keys[name], self.sizes[group])
        return self._file.read(group, name)

    def read_all(self, columns: Sequence[str] | None) -> Any:
        """All rows of some columns as an Arrow table."""
        if columns is None:
            return self._with_keys(self._file.read_all(None), self._keys)
        own = [name for name in columns if name not in self._keys]
        return self._with_keys(self._file.read_all(own), [n for n in columns if n in self._keys])

    def batches(self, n_rows: int) -> Iterator[Any]:
        """Record batches."""
        pa = load("pyarrow")
        for batch in self._file.batches(n_rows):
            keys = (pa.repeat(value, batch.num_rows) for value in self._keys.values())
            yield pa.RecordBatch.from_arrays([*batch.columns, *keys], schema=self.schema)

    def _with_keys(self, table: Any, names: Any) -> Any:
        for name in names:
            values = load("pyarrow").repeat(self._keys[name], table.num_rows)
            table = table.append_column(name, values)
        return table
