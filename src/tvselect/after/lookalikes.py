"""What else could have been chosen: columns that rise and fall with a selected one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.inputs import Table
from tvselect.inputs.columns import centred_ranks, in_blocks

MOST_ALIKE = 5
ALIKE = 0.5


class Match(NamedTuple):
    """A column and its rank correlation with another."""

    column: int
    correlation: float


def find_lookalikes(
    table: Table, columns: NDArray[np.int64], candidates: NDArray[np.int64]
) -> list[list[Match]]:
    """For each column up to five candidates with a Spearman correlation of 0.5, best first."""

    def ranks(columns: NDArray[np.int64]) -> NDArray[np.float64]:
        return centred_ranks(np.ascontiguousarray(table.numbers(columns).T, dtype=np.float64))

    candidates = candidates[~table.categorical[candidates]]
    is_number = ~table.categorical[columns]
    ranked = ranks(columns[is_number])
    correlations = np.zeros((columns.size, candidates.size))
    for block in in_blocks(candidates.size, table.n_rows):
        correlations[is_number, block] = ranked @ ranks(candidates[block]).T

    def matches(row: NDArray[np.float64]) -> list[Match]:
        best = np.argsort(-np.abs(row), kind="stable")[:MOST_ALIKE]
        return [
            Match(int(candidates[place]), round(float(np.clip(row[place], -1, 1)), 12))
            for place in best[np.abs(row[best]) >= ALIKE]
        ]

    return list(map(matches, correlations))


def chance_level(n_rows: int, n_candidates: int) -> float:
    """About the strongest rank correlation that unrelated columns reach by chance."""
    if n_rows < 3 or n_candidates < 1:
        return 1.0
    return min(1.0, float(ndtri(1 - 0.5 / (n_candidates + 1))) / math.sqrt(n_rows - 1))
