"""Only the rows that have a target."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.outcome import missing_mask
from tvselect.inputs.text import Rows
from tvselect.sources.chunks import Chunk, ChunkedSource


@final
class CompleteSource(ChunkedSource):
    """Another source without the rows whose target is missing.

    Parameters
    ----------
    source : ChunkedSource
        Arrays, Parquet, CSV or Feather.
    n_rows : int, optional
        How many rows have a target, where it is known.

    Examples
    --------
    >>> from tvselect.sources import ArraySource
    >>> source = CompleteSource(ArraySource([[1.0], [2.0], [3.0]], [5.0, np.nan, 7.0]))
    >>> [batch.numbers(np.array([0])).ravel() for batch in source.batches(9, 0, None)]
    [array([1., 3.])]
    """

    def __init__(self, source: ChunkedSource, *, n_rows: int | None = None) -> None:
        self._source = source
        self.names = source.names
        self.categorical = source.categorical
        self.n_rows = n_rows
        self.can_repeat = source.can_repeat

    def identity(self) -> str:
        """A hash of the other source's identity."""
        return sha256(f"complete rows of {self._source.identity()}".encode()).hexdigest()

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        for chunk in self._source._chunks(size, rng):
            complete = np.flatnonzero(~missing_mask(chunk.target(slice(None))))
            if complete.size == chunk.n_rows:
                yield chunk
            elif complete.size:
                yield _SomeRows(chunk, complete)


class _SomeRows(Chunk):
    """Some rows of another chunk."""

    def __init__(self, chunk: Chunk, rows: NDArray[np.int64]) -> None:
        self.n_rows = rows.size
        self._chunk = chunk
        self._rows = rows

    def numbers(self, columns: NDArray[np.int64], rows: Rows) -> NDArray[np.floating[Any]]:
        return self._chunk.numbers(columns, self._rows[rows])

    def labels(self, column: int, rows: Rows) -> NDArray[np.object_]:
        return self._chunk.labels(column, self._rows[rows])

    def target(self, rows: Rows) -> NDArray[Any]:
        return self._chunk.target(self._rows[rows])
