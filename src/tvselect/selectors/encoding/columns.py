"""From the rows of a stream to columns of numbers, by settled rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys import Knockoffs
from tvselect.inputs.finite import refuse_nonfinite
from tvselect.selectors.features import codes_of, one_hot
from tvselect.selectors.layout import decoy_name
from tvselect.sources import Batch
from tvselect.trees import Cuts


@dataclass(frozen=True)
class ColumnEncoding:
    """How features become columns: numbers as they are, one 0/1 column per category.

    Columns from ``n_columns`` on are decoys: the knockoffs of ``decoy_of``.

    Attributes
    ----------
    names : tuple of str
        Of the features.
    feature_of : int64 array
        The feature that each column comes from.
    levels : array of str
        The category that a column stands for; not used where the feature is a number.
    categorical : bool array
        By feature.
    cuts : Cuts
        Of all columns, decoys included.
    decoy_of : int64 array
        The features that have a decoy.
    knockoffs : Knockoffs or None
    """

    names: tuple[str, ...]
    feature_of: NDArray[np.int64]
    levels: NDArray[np.str_]
    categorical: NDArray[np.bool_]
    cuts: Cuts
    decoy_of: NDArray[np.int64]
    knockoffs: Knockoffs | None

    @property
    def n_columns(self) -> int:
        """Number of columns that are no decoys."""
        return self.feature_of.size

    def column_names(self, columns: NDArray[np.int64]) -> tuple[str, ...]:
        """Names of columns: that of the feature, or of the knockoff."""
        features = np.concatenate([self.feature_of, self.decoy_of])[columns]
        names = (self.names[j] for j in features)
        is_decoy = columns >= self.n_columns
        return tuple(decoy_name(n) if d else n for n, d in zip(names, is_decoy, strict=True))

    def values(
        self,
        batch: Batch,
        columns: NDArray[np.int64],
        key: int,
        unknown: float = np.nan,
    ) -> NDArray[np.float64]:
        """Some columns of a batch (rows, columns); only their features are read.

        Columns of a category hold ``unknown`` where a label is new. Knockoffs look at all
        numeric features, so that a batch with a decoy reads them all. They are a function of
        the row and the ``key``: a row that comes again in a later round has the same decoys,
        which can fit its outcome by chance just as the row itself can.
        """
        out = np.empty((batch.n_rows, columns.size), order="F")
        is_decoy = columns >= self.n_columns
        features = self.feature_of[np.where(is_decoy, 0, columns)]
        numbers = np.flatnonzero(~is_decoy & ~self.categorical[features])
        if numbers.size:
            out[:, numbers] = batch.numbers(features[numbers])
        for feature in np.unique(features[~is_decoy & self.categorical[features]]):
            places = np.flatnonzero(~is_decoy & (features == feature))
            codes = codes_of(batch.labels(int(feature)), self.levels[columns[places]])
            out[:, places] = one_hot(codes, places.size, unknown)
        if is_decoy.any():
            assert self.knockoffs is not None
            originals = np.asarray(batch.numbers(self.decoy_of), dtype=np.float64)
            names = [self.names[j] for j in self.decoy_of]
            refuse_nonfinite(originals, names, takes_missing=True, takes_empty=True)
            wanted = columns[is_decoy] - self.n_columns
            out[:, is_decoy] = self.knockoffs.draw(originals, np.random.default_rng(key))[
                0, :, wanted
            ].T
        return out
