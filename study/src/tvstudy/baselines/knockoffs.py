"""The knockoff filter: columns that beat their knockoffs, at a bounded false discovery rate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path
from sklearn.utils import check_scalar

from tvselect.decoys import GaussianKnockoffs
from tvselect.inputs.seeds import RandomState
from tvselect.rewards.lasso_path import Problem, largest_alpha, walk
from tvstudy.baselines.base import Baseline, Floats, Mask

Compare = Callable[[Problem, int, np.random.Generator], Floats]

N_FOLDS = 10
N_ALPHAS = 100
SMALLEST_ALPHA = 1e-2
MAX_ITER = 1000
RANK = 1e-7


class KnockoffFilter(Baseline):
    """Select the columns whose LASSO statistic beats that of their knockoffs.

    Columns and knockoffs, standardised, enter one LASSO. ``W`` of a column is positive when
    it does better than its knockoff, negative when the knockoff does; the columns with
    ``W`` at or above the threshold of :func:`knockoff_threshold` are selected.

    Parameters
    ----------
    kind : {"gaussian", "fixed"}, default="gaussian"
        "gaussian" draws second-order model-X knockoffs [2]_, see
        :class:`tvselect.decoys.GaussianKnockoffs`. "fixed" makes fixed-X knockoffs [1]_,
        exact for a linear model with normal noise and any columns. They need more rows than
        columns; up to twice as many, rows of zeros with outcomes
        of the estimated noise are added, and control is approximate.
    q : float in (0, 1), default=0.1
        Bound of the false discovery rate.
    offset : {1, 0}, default=1
        1 is knockoff+, which controls the false discovery rate and selects nothing or at
        least ``1 / q`` columns; 0 is bolder and controls a modified rate.
    statistic : {"lasso_cv", "lasso_max"}, default="lasso_cv"
        "lasso_cv" is the difference of absolute coefficients at the penalty with the
        smallest error in a 10-fold cross-validation, of 100 penalties down to a hundredth of
        the largest. "lasso_max" is the larger of the penalties at which column and knockoff
        enter the path, with the sign of the winner; the path is exact, for two classes on
        the same 100 penalties. Take it with fixed-X knockoffs: folds look at more than inner
        products with the outcome, and the proof for fixed columns does not cover that.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    statistics_ : float array
        ``W``; 0 for constant columns.
    threshold_ : float
        Infinite when nothing is selected.

    Notes
    -----
    Two classes are modelled by a logistic LASSO with "gaussian", and refused with "fixed".
    Both kinds take the ``s`` of maximal entropy instead of the semidefinite programme; see
    :class:`tvselect.decoys.GaussianKnockoffs`. Memory grows with the squared number of
    columns and time with the cube: a few thousand columns are the limit.

    References
    ----------
    .. [1] Barber, R. F. and Candes, E. J. (2015). Controlling the false discovery rate via
       knockoffs. *Annals of Statistics* 43(5), 2055-2085.
    .. [2] Candes, E., Fan, Y., Janson, L. and Lv, J. (2018). Panning for gold: model-X
       knockoffs for high dimensional controlled variable selection. *JRSS B* 80(3), 551-577.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import KnockoffFilter
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(300, 40))
    >>> y = X[:, :6] @ np.ones(6) + rng.normal(size=300)
    >>> np.flatnonzero(KnockoffFilter(q=0.2, random_state=0).fit(X, y).support_)
    array([0, 1, 2, 3, 4, 5])
    """

    def __init__(
        self,
        kind: Literal["gaussian", "fixed"] = "gaussian",
        q: float = 0.1,
        offset: Literal[0, 1] = 1,
        statistic: Literal["lasso_cv", "lasso_max"] = "lasso_cv",
        *,
        random_state: RandomState = None,
    ) -> None:
        self.kind = kind
        self.q = q
        self.offset = offset
        self.statistic = statistic
        self.random_state = random_state

    @property
    def takes_classes(self) -> bool:  # type: ignore[override]
        """Whether two classes are modelled as such."""
        return self.kind == "gaussian"

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        for name, known in (
            ("kind", ("gaussian", "fixed")),
            ("statistic", ("lasso_cv", "lasso_max")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r}")
        _check_level(self.q, self.offset)
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0.0)
        self.statistics_ = np.zeros(X.shape[1])
        if varying.size:
            X = X[:, varying]
            if self.kind == "gaussian":
                copies = GaussianKnockoffs.estimate(X).draw(X, rng)
            else:
                X, copies, y = fixed_knockoffs(X, y, rng)
            compare = _coefficients if self.statistic == "lasso_cv" else _entries
            self.statistics_[varying] = _contrast(
                X, copies, y, compare, self.classes_ is not None, rng
            )
        self.threshold_ = knockoff_threshold(self.statistics_, self.q, self.offset)
        return self.statistics_ >= self.threshold_


def knockoff_threshold(statistics: ArrayLike, q: float, offset: int = 1) -> float:
    """Smallest threshold at which the estimated false discovery rate is at most ``q``.

    At threshold ``t`` that estimate is ``(offset + #{W <= -t}) / max(1, #{W >= t})``.

    Parameters
    ----------
    statistics : array of float
        ``W``, with the flip of sign that is fair under the null.
    q : float in (0, 1)
    offset : {1, 0}, default=1

    Returns
    -------
    float
        One of the ``|W| > 0``, or infinity.

    Examples
    --------
    >>> from tvstudy.baselines.knockoffs import knockoff_threshold
    >>> knockoff_threshold([5, 4, 4, -3, 2, 0], q=0.4)
    4.0
    >>> knockoff_threshold([5, 4, 4, -3, 2, 0], q=0.4, offset=0)
    2.0
    >>> knockoff_threshold([5, 4, 4, -3, 2, 0], q=0.2)
    inf
    """
    _check_level(q, offset)
    w = np.asarray(statistics, dtype=np.float64)
    for t in np.unique(np.abs(w[w != 0.0])):
        if (offset + np.sum(w <= -t)) / max(1, np.sum(w >= t)) <= q:
            return float(t)
    return math.inf


def fixed_knockoffs(
    X: Floats, y: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Fixed-X knockoffs, with rows added where there are too few.

    Parameters
    ----------
    X : array (n, p)
        More rows than columns, columns not constant.
    y : array (n,)
    rng : numpy.random.Generator
        Turns the knockoffs within what the Gram matrix leaves open, and gives the noise of
        added rows.

    Returns
    -------
    X, knockoffs : array (m, p)
        ``m = n``, or ``2 p + 2`` when ``n <= 2 p``. Centred columns of length 1. Both have
        the Gram matrix ``G``, and the one between them is ``G`` minus a diagonal.
    y : array (m,)
        Centred.

    Raises
    ------
    ValueError
        For fewer than ``p + 2`` rows, or columns that follow from the others.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines.knockoffs import fixed_knockoffs
    >>> rng = np.random.default_rng(0)
    >>> X, copies, y = fixed_knockoffs(rng.normal(size=(50, 4)), rng.normal(size=50), rng)
    >>> bool(np.allclose(copies.T @ copies, X.T @ X))
    True
    """
    n, p = X.shape
    if n < p + 2:
        raise ValueError(
            f"fixed-X knockoffs need at least 2 rows more than columns, got {n} rows and {p} "
            "columns that vary; take kind='gaussian'"
        )
    X = X - X.mean(axis=0)
    X = X / np.linalg.norm(X, axis=0)
    y = y - y.mean()
    gram = X.T @ X
    if np.linalg.eigvalsh(gram)[0] < RANK:
        raise ValueError(
            "fixed-X knockoffs need columns that do not follow from one another; drop "
            "duplicates and linear combinations, or take kind='gaussian'"
        )
    margins = [np.arange(n) < n]
    if n < 2 * p + 1:
        residual = y - X @ np.linalg.solve(gram, X.T @ y)
        sd = np.linalg.norm(residual) / math.sqrt(n - p - 1)
        n_new = 2 * p + 2 - n
        noise = sd * rng.standard_normal(n_new)
        X = np.vstack([X, np.zeros((n_new, p))])
        y = np.concatenate([y, noise - noise.mean()])
        margins = [np.arange(n + n_new) < n, np.arange(n + n_new) >= n]
    # Orthogonal to the means of old and new rows, so that no intercept disturbs the Gram matrix.
    taken = np.column_stack([*margins, X]).astype(np.float64)
    basis, _ = np.linalg.qr(np.hstack([taken, rng.standard_normal((len(X), p))]))
    free = basis[:, taken.shape[1] :]
    s = GaussianKnockoffs.from_correlation(np.zeros(p), np.ones(p), gram).s
    half = np.sqrt(s)
    inverse = np.linalg.inv(gram)
    values, vectors = np.linalg.eigh(half[:, None] * inverse * half)
    # s comes from a Gram matrix that was moved a little away from singularity.
    shrink = min(1.0, 2 / values[-1])
    s, half = shrink * s, math.sqrt(shrink) * half
    rest = np.sqrt(np.maximum(2 - shrink * values, 0.0))
    copies = X - X @ (inverse * s) + free @ (half[:, None] * vectors * rest).T
    return X, copies, y


def _check_level(q: float, offset: int) -> None:
    check_scalar(q, "q", Real, min_val=0.0, max_val=1.0, include_boundaries="neither")
    if math.isnan(q):
        raise ValueError("q must be a number between 0 and 1, got nan")
    if offset not in (0, 1):
        raise ValueError(f"offset must be 0 or 1, got {offset!r}")


def _contrast(
    X: Floats, copies: Floats, y: Floats, compare: Compare, binary: bool, rng: np.random.Generator
) -> Floats:
    """``W``, fair to both: column and knockoff change places by the toss of a coin."""
    n, p = X.shape
    swap = rng.random(p) < 0.5
    left, right = np.where(swap, copies, X), np.where(swap, X, copies)
    x = np.ascontiguousarray(np.hstack([left, right]).T)
    x -= x.mean(axis=1, keepdims=True)
    x /= x.std(axis=1, keepdims=True)
    if not binary:
        y = (y - y.mean()) / y.std()
    problem = Problem(x, y, np.full(n, 1 / n), binary, MAX_ITER)
    W = compare(problem, p, rng)
    return np.where(swap, -W, W)


def _coefficients(problem: Problem, p: int, rng: np.random.Generator) -> Floats:
    """Differences of absolute coefficients at the cross-validated penalty."""
    alphas = _grid(problem)
    *_, (coef, _) = walk(problem, alphas[: _best_alpha(problem, alphas, rng) + 1])
    return np.abs(coef[:p]) - np.abs(coef[p:])


def _best_alpha(problem: Problem, alphas: Floats, rng: np.random.Generator) -> int:
    """Place of the penalty with the smallest cross-validated error.

    The walk ends where the error is a standard error above the smallest: small penalties
    take most of the time.
    """
    n = problem.y.size
    strata = problem.y if problem.binary else np.zeros(n)
    fold = np.empty(n, dtype=np.int64)
    fold[np.lexsort((rng.random(n), strata))] = np.arange(n) % min(N_FOLDS, n)
    tests = [fold == k for k in range(fold.max() + 1)]
    trains = [np.where(test, 0.0, 1.0 / np.sum(~test)) for test in tests]
    walks = [walk(replace(problem, weight=train), alphas) for train in trains]
    best, smallest, limit = 0, math.inf, math.inf
    losses = np.empty(n)
    for place, fits in enumerate(zip(*walks, strict=True)):
        for test, (_, eta) in zip(tests, fits, strict=True):
            losses[test] = problem.loss(eta)[test]
        error = losses.mean()
        if error < smallest:
            best, smallest, limit = place, error, error + losses.std() / math.sqrt(n)
        elif error > limit:
            break
    return best


def _entries(problem: Problem, p: int, rng: np.random.Generator) -> Floats:
    """The larger of the penalties at which a pair enters, signed; 0 where both enter at once."""
    entry = _grid_entries(problem) if problem.binary else _exact_entries(problem)
    return np.maximum(entry[:p], entry[p:]) * np.sign(entry[:p] - entry[p:])


def _exact_entries(problem: Problem) -> Floats:
    with warnings.catch_warnings():
        # At the saturated end of the path, of no interest here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        alphas, _, coefs = lars_path(problem.x.T, problem.y, method="lasso")
    active = coefs != 0.0
    return np.where(active.any(axis=1), alphas[active.argmax(axis=1) - 1], 0.0)


def _grid_entries(problem: Problem) -> Floats:
    alphas = _grid(problem)
    entry = np.zeros(len(problem.x))
    for alpha, (coef, _) in zip(alphas, walk(problem, alphas), strict=True):
        entry[(entry == 0.0) & (coef != 0.0)] = alpha
    return entry


def _grid(problem: Problem) -> Floats:
    return largest_alpha(problem) * np.geomspace(1.0, SMALLEST_ALPHA, N_ALPHAS)
