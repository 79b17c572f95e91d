"""Rewards by a function of one's own, p-values, importance in an estimator, the LASSO."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, expit, logit
from sklearn.base import clone, is_classifier
from sklearn.utils import check_scalar, get_tags
from sklearn.utils.validation import has_fit_parameter

from tvselect.core import function
from tvselect.inputs.errors import check_share
from tvselect.rewards.base import Data, Feedback, Floats, Reward

N_TREES = 50
Places = NDArray[np.int64]
Score = Callable[[Places, Places, np.random.Generator], Floats]
"""``score(columns, rows, rng)``: one number in [0, 1] for each of the columns, by these rows."""


@dataclass(eq=False, repr=False)
class FunctionReward(Reward):
    """The columns of a play scored by a function of one's own.

    Parameters
    ----------
    function : callable
        ``function(X, y, rng)``, with ``X`` a float array (rows, played columns), ``y`` the
        outcome (0 and 1 for the first and second class) and ``rng`` a numpy Generator:
        one value in [0, 1] for each column of ``X``. Fractions become 0 / 1 by a Bernoulli
        trial. Whatever is random in it must come from ``rng``, and it must not remember
        earlier plays; it may change its arguments, which are copies. It has to treat all columns
        alike: what a column gets may depend on its values, not on its place.
    rewards_stand_ins : bool, default=True
        Whether a column may get something only because it goes with another column of the
        table, in the play or not. Only of a function of which you know that it cannot, say
        False: it is then compared with shuffled decoys, else with knockoffs.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import ThompsonSelector
    >>> from tvselect.rewards import FunctionReward
    >>> def correlated(X, y, rng):
    ...     rows = rng.integers(len(y), size=len(y))
    ...     return [abs(np.corrcoef(x, y[rows])[0, 1]) > 0.5 for x in X[rows].T]
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 3 * X[:, 2] + rng.normal(size=100)
    >>> selector = ThompsonSelector(FunctionReward(correlated), n_plays=50, random_state=0)
    >>> selector.fit(X, y).get_feature_names_out()
    array(['x2'], dtype=object)
    """

    function: Callable[..., Any]
    rewards_stand_ins: bool = True

    def start(self, data: Data) -> Feedback:
        """Check the settings and return the feedback of a play on ``data``."""
        function = self.function
        if not callable(function):
            raise TypeError(f"function must be a callable (X, y, rng) -> values, got {function!r}")
        name = f"the reward function {getattr(function, '__name__', type(function).__name__)!r}"

        def feedback(columns: Places, rng: np.random.Generator) -> Floats:
            X, y = data.values(columns), data.outcome.values.copy()
            if data.n_effective is not None:
                rows = data.rows_of_play(rng)
                X, y = X[rows], y[rows]
            values = function(X, y, rng)
            return check_payoffs(values, len(columns), what=name)

        return feedback


def check_payoffs(values: Any, n_columns: int, *, what: str = "the reward") -> Floats:
    """The payoffs of a play as a new float array; an error names ``what`` returned others.

    Numbers outside [0, 1] by less than 1e-9, by rounding, are clipped.
    """
    wanted = f"return one number in [0, 1] for each of the {n_columns} played columns"
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} returned rows of different lengths; {wanted}") from None
    if array.dtype.kind not in "biuf":
        shown = type(values).__name__ if array.ndim == 0 else f"values of type {array.dtype}"
        raise TypeError(f"{what} returned no numbers but {shown}; {wanted}")
    if array.ndim != 1:
        raise ValueError(f"{what} returned an array of shape {array.shape}; {wanted}")
    if array.size != n_columns:
        raise ValueError(f"{what} returned {array.size} payoff(s); {wanted}")
    payoffs = array.astype(np.float64)
    bad = np.flatnonzero(~((payoffs >= -1e-9) & (payoffs <= 1.0 + 1e-9)))
    if bad.size:
        first = int(bad[0])
        remedy = "use 0 where nothing is known" if np.isnan(payoffs[first]) else "rescale or clip"
        raise ValueError(
            f"{what} returned {bad.size} payoff(s) outside [0, 1], the first at position {first} "
            f"({payoffs[first]}); {remedy}"
        )
    return np.clip(payoffs, 0.0, 1.0)


def on_replicates(data: Data, bootstrap: bool, score: Score) -> Feedback:
    """The feedback that scores columns on the rows of a play, or on as many with replacement.

    Draws with a constant outcome are repeated; after 100 of them all columns get 0.
    """
    check_scalar(bootstrap, "bootstrap", (bool, np.bool_))
    y = data.outcome.values

    def feedback(columns: Places, rng: np.random.Generator) -> Floats:
        if not bootstrap:
            return score(columns, data.rows_of_play(rng), rng)
        for _ in range(100):
            rows = data.rows_of_play(rng, again=True)
            if np.ptp(y[rows]) > 0.0:
                return score(columns, rows, rng)
        return np.zeros(len(columns))

    return feedback


@dataclass(eq=False, repr=False)
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
    >>> from tvselect import PValueReward, ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 3 * X[:, 2] + rng.normal(size=100)
    >>> selector = ThompsonSelector(PValueReward(alpha=0.001), n_plays=50, random_state=0)
    >>> selector.fit(X, y).get_feature_names_out()
    array(['x2'], dtype=object)
    """

    takes_missing = True

    alpha: float = 0.05
    bootstrap: bool = True

    def start(self, data: Data) -> Feedback:
        """Check the settings and return the feedback of a play on ``data``."""
        alpha = self.alpha
        check_share(alpha, "alpha")

        def score(columns: Places, rows: Places, rng: np.random.Generator) -> Floats:
            p = p_values(data.values(columns)[rows], data.outcome.values[rows])
            return (p < alpha).astype(np.float64)

        return on_replicates(data, self.bootstrap, score)


