"""How good a selection is when the truth is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Score(NamedTuple):
    """A selection held against the truth.

    Attributes
    ----------
    fdp : float
        False discovery proportion, 0 when nothing is selected.
    power : float
        Share of the signals found.
    hamming : int
        False positives plus false negatives.
    exact : bool
    """

    fdp: float
    power: float
    hamming: int
    exact: bool


def score(selected: ArrayLike, support: ArrayLike) -> Score:
    """Compare a selection with the true support, both as masks.

    Examples
    --------
    >>> from tvstudy.simulation import score
    >>> score([True, True, False, False], [True, False, True, False])
    Score(fdp=0.5, power=0.5, hamming=2, exact=False)
    """
    found, true = np.asarray(selected, dtype=bool), np.asarray(support, dtype=bool)
    if found.shape != true.shape:
        raise ValueError(f"selected has shape {found.shape}, support {true.shape}")
    false = int((found & ~true).sum())
    missed = int((~found & true).sum())
    return Score(
        fdp=false / max(int(found.sum()), 1),
        power=1.0 - missed / max(int(true.sum()), 1),
        hamming=false + missed,
        exact=false + missed == 0,
    )
