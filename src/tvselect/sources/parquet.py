"""Rows of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError
from tvselect.sources.files import DataFile, Paths, find_files, shown
from tvselect.sources.groups import GroupedFile, GroupedFiles
from tvselect.sources.stored import FileSource

SUFFIXES = (".parquet", ".pq")
ROWS_WORTH_THREADS = 10_000


@final
class ParquetSource(FileSource):
    """Rows of Parquet files: a batch reads the columns that are asked for, nothing else.

    The columns of one row group are kept in memory while its rows are handed out: row groups
    of 10,000 to 100,000 rows keep that small. Later rounds take the row groups in random
    order and resample the rows inside each with replacement.

    Parameters
    ----------
    data : path, folder, glob or URL, a list of these, or pyarrow.dataset.FileSystemDataset
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
        self, data: Paths | Any, target: str | None, *, columns: Sequence[str] | None = None
    ) -> None:
        if hasattr(data, "get_fragments"):
            files = open_parquet("the dataset", _dataset_files(data))
        else:
            files = open_parquet(shown(data), find_files(data, SUFFIXES))
        super().__init__(files, target, columns)


def open_parquet(where: str, files: Sequence[DataFile]) -> GroupedFiles:
    """The table in some Parquet files."""
    return GroupedFiles(where, files, _ParquetFile, "Parquet")


class _ParquetFile(GroupedFile):
    def __init__(self, stream: Any) -> None:
        # Pre-buffering would read and hold whole row groups ahead.
        self._file = load("pyarrow.parquet").ParquetFile(stream, pre_buffer=False)
        self.schema = self._file.schema_arrow
        metadata = self._file.metadata
        self.sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]

    def read(self, group: int, name: str) -> Any:
        return self._file.read_row_group(group, columns=[name], use_threads=False).column(name)

    def read_all(self, columns: list[str] | None) -> Any:
        # Threads cost more than they save where columns are many and short.
        threads = sum(self.sizes) > ROWS_WORTH_THREADS
        table = self._file.read(columns=columns, use_threads=threads)
        return table if columns is None else table.select(columns)

    def batches(self, n_rows: int) -> Iterator[Any]:
        yield from self._file.iter_batches(batch_size=n_rows)


def is_plain_dataset(dataset: Any) -> bool:
    """Whether a pyarrow dataset is no more than Parquet files: no filter, no partition columns."""
    ds = load("pyarrow.dataset")
    if not isinstance(dataset, ds.FileSystemDataset):
        return False
    is_parquet = isinstance(dataset.format, ds.ParquetFileFormat)
    filtered = bool(getattr(dataset, "_scan_options", None))
    return (
        is_parquet
        and not filtered
        and not any(
            ds.get_partition_keys(fragment.partition_expression)
            for fragment in dataset.get_fragments()
        )
    )


def _dataset_files(dataset: Any) -> list[DataFile]:
    if not is_plain_dataset(dataset):
        raise SourceError(
            "only a dataset of Parquet files without filter and partition columns can be read by "
            "column; open_source(dataset, target) reads others as a stream"
        )
    return [DataFile(path, dataset.filesystem) for path in dataset.files]
