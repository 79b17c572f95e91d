"""Decoys of a table: which kind, how many copies, and the copies themselves."""

from __future__ import annotations

from math import ceil
from numbers import Real
from typing import Any, Literal

import numpy as np

from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs.scalars import check_scalar
from tvselect.rewards import Data

DecoyKind = Literal["shuffled", "knockoffs"]
FEWEST_COPIES = 10
MOST_ARMS = 2**20
DECOY_KEY = 2**32 - 3


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


def draw_decoys(kind: DecoyKind, data: Data, n_copies: int, entropy: int) -> ShuffledColumns:
    """Copies of the columns of a table, from the seed of the run.

    Of all columns, unless that makes more than a million arms: then of those that go best with
    the outcome, as themselves or by one of their copies, and the other columns do not play. The
    choice does not know which is the column and which are the copies.
    """
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(DECOY_KEY,)))
    decoys = ShuffledColumns.draw(data.X, n_copies, rng)
    return decoys.strongest(data.X, data.outcome.values, MOST_ARMS // (1 + n_copies))
