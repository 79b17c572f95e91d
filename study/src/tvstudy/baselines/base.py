"""What a baseline is: a method that Thompson Variable Selection is compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tvselect.inputs import Outcome, read_outcome
from tvselect.seeds import RandomState, as_generator

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Baseline(SelectorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A rival with the face of a selector: ``fit``, ``support_``, ``transform``, names.

    Subclasses are final. They hold settings, ``random_state`` among them, and say which
    columns they take in :meth:`_select`; there they may also set what else they found
    (``coef_`` and the like).

    Attributes
    ----------
    takes_classes : bool
        Whether an outcome of two classes is modelled as such. Where it is not, two numbers
        are numbers like any others, and labels are refused.
    """

    takes_classes: bool = False
    random_state: RandomState

    def fit(self, X: Any, y: Any) -> Self:
        """Select columns.

        Parameters
        ----------
        X : array-like or data frame (rows, columns)
            Finite numbers; missing values are refused.
        y : array-like
            A continuous outcome, or two classes where they are taken.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        outcome = self._read(y, X.shape[0])
        self.classes_ = outcome.classes
        self.support_ = self._select(X, outcome.values, as_generator(self.random_state))
        return self

    @abstractmethod
    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        """Mask of the selected columns, a pure function of settings, data and generator.

        ``X`` is finite and must not be written to, ``y`` is not constant. Where two classes
        are taken, ``y`` is 0 / 1 and ``self.classes_`` holds the labels; else that is None.
        """

    def _read(self, y: Any, n_rows: int) -> Outcome:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if self.takes_classes and (outcome := read_outcome(y, n_rows)).family == "probit":
            return outcome
        try:
            return read_outcome(y, n_rows, family="gaussian")
        except TypeError as error:
            raise TypeError(
                f"{type(self).__name__} explains a continuous outcome, and {error}"
            ) from None

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
