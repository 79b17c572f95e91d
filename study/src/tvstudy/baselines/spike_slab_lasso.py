"""The spike-and-slab LASSO: a LASSO whose penalty fades where the data speak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri
from sklearn.utils import check_scalar

from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.scaling import in_old_units, standardise

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")

THETA, VARIANCE = 0, 1
QUICK = 100
REFRESH = 10
STABLE = 5


class SpikeSlabLasso(Baseline):
    """Columns with a non-zero coefficient at the mode of a spike-and-slab LASSO posterior.

    Regression only: an outcome of two numbers is explained by least squares like any other.

    Parameters
    ----------
    lambda1 : float, default=0.1
        Rate of the slab, the Laplace prior of coefficients that matter.
    lambda0 : array of increasing floats, optional
        The ladder of rates of the spike; ``n_lambda0`` values from ``lambda1`` to the number
        of rows by default.
    n_lambda0 : int, default=100
    variance : "unknown" or float, default="unknown"
        The noise variance, a number where it is known.
    a, b : float, default=1.0, None
        The share of columns in the slab is Beta(a, b); None is the number of columns.
    max_iter : int, default=500
        At most that many sweeps for each step of the ladder.
    tol : float, default=1e-3
        A step is done when no coefficient moves by more than that share of itself.
    random_state : ignored
        There is no randomness.

    Attributes
    ----------
    support_ : bool array
    coef_ : float64 array
        In the units of the columns.
    lambda0_ : float
        Where on the ladder the model was read off.
    theta_, variance_ : float
        Share of columns in the slab and noise variance there.
    path_sizes_ : int64 array
        Number of columns in the model at each step of the ladder.
    n_iter_ : int
        Sweeps over the coefficients, on all steps.

    Notes
    -----
    With columns standardised (norm ``sqrt(n)``), the posterior mode maximises
    ``-||y - X b||^2 / (2 s2) + sum_j log(pi(b_j) / pi(0)) - (n + 2) / 2 log s2`` with
    ``pi`` the mixture of two Laplace densities with weights ``theta`` and ``1 - theta`` [1]_.
    Coordinates are updated by a threshold with a penalty between ``lambda1`` and ``lambda0``
    that depends on the coefficient; below the refined threshold of [1]_ a coefficient is set
    to zero, the better of the two local modes. ``theta`` is its conditional mean and ``s2``
    its conditional mode, refreshed after every ten coordinates [2]_. As in [2]_, ``s2`` starts
    at the mode of a scaled inverse chi-squared law with 3 degrees of freedom whose 90 per
    cent quantile is the variance of ``y``, and stays there until a step of the ladder has
    come to rest within 100 sweeps: before that, the model is nearly saturated. Where freeing
    it leads to a model with as many columns as rows, which fits without an error, the step is
    done again with ``s2`` held.

    Each step of the ladder starts from the one before. The model is that of the last five or
    more steps in a row that agree; of the last step where there are none.

    References
    ----------
    .. [1] Rockova, V. and George, E. I. (2018). The spike-and-slab LASSO. *Journal of the
       American Statistical Association* 113(521), 431-444.
    .. [2] Moran, G. E., Rockova, V. and George, E. I. (2019). Variance prior forms for
       high-dimensional Bayesian variable selection. *Bayesian Analysis* 14(4), 1091-1119.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import SpikeSlabLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 500))
    >>> y = 3 * X[:, 2] - 2 * X[:, 5] + rng.standard_normal(100)
    >>> SpikeSlabLasso().fit(X, y).get_support(indices=True)
    array([2, 5])
    """

    def __init__(
        self,
        lambda1: float = 0.1,
        lambda0: NDArray[np.float64] | None = None,
        n_lambda0: int = 100,
        variance: Literal["unknown"] | float = "unknown",
        a: float = 1.0,
        b: float | None = None,
        max_iter: int = 500,
        tol: float = 1e-3,
        random_state: RandomState = None,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda0 = lambda0
        self.n_lambda0 = n_lambda0
        self.variance = variance
        self.a = a
        self.b = b
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        n, p = X.shape
        penalty = self._penalty(p)
        ladder = self._ladder(n)
        variance = None if self.variance == "unknown" else float(self.variance)
        Z, scale = standardise(X)
        path = walk(
            np.ascontiguousarray(Z.T), y - y.mean(), ladder, penalty, variance, self.max_iter,
            self.tol,
        )  # fmt: skip
        place = last_stable([step.coef != 0.0 for step in path])
        step = path[place]
        self.coef_ = in_old_units(step.coef, scale)
        self.lambda0_ = float(ladder[place])
        self.theta_, self.variance_ = step.theta, step.variance
        self.path_sizes_ = np.array([np.count_nonzero(step.coef) for step in path])
        self.n_iter_ = sum(step.n_sweeps for step in path)
        return step.coef != 0.0

    def _penalty(self, n_columns: int) -> Penalty:
        for name in ("lambda1", "tol", "a"):
            _check_positive(getattr(self, name), name)
        if self.b is not None:
            _check_positive(self.b, "b")
        check_scalar(self.max_iter, "max_iter", Integral, min_val=1)
        if isinstance(self.variance, str):
            if self.variance != "unknown":
                raise ValueError(f"variance must be 'unknown' or a number, got {self.variance!r}")
        else:
            _check_positive(self.variance, "variance")
        b = n_columns if self.b is None else self.b
        return Penalty(float(self.lambda1), float(self.a), float(b))

    def _ladder(self, n_rows: int) -> Floats:
        if self.lambda0 is None:
            check_scalar(self.n_lambda0, "n_lambda0", Integral, min_val=1)
            top = max(float(n_rows), float(self.lambda1))
            return np.linspace(top, self.lambda1, self.n_lambda0)[::-1].copy()
        ladder = np.array(self.lambda0, dtype=np.float64, ndmin=1)
        lawful = ladder.ndim == 1 and ladder.size > 0 and np.isfinite(ladder).all()
        if not (lawful and ladder[0] >= self.lambda1 and (np.diff(ladder) > 0.0).all()):
            raise ValueError(
                f"lambda0 must be increasing numbers, none below lambda1={self.lambda1}, "
                f"got {self.lambda0!r}"
            )
        return ladder


def _check_positive(value: float, name: str) -> None:
    check_scalar(value, name, Real, min_val=0.0, include_boundaries="neither")
    if not math.isfinite(value):
        raise ValueError(f"{name} == {value}, must be finite.")


@dataclass(frozen=True)
class Penalty:
    """The prior but for the rate of its spike: rate of the slab, Beta law of its share."""

    lambda1: float
    a: float
    b: float


class Step(NamedTuple):
    """The mode at one step of the ladder, for standardised columns."""

    coef: Floats
    theta: float
    variance: float
    n_sweeps: int


def walk(
    x: Floats,
    y: Floats,
    ladder: Floats,
    penalty: Penalty,
    variance: float | None,
    max_iter: int,
    tol: float,
) -> list[Step]:
    """Posterior modes along the ladder; columns by row of ``x``, mean 0 and variance 1 or 0."""
    start = first_variance(y) if variance is None else variance
    state = np.array([0.5, start])
    coef, residual = np.zeros(len(x)), y.copy()

    def settle(lambda0: float, free: bool) -> Step:
        if not free:
            state[VARIANCE] = start
        n_sweeps = descend(
            x, residual, coef, state, lambda0, penalty.lambda1, penalty.a, penalty.b, free,
            max_iter, tol,
        )  # fmt: skip
        return Step(coef.copy(), float(state[THETA]), float(state[VARIANCE]), n_sweeps)

    path: list[Step] = []
    for lambda0 in ladder:
        free = variance is None and bool(path) and path[-1].n_sweeps < QUICK
        before = coef.copy(), residual.copy(), state.copy()
        step = settle(lambda0, free)
        if free and np.count_nonzero(coef) >= y.size:
            coef[:], residual[:], state[:] = before
            step = settle(lambda0, False)
        path.append(step)
    return path


def first_variance(y: Floats) -> float:
    """Where the noise variance starts, a rough guess far below the variance of ``y``."""
    return float(np.var(y, ddof=1)) * float(chdtri(3.0, 0.9)) / 5.0


def last_stable(models: list[Mask]) -> int:
    """Last place of the last models in a row that agree, or of all where too few do."""
    run = 1
    for place in range(len(models) - 1, 0, -1):
        run = run + 1 if np.array_equal(models[place], models[place - 1]) else 1
        if run == min(STABLE, len(models)):
            return place + run - 2
    return len(models) - 1


@compiled
def slab_share(size: float, theta: float, lambda0: float, lambda1: float) -> float:
    """Probability that a coefficient of that size comes from the slab."""
    odds = lambda0 / lambda1 * (1.0 - theta) / theta
    return 1.0 / (1.0 + odds * math.exp(-size * (lambda0 - lambda1)))


@compiled
def pull(size: float, theta: float, lambda0: float, lambda1: float) -> float:
    """The slope of the penalty: between the rates of slab and spike."""
    share = slab_share(size, theta, lambda0, lambda1)
    return share * lambda1 + (1.0 - share) * lambda0


@compiled
def threshold(n: int, variance: float, theta: float, lambda0: float, lambda1: float) -> float:
    """Below that, zero is the better mode of a coordinate."""
    at_zero = pull(0.0, theta, lambda0, lambda1)
    cost = -math.log(slab_share(0.0, theta, lambda0, lambda1))
    if (at_zero - lambda1) ** 2 > 2.0 * n / variance * cost:
        return math.sqrt(2.0 * n * variance * cost) + variance * lambda1
    return variance * at_zero


@compiled
def descend(
    x: Floats,
    residual: Floats,
    coef: Floats,
    state: Floats,
    lambda0: float,
    lambda1: float,
    a: float,
    b: float,
    free_variance: bool,
    max_iter: int,
    least_move: float,
) -> int:
    """Sweep over the coefficients until none moves; returns the number of sweeps.

    Coefficients at zero are looked at again when the others have come to rest.
    """
    p, n = x.shape
    n_used = 0
    for j in range(p):
        n_used += coef[j] != 0.0
    limit = threshold(n, state[VARIANCE], state[THETA], lambda0, lambda1)
    everything, since, sweep = True, 0, 0
    while sweep < max_iter:
        sweep += 1
        largest = 0.0
        for j in range(p):
            before = coef[j]
            if before == 0.0 and not everything:
                continue
            gain = n * before
            for i in range(n):
                gain += x[j, i] * residual[i]
            after = 0.0
            if abs(gain) > limit:
                shrink = state[VARIANCE] * pull(abs(before), state[THETA], lambda0, lambda1)
                after = math.copysign(max(abs(gain) - shrink, 0.0) / n, gain)
            if after != before:
                coef[j] = after
                n_used += (after != 0.0) - (before != 0.0)
                for i in range(n):
                    residual[i] -= (after - before) * x[j, i]
                largest = max(largest, abs(after - before) / max(abs(after), abs(before)))
            since += 1
            if since == REFRESH:
                since = 0
                refresh(residual, state, n_used, p, a, b, free_variance)
                limit = threshold(n, state[VARIANCE], state[THETA], lambda0, lambda1)
        saturated = free_variance and n_used >= n
        if saturated or (largest < least_move and everything):
            break
        everything = largest < least_move
    refresh(residual, state, n_used, p, a, b, free_variance)
    return sweep


@compiled
def refresh(
    residual: Floats, state: Floats, n_used: int, p: int, a: float, b: float, free_variance: bool
) -> None:
    """Share of the slab and noise variance, given the coefficients."""
    state[THETA] = (a + n_used) / (a + b + p)
    if free_variance:
        total = 0.0
        for i in range(residual.size):
            total += residual[i] * residual[i]
        state[VARIANCE] = total / (residual.size + 2.0)
