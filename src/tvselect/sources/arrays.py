"""Rows of arrays and data frames in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, final

import numpy as np

from tvselect.inputs.errors import SourceError
from tvselect.sources.base import Batch
from tvselect.sources.chunks import Chunk, ChunkedSource, Pieces
from tvselect.sources.columns import categorical_mask, hash_fields
from tvselect.sources.tables import read_chunk

VALUES_AT_ONCE = 2**20


@final
class ArraySource(ChunkedSource):
    """Rows of a table in memory. Later rounds are a bootstrap of all rows.

    Parameters
    ----------
    X : array-like (rows, columns), or a pandas, polars or Arrow data frame
        Numbers; in data frames also text and categories.
    y : array-like, or str
        The target, or the name of its column in a data frame.
    columns : sequence of str, optional
        Those to use; all by default.

    Examples
    --------
    >>> source = ArraySource([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 1, 0])
    >>> source.names
    ('x0', 'x1')
    >>> [batch.n_rows for batch in source.batches(2, 0, np.random.default_rng(0))]
    [2, 1]
    """

    def __init__(self, X: Any, y: Any, *, columns: Sequence[str] | None = None) -> None:
        self._chunk = read_chunk(X, y, columns)
        if self._chunk.n_rows == 0:
            raise SourceError("X is empty: it has no rows")
        self.names = tuple(field.name for field in self._chunk.fields)
        self.categorical = categorical_mask(self._chunk.fields)
        self.n_rows = self._chunk.n_rows
        self.can_repeat = True

    def whole(self) -> Batch:
        """All rows as one batch."""
        return Pieces([(self._chunk, slice(None))], self._chunk.n_rows)

    def identity(self) -> str:
        """A hash of all names and values."""
        total = sha256(hash_fields(self._chunk.fields, None).encode())
        numeric = np.flatnonzero(~self.categorical)
        step = max(1, VALUES_AT_ONCE // len(self.names))
        for start in range(0, self._chunk.n_rows, step):
            rows = slice(start, start + step)
            # The same bytes whatever the order in memory.
            total.update(np.ascontiguousarray(self._chunk.numbers(numeric, rows)).data)
            for column in np.flatnonzero(self.categorical):
                labels = self._chunk.labels(int(column), rows)
                total.update(json.dumps(labels.tolist()).encode())
            target = self._chunk.target(rows)
            total.update(json.dumps(target.tolist(), default=str).encode())
        return total.hexdigest()

    def _chunks(self, size: int, rng: np.random.Generator | None) -> Iterator[Chunk]:
        yield self._chunk
