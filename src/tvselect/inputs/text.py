"""Columns of text as whole numbers: the place of each label in the sorted list of labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = slice | NDArray[np.int64]
ALL = slice(None)


@dataclass(frozen=True)
class TextColumn:
    """A column of text.

    Attributes
    ----------
    codes : int64 array
        The place of each row's label among ``levels``; -1 where it is missing.
    levels : tuple of str
        All labels, sorted.
    """

    codes: NDArray[np.int64]
    levels: tuple[str, ...]

    def labels(self, rows: Rows = ALL) -> NDArray[np.object_]:
        """The labels of some rows, None where missing; equal labels are one object."""
        # The code -1 is the last place.
        return np.array([*self.levels, None], dtype=object)[self.codes[rows]]

    def at(self, rows: Rows) -> TextColumn:
        """Some rows, with the labels that they have."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        n_missing = int(np.count_nonzero(used < 0))
        return TextColumn(codes - n_missing, tuple(self.levels[code] for code in used[n_missing:]))


def encode_text(labels: Iterable[str | None]) -> TextColumn:
    """A column of text from its labels.

    Examples
    --------
    >>> encode_text(["b", None, "a", "b"])
    TextColumn(codes=array([ 1, -1,  0,  1]), levels=('a', 'b'))
    """
    held = list(labels)
    levels = sorted({label for label in held if label is not None})
    code_of: dict[str | None, int] = {label: code for code, label in enumerate(levels)}
    codes = np.fromiter((code_of.get(label, -1) for label in held), np.int64, len(held))
    return TextColumn(codes, tuple(levels))
