"""Stability selection: columns that a LASSO takes on most half samples of the rows."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path
from sklearn.utils import check_scalar

from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.scaling import standardise


class StabilitySelection(Baseline):
    """Select the columns that the LASSO path takes first on most half samples.

    The rows are cut into two halves, many times [2]_. On each half the path is followed until a
    number of columns has entered; the share of halves in which a column has is its stability.
    The number is the largest for which at most ``max_false`` columns without a signal are
    expected among those selected [1]_.

    Regression only: an outcome of two numbers is explained by least squares like any other.

    Parameters
    ----------
    threshold : float in (0.5, 1), default=0.75
        Stability from which on a column is selected.
    max_false : float, default=1.0
        Bound of the expected number of false selections.
    n_pairs : int, default=50
        Times that the rows are cut in two.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    stabilities_ : float64 array
    n_first_ : int
        Columns that are taken from each path.

    Notes
    -----
    No Python library of it is kept: that of scikit-learn-contrib has seen no release since 2018.

    References
    ----------
    .. [1] Meinshausen, N. and Buehlmann, P. (2010). Stability selection. *JRSS B* 72(4), 417-473.
    .. [2] Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another
       look at stability selection. *JRSS B* 75(1), 55-80.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 500))
    >>> y = 3 * X[:, 2] - 2 * X[:, 5] + 2 * rng.standard_normal(200)
    >>> StabilitySelection(random_state=0).fit(X, y).get_support(indices=True)
    array([2, 5])
    """

    def __init__(
        self,
        threshold: float = 0.75,
        max_false: float = 1.0,
        n_pairs: int = 50,
        *,
        random_state: RandomState = None,
    ) -> None:
        self.threshold = threshold
        self.max_false = max_false
        self.n_pairs = n_pairs
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        check_scalar(
            self.threshold, "threshold", Real, min_val=0.5, max_val=1.0,
            include_boundaries="neither",
        )  # fmt: skip
        check_scalar(self.max_false, "max_false", Real, min_val=0.0, include_boundaries="neither")
        check_scalar(self.n_pairs, "n_pairs", Integral, min_val=1)
        n, p = X.shape
        bound = self.max_false * (2.0 * self.threshold - 1.0) * p
        self.n_first_ = max(1, min(p, math.floor(math.sqrt(bound))))
        taken = np.zeros(p)
        for _ in range(self.n_pairs):
            order = rng.permutation(n)
            for half in (order[: n // 2], order[n // 2 : 2 * (n // 2)]):
                taken[first_on_path(X[half], y[half], self.n_first_)] += 1.0
        self.stabilities_ = taken / (2 * self.n_pairs)
        return np.asarray(self.stabilities_ >= self.threshold)


def first_on_path(X: Floats, y: Floats, n_first: int) -> list[int]:
    """The first columns that enter the LASSO path; one that leaves it has entered all the same."""
    Z = standardise(X)[0]
    if not Z.any() or np.ptp(y) == 0.0:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        coefs = lars_path(Z, y - y.mean(), method="lasso", max_iter=2 * n_first)[2]
    entered = np.flatnonzero((coefs != 0.0).any(axis=1))
    order = (coefs[entered] != 0.0).argmax(axis=1)
    return [int(j) for j in entered[np.argsort(order, kind="stable")][:n_first]]
