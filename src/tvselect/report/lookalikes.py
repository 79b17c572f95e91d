"""What else could have been chosen: columns that rise and fall with a selected one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from tvselect.report.rows import Rows

MOST_ALIKE = 5
ALIKE = 0.5
VALUES_AT_ONCE = 2**22


@dataclass(frozen=True)
class Match:
    """A column and its rank correlation with another."""

    column: int
    correlation: float


def find_lookalikes(
    rows: Rows, columns: NDArray[np.int64], candidates: NDArray[np.int64]
) -> list[list[Match]]:
    """For each column the candidates of the strongest Spearman correlation, if it is 0.5 or more.

    A missing value counts as the middle rank. Columns of text have no ranks: they have no
    look-alikes and are none.

    Parameters
    ----------
    rows : Rows
    columns, candidates : int arrays

    Returns
    -------
    list of lists
        At most five for each column, the strongest first.

    Examples
    --------
    >>> from tvselect.report.rows import sample_rows
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 3))
    >>> X[:, 2] = -X[:, 0] ** 3
    >>> rows = sample_rows(X, None, ("x0", "x1", "x2"), named=False, most=100, rng=rng)
    >>> find_lookalikes(rows, np.array([0]), np.array([1, 2]))
    [[Match(column=2, correlation=-1.0)]]
    """
    numeric = ~rows.categorical[columns]
    candidates = candidates[~rows.categorical[candidates]]
    ranked = _centred_ranks(rows.numbers(columns[numeric]))
    best: list[list[Match]] = [[] for _ in range(int(numeric.sum()))]
    step = max(1, VALUES_AT_ONCE // rows.n_rows)
    for first in range(0, candidates.size, step):
        block = candidates[first : first + step]
        correlations = ranked.T @ _centred_ranks(rows.numbers(block))
        for found, row in zip(best, correlations, strict=True):
            for place in np.argsort(-np.abs(row), kind="stable")[:MOST_ALIKE]:
                if abs(row[place]) >= ALIKE:
                    correlation = round(float(np.clip(row[place], -1, 1)), 12)
                    found.append(Match(int(block[place]), correlation))
            found.sort(key=lambda match: -abs(match.correlation))
            del found[MOST_ALIKE:]
    filled = iter(best)
    return [next(filled) if is_number else [] for is_number in numeric]


def chance_level(n_rows: int, n_candidates: int) -> float:
    """About the strongest rank correlation that unrelated columns reach by chance.

    Examples
    --------
    >>> round(chance_level(300, 10_000), 2)
    0.23
    """
    if n_rows < 3 or n_candidates < 1:
        return 1.0
    return min(1.0, float(ndtri(1 - 0.5 / (n_candidates + 1))) / math.sqrt(n_rows - 1))


def _centred_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks by column, of mean 0 and length 1; 0 where there is nothing to rank."""
    missing = np.isnan(values)
    ranks = rankdata(np.where(missing, np.inf, values), axis=0)
    n_present = np.count_nonzero(~missing, axis=0)
    ranks = np.where(missing, 0.0, ranks - (n_present + 1) / 2)
    length = np.sqrt((ranks**2).sum(axis=0))
    return ranks / np.where(length > 0, length, 1.0)
