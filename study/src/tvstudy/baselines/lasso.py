"""The LASSO with a cross-validated penalty."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram
from sklearn.utils import check_scalar

from tvselect.inputs.seeds import RandomState
from tvselect.rewards.lasso_path import Problem, largest_alpha, walk
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.scaling import in_old_units, standardise

N_ALPHAS = 100
MAX_ITER = 10_000
NO_SPREAD = 1e-7


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
    As R's glmnet does it: columns are standardised, within each fold by the rows that are fitted;
    100 penalties fall evenly on the log scale from the one that leaves nothing to a hundredth
    of it, or to a ten thousandth with more rows than columns; errors of the folds are averaged
    by size, and the standard error is that of this mean. With more rows than columns the path
    is scikit-learn's by least angles, else that of :class:`tvselect.LassoReward`; scikit-learn's
    by coordinates is the same (the tests compare them), but took nine times as long at 300 rows
    and 10,000 columns.

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
        n, p = X.shape
        Z, scale = standardise(X)
        unit = float(y.std())
        problem = Problem(
            np.ascontiguousarray(Z.T), (y - y.mean()) / unit, np.full(n, 1.0 / n), False, MAX_ITER
        )
        largest = largest_alpha(problem)
        self.alpha_, self.coef_ = unit * largest, np.zeros(p)
        if largest == 0.0:
            return np.zeros(p, dtype=np.bool_)
        alphas = largest * np.geomspace(1.0, 1e-2 if n < p else 1e-4, N_ALPHAS)
        fold = rng.permutation(np.arange(n) % min(int(self.n_folds), n))
        errors = fold_errors(problem, alphas, fold)
        chosen = choose_penalty(errors, np.bincount(fold), one_se=self.rule == "1se")
        *_, (coef, _) = path(problem, alphas[: chosen + 1])
        self.alpha_, self.coef_ = unit * float(alphas[chosen]), in_old_units(unit * coef, scale)
        return coef != 0.0


def fold_errors(problem: Problem, alphas: Floats, fold: NDArray[np.int64]) -> Floats:
    """Mean squared errors by penalty and fold, of the rows that were left out of the fit."""
    errors = np.empty((alphas.size, fold.max() + 1))
    for k in range(errors.shape[1]):
        left_out = fold == k
        weight = ~left_out / np.count_nonzero(~left_out)
        fitted = Problem(_restandardise(problem.x, weight), problem.y, weight, False, MAX_ITER)
        for place, (_, eta) in enumerate(path(fitted, alphas)):
            errors[place, k] = np.mean((problem.y[left_out] - eta[left_out]) ** 2)
    return errors


def path(problem: Problem, alphas: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Coefficients and linear predictor at one penalty after the other, in falling order.

    Where the fitted rows outnumber the columns, least angles give the whole path at once,
    unless they lose their way among columns that are copies of each other.
    """
    used = problem.weight > 0.0
    if np.count_nonzero(used) > len(problem.x):
        coefs = _least_angles(problem.x[:, used], problem.y[used], alphas)
        if coefs is not None:
            return ((coef, problem.weight @ problem.y + coef @ problem.x) for coef in coefs)
    return walk(problem, alphas)


def _least_angles(x: Floats, y: Floats, alphas: Floats) -> Floats | None:
    """Coefficients by penalty; nothing where they are not optimal at all of them."""
    gram, along = x @ x.T, x @ (y - y.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        knots, _, at_knots = lars_path_gram(
            along, gram, n_samples=y.size, method="lasso", alpha_min=alphas[-1], max_iter=MAX_ITER
        )
    coefs = np.array([np.interp(alphas, knots[::-1], coef[::-1]) for coef in at_knots]).T
    pulled = (along - coefs @ gram) / y.size
    slack = NO_SPREAD * (alphas[0] + np.abs(coefs).sum(axis=1))
    optimal = (np.abs(pulled).max(axis=1) <= alphas + slack) & (
        np.sum(coefs * pulled, axis=1) >= alphas * np.abs(coefs).sum(axis=1) - slack
    )
    return coefs if optimal.all() else None


def _restandardise(x: Floats, weight: Floats) -> Floats:
    """Standardised columns, by row of ``x``, standardised by some of their values alone."""
    x = x - (x @ weight)[:, None]
    sd = np.sqrt(x**2 @ weight)
    x *= np.where(sd > NO_SPREAD, 1.0 / np.maximum(sd, NO_SPREAD), 0.0)[:, None]
    return x


def choose_penalty(errors: Floats, sizes: NDArray[np.int64], *, one_se: bool) -> int:
    """Place of the penalty in a table of errors by penalty, in falling order, and fold."""
    share = sizes / sizes.sum()
    means = errors @ share
    best = int(means.argmin())
    if not one_se:
        return best
    variance = float((errors[best] - means[best]) ** 2 @ share)
    limit = means[best] + math.sqrt(variance / (sizes.size - 1))
    return int(np.argmax(means <= limit))
