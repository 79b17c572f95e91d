"""e-values: evidence that may be looked at after every play, and stopped at any time.

A null column and its decoy are exchangeable: on rows that were never used before, each wins
against the other with the same probability, whatever was played and seen earlier. Betting on
the column then multiplies one's stake by a fair game, and the stake is an e-process: at no
stopping time is it expected to be above 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln

Floats = NDArray[np.float64]


def log_e_values(wins: ArrayLike, losses: ArrayLike) -> Floats:
    """Log e-values of columns from their wins and losses against their decoys.

    The stake of a bettor who believes that a column wins with some probability above 1/2,
    all of them alike likely: ``E = 2^(m+1) B(w+1, l+1) P[Beta(w+1, l+1) > 1/2]``, with
    ``m = w + l``. Ties are no bets.

    Parameters
    ----------
    wins, losses : int arrays

    Returns
    -------
    array
        0 (E = 1) without any bet. -inf where 1/2 lies so far in the tail that a double does
        not hold it; the e-value is below one over the number of bets there.

    Examples
    --------
    >>> from tvselect.control.evalues import log_e_values
    >>> np.exp(log_e_values([0, 3, 10, 3], [0, 0, 0, 3])).round(2)
    array([  1.  ,   3.75, 186.09,   0.46])
    """
    w, b = np.asarray(wins, dtype=np.float64), np.asarray(losses, dtype=np.float64)
    with np.errstate(divide="ignore"):
        tail = np.log(betainc(b + 1, w + 1, 0.5))
    found: Floats = (w + b + 1) * np.log(2.0) + betaln(w + 1, b + 1) + tail
    return found


def average(log_e: Floats) -> Floats:
    """Log of the mean over the first axis: the mean of e-values is an e-value."""
    found: Floats = np.logaddexp.reduce(log_e, axis=0) - np.log(len(log_e))
    return found


def q_values(log_e: Floats) -> Floats:
    """By column the smallest level at which e-BH selects it; 1 where none below does.

    e-BH at level ``q`` selects the ``k`` largest of ``p`` e-values, ``k`` the largest number
    with ``E_(k) >= p / (q k)``. Its false discovery rate is at most ``q`` however the e-values
    depend on each other [1]_.

    References
    ----------
    .. [1] Wang, R. and Ramdas, A. (2022). False discovery rate control with e-values.
       *Journal of the Royal Statistical Society B* 84(3), 822-852.

    Examples
    --------
    >>> from tvselect.control.evalues import q_values
    >>> q_values(np.log([40.0, 1.0, 20.0, 0.5])).round(2)
    array([0.1, 1. , 0.1, 1. ])
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
