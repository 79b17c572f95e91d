"""The LASSO with a cross-validated penalty, by scikit-learn."""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import KFold
from sklearn.utils import check_scalar

from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.scaling import in_old_units, standardise

N_ALPHAS = 100
MAX_ITER = 10_000
TOLERANCE = 1e-7


class LassoBaseline(Baseline):
    """Columns with a non-zero LASSO coefficient at a cross-validated penalty.

    Regression only: an outcome of two numbers is explained by least squares like any other.

    Parameters
    ----------
    rule : {"1se", "min"}, default="1se"
        ``"min"`` has the smallest cross-validated error, ``"1se"`` is the largest penalty
        whose error is within one standard error of it.
    n_folds : int, default=10
    random_state : None, int, SeedSequence or Generator
        Deals the rows into folds.

    Attributes
    ----------
    support_ : bool array
    coef_ : float64 array
        In the units of the columns.
    alpha_ : float
        The penalty of the standardised columns: half the mean squared error plus ``alpha_``
        times the sum of absolute coefficients is least.

    Notes
    -----
    Columns are standardised by all rows. As in R's glmnet, 100 penalties fall evenly on the log
    scale from the one that leaves nothing to a hundredth of it, or to a ten thousandth with
    more rows than columns.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import LassoBaseline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 500))
    >>> y = 3 * X[:, 2] - 2 * X[:, 5] + 2 * rng.standard_normal(200)
    >>> LassoBaseline(random_state=0).fit(X, y).get_support(indices=True)
    array([2, 5])
    """

    def __init__(
        self,
        rule: Literal["1se", "min"] = "1se",
        n_folds: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.rule = rule
        self.n_folds = n_folds
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        if self.rule not in ("1se", "min"):
            raise ValueError(f"rule must be '1se' or 'min', got {self.rule!r}")
        check_scalar(self.n_folds, "n_folds", Integral, min_val=2)
        Z, scale = standardise(X)
        unit = float(y.std())
        smallest = 1e-2 if len(X) < X.shape[1] else 1e-4
        alpha, coef = cross_validate(Z, y / unit, self.rule, int(self.n_folds), smallest, rng)
        self.alpha_, self.coef_ = unit * alpha, in_old_units(unit * coef, scale)
        return coef != 0.0


def cross_validate(
    Z: Floats,
    y: Floats,
    rule: Literal["1se", "min"],
    n_folds: int,
    smallest: float,
    rng: np.random.Generator,
) -> tuple[float, Floats]:
    """Penalty by cross-validation, and the coefficients there, for standardised columns.

    100 penalties, down to the share ``smallest`` of the one that leaves nothing.
    """
    if not np.any(Z):
        return 0.0, np.zeros(Z.shape[1])
    folds = KFold(min(n_folds, len(Z)), shuffle=True, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # At the smallest penalties the last digits take their time; they choose no columns.
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = LassoCV(eps=smallest, alphas=N_ALPHAS, cv=folds, max_iter=MAX_ITER).fit(Z, y)
        alpha = float(path.alpha_)
        if rule == "1se":
            alpha = one_standard_error(path.alphas_, path.mse_path_)
        return alpha, Lasso(alpha, max_iter=MAX_ITER, tol=TOLERANCE).fit(Z, y).coef_


def one_standard_error(alphas: Floats, errors: Floats) -> float:
    """The largest penalty with a mean error within one standard error of the smallest.

    ``errors`` by penalty, these in falling order, and fold.
    """
    means = errors.mean(axis=1)
    best = int(means.argmin())
    limit = means[best] + errors[best].std(ddof=1) / math.sqrt(errors.shape[1])
    return float(alphas[np.argmax(means <= limit)])
