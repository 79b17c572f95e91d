"""What makes scikit-learn estimators of the selectors, in a file of their own for its import.

It takes longer than many a run, and the command line does without.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tvselect.inputs.columns import VALUES_IN_CACHE, in_blocks
from tvselect.inputs.doubts import DoubtWarning, find_doubts
from tvselect.inputs.table import as_given
from tvselect.rewards import Data
from tvselect.selectors.base import BanditFit, as_reward
from tvselect.selectors.thompson import ThompsonFit

MOST_VALUES = 2**28


class SupportSelector(TransformerMixin):  # type: ignore[misc]
    """The methods of scikit-learn's ``SelectorMixin``, for an estimator with ``support_``.

    That class lies in a package that takes as long to import as half of scikit-learn, so it
    is imported when a table is transformed, not when a selector is made.
    """

    support_: NDArray[np.bool_]

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """The selected columns, as a mask or as indices."""
        mask = self._get_support_mask()
        return np.flatnonzero(mask) if indices else mask

    def transform(self, X: Any) -> Any:
        """The selected columns of a table."""
        # Undecorated: set_output works on this method already.
        return _mixin().transform.__wrapped__(self, as_given(X))

    def inverse_transform(self, X: Any) -> Any:
        """A table of selected columns with zeros in place of the others."""
        return _mixin().inverse_transform(self, X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the selected columns."""
        return _mixin().get_feature_names_out(self, input_features)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def _transform(self, X: Any) -> Any:
        return _mixin()._transform(self, X)


class BanditSelector(BanditFit, SupportSelector, BaseEstimator):  # type: ignore[misc]
    """A fit as a scikit-learn selector."""

    def set_params(self, **params: Any) -> Self:
        """Change settings, also those of the reward that is played by default.

        Examples
        --------
        >>> from tvselect import ThompsonSelector
        >>> ThompsonSelector().set_params(reward__n_trees=50).reward.n_trees
        50
        """
        of_reward = any(name.startswith("reward__") for name in params)
        reward = params.get("reward", self.reward)
        if of_reward and (reward is None or isinstance(reward, str)):
            has_decoys = params.get("max_fdr", self.max_fdr) is not None and not self.is_stream
            params = {"reward": as_reward(reward, has_decoys), **params}
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = as_reward(self.reward).takes_missing
        return tags


class ThompsonSelector(ThompsonFit, BanditSelector):  # noqa: D101
    __doc__ = ThompsonFit.__doc__

    def _warn_of_doubts(self, data: Data) -> None:
        X = data.X
        if not isinstance(X, np.ndarray) or X.size > MOST_VALUES:
            return
        blocks = (
            (here.start, np.ascontiguousarray(X[:, here].T, dtype=np.float64))
            for here in in_blocks(X.shape[1], len(X), VALUES_IN_CACHE)
        )
        for doubt in find_doubts(data.names, blocks, data.outcome):
            warnings.warn(doubt.sentence, DoubtWarning, stacklevel=4)


def _mixin() -> Any:
    from sklearn.feature_selection import SelectorMixin

    return SelectorMixin
