"""Which columns are split on: uniform, or DART's Dirichlet prior with ``s`` integrated out.

With ``s ~ Dirichlet(theta/q, ..., theta/q)`` and ``s`` integrated out, the column
of a split given all other splits of the forest is a Polya urn: column ``j`` has
probability ``(theta/q + n_j) / (theta + N)``. ``theta`` needs only the counts:

    p(counts | theta) = Gamma(theta) / Gamma(theta + N)
                        prod_j Gamma(theta/q + n_j) / Gamma(theta/q)

and the product is ``prod_m (theta/q + m)^ladder[m]``, where ``ladder[m]`` columns
have more than ``m`` splits. Nothing here costs more when there are more columns.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from tvselect.jit import part
from tvselect.trees.state import (
    ACCEPTED,
    COLUMN,
    CONCENTRATION,
    COUNT,
    N_DONE,
    N_SPLITS,
    PRESENT,
    SINCE,
    TOTAL,
    Design,
    PriorParameters,
    Tally,
    Trees,
)
from tvselect.trees.structure import nth_split

GRID_SIZE = 1000
TABLE_DEPTH = 64
LARGE_THETA = 1e8


@lru_cache(maxsize=32)
def concentration_grid(
    a: float, b: float, rho_share: float, floor: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Grid of ``theta / q`` and the table of ``log(theta / q + m)``.

    ``theta / (theta + rho) ~ Beta(a, b)``, cut off below ``floor``, is replaced by 1000
    equally likely values, its quantiles at the midpoints of 1000 equal steps;
    ``rho_share`` is ``rho / q``.
    """
    cut = betainc(a, b, floor)
    steps = (np.arange(GRID_SIZE) + 0.5) / GRID_SIZE
    u = betaincinv(a, b, cut + (1.0 - cut) * steps)
    u = np.clip(u, 1e-100, 1.0 - 1e-12)
    shares = rho_share * u / (1.0 - u)
    table = np.log(shares[:, None] + np.arange(TABLE_DEPTH))
    return shares, table


@part
def draw_column(
    rng: np.random.Generator,
    trees: Trees,
    tally: Tally,
    design: Design,
    prior: PriorParameters,
    iteration: int,
) -> int:
    """Draw the column of a new split given the other splits."""
    q = design.columns.shape[0]
    if iteration >= prior.sparse_from:
        theta = q * prior.shares[tally.whole[CONCENTRATION]]
        n_splits = tally.whole[N_SPLITS]
        ball = rng.random() * (theta + n_splits)
        if ball < n_splits:
            return column_of_split(trees, int(ball))
    return int(rng.random() * q)


@part
def chance_of_column(
    tally: Tally, prior: PriorParameters, q: int, iteration: int, n_on_it: int, n_splits: int
) -> float:
    """Probability that :func:`draw_column` draws a column, given its splits and all splits."""
    if iteration < prior.sparse_from:
        return 1.0 / q
    share = prior.shares[tally.whole[CONCENTRATION]]
    return (share + n_on_it) / (q * share + n_splits)


@part
def column_of_split(trees: Trees, rank: int) -> int:
    """Column of one of the splits of the forest, counted through the trees."""
    tree = 0
    while rank >= trees.splits[tree]:
        rank -= trees.splits[tree]
        tree += 1
    return trees.nodes[tree, nth_split(trees, tree, rank), COLUMN]


@part
def close_span(tally: Tally, column: int, iteration: int, burn: int) -> None:
    """Add the draws since a column's count last changed to its totals."""
    entry = tally.columns[column]
    span = iteration - max(entry[SINCE], burn)
    if span > 0:
        entry[TOTAL] += span * entry[COUNT]
        if entry[COUNT] > 0:
            entry[PRESENT] += span
    entry[SINCE] = iteration


@part
def mean_splits(tally: Tally, column: int, burn: int) -> float:
    """Splits of a column per forest, over the draws after burn-in; 0 when there is none yet."""
    entry = tally.columns[column]
    n_done = tally.whole[N_DONE]
    total = entry[TOTAL]
    if entry[COUNT] > 0:
        total += max(n_done - max(entry[SINCE], burn), 0) * entry[COUNT]
    return total / max(n_done - burn, 1)


@part
def count_split(tally: Tally, column: int, iteration: int, burn: int) -> None:
    """Enter a new split on a column in the counts."""
    close_span(tally, column, iteration, burn)
    tally.ladder[tally.columns[column, COUNT]] += 1
    tally.columns[column, COUNT] += 1
    tally.whole[N_SPLITS] += 1
    tally.whole[ACCEPTED] += 1


@part
def uncount_split(tally: Tally, column: int, iteration: int, burn: int) -> None:
    """Take a removed split on a column out of the counts."""
    close_span(tally, column, iteration, burn)
    tally.columns[column, COUNT] -= 1
    tally.ladder[tally.columns[column, COUNT]] -= 1
    tally.whole[N_SPLITS] -= 1
    tally.whole[ACCEPTED] += 1


@part
def log_counts_given(tally: Tally, prior: PriorParameters, q: int, k: int) -> float:
    """Log probability of the counts when ``theta`` is at grid point ``k``."""
    theta = q * prior.shares[k]
    n_splits = tally.whole[N_SPLITS]
    if theta > LARGE_THETA:
        value = -n_splits * (math.log(theta) + 0.5 * (n_splits - 1) / theta)
    else:
        value = math.lgamma(theta) - math.lgamma(theta + n_splits)
    m = 0
    while tally.ladder[m] > 0:
        if m < prior.log_shares.shape[1]:
            value += tally.ladder[m] * prior.log_shares[k, m]
        else:
            value += tally.ladder[m] * math.log(prior.shares[k] + m)
        m += 1
    return value


@part
def draw_concentration(
    rng: np.random.Generator, tally: Tally, prior: PriorParameters, q: int
) -> None:
    """Slice sampling of ``theta`` on its grid, shrinking from the whole grid."""
    now = tally.whole[CONCENTRATION]
    level = log_counts_given(tally, prior, q, now) - rng.standard_exponential()
    low, high = 0, prior.shares.shape[0]
    while True:
        k = low + int(rng.random() * (high - low))
        if k == now or log_counts_given(tally, prior, q, k) >= level:
            tally.whole[CONCENTRATION] = k
            return
        if k < now:
            low = k + 1
        else:
            high = k
