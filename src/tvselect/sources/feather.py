"""Rows of Feather (Arrow IPC) files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from tvselect.sources.arrow import load, read_fields
from tvselect.sources.files import Paths, find_files
from tvselect.sources.groups import GroupedFile, GroupedSource

SUFFIXES = (".feather", ".arrow")


@final
class FeatherSource(GroupedSource):
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
        super().__init__(find_files(data, SUFFIXES), target, columns, "Feather")

    def _open(self, stream: Any) -> GroupedFile:
        return _FeatherFile(stream)


class _FeatherFile(GroupedFile):
    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.fields = read_fields(load("pyarrow.ipc").open_file(self._stream).schema)
        self._places = {field.name: place for place, field in enumerate(self.fields)}

    def group_sizes(self) -> list[int]:
        # The sizes stand in front of the groups: the first column is read along with them.
        reader = self._reader(0)
        return [reader.get_batch(g).num_rows for g in range(reader.num_record_batches)]

    def read(self, group: int, name: str) -> Any:
        column = self._reader(self._places[name]).get_batch(group).column(0)
        # Arrow believes what a file says of its buffers, and would read beyond them.
        column.validate(full=True)
        return column

    def _reader(self, place: int) -> Any:
        ipc = load("pyarrow.ipc")
        options = ipc.IpcReadOptions(included_fields=[place], use_threads=False)
        return ipc.open_file(self._stream, options=options)
