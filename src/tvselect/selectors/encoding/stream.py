"""Fit an encoding to the first rows of a stream: they settle how all later ones are read.

Categories, cut points and the law of the decoys are taken from the first 1,000 rows (or the
first batch, if that is longer). They are refined batch by batch until these are full, and
stay as they are from then on: values outside the range seen fall into the end bins, a new
category counts as missing. Columns that are constant until then are cut batch by batch.
"""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys import Knockoffs
from tvselect.inputs import Table
from tvselect.inputs.finite import refuse_nonfinite
from tvselect.inputs.text import TextColumn, encode_text
from tvselect.selectors.encoding.columns import ColumnEncoding
from tvselect.selectors.features import read_features
from tvselect.selectors.layout import DecoyKind
from tvselect.sources import Batch
from tvselect.trees import bin_table
from tvselect.words import listed

HEAD_ROWS = 1000


class StreamEncoder:
    """The encoder of a stream: its first rows, and the encoding they settle.

    Parameters
    ----------
    names : tuple of str
    categorical : bool array
    decoys : {"knockoffs", "shuffled"} or None
        What decoys of columns are made of.
    max_cuts : int

    Attributes
    ----------
    encoding : ColumnEncoding or None
    n_batches, n_rows : int
        That were seen.
    held_numbers, held_labels : lists of arrays
        The rows, until there are enough of them.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        categorical: NDArray[np.bool_],
        *,
        decoys: DecoyKind | None = None,
        max_cuts: int = 100,
    ) -> None:
        self.names, self.categorical = names, categorical
        self.decoys, self.max_cuts = decoys, max_cuts
        self.n_batches = 0
        self.n_rows = 0
        self.encoding: ColumnEncoding | None = None
        self.held_numbers: list[NDArray[Any]] = []
        self.held_labels: list[list[NDArray[Any]]] = [[] for _ in np.flatnonzero(categorical)]

    @property
    def is_full(self) -> bool:
        """Whether the encoding stays as it is."""
        return self.n_rows >= HEAD_ROWS

    @property
    def has_numbers(self) -> bool:
        """Whether there are numbers to estimate knockoffs from."""
        return self.n_rows > 1 and not self.categorical.all()

    def see(self, batch: Batch, *, is_new: bool = True) -> ColumnEncoding:
        """Take in a batch while there is room, and settle the encoding anew.

        Rows that come again in a later round tell nothing new of the columns' correlations:
        knockoffs stay as they are.
        """
        # New lists, so that a copy of the encoder stays as it was.
        numbers = np.asarray(batch.numbers(np.flatnonzero(~self.categorical)))
        self.held_numbers = [*self.held_numbers, numbers]
        self.held_labels = [
            [*pieces, batch.labels(int(feature))]
            for pieces, feature in zip(
                self.held_labels, np.flatnonzero(self.categorical), strict=True
            )
        ]
        self.n_rows += batch.n_rows
        self.n_batches += 1
        self.encoding = self._settle(is_new)
        if self.is_full:
            self.held_numbers, self.held_labels = [], []
        return self.encoding

    def _settle(self, is_new: bool) -> ColumnEncoding:
        numbers = np.concatenate(self.held_numbers).astype(np.float64)
        self._refuse_infinite(numbers)
        texts = [encode_text(np.concatenate(pieces)) for pieces in self.held_labels]
        features = read_features(Table.of_matrix(numbers, self.names, texts, self.categorical))
        X, feature_of = features.X[:, :], features.feature_of
        levels_of = iter([text.levels or ("",) for text in texts])
        levels = [next(levels_of) if is_text else ("",) for is_text in self.categorical]
        self._warn_of_empty(texts)
        knockoffs = None
        if self.decoys == "knockoffs" and self.has_numbers:
            before = self.encoding.knockoffs if self.encoding else None
            knockoffs = Knockoffs.estimate(numbers) if is_new or before is None else before
        X[:, np.isnan(X).all(axis=0)] = 0.0
        return ColumnEncoding(
            names=self.names,
            feature_of=feature_of,
            levels=np.array(list(chain.from_iterable(levels)), dtype=object),
            categorical=self.categorical,
            cuts=bin_table(X, max_cuts=self.max_cuts).cuts,
            knockoffs=knockoffs,
        )

    def _refuse_infinite(self, numbers: NDArray[np.float64]) -> None:
        names = [self.names[j] for j in np.flatnonzero(~self.categorical)]
        refuse_nonfinite(numbers, names, takes_missing=True, takes_empty=True)
        with np.errstate(over="ignore", invalid="ignore"):
            span = np.fmax.reduce(numbers) - np.fmin.reduce(numbers)
        for j in np.flatnonzero(np.isinf(span)):
            raise ValueError(
                f"X contains values further apart than a double can say in column {names[j]!r}"
            )

    def _warn_of_empty(self, texts: list[TextColumn]) -> None:
        """Say which columns of text have no category to be told by."""
        features = np.flatnonzero(self.categorical).tolist()
        empty = [self.names[j] for j, text in zip(features, texts, strict=True) if not text.levels]
        if empty and self.is_full:
            warnings.warn(
                f"text without a value in the first {self.n_rows} rows of the stream: "
                f"{listed(empty)} cannot be selected; take larger batches or shuffle the rows",
                RuntimeWarning,
                stacklevel=4,
            )