def p_values(X: Floats, y: Floats) -> Floats:
    """Two-sided p-value of each column's correlation with ``y``, without its missing values.

    It is 1 for constant columns and for fewer than three rows.
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


@dataclass(eq=False, repr=False)
class ImportanceReward(Reward):
    """Reward a column by its importance in a fitted estimator, relative to the largest one.

    The payoff is ``|importance| / max |importance|``: the best of the played columns gets
    1, the others a fraction that a Bernoulli trial turns into 0 or 1. Coefficients can be
    compared only if columns have the same scale: put a scaler before a linear model.

    Parameters
    ----------
    estimator : scikit-learn estimator, optional
        With ``feature_importances_`` or ``coef_`` after fitting, in its last step if it is a
        pipeline. It is cloned for every play and its random states are set. By default
        a random forest of 50 trees, a regressor or a classifier as the outcome requires.
    bootstrap : bool, default=True
        Whether a play looks at as many rows drawn with replacement. Without, the only
        randomness is that of the estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from tvselect import ImportanceReward, ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 4 * X[:, 2] + 4 * X[:, 3] + rng.normal(size=100)
    >>> selector = ThompsonSelector(ImportanceReward(Ridge()), n_plays=50, random_state=0)
    >>> selector.fit(X, y).get_feature_names_out()
    array(['x2', 'x3'], dtype=object)
    """

    families = (*Reward.families, "classes")

    estimator: Any = None
    bootstrap: bool = True

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes missing values."""
        return self.estimator is None or (
            _is_estimator(self.estimator) and bool(get_tags(self.estimator).input_tags.allow_nan)
        )

    @property
    def takes_weights(self) -> bool:  # type: ignore[override]
        """Whether the estimator's ``fit`` takes sample weights."""
        return self.estimator is None or (
            _is_estimator(self.estimator)
            and bool(has_fit_parameter(self.estimator, "sample_weight"))
        )

    def start(self, data: Data) -> Feedback:
        """Check the settings and return the feedback of a play on ``data``."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        estimator, weights = self.estimator, data.sample_weight
        has_classes = data.outcome.family in ("probit", "classes")
        if estimator is None:
            kind = RandomForestClassifier if has_classes else RandomForestRegressor
            estimator = kind(n_estimators=N_TREES, max_features="sqrt", min_samples_leaf=5)
        check_estimator(estimator, has_classes)
        template = clone(estimator)
        y = data.outcome.values.astype(np.int64) if has_classes else data.outcome.values

        def score(columns: Places, rows: Places, rng: np.random.Generator) -> Floats:
            model = seeded(template, rng)
            more = {} if weights is None else {"sample_weight": weights[rows]}
            model.fit(data.values(columns)[rows], y[rows], **more)
            importance = _importance(model)
            largest = importance.max(initial=0.0)
            shares = importance / largest if largest > 0.0 else importance
            return check_payoffs(shares, len(columns), what=f"the estimator {template!r}")

        return on_replicates(data, self.bootstrap, score)


def _is_estimator(candidate: Any) -> bool:
    wanted = ("fit", "get_params", "__sklearn_tags__")
    return not isinstance(candidate, type) and all(hasattr(candidate, name) for name in wanted)


def check_estimator(estimator: Any, has_classes: bool) -> None:
    """Refuse what is no estimator, or a classifier for a continuous outcome."""
    if not _is_estimator(estimator):
        raise TypeError(
            f"estimator must be an instance of a scikit-learn estimator, got {estimator!r}"
        )
    if is_classifier(estimator) and not has_classes:
        raise ValueError(
            f"estimator {estimator!r} is a classifier but y is continuous; pass a regressor"
        )


def seeded(template: Any, rng: np.random.Generator) -> Any:
    """A fresh copy of an estimator with random states, nested ones included, from ``rng``."""
    model = clone(template)
    states = [key for key in model.get_params() if f"__{key}".endswith("__random_state")]
    return model.set_params(**{key: int(rng.integers(2**31)) for key in sorted(states)})


def _importance(model: Any) -> Floats:
    from sklearn.pipeline import Pipeline

    last = model[-1] if isinstance(model, Pipeline) else model
    for name in ("feature_importances_", "coef_"):
        if hasattr(last, name):
            return np.atleast_2d(np.abs(np.asarray(getattr(last, name), dtype=float))).sum(axis=0)
    raise TypeError(
        f"estimator {last!r} has neither feature_importances_ nor coef_ when fitted; "
        "pass one that has, such as a forest or a linear model"
    )


@dataclass(eq=False, repr=False)
class LassoReward(Reward):
    """Reward the played columns with a non-zero LASSO coefficient.

    Columns, and a continuous outcome, are standardised. The loss is half the mean squared
    error, or for two classes the mean logistic loss; ``alpha`` times the sum of absolute
    coefficients is added, the intercept is free.

    Parameters
    ----------
    alpha : {"1se", "cv"} or float > 0, default="1se"
        The penalty. ``"cv"`` has the smallest error in a 5-fold cross-validation within
        the play, over 20 penalties down to a hundredth of the smallest at which all
        coefficients are zero; ``"1se"`` is the largest penalty within one standard error of
        it. With a number, a column played alone has a non-zero coefficient if its absolute
        correlation with a continuous outcome is larger.
    bootstrap : bool, default=True
        Whether a play looks at as many rows drawn with replacement. Without, and with a
        number as ``alpha``, a play has no randomness.
    max_iter : int, default=1000
        Maximum number of sweeps of coordinate descent per penalty.

    Notes
    -----
    A replicate enters as weights of the rows, so that copies of a row are never in both the
    training and the test part of a fold, where they would make noise look useful.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = 3 * X[:, 2] + rng.normal(size=100)
    >>> selector = ThompsonSelector(LassoReward(), n_plays=50, random_state=0)
    >>> selector.fit(X, y).get_feature_names_out()
    array(['x2'], dtype=object)
    """

    takes_weights = True

    alpha: str | float = "1se"
    bootstrap: bool = True
    max_iter: int = 1000

    def start(self, data: Data) -> Feedback:
        """Check the settings and return the feedback of a play on ``data``."""
        alpha = self.alpha
        wanted = f"alpha must be '1se', 'cv' or a positive number, got {alpha!r}"
        if isinstance(alpha, bool) or not isinstance(alpha, str | Real):
            raise TypeError(wanted)
        if not (alpha in ("1se", "cv") if isinstance(alpha, str) else 0.0 < alpha < math.inf):
            raise ValueError(wanted)
        max_iter = int(check_scalar(self.max_iter, "max_iter", Integral, min_val=1))

        def score(columns: Places, rows: Places, rng: np.random.Generator) -> Floats:
            problem = LassoProblem.of(data, columns, rows, max_iter)
            largest = 0.0 if problem is None else problem.largest_alpha()
            if problem is None or largest <= (0.0 if isinstance(alpha, str) else alpha):
                return np.zeros(len(columns))
            if isinstance(alpha, str):
                alphas = largest * np.geomspace(1.0, 0.01, 20)
                alphas = alphas[: _choose_alpha(problem, alphas, alpha == "1se", rng) + 1]
            else:
                alphas = np.geomspace(largest, alpha, 20)
            *_, (coef, _) = problem.path(alphas)
            return (coef != 0.0).astype(np.float64)

        return on_replicates(data, self.bootstrap, score)


descend = function(
    "descend",
    "x: f8[columns, rows]; y: f8[rows]; weight: f8[rows]; is_binary: bool; alpha: float;"
    "max_iter: int; places: i8[places] < columns; coef: f8[columns]!; eta: f8[rows]!;"
    "curvature: f8[rows]!; pull: f8[rows]!",
)
"""Sweep over some coefficients until none moves."""


@dataclass(frozen=True)
class LassoProblem:
    """A weighted LASSO; ``x`` holds standardised columns as rows, weights sum to one."""

    x: Floats
    y: Floats
    weight: Floats
    binary: bool
    max_iter: int

    @classmethod
    def of(cls, data: Data, columns: Places, rows: Places, max_iter: int) -> Self | None:
        """The problem on some columns and rows; None if the outcome is constant."""
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
        return cls(x, y if binary else _standardise(y[None], weight)[0], weight, binary, max_iter)

    def loss(self, eta: Floats) -> Floats:
        """Loss of each row."""
        return np.logaddexp(0.0, eta) - self.y * eta if self.binary else (self.y - eta) ** 2

    def null(self) -> Floats:
        """Linear predictor of the empty model."""
        mean = self.weight @ self.y
        return np.full(self.y.size, logit(np.clip(mean, 1e-9, 1 - 1e-9)) if self.binary else mean)

    def gradient(self, eta: Floats) -> Floats:
        """Minus the gradient of the loss; einsum, as threads of BLAS slow down those of plays."""
        mean = expit(eta) if self.binary else eta
        return np.einsum("ji,i->j", self.x, self.weight * (self.y - mean))

    def largest_alpha(self) -> float:
        """The smallest penalty at which all coefficients are zero, rounded up a little."""
        return (1.0 + 1e-9) * float(np.abs(self.gradient(self.null())).max())

    def path(self, alphas: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Coefficients and linear predictor at one penalty after the other, in falling order.

        Only columns that pass the sequential strong rule (Tibshirani et al., 2012) are fitted;
        any that it misses are found by the optimality conditions and added.
        """
        eta = self.null()
        coef = np.zeros(len(self.x))
        curvature, pull = np.empty_like(eta), np.empty_like(eta)
        gradient = self.gradient(eta)
        previous = np.abs(gradient).max()
        for alpha in alphas:
            chosen = (np.abs(gradient) >= 2.0 * alpha - previous) | (coef != 0.0)
            while True:
                places = np.flatnonzero(chosen)
                descend(
                    self.x, self.y, self.weight, self.binary, alpha, self.max_iter,
                    places, coef, eta, curvature, pull,
                )  # fmt: skip
                gradient = self.gradient(eta)
                missed = (np.abs(gradient) > (1.0 + 1e-5) * alpha) & ~chosen
                if not missed.any():
                    break
                chosen |= missed
            previous = alpha
            yield coef, eta


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
    """Index of the cross-validated penalty; stops when the error is one standard error above."""
    n = problem.y.size
    strata = problem.y if problem.binary else np.zeros(n)
    fold = np.empty(n, dtype=np.int64)
    fold[np.lexsort((rng.random(n), strata))] = np.arange(n) % min(5, n)
    tests = [problem.weight * (fold == k) for k in range(fold.max() + 1)]
    trains = [problem.weight * (fold != k) for k in range(fold.max() + 1)]
    shares = np.array([test.sum() for test in tests])
    paths = [replace(problem, weight=train / train.sum()).path(alphas) for train in trains]
    means: list[float] = []
    best, limit = 0, math.inf
    for fits in zip(*paths, strict=True):
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
