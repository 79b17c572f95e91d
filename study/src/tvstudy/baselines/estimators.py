"""The scikit-learn estimators inside a baseline: checked, and seeded for every fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor


def forest(binary: bool, **settings: Any) -> Any:
    """A random forest for the kind of outcome, on one core."""
    kind = RandomForestClassifier if binary else RandomForestRegressor
    return kind(n_jobs=1, **settings)


def check_estimator_fits(estimator: Any, binary: bool) -> None:
    """Raise where it is no estimator, or a classifier for a continuous outcome.

    A regressor for two classes is taken: it sees 0 and 1.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must be an instance of a scikit-learn estimator, got {estimator!r}"
        )
    if is_classifier(estimator) and not binary:
        raise ValueError(
            f"estimator {estimator!r} is a classifier but y is continuous; pass a regressor"
        )


def seeded(template: Any, rng: np.random.Generator) -> Any:
    """A fresh copy with random states, nested ones included, from ``rng``."""
    model = clone(template)
    states = [key for key in model.get_params() if f"__{key}".endswith("__random_state")]
    return model.set_params(**{key: int(rng.integers(2**31)) for key in sorted(states)})
