"""How good a selection is when the truth is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Score(NamedTuple):
    """A selection held against the truth.

    Attributes
    ----------
    fdp : float
        False discovery proportion, 0 when nothing is selected.
    power : float
        Share of the signals found.
    hamming : int
        False positives plus false negatives.
    exact : bool
    """

    fdp: float
    power: float
    hamming: int
    exact: bool


def score(selected: ArrayLike, support: ArrayLike) -> Score:
    """Compare ``selected`` columns with the true ``support``, both as masks.

    Examples
    --------
    >>> from tvstudy.simulation import score
    >>> score([True, True, False, False], [True, False, True, False])
    Score(fdp=0.5, power=0.5, hamming=2, exact=False)
    """
    found, true = np.asarray(selected, dtype=bool), np.asarray(support, dtype=bool)
    if found.shape != true.shape:
        raise ValueError(f"selected has shape {found.shape}, support {true.shape}")
    false = int((found & ~true).sum())
    missed = int((~found & true).sum())
    return Score(
        fdp=false / max(int(found.sum()), 1),
        power=1.0 - missed / max(int(true.sum()), 1),
        hamming=false + missed,
        exact=false + missed == 0,
    )


class AtLevel(NamedTuple):
    """What q-values select at a level, held against the truth.

    Attributes
    ----------
    level : float
    n_true, n_false : int
        Signals and other columns with a q-value of at most the level.
    fdp : float
        Share of the latter, 0 when nothing is selected.
    n_claims, n_false_claims : int or None
        Claims with such a q-value, and those of them without any signal; None where the
        method makes no claims.
    claim_fdp : float or None
    claim_size : float or None
        Mean number of columns of these claims, 0 when there is none.
    """

    level: float
    n_true: int
    n_false: int
    fdp: float
    n_claims: int | None
    n_false_claims: int | None
    claim_fdp: float | None
    claim_size: float | None


def score_at(
    level: float, q_values: ArrayLike, support: ArrayLike, claims: Iterable[Any] | None = None
) -> AtLevel:
    """Compare what q-values select at a level with the true support, by columns and by claims.

    Parameters
    ----------
    level : float
    q_values : array-like
        Of every column.
    support : mask
    claims : iterable, optional
        Claims "at least one of these": ``columns`` (indices) and ``q_value``. A claim is false
        when none of its columns is a signal.

    Examples
    --------
    >>> from tvstudy.simulation import score_at
    >>> score_at(0.1, [0.01, 0.1, 0.3], [True, False, True])[:4]
    (0.1, 1, 1, 0.5)
    """
    found, true = np.asarray(q_values) <= level, np.asarray(support, dtype=bool)
    if found.shape != true.shape:
        raise ValueError(f"q_values has shape {found.shape}, support {true.shape}")
    n_true, n_false = int((found & true).sum()), int((found & ~true).sum())
    by_column = (level, n_true, n_false, n_false / max(n_true + n_false, 1))
    if claims is None:
        return AtLevel(*by_column, None, None, None, None)
    made = [np.asarray(claim.columns) for claim in claims if claim.q_value <= level]
    n_wrong = sum(not true[columns].any() for columns in made)
    size = float(np.mean([columns.size for columns in made])) if made else 0.0
    return AtLevel(*by_column, len(made), n_wrong, n_wrong / max(len(made), 1), size)
