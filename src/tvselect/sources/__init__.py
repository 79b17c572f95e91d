"""Where rows come from: arrays, data frames, Parquet, CSV and Feather files, any iterator.

A source hands out batches of rows; a batch reads the columns that are asked for. Sources know
nothing of what is done with the rows. Files need pyarrow, ``pip install 'tvselect[stream]'``.
"""

from tvselect.inputs.errors import ColumnTypeError, SourceError
from tvselect.sources.opening import FileSource, open_files, open_source
from tvselect.sources.source import ArraySource, Batch, IteratorSource, Source

__all__ = [
    "ArraySource",
    "Batch",
    "ColumnTypeError",
    "FileSource",
    "IteratorSource",
    "Source",
    "SourceError",
    "open_files",
    "open_source",
]
