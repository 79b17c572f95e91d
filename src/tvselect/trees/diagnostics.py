"""Have chains mixed? The rank-normalised split R-hat, and how many draws they are worth.

Plain NumPy: ArviZ has the same formulas, but needs xarray and pandas, which nothing else here does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]


def r_hat(draws: ArrayLike) -> Floats:
    """Rank-normalised split R-hat (Vehtari et al. 2021); 1 where chains have mixed.

    Parameters
    ----------
    draws : array (chains, draws, ...)
        After burn-in, at least four of each chain. The halves of a chain count as chains.

    Returns
    -------
    float64 array (...)
        The larger of that of the draws and that of their distances from the median; more than 1.01
        or so says that the chains are too short. NaN where all draws are the same.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> float(r_hat(rng.normal(size=(4, 1000))).round(2))
    1.0
    >>> float(r_hat(rng.normal(size=(4, 1000)) + [[0], [0], [0], [1]]).round(1))
    1.1
    """
    split = _halves(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.fmax(*(_plain_r_hat(_normal_scores(values)) for values in (split, folded)))


def effective_size(draws: ArrayLike) -> Floats:
    """Bulk effective sample size (Vehtari et al. 2021): how many independent draws tell as much.

    Parameters
    ----------
    draws : array (chains, draws, ...)
        After burn-in, at least four of each chain.

    Returns
    -------
    float64 array (...)
        NaN where all draws are the same.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(4, 1000))
    >>> bool(3000 < effective_size(noise) < 5000)
    True
    >>> sticky = np.repeat(noise[:, ::10], 10, axis=1)
    >>> bool(250 < effective_size(sticky) < 650)
    True
    """
    z = _normal_scores(_halves(draws))
    n_chains, n = z.shape[:2]
    centred = z - z.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(power, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + z.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = 1.0 - (within - covariance) / total
    # Geyer's initial monotone sequence: sums of two neighbours fall, and stay above 0.
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, *z.shape[2:]).sum(axis=1)
    pairs = np.minimum.accumulate(pairs, axis=0)
    length = 2.0 * np.where(pairs > 0.0, pairs, 0.0).sum(axis=0) - 1.0
    size = n_chains * n
    found = size / np.maximum(length, 1.0 / np.log10(size))
    return np.where(within > 0.0, found, np.nan)


def _halves(draws: ArrayLike) -> Floats:
    """The halves of chains as chains."""
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim < 2 or values.shape[1] < 4:
        raise ValueError(
            f"draws must be (chains, draws, ...) with at least 4 draws, got shape {values.shape}"
        )
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _normal_scores(values: Floats) -> Floats:
    """The normal quantiles of ranks among all chains; ties have their mean rank."""
    from scipy.stats import rankdata

    flat = values.reshape(-1, *values.shape[2:])
    return ndtri((rankdata(flat, axis=0) - 0.375) / (len(flat) + 0.25)).reshape(values.shape)


def _plain_r_hat(values: Floats) -> Floats:
    n = values.shape[1]
    within = values.var(axis=1, ddof=1).mean(axis=0)
    between = values.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt((n - 1) / n + between / within)
