"""Rows of Feather (Arrow IPC) files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

from tvselect.inputs.arrow import load
from tvselect.sources.files import DataFile, Paths, find_files, shown
from tvselect.sources.groups import GroupedFile, GroupedFiles
from tvselect.sources.stored import FileSource

SUFFIXES = (".feather", ".arrow")


@final
class FeatherSource(FileSource):
    """Rows of Feather files, column by column as in :class:`ParquetSource`.

    Parameters
    ----------
    data : path, folder, glob or URL, or a list of these
    target : str
        The column to explain.
    columns : sequence of str, optional
        Those to explain it by; all others by default.
    """

    def __init__(
        self, data: Paths, target: str | None, *, columns: Sequence[str] | None = None
    ) -> None:
        super().__init__(open_feather(shown(data), find_files(data, SUFFIXES)), target, columns)


def open_feather(where: str, files: Sequence[DataFile]) -> GroupedFiles:
    """The table in some Feather files."""
    return GroupedFiles(where, files, _FeatherFile, "Feather")


class _FeatherFile(GroupedFile):
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.schema = load("pyarrow.ipc").open_file(self._stream).schema
        # The sizes stand in front of the groups: the first column is read along with them.
        reader = self._reader([0] if len(self.schema) else [])
        self.sizes = [reader.get_batch(g).num_rows for g in range(reader.num_record_batches)]

    def read(self, group: int, name: str) -> Any:
        return self._sound(
            self._reader([self.schema.get_field_index(name)]).get_batch(group).column(0)
        )

    def read_all(self, columns: list[str] | None) -> Any:
        places = None if columns is None else [self.schema.get_field_index(n) for n in columns]
        table = self._sound(self._reader(places).read_all())
        return table if columns is None else table.select(columns)

    def batches(self, n_rows: int) -> Iterator[Any]:
        reader = self._reader(None)
        for group in range(reader.num_record_batches):
            yield self._sound(reader.get_batch(group))

    def _sound(self, data: Any) -> Any:
        # Arrow believes what a file says of its buffers, and would read beyond them.
        data.validate(full=True)
        return data

    def _reader(self, places: list[int] | None) -> Any:
        ipc = load("pyarrow.ipc")
        options = ipc.IpcReadOptions(use_threads=False)
        if places is not None:
            options.included_fields = places
        return ipc.open_file(self._stream, options=options)
