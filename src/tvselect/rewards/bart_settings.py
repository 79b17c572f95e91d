"""What the BART reward settles by the data: the rows and trees of a play, and the noise."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from numbers import Integral, Real
from typing import Literal

import numpy as np

from tvselect.inputs import Outcome
from tvselect.inputs.columns import normal_scores
from tvselect.inputs.errors import check_scalar
from tvselect.inputs.outcome import has_outliers, normal_times
from tvselect.rewards.base import Data

MOST_ROWS, MOST_BESIDE_DECOYS, RARE_ROWS = 2000, 5000, 100
ROWS_OF_A_FOREST = 5000
TREES_OF_A_CLASS = 5

Noise = Literal["auto", "normal", "scores"]


def rows_seen(max_samples: Literal["auto"] | int | float | None, data: Data) -> int:
    """How many rows a play sees."""
    n_rows = data.n_rows
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, str):
        if max_samples != "auto":
            raise ValueError(f"max_samples must be 'auto', a number or None, got {max_samples!r}")
        if data.is_batch:
            return n_rows
        most = MOST_ROWS if data.decoys is None else MOST_BESIDE_DECOYS
        if data.outcome.family == "classes":  # every class sees them
            most //= max(1, np.unique(data.outcome.values).size // 3)
        return min(n_rows, max(most, ceil(RARE_ROWS / share_of_rarest(data.outcome))))
    if isinstance(max_samples, Integral):
        check_scalar(max_samples, "max_samples", Integral, min_val=2)
        return min(int(max_samples), n_rows)
    check_scalar(
        max_samples, "max_samples", Real, min_val=0.0, max_val=1.0, include_boundaries="right"
    )
    return max(2, round(float(max_samples) * n_rows))


def share_of_rarest(outcome: Outcome) -> float:
    """Share of the rows in the smallest class, or of those with an event; 1 for numbers."""
    if outcome.family == "survival":
        return float(np.isfinite(outcome.times.upper).mean())
    if outcome.classes is None:
        return 1.0
    counts = np.bincount(outcome.values.astype(np.intp))
    return float(counts[counts > 0].min() / outcome.values.size)


def growth_of_forest(n_seen: int, data: Data) -> float:
    """How many times the trees of a small play are needed for so many rows.

    What trees leave over for want of leaves is credited to columns of noise, the sooner the more
    rows there are, unless decoys are there to take it.
    """
    return 1.0 if data.decoys is not None else max(1.0, n_seen / ROWS_OF_A_FOREST)


def fewest_trees(outcome: Outcome) -> int:
    """Trees that this outcome needs at least: every class has some of its own."""
    if outcome.family != "classes":
        return 1
    return TREES_OF_A_CLASS * np.unique(outcome.values).size


def settle_noise(noise: Noise, outcome: Outcome) -> Literal["normal", "scores"]:
    """Normal noise, or normal scores for a continuous outcome with values far out."""
    if noise not in ("auto", "normal", "scores"):
        raise ValueError(f"noise must be 'auto', 'normal' or 'scores', got {noise!r}")
    if outcome.family not in ("gaussian", "survival"):
        return "normal"
    if noise == "auto":
        known = outcome.values[np.isfinite(outcome.values)]
        return "scores" if has_outliers(known) else "normal"
    return noise


def outcome_for(noise: Noise, outcome: Outcome) -> Outcome:
    """The outcome, on normal scores where the noise asks for them."""
    if settle_noise(noise, outcome) == "normal":
        return outcome
    if outcome.family == "survival":
        times = normal_times(outcome.times)
        return replace(outcome, values=times.lower, upper=times.upper)
    return replace(outcome, values=normal_scores(outcome.values))
