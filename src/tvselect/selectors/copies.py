"""Decoys of a table: which kind, how many copies, and the copies themselves."""

from __future__ import annotations

import warnings
from math import ceil
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys.drawn import DrawnColumns
from tvselect.decoys.knockoffs import Knockoffs
from tvselect.decoys.shuffled import ShuffledColumns, common_factors
from tvselect.decoys.validity import SwapTest, swap_test
from tvselect.inputs.scalars import check_scalar
from tvselect.rewards.base import Data, DecoyColumns

DecoyKind = Literal["shuffled", "knockoffs"]
FEWEST_COPIES = 10
MOST_ARMS = 2**20
MOST_KNOCKOFFS = 10_000
DOUBTFUL = 0.01
DECOY_KEY, TEST_KEY = 2**32 - 3, 2**32 - 4


def kind_of_decoys(decoys: Any, max_fdr: float | None) -> DecoyKind | None:
    """The kind of decoys that the settings ask for.

    Raises
    ------
    ValueError
        For an unknown kind, a level that is none, or a level without decoys.
    """
    if max_fdr is not None:
        check_scalar(max_fdr, "max_fdr", Real, min_val=0.0, max_val=1.0, include_boundaries="neither")
    if decoys == "auto":
        return None if max_fdr is None else "shuffled"
    if decoys is None and max_fdr is not None:
        raise ValueError(
            f"max_fdr={max_fdr!r} cannot be kept without decoys; use decoys='auto', or "
            "max_fdr=None for the median model"
        )
    if decoys not in ("shuffled", "knockoffs", None):
        raise ValueError(
            f"decoys must be 'auto', 'shuffled', 'knockoffs' or None, got {decoys!r}"
        )
    return decoys


def copies_for(max_fdr: float | None) -> int:
    """Copies of every column: enough for a single column to be selected at the level."""
    return FEWEST_COPIES if max_fdr is None else max(FEWEST_COPIES, ceil(1.0 / max_fdr))


def draw_decoys(kind: DecoyKind, data: Data, n_copies: int, entropy: int) -> DecoyColumns:
    """Copies of the columns of a table, from the seed of the run.

    Shuffled ones are of all columns, unless that makes more than a million arms: then of those
    that go best with the outcome, as themselves or by one of their copies, and the other columns
    do not play. The choice does not know which is the column and which are the copies.
    """
    X, rng = data.X, _generator(entropy, DECOY_KEY)
    if kind == "shuffled":
        decoys = ShuffledColumns.draw(X, n_copies, rng)
        return decoys.strongest(X, data.outcome.values, MOST_ARMS // (1 + n_copies))
    if X.shape[1] > MOST_KNOCKOFFS:
        raise ValueError(
            f"knockoffs can be made of {MOST_KNOCKOFFS:,} columns at the most, X has "
            f"{X.shape[1]:,}; use decoys='shuffled', or fewer columns"
        )
    factors = common_factors(X, rng)
    return DrawnColumns(Knockoffs.estimate(X, n_copies).draw(X, rng), factors)


def check_decoys(decoys: DecoyColumns, X: NDArray[Any], entropy: int) -> SwapTest | None:
    """Whether knockoffs can be told from the columns; None for shuffled decoys, which can be."""
    if not isinstance(decoys, DrawnColumns):
        return None
    found = swap_test(X, decoys.copies, _generator(entropy, TEST_KEY))
    if found.p_value < DOUBTFUL:
        warnings.warn(
            f"the knockoffs can be told from the columns (a classifier is right for "
            f"{found.accuracy:.0%} of the rows, p = {found.p_value:.1g}): the false discovery "
            "rate may be higher than max_fdr; read claims_, or use decoys='shuffled'",
            UserWarning,
            stacklevel=5,
        )
    return found


def _generator(entropy: int, key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(key,)))
