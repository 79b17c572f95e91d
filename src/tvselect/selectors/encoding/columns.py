"""From the rows of a stream to columns of numbers, by settled rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys import Knockoffs
from tvselect.inputs.finite import refuse_nonfinite
from tvselect.selectors.features import codes_of, one_hot
from tvselect.sources import Batch
from tvselect.trees import Cuts, bin_table


@dataclass(frozen=True)
class ColumnEncoding:
    """How features become columns: numbers as they are, one 0/1 column per category.

    Column ``n_columns + c`` is the decoy of column ``c``. A column that was constant when the
    rules were settled has no cut points: it is cut anew by every batch in which it varies, and
    its decoy is made of the rows of that batch.

    Attributes
    ----------
    names : tuple of str
        Of the features.
    feature_of : int64 array
        The feature that each column comes from.
    levels : object array of str
        The category that a column stands for; not used where the feature is a number.
    categorical : bool array
        By feature.
    cuts : Cuts
        Of the columns; a decoy has those of its column.
    knockoffs : Knockoffs or None
        Of all numeric features; None where decoys are shuffled rows, or there are none.
    """

    names: tuple[str, ...]
    feature_of: NDArray[np.int64]
    levels: NDArray[np.object_]
    categorical: NDArray[np.bool_]
    cuts: Cuts
    knockoffs: Knockoffs | None

    @property
    def n_columns(self) -> int:
        """Number of columns that are no decoys."""
        return self.feature_of.size

    def column_names(self, columns: NDArray[np.int64]) -> tuple[str, ...]:
        """Names of columns: that of the feature, or of its decoy."""
        names = (self.names[j] for j in self.feature_of[columns % self.n_columns])
        is_decoy = columns >= self.n_columns
        return tuple(f"decoy of {n}" if d else n for n, d in zip(names, is_decoy, strict=True))

    def cuts_of(self, columns: NDArray[np.int64], X: NDArray[np.float64], max_cuts: int) -> Cuts:
        """Cut points of some columns of a batch, where ``X`` (rows, columns) are their values."""
        cuts = self.cuts.take(columns % self.n_columns, self.column_names(columns))
        late = np.flatnonzero(cuts.n_cuts == 0)
        late = late[~np.isnan(X[:, late]).all(axis=0)]
        if late.size == 0:
            return cuts
        return cuts.replaced(late, bin_table(X[:, late], max_cuts=max_cuts).cuts)

    def values(
        self,
        batch: Batch,
        columns: NDArray[np.int64],
        rng: np.random.Generator,
        unknown: float = np.nan,
    ) -> NDArray[np.float64]:
        """Some columns of a batch (rows, columns); only their features are read.

        Columns of a category hold ``unknown`` where a label is new, or 0 where the
        feature has a single label: a second one is what makes it vary. Knockoffs look at all
        numeric features that are not independent of those played, and read these as well. Other
        decoys are the columns with rows changing places two by two, the same ones for all columns.
        """
        wanted, place = np.unique(columns % self.n_columns, return_inverse=True)
        seen = self._read(batch, wanted, unknown)
        is_decoy = columns >= self.n_columns
        if not is_decoy.any():
            return np.asfortranarray(seen[:, place])
        copies = seen[_in_pairs(batch.n_rows, rng)]
        features = self.feature_of[wanted]
        is_number = ~self.categorical[features] & (self.cuts.n_cuts[wanted] > 0)
        if self.knockoffs is not None and is_number.any():
            numbers = np.flatnonzero(~self.categorical)
            asked = np.searchsorted(numbers, features[is_number])
            needed, knockoffs = self.knockoffs.among(asked)
            originals = np.asarray(batch.numbers(numbers[needed]), dtype=np.float64)
            names = [self.names[j] for j in numbers[needed]]
            refuse_nonfinite(originals, names, takes_missing=True, takes_empty=True)
            drawn = knockoffs.draw(originals, rng)[0]
            copies[:, is_number] = drawn[:, np.searchsorted(needed, asked)]
        both = np.concatenate([seen, copies], axis=1)
        return np.asfortranarray(both[:, place + wanted.size * is_decoy])

    def _read(
        self, batch: Batch, columns: NDArray[np.int64], unknown: float
    ) -> NDArray[np.float64]:
        out = np.empty((batch.n_rows, columns.size))
        features = self.feature_of[columns]
        numbers = np.flatnonzero(~self.categorical[features])
        if numbers.size:
            out[:, numbers] = batch.numbers(features[numbers])
        for feature in np.unique(features[self.categorical[features]]):
            places = np.flatnonzero(features == feature)
            codes = codes_of(batch.labels(int(feature)), self.levels[columns[places]])
            is_late = bool((self.cuts.n_cuts[columns[places]] == 0).any())
            out[:, places] = one_hot(codes, places.size, 0.0 if is_late else unknown)
        return out


def _in_pairs(n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A permutation of rows that is its own inverse: which is the copy cannot be told."""
    order = rng.permutation(n_rows)
    half = n_rows // 2
    permutation = np.arange(n_rows)
    permutation[order[:half]], permutation[order[half : 2 * half]] = (
        order[half : 2 * half],
        order[:half],
    )
    return permutation
