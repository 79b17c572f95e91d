"""Tables with many signals at random places: bumps in groups, linear, planted on given columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.seeds import as_generator
from tvstudy.simulation.setups import FloatArray, Simulated, autoregressive

NOISE = 0.7
"""Standard deviation of the noise over that of the signal."""
FEWEST_OTHER = 20
"""Rows of a column that must differ from its most frequent value for a signal to sit there."""


def simulate_bumps(
    n_rows: int,
    n_columns: int,
    *,
    classes: bool = False,
    grouped: bool = True,
    ratios: tuple[float, float] = (0.5, 2.0),
    random_state: Any = None,
) -> Simulated:
    """Draw bumps, the data of integrated path stability selection.

    Normal columns with correlation ``0.5^|j-k|``, standardised; 5 to 15 signals thrown into as
    many groups; a group adds ``exp(-s^2)`` of its standardised sum ``s``. With a
    signal-to-noise ratio: normal noise of that ratio of variances, or two classes whose logit
    is the ratio times the centred signal.

    Parameters
    ----------
    n_rows, n_columns : int
    classes : bool, default=False
    grouped : bool, default=True
        False: every signal is a group of its own.
    ratios : (float, float), default=(0.5, 2.0)
        Between which the signal-to-noise ratio is uniform.
    random_state : None, int, SeedSequence or Generator

    Returns
    -------
    Simulated

    References
    ----------
    Melikechi, O., Dunson, D. B. and Miller, J. W. (2025). Nonparametric IPSS: fast, flexible
    feature selection with false discovery control. *Bioinformatics* 41(5).

    Examples
    --------
    >>> from tvstudy.simulation import simulate_bumps
    >>> 5 <= simulate_bumps(100, 50, random_state=0).support.sum() <= 15
    np.True_
    """
    rng = as_generator(random_state)
    X = autoregressive(0.5)(rng, n_rows, n_columns)
    X = _standardised(X)
    n_signals = int(rng.integers(5, 15, endpoint=True))
    places = rng.choice(n_columns, n_signals, replace=False)
    group_of = rng.integers(n_signals, size=n_signals) if grouped else np.arange(n_signals)
    f = np.zeros(n_rows)
    for group in np.unique(group_of):
        f += np.exp(-(_standardised(X[:, places[group_of == group]].sum(axis=1)) ** 2))
    ratio = rng.uniform(*ratios)
    if classes:
        logit = ratio * (f - f.mean())
        y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-logit))).astype(np.float64)
    else:
        y = f + f.std() / np.sqrt(ratio) * rng.standard_normal(n_rows)
    return Simulated(X, y, f, _mask(places, n_columns))


def simulate_autoregressive(
    n_rows: int, n_columns: int, n_signals: int, correlation: float, *, random_state: Any = None
) -> Simulated:
    """Draw linear signals at random places among columns with correlation ``r^|j-k|``.

    Coefficients have a random sign and a size uniform in 0.5 to 1; the noise has 0.7 times the
    standard deviation of the signal.

    Examples
    --------
    >>> from tvstudy.simulation import simulate_autoregressive
    >>> simulate_autoregressive(100, 50, 10, 0.9, random_state=0).support.sum()
    np.int64(10)
    """
    rng = as_generator(random_state)
    X = autoregressive(correlation)(rng, n_rows, n_columns)
    places = rng.choice(n_columns, n_signals, replace=False)
    f = X[:, places] @ _coefficients(rng, n_signals)
    return Simulated(X, _with_noise(rng, f), f, _mask(places, n_columns))


def plant_signals(X: FloatArray, *, random_state: Any = None) -> Simulated:
    """Plant ten signals on given columns: four linear, six not.

    Of columns ``z`` at random places, standardised: ``z`` four times, ``z^2`` and ``z > 0``
    twice each, and the larger of the last two columns. Every term is standardised and has a
    random sign and a size uniform in 0.5 to 1; the noise has 0.7 times the standard deviation
    of the signal. Columns with fewer than 20 rows beside their most frequent value hold none.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.simulation import plant_signals
    >>> X = np.random.default_rng(0).random((100, 30))
    >>> plant_signals(X, random_state=0).support.sum()
    np.int64(10)
    """
    rng = as_generator(random_state)
    others = [len(X) - np.unique(x, return_counts=True)[1].max() for x in X.T]
    places = rng.choice(np.flatnonzero(np.array(others) >= FEWEST_OTHER), 10, replace=False)
    z = _standardised(X[:, places])
    terms = [z[:, :4], z[:, 4:6] ** 2, z[:, 6:8] > 0.0, z[:, 8:].max(axis=1, keepdims=True)]
    parts = _standardised(np.hstack(terms))
    f = parts @ _coefficients(rng, parts.shape[1])
    return Simulated(X, _with_noise(rng, f), f, _mask(places, X.shape[1]))


def _standardised(x: FloatArray) -> FloatArray:
    centred = x - x.mean(axis=0)
    return np.asarray(centred / centred.std(axis=0))


def _coefficients(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.choice((-1.0, 1.0), n) * rng.uniform(0.5, 1.0, n)


def _with_noise(rng: np.random.Generator, f: FloatArray) -> FloatArray:
    return f + NOISE * f.std() * rng.standard_normal(f.size)


def _mask(places: NDArray[np.int64], n_columns: int) -> NDArray[np.bool_]:
    mask = np.zeros(n_columns, dtype=np.bool_)
    mask[places] = True
    return mask
