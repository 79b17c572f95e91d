"""The knockoff filter: columns that beat their knockoffs, at a bounded false discovery rate."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path
from sklearn.utils import check_scalar

from tvselect import ThompsonSelector
from tvselect.decoys import Knockoffs
from tvselect.decoys.knockoffs import most_entropy
from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.lasso import cross_validate
from tvstudy.baselines.scaling import standardise

N_FOLDS = 10
SMALLEST = 1e-2
RANK = 1e-7
FLOOR = 1e-6


class KnockoffFilter(Baseline):
    """Select the columns whose statistic beats that of their knockoffs.

    Columns and knockoffs, standardised, enter one LASSO (or one search). ``W`` of a column is
    positive when it does better than its knockoff, negative when the knockoff does; the columns
    with ``W`` at or above the threshold of :func:`knockoff_threshold` are selected.

    Regression only: an outcome of two numbers is explained by least squares like any other.

    Parameters
    ----------
    kind : {"gaussian", "fixed"}, default="gaussian"
        "gaussian" draws second-order model-X knockoffs [2]_, see
        :class:`tvselect.decoys.Knockoffs`; ``W`` is the difference of absolute
        coefficients at the penalty with the smallest error in a 10-fold cross-validation.
        "fixed" makes fixed-X knockoffs [1]_, exact for a linear model with normal noise and any
        columns; ``W`` is the larger of the penalties at which column and knockoff enter the
        LASSO path, with the sign of the winner. They need more rows than columns; up to twice as
        many, rows of zeros with outcomes of the estimated noise are added, and control is
        approximate.
    q : float in (0, 1), default=0.1
        Bound of the false discovery rate.
    statistic : {"lasso", "tvs"}, default="lasso"
        Of Gaussian knockoffs. "tvs": columns and knockoffs are the arms of one Thompson Variable
        Selection without error control of its own, and ``W`` is the difference of their
        selection rates.
    offset : {1, 0}, default=1
        1 is knockoff+, which controls the false discovery rate and selects nothing or at
        least ``1 / q`` columns; 0 is bolder and controls a modified rate.
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
    Both kinds take the ``s`` of maximal entropy instead of the semidefinite programme. Memory
    grows with the squared number of columns and time with the cube: a few thousand columns are
    the limit.

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
        statistic: Literal["lasso", "tvs"] = "lasso",
        *,
        random_state: RandomState = None,
    ) -> None:
        self.kind = kind
        self.q = q
        self.offset = offset
        self.statistic = statistic
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        if self.kind not in ("gaussian", "fixed"):
            raise ValueError(f"kind must be 'gaussian' or 'fixed', got {self.kind!r}")
        if self.statistic not in STATISTICS:
            raise ValueError(f"statistic must be 'lasso' or 'tvs', got {self.statistic!r}")
        if self.kind == "fixed" and self.statistic != "lasso":
            raise ValueError("statistic='tvs' needs kind='gaussian'")
        _check_level(self.q, self.offset)
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0.0)
        self.statistics_ = np.zeros(X.shape[1])
        if varying.size:
            X = X[:, varying]
            if self.kind == "gaussian":
                copies = Knockoffs.estimate(X).draw(X, rng)[0]
            else:
                X, copies, y = fixed_knockoffs(X, y, rng)
            # Fair to both: column and knockoff change places by the toss of a coin.
            swap = rng.random(varying.size) < 0.5
            pairs = np.hstack([np.where(swap, copies, X), np.where(swap, X, copies)])
            measure = STATISTICS[self.statistic] if self.kind == "gaussian" else entries
            left, right = np.split(measure(standardise(pairs)[0], y / y.std(), rng), 2)
            W = left - right if self.kind == "gaussian" else _winner(left, right)
            self.statistics_[varying] = np.where(swap, -W, W)
        self.threshold_ = knockoff_threshold(self.statistics_, self.q, self.offset)
        return self.statistics_ >= self.threshold_


def coefficients(Z: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """Absolute coefficients at the cross-validated penalty."""
    return np.abs(cross_validate(Z, y, "min", N_FOLDS, SMALLEST, rng)[1])


def selection_rates(Z: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """Selection rates of a search by the paper's median rule."""
    selector = ThompsonSelector(max_fdr=None, n_jobs=1, random_state=int(rng.integers(2**31)))
    return np.asarray(selector.fit(Z, y).selection_rates_)


STATISTICS = {"lasso": coefficients, "tvs": selection_rates}


def entries(Z: Floats, y: Floats, rng: np.random.Generator) -> Floats:
    """The penalty at which each column enters the path; looks at inner products alone."""
    with warnings.catch_warnings():
        # At the saturated end of the path, of no interest here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        alphas, _, coefs = lars_path(Z, y - y.mean(), method="lasso")
    active = coefs != 0.0
    return np.where(active.any(axis=1), alphas[active.argmax(axis=1) - 1], 0.0)


def _winner(left: Floats, right: Floats) -> Floats:
    return np.maximum(left, right) * np.sign(left - right)


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
    s = most_entropy((1 - FLOOR) * gram + FLOOR * np.eye(p))
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
