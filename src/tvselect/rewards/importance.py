"""The importance reward: how much any scikit-learn estimator makes of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import check_scalar, get_tags
from sklearn.utils.validation import has_fit_parameter

from tvselect.rewards.base import Data, Feedback, Reward
from tvselect.rewards.payoffs import check_payoffs, draw_rows

N_TREES = 50


class ImportanceReward(Reward):
    """Reward a column by its importance in a fitted estimator, over that of the best column.

    The payoff is ``|importance| / max |importance|``: the best of the played columns gets
    1, the others a fraction that a Bernoulli trial turns into 0 or 1. A coefficient is an
    importance only where columns have the same scale: put a scaler before a linear model.

    Parameters
    ----------
    estimator : scikit-learn estimator, optional
        Has ``feature_importances_`` or ``coef_`` when fitted; of a pipeline the last step
        is looked at. It is cloned for every play and its random states are set. By default
        a random forest of 50 trees, a regressor or a classifier as the outcome asks.
    bootstrap : bool, default=True
        Whether a play looks at as many rows drawn with replacement. Without, the only
        randomness is that of the estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from tvselect.inputs import read_outcome
    >>> from tvselect.rewards.base import Data
    >>> from tvselect.rewards.importance import ImportanceReward
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 4))
    >>> y = 4 * X[:, 2] + 2 * X[:, 3] + rng.normal(size=1000)
    >>> data = Data(X, read_outcome(y, 1000), ("a", "b", "c", "d"))
    >>> ImportanceReward(Ridge()).start(data)(np.array([1, 2, 3]), rng).round(1)
    array([0. , 1. , 0.5])
    """

    families = (*Reward.families, "classes")

    def __init__(self, estimator: Any = None, bootstrap: bool = True) -> None:
        self.estimator = estimator
        self.bootstrap = bootstrap

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
        bootstrap = self.bootstrap
        check_scalar(bootstrap, "bootstrap", (bool, np.bool_))
        has_classes = data.outcome.family in ("probit", "classes")
        estimator = _small_forest(has_classes) if self.estimator is None else self.estimator
        check_estimator(estimator, has_classes)
        template = clone(estimator)
        y = data.outcome.values.astype(np.int64) if has_classes else data.outcome.values

        def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
            rows = draw_rows(data, bootstrap, rng)
            if rows is None:
                return np.zeros(len(columns))
            model = seeded(template, rng)
            weights = (
                {} if data.sample_weight is None else {"sample_weight": data.sample_weight[rows]}
            )
            model.fit(data.values(columns)[rows], y[rows], **weights)
            importance = _importance(model)
            largest = importance.max(initial=0.0)
            shares = importance / largest if largest > 0.0 else importance
            return check_payoffs(shares, len(columns), what=f"the estimator {template!r}")

        return feedback


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


def _small_forest(has_classes: bool) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if has_classes else RandomForestRegressor
    return kind(n_estimators=N_TREES, max_features="sqrt", min_samples_leaf=5)


def seeded(template: Any, rng: np.random.Generator) -> Any:
    """A fresh copy with random states, nested ones included, from ``rng``."""
    model = clone(template)
    states = [key for key in model.get_params() if f"__{key}".endswith("__random_state")]
    return model.set_params(**{key: int(rng.integers(2**31)) for key in sorted(states)})


def _importance(model: Any) -> NDArray[np.float64]:
    from sklearn.pipeline import Pipeline

    last = model[-1] if isinstance(model, Pipeline) else model
    for name in ("feature_importances_", "coef_"):
        if hasattr(last, name):
            return np.atleast_2d(np.abs(np.asarray(getattr(last, name), dtype=float))).sum(axis=0)
    raise TypeError(
        f"estimator {last!r} has neither feature_importances_ nor coef_ when fitted; "
        "pass one that has, such as a forest or a linear model"
    )
