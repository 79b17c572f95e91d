"""What the selectors share: reading off what was found once the chains have played."""

from __future__ import annotations

from abc import ABC
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tvselect.selectors.history import History
from tvselect.selectors.settings import as_reward
from tvselect.selectors.support import SupportSelector


class BanditSelector(SupportSelector, BaseEstimator, ABC):  # type: ignore[misc]
    """A selector whose answer is read off chains of Thompson sampling."""

    reward: Any

    def _conclude(self, history: History) -> None:
        """Read off what was found."""
        layout = history.layout
        self.history_ = history
        self.stop_reason_ = history.stop_reason
        self.n_plays_ = history.n_plays
        self.threshold_ = layout.by_feature(history.thresholds(), 0.0)
        self.support_ = history.support
        self.inclusion_probabilities_ = layout.by_feature(history.means(), 1.0)
        self.inclusion_intervals_ = np.column_stack(
            [layout.by_feature(bound, 1.0) for bound in history.intervals.T]
        )
        self.chain_supports_ = history.chain_supports
        self.chain_agreement_ = history.chain_agreement
        self.inclusion_spread_ = layout.by_feature(history.spread, 0.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = as_reward(self.reward).takes_missing
        return tags
