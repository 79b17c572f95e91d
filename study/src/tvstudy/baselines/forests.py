"""Forests and elimination, all by libraries: importances, RFECV, Boruta."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from boruta import BorutaPy
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_scalar

from tvselect.rewards.rules import check_estimator, seeded
from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask

MOST_STEPS = 20


def forest(binary: bool, **settings: Any) -> Any:
    """A random forest for the kind of outcome, on one core."""
    kind = RandomForestClassifier if binary else RandomForestRegressor
    return kind(n_jobs=1, **settings)


class ForestBaseline(Baseline):
    """Select the columns with an importance above a threshold (``SelectFromModel``).

    Parameters
    ----------
    estimator : scikit-learn estimator, optional
        Has ``feature_importances_`` or ``coef_`` when fitted; its random states are set. By
        default scikit-learn's random forest as it comes, a regressor or a classifier as the
        outcome asks.
    threshold : str or float, default="mean"
        "mean", "median", a multiple such as "1.5*mean", or a number.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    selector_ : sklearn.feature_selection.SelectFromModel

    Notes
    -----
    Importances are positive and add up to 1, so that with "mean" noise columns are selected
    whatever the data: those above the mean of what the noise shares.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from tvstudy.baselines import ForestBaseline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 10))
    >>> y = 5 * X[:, 2] + 10 * (X[:, 6] - 0.5) ** 2
    >>> np.flatnonzero(ForestBaseline(RandomForestRegressor(20), random_state=0).fit(X, y).support_)
    array([2, 6])
    """

    takes_classes = True

    def __init__(
        self,
        estimator: Any = None,
        threshold: str | float = "mean",
        *,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        binary = self.classes_ is not None
        template = forest(binary) if self.estimator is None else self.estimator
        check_estimator(template, binary)
        self.selector_ = SelectFromModel(seeded(template, rng), threshold=self.threshold).fit(X, y)
        return np.asarray(self.selector_.get_support(), dtype=np.bool_)


class RfecvBaseline(Baseline):
    """Drop the least important columns step by step, the number by cross-validation (``RFECV``).

    Parameters
    ----------
    estimator : {"forest", "linear"} or scikit-learn estimator, default="forest"
        "forest" is a random forest of 100 trees with the square root of the columns at each
        split; "linear" a ridge or logistic regression. Columns are standardised before, so
        that coefficients compare. Random states are set.
    step : int or float, optional
        Columns to drop at a time, or their share of all columns. By default a twentieth of
        all, at least one: 20 steps, so that thousands of columns take minutes.
    cv : int, default=5
        Folds, shuffled, of equal classes where there are two.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    selector_ : sklearn.feature_selection.RFECV

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import RfecvBaseline
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(200, 10))
    >>> y = X[:, 2] - X[:, 6] + 0.5 * rng.normal(size=200)
    >>> np.flatnonzero(RfecvBaseline("linear", random_state=0).fit(X, y).support_)
    array([2, 6])
    """

    takes_classes = True

    def __init__(
        self,
        estimator: Any = "forest",
        step: int | float | None = None,
        cv: int = 5,
        *,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.step = step
        self.cv = cv
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        binary = self.classes_ is not None
        template = _by_name(self.estimator, binary)
        check_estimator(template, binary)
        check_scalar(self.cv, "cv", Integral, min_val=2)
        n_folds = min(self.cv, int(np.bincount(y.astype(np.int64)).min()) if binary else y.size)
        if n_folds < 2:
            raise ValueError("cross-validation needs at least 2 rows of each class")
        folds = StratifiedKFold if binary else KFold
        self.selector_ = RFECV(
            seeded(template, rng),
            step=max(1, X.shape[1] // MOST_STEPS) if self.step is None else self.step,
            cv=folds(n_folds, shuffle=True, random_state=int(rng.integers(2**31))),
            scoring="neg_mean_squared_error" if not binary else None,
            n_jobs=1,
        ).fit(StandardScaler().fit_transform(X), y)
        return np.asarray(self.selector_.support_, dtype=np.bool_)


def _by_name(estimator: Any, binary: bool) -> Any:
    if not isinstance(estimator, str):
        return estimator
    if estimator == "forest":
        return forest(binary, max_features="sqrt")
    if estimator == "linear":
        return LogisticRegression(max_iter=1000) if binary else Ridge()
    raise ValueError(f"estimator must be 'forest', 'linear' or an estimator, got {estimator!r}")


class Boruta(Baseline):
    """Select all columns that are more useful to a forest than shuffled ones (``BorutaPy``).

    Every iteration fits a forest to the columns that are still in and a shuffled copy of
    each. Columns that beat the best copy significantly more often than in half of the
    iterations are confirmed, and selected.

    Parameters
    ----------
    estimator : scikit-learn forest, optional
        By default a random forest like that of the R package: 500 trees, the square root of
        the columns at each split, leaves of at least 5 rows.
    n_iterations : int, default=100
        At most that many; fewer when everything is decided.
    alpha : float in (0, 1), default=0.05
        Level of the tests.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    selector_ : boruta.BorutaPy

    Notes
    -----
    The importance of a forest is its mean decrease in impurity; the R package takes permutation
    importances over their standard deviations. Boruta looks for all relevant columns, those
    that repeat others included, and controls no false discovery rate: every iteration shuffles
    the same sample, and a noise column that goes with the outcome in this sample by chance
    beats the copies again and again.

    References
    ----------
    .. [1] Kursa, M. B. and Rudnicki, W. R. (2010). Feature selection with the Boruta
       package. *Journal of Statistical Software* 36(11).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from tvstudy.baselines import Boruta
    >>> rng = np.random.default_rng(1)
    >>> X = rng.random((200, 10))
    >>> y = 5 * X[:, 2] + 10 * (X[:, 6] - 0.5) ** 2 + 0.1 * rng.normal(size=200)
    >>> quick = RandomForestRegressor(20, max_depth=5)
    >>> boruta = Boruta(quick, n_iterations=30, random_state=0).fit(X, y)
    >>> np.flatnonzero(boruta.support_)
    array([2, 6])
    """

    takes_classes = True

    def __init__(
        self,
        estimator: Any = None,
        n_iterations: int = 100,
        alpha: float = 0.05,
        *,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_iterations = n_iterations
        self.alpha = alpha
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        check_scalar(self.n_iterations, "n_iterations", Integral, min_val=1)
        check_scalar(
            self.alpha, "alpha", Real, min_val=0.0, max_val=1.0, include_boundaries="neither"
        )
        binary = self.classes_ is not None
        template = self.estimator
        if template is None:
            template = forest(binary, n_estimators=500, max_features="sqrt", min_samples_leaf=5)
        check_estimator(template, binary)
        if not hasattr(template, "n_estimators"):
            raise TypeError(f"estimator {template!r} is no forest: it has no n_estimators")
        model = seeded(template, rng)
        self.selector_ = BorutaPy(
            model,
            n_estimators=model.n_estimators,
            alpha=self.alpha,
            max_iter=self.n_iterations + 1,  # it stops before the last one
            random_state=int(rng.integers(2**31)),
        ).fit(X, y)
        return np.asarray(self.selector_.ranking_ == 1, dtype=np.bool_)
