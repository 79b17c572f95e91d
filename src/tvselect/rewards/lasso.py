"""The LASSO reward: 1 for a column with a non-zero coefficient."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.errors import check_scalar
from tvselect.rewards.base import Data, Feedback, Reward
from tvselect.rewards.lasso_path import Floats, LassoProblem, largest_alpha, walk
from tvselect.rewards.payoffs import draw_rows

N_FOLDS = 5
N_ALPHAS = 20
SMALLEST_ALPHA = 1e-2


class LassoReward(Reward):
    """Reward the played columns with a non-zero LASSO coefficient.

    Columns, and a continuous outcome, are standardised. The loss is half the mean squared
    error, or for two classes the mean logistic loss; ``alpha`` times the sum of absolute
    coefficients is added, the intercept is free.

    Parameters
    ----------
    alpha : {"1se", "cv"} or float > 0, default="1se"
        The penalty. ``"cv"`` has the smallest error in a 5-fold cross-validation within
        the play, over 20 penalties down to a hundredth of the one that leaves nothing;
        ``"1se"`` is the largest penalty within one standard error of it. As for a number:
        a column played alone has a non-zero coefficient when its absolute correlation with
        a continuous outcome is above it.
    bootstrap : bool, default=True
        Whether a play looks at as many rows drawn with replacement. Without, and with a
        number as ``alpha``, a play has no randomness.
    max_iter : int, default=1000
        At most that many sweeps of coordinate descent per penalty.

    Notes
    -----
    A replicate enters as a weight of each row, so that no row is on both sides of a fold:
    copies on both sides make noise look useful.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.inputs import read_outcome
    >>> from tvselect.rewards.base import Data
    >>> from tvselect.rewards.lasso import LassoReward
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> y = 3 * X[:, 2] + rng.normal(size=100)
    >>> data = Data(X, read_outcome(y, 100), ("a", "b", "c", "d"))
    >>> LassoReward().start(data)(np.array([1, 2, 3]), rng)
    array([0., 1., 0.])
    """

    takes_weights = True

    def __init__(
        self, alpha: str | float = "1se", bootstrap: bool = True, max_iter: int = 1000
    ) -> None:
        self.alpha = alpha
        self.bootstrap = bootstrap
        self.max_iter = max_iter

    def start(self, data: Data) -> Feedback:
        """Check the settings and return the feedback of a play on ``data``."""
        alpha, bootstrap, max_iter = self.alpha, self.bootstrap, self.max_iter
        _check_alpha(alpha)
        check_scalar(bootstrap, "bootstrap", (bool, np.bool_))
        check_scalar(max_iter, "max_iter", Integral, min_val=1)

        def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> Floats:
            rows = draw_rows(data, bootstrap, rng)
            problem = None if rows is None else _state_problem(data, columns, rows, int(max_iter))
            largest = 0.0 if problem is None else largest_alpha(problem)
            if problem is None or largest <= (0.0 if isinstance(alpha, str) else alpha):
                return np.zeros(len(columns))
            if isinstance(alpha, str):
                alphas = largest * np.geomspace(1.0, SMALLEST_ALPHA, N_ALPHAS)
                alphas = alphas[: _choose_alpha(problem, alphas, alpha == "1se", rng) + 1]
            else:
                alphas = np.geomspace(largest, alpha, N_ALPHAS)
            *_, (coef, _) = walk(problem, alphas)
            return (coef != 0.0).astype(np.float64)

        return feedback


def _check_alpha(alpha: str | float) -> None:
    if isinstance(alpha, Real) and not isinstance(alpha, bool):
        lawful = 0.0 < float(alpha) < math.inf
    elif isinstance(alpha, str):
        lawful = alpha in ("1se", "cv")
    else:
        raise TypeError(f"alpha must be '1se', 'cv' or a positive number, got {alpha!r}")
    if not lawful:
        raise ValueError(f"alpha must be '1se', 'cv' or a positive number, got {alpha!r}")


def _state_problem(
    data: Data, columns: NDArray[np.int64], rows: NDArray[np.int64], max_iter: int
) -> LassoProblem | None:
    weight = np.bincount(rows, minlength=data.n_rows).astype(np.float64)
    if data.sample_weight is not None:
        weight *= data.sample_weight
    kept = np.flatnonzero(weight)
    weight = weight[kept] / weight[kept].sum()
    y = data.outcome.values[kept]
    if kept.size == 0 or np.ptp(y) == 0.0:
        return None
    x = _standardise(data.values(columns)[kept].T, weight)
    binary = data.outcome.family == "probit"
    return LassoProblem(
        x, y if binary else _standardise(y[None], weight)[0], weight, binary, max_iter
    )


def _standardise(x: Floats, weight: Floats) -> Floats:
    """Mean 0 and variance 1 by row; constants become exactly 0."""
    low = x.min(axis=1, keepdims=True)
    spread = x.max(axis=1, keepdims=True) - low
    unit = np.ascontiguousarray((x - low) / np.where(spread > 0.0, spread, 1.0))
    unit -= (unit @ weight)[:, None]
    sd = np.sqrt(np.square(unit) @ weight)
    unit /= np.where(sd > 0.0, sd, 1.0)[:, None]
    return unit


def _choose_alpha(
    problem: LassoProblem, alphas: Floats, one_se: bool, rng: np.random.Generator
) -> int:
    """Place of the cross-validated penalty; the walk ends where the error has clearly risen."""
    n = problem.y.size
    strata = problem.y if problem.binary else np.zeros(n)
    fold = np.empty(n, dtype=np.int64)
    fold[np.lexsort((rng.random(n), strata))] = np.arange(n) % min(N_FOLDS, n)
    tests = [problem.weight * (fold == k) for k in range(fold.max() + 1)]
    trains = [problem.weight * (fold != k) for k in range(fold.max() + 1)]
    shares = np.array([test.sum() for test in tests])
    walks = [walk(replace(problem, weight=train / train.sum()), alphas) for train in trains]
    means: list[float] = []
    best, limit = 0, math.inf
    for fits in zip(*walks, strict=True):
        errors = [
            test @ problem.loss(eta) / share
            for test, share, (_, eta) in zip(tests, shares, fits, strict=True)
        ]
        means.append(float(shares @ errors))
        if means[-1] <= means[best]:
            best = len(means) - 1
            spread = shares @ (np.array(errors) - means[best]) ** 2
            limit = means[best] + math.sqrt(spread / (len(tests) - 1))
        elif means[-1] > limit:
            break
    return int(np.argmax(np.array(means) <= limit)) if one_se else best
