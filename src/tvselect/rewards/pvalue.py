"""The p-value reward: 1 for a column whose own test rejects."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from tvselect.inputs.errors import check_scalar
from tvselect.rewards.base import Data, Feedback, Reward
from tvselect.rewards.payoffs import draw_rows

Floats = NDArray[np.float64]


class PValueReward(Reward):
    """Reward the played columns whose correlation with the outcome has ``p < alpha``.

    Every column is tested alone, by the t-test of a correlation; for two classes that is
    the two-sample t-test with a pooled variance. Rows where a column is missing are left
    out of that column's test.

    Parameters
    ----------
    alpha : float in (0, 1), default=0.05
    bootstrap : bool, default=True
        Whether a play looks at as many rows drawn with replacement. Without, a play has
        no randomness.

    Notes
    -----
    A replicate scatters the test statistic around that of the data: a column at
    ``p = alpha`` on the data is rewarded about every second time. In the long run the columns
    with a mean payoff above 1/2 are about those with ``p < alpha``, and of the columns
    without any effect a share of ``alpha`` is among them: with many columns take a small
    ``alpha``.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.inputs import read_outcome
    >>> from tvselect.rewards.base import Data
    >>> from tvselect.rewards.pvalue import PValueReward
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> y = 3 * X[:, 2] + rng.normal(size=100)
    >>> data = Data(X, read_outcome(y, 100), ("a", "b", "c", "d"))
    >>> PValueReward(alpha=0.001).start(data)(np.array([1, 2, 3]), rng)
    array([0., 1., 0.])
    """

    takes_missing = True

    def __init__(self, alpha: float = 0.05, bootstrap: bool = True) -> None:
        self.alpha = alpha
        self.bootstrap = bootstrap

    def start(self, data: Data) -> Feedback:
        """Check the settings and return the feedback of a play on ``data``."""
        alpha, bootstrap = self.alpha, self.bootstrap
        check_scalar(alpha, "alpha", Real, min_val=0.0, max_val=1.0, include_boundaries="neither")
        if math.isnan(alpha):
            raise ValueError("alpha must be a number between 0 and 1, got nan")
        check_scalar(bootstrap, "bootstrap", (bool, np.bool_))

        def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> Floats:
            rows = draw_rows(data, bootstrap, rng)
            if rows is None:
                return np.zeros(len(columns))
            p = p_values(data.values(columns)[rows], data.outcome.values[rows])
            return (p < alpha).astype(np.float64)

        return feedback


def p_values(X: Floats, y: Floats) -> Floats:
    """Two-sided p-value of each column's correlation with ``y``, over the rows where it is seen.

    It is 1 where nothing can be said: constant columns, fewer than three rows.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.rewards.pvalue import p_values
    >>> p_values(np.array([[1, 5.0], [2, 5], [3, 5], [5, 5]]), np.array([2.0, 1, 4, 5])).round(3)
    array([0.145, 1.   ])
    """
    seen = ~np.isnan(X)
    n = seen.sum(axis=0)
    x_part = _centred(X, seen, n)
    y_part = _centred(np.where(seen, y[:, None], np.nan), seen, n)
    scale = np.square(x_part).sum(axis=0) * np.square(y_part).sum(axis=0)
    squared = np.divide(
        np.square((x_part * y_part).sum(axis=0)), scale, out=np.zeros(n.size), where=scale > 0.0
    )
    # The squared correlation is Beta(1/2, (n - 2)/2) when there is no relation.
    p = betainc(np.maximum(n - 2, 1) / 2.0, 0.5, np.clip(1.0 - squared, 0.0, 1.0))
    return np.where(n > 2, p, 1.0)


def _centred(X: Floats, seen: NDArray[np.bool_], n: NDArray[np.int64]) -> Floats:
    """Columns over their range, minus their mean; exactly 0 where constant or missing."""
    low = np.fmin.reduce(X, axis=0)
    spread = np.fmax.reduce(X, axis=0) - low
    unit = np.where(seen & (spread > 0.0), X - low, 0.0) / np.where(spread > 0.0, spread, 1.0)
    mean = unit.sum(axis=0) / np.maximum(n, 1)
    return np.where(seen, unit - mean, 0.0)
