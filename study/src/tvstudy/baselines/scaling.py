"""Columns and outcome on the scale on which linear methods work."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def standardise(X: Floats) -> tuple[Floats, Floats]:
    """Columns with mean 0 and variance 1, and their standard deviations; constants become 0.

    Parameters
    ----------
    X : array (rows, columns)

    Returns
    -------
    Z : array (rows, columns)
        In Fortran order: each column lies in one piece.
    scale : array (columns,)
        Standard deviations (divisor n), 0 for a constant column.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    Z = np.asfortranarray((X - low) / spread)
    Z -= Z.mean(axis=0)
    sd = np.sqrt(np.mean(Z**2, axis=0))
    moves = high > low
    Z[:, ~moves] = 0.0
    Z /= np.where(moves, sd, 1.0)
    return Z, np.where(moves, sd * spread, 0.0)


def in_old_units(coef: Floats, scale: Floats) -> Floats:
    """Coefficients of the columns as they came, from those of the standardised ones."""
    return np.divide(coef, scale, out=np.zeros_like(coef), where=scale > 0.0)
