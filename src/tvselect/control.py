"""Error control: which selections may be believed, by decoys or by e-values.

By decoys: as many columns without a signal are expected to pass as decoys do. By e-values, which
may be looked at after every play: a null column and its decoy are exchangeable, so that on rows
that were never used before each wins against the other with the same probability, whatever was
played earlier. The stake of a bettor on the column is then an e-process: at no stopping time is it
expected to be above 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln

Floats = NDArray[np.float64]


def false_ones(score: Floats, decoys: Floats, n_copies: int) -> Floats:
    """Expected number of columns without a signal that reach a score, from above.

    ``(1 + decoys that reach it) / copies``; the 1 keeps estimates from few decoys conservative.
    """
    reaching = decoys.size - np.searchsorted(np.sort(decoys), score, side="left")
    return (1.0 + reaching) / n_copies


def q_values_by_decoys(
    scores: Floats, decoys: Floats, n_copies: int, is_candidate: NDArray[np.bool_]
) -> Floats:
    """The smallest false discovery rate at which each column is selected.

    Of the candidates that reach a score, the share ``false_ones / candidates`` is expected to
    be false; the q-value of a column is the smallest such share over the scores up to its
    own. Selecting the columns of a q-value of at most ``q`` is the rule of Benjamini and
    Hochberg at level ``q``, with p-values by the rank among decoys (Bates et al. 2023, Annals of
    Statistics 51(1), 149-178). ``decoys`` are the scores of ``n_copies`` decoys of every column, in
    any order; columns that are no candidates have the q-value 1.
    """
    q = np.ones(scores.size)
    order = np.flatnonzero(is_candidate)
    order = order[np.argsort(-scores[order], kind="stable")]
    falling = scores[order]
    n_reaching = np.searchsorted(-falling, -falling, side="right")
    share = false_ones(falling, decoys, n_copies) / n_reaching
    q[order] = np.minimum(1.0, np.minimum.accumulate(share[::-1])[::-1])
    return q


def log_e_values(wins: ArrayLike, losses: ArrayLike) -> Floats:
    """Log e-values of columns from their wins and losses against their decoys.

    ``E = 2^(m+1) B(w+1, l+1) P[Beta(w+1, l+1) > 1/2]``, with ``m = w + l``: the stake of a bettor
    whose prior of a column's chance to win is uniform above 1/2. Ties are no bets. It is -inf where
    the probability is too small for a double: E is below ``1 / m`` there.
    """
    w, b = np.asarray(wins, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    with np.errstate(divide="ignore"):
        tail = np.log(betainc(b + 1, w + 1, 0.5))
    found: Floats = (w + b + 1) * np.log(2.0) + betaln(w + 1, b + 1) + tail
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


def fewest_wins(n_columns: int, level: float, n_selected: int = 1) -> int:
    """Wins without a loss after which e-BH selects so many columns of equal e-values."""
    wanted = np.log(n_columns) - np.log(level * n_selected)
    wins = 1
    while log_e_values(wins, 0) < wanted:
        wins += 1
    return wins
