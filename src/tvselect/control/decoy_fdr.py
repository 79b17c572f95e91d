"""False discoveries by decoys: as many columns without a signal pass as decoys do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def false_ones(score: FloatArray, decoys: FloatArray, n_copies: int) -> FloatArray:
    """Expected number of columns without a signal that reach a score, from above.

    ``(1 + decoys that reach it) / copies``: one more than were seen, so that an estimate
    from few decoys is on the safe side.

    Parameters
    ----------
    score : float64 array
    decoys : float64 array
        Scores of all decoys.
    n_copies : int
        Decoys of every column.

    Examples
    --------
    >>> false_ones(np.array([0.9, 0.5]), np.array([0.3, 0.6]), n_copies=2)
    array([0.5, 1. ])
    """
    reaching = decoys.size - np.searchsorted(np.sort(decoys), score, side="left")
    return (1.0 + reaching) / n_copies


def q_values(
    scores: FloatArray, decoys: FloatArray, n_copies: int, is_candidate: NDArray[np.bool_]
) -> FloatArray:
    """The smallest false discovery rate at which each column is selected.

    Of the candidates that reach a score, the share ``false_ones / candidates`` is expected to
    be false; the q-value of a column is the smallest such share over the scores up to its
    own. Selecting the columns of a q-value of at most ``q`` is the rule of Benjamini and
    Hochberg at level ``q``, with p-values by the rank among decoys [1]_.

    Parameters
    ----------
    scores : float64 array
        Of the columns.
    decoys : float64 array
        Of ``n_copies`` decoys of every column, in any order.
    n_copies : int
    is_candidate : bool array
        Columns that may be selected; the others have the q-value 1.

    Returns
    -------
    float64 array, at most 1

    References
    ----------
    .. [1] Bates, S., Candès, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for
       outliers with conformal p-values. *Annals of Statistics* 51(1), 149-178.

    Examples
    --------
    Three columns stand above all twenty decoys, a fourth does not:

    >>> decoys = np.linspace(0.0, 0.6, 20)
    >>> scores = np.array([0.9, 0.95, 0.55, 0.8, 0.2])
    >>> q_values(scores, decoys, n_copies=4, is_candidate=scores > 0.5)
    array([0.08333333, 0.08333333, 0.1875    , 0.08333333, 1.        ])
    """
    q = np.ones(scores.size)
    order = np.flatnonzero(is_candidate)
    order = order[np.argsort(-scores[order], kind="stable")]
    falling = scores[order]
    n_reaching = np.searchsorted(-falling, -falling, side="right")
    share = false_ones(falling, decoys, n_copies) / n_reaching
    q[order] = np.minimum(1.0, np.minimum.accumulate(share[::-1])[::-1])
    return q
