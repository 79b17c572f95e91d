"""What the selectors share: reading off what was found once the chains have played."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.oracle import Oracle
from tvselect.selectors.features import Deal
from tvselect.selectors.settings import as_reward

INTERVAL = (0.025, 0.975)


class BanditSelector(SelectorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A selector whose answer is read off chains of Thompson sampling."""

    reward: Any

    def _conclude(self, chains: Sequence[ThompsonChain], oracle: Oracle, dealt: Deal) -> Arms:
        """Pool the chains and read off what was found; returns the pooled arms."""
        pooled = pool([chain.arms for chain in chains])
        self.n_plays_ = max(chain.n_plays for chain in chains)
        self.threshold_ = by_feature(np.broadcast_to(pooled.threshold, len(pooled)), dealt, 0.0)
        self.support_ = _selected(oracle, pooled, dealt)
        a, b = pooled.posterior()
        self.inclusion_probabilities_ = by_feature(a / (a + b), dealt, 1.0)
        self.inclusion_intervals_ = np.column_stack(
            [by_feature(betaincinv(a, b, q), dealt, 1.0) for q in INTERVAL]
        )
        self.chain_supports_ = np.array([_selected(oracle, c.arms, dealt) for c in chains])
        self.chain_agreement_ = mean_jaccard(self.chain_supports_)
        self.inclusion_spread_ = by_feature(
            np.std([chain.arms.means() for chain in chains], axis=0), dealt, 0.0
        )
        return pooled

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = as_reward(self.reward).takes_missing
        return tags


def pool(runs: Sequence[Arms]) -> Arms:
    """The counts of several runs of the same game in one."""
    first = runs[0]
    pooled = Arms(len(first), first.prior_a, first.prior_b, first.threshold, first.discount)
    pooled.add(*runs)
    return pooled


def by_feature(values: NDArray[Any], dealt: Deal, always: Any) -> NDArray[Any]:
    """Values by arm to values by feature."""
    return np.where(dealt.arm_of_feature >= 0, values[dealt.arm_of_feature], always)


def mean_jaccard(sets: NDArray[np.bool_]) -> float:
    """Mean Jaccard index over pairs of rows; two empty sets agree. NaN for one row."""
    values = [
        (a & b).sum() / union if (union := (a | b).sum()) else 1.0 for a, b in combinations(sets, 2)
    ]
    return float(np.mean(values)) if values else float("nan")


def _selected(oracle: Oracle, arms: Arms, dealt: Deal) -> NDArray[np.bool_]:
    selected = np.zeros(len(arms), dtype=np.bool_)
    selected[oracle.model(arms)] = True
    return by_feature(selected, dealt, True)
