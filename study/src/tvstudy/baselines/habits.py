"""What people use by habit: a forest's importances, recursive elimination."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_scalar

from tvselect.inputs.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.estimators import check_estimator_fits, forest, seeded

MOST_STEPS = 20


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
    importances_ : float array
    threshold_ : float

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
        check_estimator_fits(template, binary)
        selector = SelectFromModel(seeded(template, rng), threshold=self.threshold).fit(X, y)
        self.threshold_ = float(selector.threshold_)
        model = selector.estimator_
        found = "feature_importances_" if hasattr(model, "feature_importances_") else "coef_"
        self.importances_ = np.abs(np.atleast_2d(getattr(model, found))).sum(axis=0)
        return np.asarray(selector.get_support(), dtype=np.bool_)


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
    ranking_ : int array
        1 for selected columns, 2 for those dropped last.
    cv_results_ : dict
        Of scikit-learn's RFECV: scores by number of columns.

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
        check_estimator_fits(template, binary)
        check_scalar(self.cv, "cv", Integral, min_val=2)
        n_folds = min(self.cv, int(np.bincount(y.astype(np.int64)).min()) if binary else y.size)
        if n_folds < 2:
            raise ValueError("cross-validation needs at least 2 rows of each class")
        folds = StratifiedKFold if binary else KFold
        selector = RFECV(
            seeded(template, rng),
            step=max(1, X.shape[1] // MOST_STEPS) if self.step is None else self.step,
            cv=folds(n_folds, shuffle=True, random_state=int(rng.integers(2**31))),
            scoring="neg_mean_squared_error" if not binary else None,
            n_jobs=1,
        ).fit(StandardScaler().fit_transform(X), y)
        self.ranking_, self.cv_results_ = selector.ranking_, selector.cv_results_
        return np.asarray(selector.support_, dtype=np.bool_)


def _by_name(estimator: Any, binary: bool) -> Any:
    if not isinstance(estimator, str):
        return estimator
    if estimator == "forest":
        return forest(binary, max_features="sqrt")
    if estimator == "linear":
        return LogisticRegression(max_iter=1000) if binary else Ridge()
    raise ValueError(f"estimator must be 'forest', 'linear' or an estimator, got {estimator!r}")
