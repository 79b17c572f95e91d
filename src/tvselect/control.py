"""Error control: which selections may be believed, by decoys or by e-values.

By decoys: as many columns without a signal are expected to pass as decoys do. By e-values, which
may be looked at after every play: a null column and its decoys are exchangeable, so that on rows
that were never used before each has the same share in their rewards, whatever was played earlier.
The stake of a bettor on the column is then an e-process: at no stopping time is it expected to be
above 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STAKES = np.array([0.2, 0.5, 0.95])
"""Shares of what they have that bettors stake on a column; their mean is its e-value."""


def false_ones(score: Floats, decoys: Floats, n_copies: int) -> Floats:
    """``(1 + decoys that reach it) / copies``: expected columns of noise that reach a score."""
    reaching = decoys.size - np.searchsorted(np.sort(decoys), score, side="left")
    return (1.0 + reaching) / n_copies


def q_values_by_decoys(
    scores: Floats, decoys: Floats, n_copies: int, is_candidate: NDArray[np.bool_]
) -> Floats:
    """The smallest false discovery rate at which each column is selected.

    Of the candidates that reach a score, the share ``false_ones / candidates`` is expected to be
    false; a column has the smallest such share over the scores up to its own, or 1 if it is no
    candidate. To select by it is the rule of Benjamini and Hochberg, with p-values by the rank
    among decoys (Bates et al. 2023, Annals of Statistics 51(1), 149-178). ``decoys`` are the scores
    of ``n_copies`` decoys of every column, in any order.
    """
    q = np.ones(scores.size)
    order = np.flatnonzero(is_candidate)
    order = order[np.argsort(-scores[order], kind="stable")]
    falling = scores[order]
    n_reaching = np.searchsorted(-falling, -falling, side="right")
    share = false_ones(falling, decoys, n_copies) / n_reaching
    q[order] = np.minimum(1.0, np.minimum.accumulate(share[::-1])[::-1])
    return q


def q_values_by_probabilities(own: Floats, decoys: Floats, n_copies: int) -> Floats:
    """The smallest false discovery rate at which each column is selected by its probability.

    Of the columns that reach a probability the sum of ``1 - probability`` is expected to be false,
    and at least as many as decoys, ``n_copies`` of each column, that reach it.
    """
    order = np.argsort(-own, kind="stable")
    falling = own[order]
    n_reaching = np.searchsorted(-falling, -falling, side="right")
    reaching = decoys.size - np.searchsorted(np.sort(decoys), falling, side="left")
    n_false = np.maximum(np.cumsum(1.0 - falling)[n_reaching - 1], reaching / n_copies)
    q = np.empty(own.size)
    q[order] = np.minimum(np.minimum.accumulate((n_false / n_reaching)[::-1])[::-1], 1.0)
    return q


def q_values_together(*some: Floats) -> Floats:
    """q-values of columns that one of several methods selects, from the q-values of each.

    All methods select at the same level. As many as each expects to be false are added up (its
    level times the number of columns that it selects, or times 1 where it selects none: the chance
    of that, too, is shared), and divided by the number of columns that any of them selects.
    """
    own = np.min(some, axis=0)
    levels, place = np.unique(own, return_inverse=True)
    n_false = np.zeros(levels.size)
    for q in some:
        rising = np.sort(q)
        n_selected = np.searchsorted(rising, levels, side="right")
        largest = np.where(n_selected > 0, rising[n_selected - 1], levels)
        n_false += largest * np.maximum(n_selected, 1)
    share = n_false / np.searchsorted(np.sort(own), levels, side="right")
    share = np.minimum(np.minimum.accumulate(share[::-1])[::-1], 1.0).round(12)
    return np.asarray(np.where(own < 1.0, share[place], 1.0))


def log_stakes(rewards: NDArray[np.bool_] | NDArray[np.int64]) -> Floats:
    """What a batch does to the log stakes (stakes, arms) of bettors on its arms.

    ``rewards`` (1 + copies, arms) are those of the arms, then of each copy of them. A bettor puts
    the share ``s`` on the arm: ``1 - s + s (1 + copies) R / sum(R)``, where R is 1 or 0, or how
    many rewards there were in several plays. If arm and copies are exchangeable, this is expected
    to be 1; where none was rewarded, there is no bet.
    """
    n_rewarded = rewards.sum(axis=0)
    ratio = rewards[0] * len(rewards) / np.maximum(n_rewarded, 1)
    found: Floats = np.log1p(STAKES[:, None] * (ratio - 1.0)) * (n_rewarded > 0)
    return found


def average_log_e(log_e: Floats) -> Floats:
    """Log of the mean over the first axis: the mean of e-values is an e-value."""
    found: Floats = np.logaddexp.reduce(log_e, axis=0) - np.log(len(log_e))
    return found


def q_values_by_evidence(log_e: Floats) -> Floats:
    """By column the smallest level at which e-BH selects it; 1 where none below does.

    e-BH at level ``q`` selects the ``k`` largest of ``p`` e-values, ``k`` the largest number
    with ``E_(k) >= p / (q k)``. Its false discovery rate is at most ``q`` however the e-values
    depend on each other (Wang and Ramdas 2022, JRSS B 84(3), 822-852).
    """
    p = log_e.size
    found = np.ones(p)
    # q < 1 asks for E > 1, which few columns have.
    hot = np.flatnonzero(log_e > 0)
    falling = hot[np.argsort(-log_e[hot], kind="stable")]
    levels = np.exp(np.log(p) - np.log(np.arange(1, hot.size + 1)) - log_e[falling])
    found[falling] = np.minimum(np.minimum.accumulate(levels[::-1])[::-1], 1.0)
    return found


def fewest_wins(n_columns: int, level: float, n_selected: int = 1, n_copies: int = 1) -> int:
    """Wins without a loss after which e-BH selects so many columns of equal e-values."""
    wanted = np.log(n_columns) - np.log(level * n_selected)
    won = log_stakes(np.arange(1 + n_copies)[:, None] < 1)
    wins = 1
    while average_log_e(wins * won)[0] < wanted:
        wins += 1
    return wins
