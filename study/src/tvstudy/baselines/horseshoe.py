"""Linear regression under the horseshoe prior, by Gibbs sampling."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsyrk
from sklearn.utils import check_scalar
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.scaling import in_old_units, standardise

STEP = 0.8
NO_REST = 1e-14
# Of a squared local scale: a half-Cauchy scale is outside once in a million times.
SMALLEST, LARGEST = 1e-100, 1e12


class Horseshoe(Baseline):
    """Columns whose coefficient has a credible interval without zero, horseshoe prior.

    Regression only: an outcome of two numbers is explained by least squares like any other.

    Parameters
    ----------
    n_iterations : int, default=5500
        Iterations in all, burn-in included; the paper ran 55,000.
    n_burn : int, default=500
        Iterations left out; 5,000 in the paper.
    level : float, default=0.95
        Of the credible interval, with equal tails.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    coef_ : float64 array
        Posterior means, in the units of the columns.
    share_positive_ : float64 array
        Share of the draws in which a coefficient is positive. The interval leaves zero out
        when it is below ``(1 - level) / 2`` or above ``(1 + level) / 2``; so no draws need
        to be kept.
    noise_, overall_scale_ : float64 array
        Noise standard deviation and global scale at each iteration, burn-in included.

    Notes
    -----
    With columns standardised and ``y`` centred, ``y ~ N(X b, s2 I)``, ``b_j ~ N(0, s2 t2
    l_j^2)`` with half-Cauchy ``l_j`` [1]_, ``p(s2) = 1 / s2``. The global scale ``t`` is
    half-Cauchy within [1/p, 1] [5]_: beyond, with more columns than rows, waits a model that
    fits without an error. The local scales are drawn through inverse-gamma auxiliaries [2]_;
    then, given these, ``t``, ``s2`` and the coefficients as one block: ``t`` by a Metropolis step
    with the others integrated out [4]_, for given the coefficients it moves by a share of about
    ``sqrt(2 / p)`` only and burn-in at 10,000 columns would take tens of thousands of
    iterations; the coefficients by the draw of [3]_, which takes ``n^2 p`` operations, and with
    no more columns than rows by the Cholesky factor of the posterior precision, ``p^3``.

    References
    ----------
    .. [1] Carvalho, C. M., Polson, N. G. and Scott, J. G. (2010). The horseshoe estimator for
       sparse signals. *Biometrika* 97(2), 465-480.
    .. [2] Makalic, E. and Schmidt, D. F. (2016). A simple sampler for the horseshoe
       estimator. *IEEE Signal Processing Letters* 23(1), 179-182.
    .. [3] Bhattacharya, A., Chakraborty, A. and Mallick, B. K. (2016). Fast sampling with
       Gaussian scale mixture priors in high-dimensional regression. *Biometrika* 103(4),
       985-991.
    .. [4] Johndrow, J. E., Orenstein, P. and Bhattacharya, A. (2020). Scalable approximate MCMC
       algorithms for the horseshoe prior. *Journal of Machine Learning Research* 21(73), 1-61.
    .. [5] van der Pas, S., Szabo, B. and van der Vaart, A. (2017). Adaptive posterior
       contraction rates for the horseshoe. *Electronic Journal of Statistics* 11(2), 3196-3225.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import Horseshoe
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 100))
    >>> y = 3 * X[:, 2] - 2 * X[:, 5] + rng.standard_normal(50)
    >>> found = Horseshoe(n_iterations=600, n_burn=100, random_state=0).fit(X, y)
    >>> found.get_support(indices=True)
    array([2, 5])
    """

    def __init__(
        self,
        n_iterations: int = 5500,
        n_burn: int = 500,
        level: float = 0.95,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.n_iterations = n_iterations
        self.n_burn = n_burn
        self.level = level
        self.verbose = verbose
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        n_iterations = int(check_scalar(self.n_iterations, "n_iterations", Integral, min_val=1))
        n_burn = check_scalar(self.n_burn, "n_burn", Integral, min_val=0, max_val=n_iterations - 1)
        check_scalar(
            self.level, "level", Real, min_val=0.0, max_val=1.0, include_boundaries="neither"
        )
        Z, scale = standardise(X)
        moves = scale > 0.0
        if not moves.all():
            Z = Z[:, moves]
        problem = state_problem(Z, y - y.mean())
        state = State(np.ones(Z.shape[1]), 1.0 / Z.shape[1])
        total, n_positive = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
        self.noise_, self.overall_scale_ = np.empty(n_iterations), np.empty(n_iterations)
        # The products are small: threads get in each other's way, and change the last digits.
        with threadpool_limits(1, user_api="blas"):
            for t in tqdm(range(n_iterations), desc="horseshoe", disable=self.verbose < 1):
                state, draw = iterate(problem, state, rng)
                self.noise_[t] = math.sqrt(draw.variance)
                self.overall_scale_[t] = math.sqrt(state.overall)
                if t >= n_burn:
                    total += draw.coef
                    n_positive += draw.coef > 0.0
        n_draws = n_iterations - n_burn
        coef, share = np.zeros(moves.size), np.full(moves.size, 0.5)
        coef[moves], share[moves] = total / n_draws, n_positive / n_draws
        self.coef_, self.share_positive_ = in_old_units(coef, scale), share
        return np.abs(share - 0.5) > 0.5 * self.level


class Problem(NamedTuple):
    """A linear regression, and what of it does not change from draw to draw.

    ``gram`` is ``x.T @ x`` where there are no more columns than rows, else None; ``inner`` is
    ``x.T @ y``.
    """

    x: Floats
    y: Floats
    gram: Floats | None
    inner: Floats


def state_problem(x: Floats, y: Floats) -> Problem:
    """The regression of ``y`` on the columns of ``x``, without intercept."""
    n, p = x.shape
    return Problem(x, y, x.T @ x if p <= n else None, x.T @ y)


class State(NamedTuple):
    """Squares of the local scales, one for each column, and of the global one."""

    local: Floats
    overall: float


class Draw(NamedTuple):
    """Noise variance and coefficients."""

    variance: float
    coef: Floats


def iterate(problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, Draw]:
    """One iteration: global scale, noise variance, coefficients, local scales."""
    spread = np.sqrt(state.local)
    scaled, cover = scale_columns(problem, spread)
    overall, fit = draw_overall(problem, spread, cover, state.overall, rng)
    variance = 0.5 * fit.rest / float(rng.standard_gamma(0.5 * problem.y.size))
    unit = draw_unit(problem, scaled, overall, fit, variance, rng)
    coef = math.sqrt(variance * overall) * spread * unit
    return State(draw_local(state.local, unit, rng), overall), Draw(variance, coef)


def scale_columns(problem: Problem, spread: Floats) -> tuple[Floats, Floats]:
    """Columns times their local scales, and their products (lower triangle).

    The products are those of rows where there are more columns, else those of columns.
    """
    if problem.gram is None:
        scaled = problem.x * spread
        return scaled, dsyrk(1.0, scaled, lower=1)
    return problem.x, problem.gram * np.outer(spread, spread)


class Fit(NamedTuple):
    """What the data say of a global scale, coefficients and noise variance integrated out.

    ``factor`` is the Cholesky factor of ``I + t2 * cover``, ``white`` solves it for the
    outcome, ``rest`` is ``y' (I + t2 X L X')^-1 y``.
    """

    factor: Floats
    white: Floats
    rest: float
    log_density: float


def weigh(problem: Problem, spread: Floats, cover: Floats, overall: float) -> Fit:
    """Posterior log density of the logarithm of a global scale, up to a constant."""
    matrix = overall * cover
    matrix[np.diag_indices(len(matrix))] += 1.0
    factor = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    square = float(problem.y @ problem.y)
    if problem.gram is None:
        white = solve_triangular(factor, problem.y, lower=True, check_finite=False)
        rest = float(white @ white)
    else:
        target = math.sqrt(overall) * spread * problem.inner
        white = solve_triangular(factor, target, lower=True, check_finite=False)
        rest = square - float(white @ white)
    rest = max(rest, NO_REST * square)
    prior = 0.5 * math.log(overall) - math.log1p(overall)
    likelihood = -float(np.log(factor.diagonal()).sum()) - 0.5 * problem.y.size * math.log(rest)
    return Fit(factor, white, rest, prior + likelihood)


def draw_overall(
    problem: Problem, spread: Floats, cover: Floats, overall: float, rng: np.random.Generator
) -> tuple[float, Fit]:
    """A step on the log scale, taken or not (Metropolis)."""
    fit = weigh(problem, spread, cover, overall)
    proposed = overall * math.exp(2.0 * STEP * float(rng.standard_normal()))
    if not problem.x.shape[1] ** -2.0 <= proposed <= 1.0:
        return overall, fit
    other = weigh(problem, spread, cover, proposed)
    taken = -float(rng.standard_exponential()) < other.log_density - fit.log_density
    return (proposed, other) if taken else (overall, fit)


def draw_unit(
    problem: Problem,
    scaled: Floats,
    overall: float,
    fit: Fit,
    variance: float,
    rng: np.random.Generator,
) -> Floats:
    """Coefficients divided by their prior standard deviations, given all scales.

    With more columns than rows, a draw from the prior is corrected by what the data say.
    """
    n, p = problem.x.shape
    if problem.gram is None:
        size = math.sqrt(overall)
        prior = rng.standard_normal(p)
        noisy = problem.y / math.sqrt(variance) - rng.standard_normal(n)
        gap = noisy - size * (scaled @ prior)
        return prior + size * (scaled.T @ cho_solve((fit.factor, True), gap, check_finite=False))
    noisy = fit.white / math.sqrt(variance) + rng.standard_normal(p)
    return solve_triangular(fit.factor, noisy, lower=True, trans="T", check_finite=False)


def draw_local(local: Floats, unit: Floats, rng: np.random.Generator) -> Floats:
    """Squares of the local scales given the coefficients, each after its own auxiliary."""
    auxiliary = (1.0 + 1.0 / local) / rng.standard_exponential(local.size)
    rate = 1.0 / auxiliary + 0.5 * unit**2 * local
    return np.clip(rate / rng.standard_exponential(local.size), SMALLEST, LARGEST)
