"""The grid of DART's concentration; ``core/dirichlet.h`` says how columns are drawn with it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

GRID_SIZE = 1000
TABLE_DEPTH = 64


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
