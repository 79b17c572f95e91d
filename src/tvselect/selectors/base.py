"""What the selectors share: parameters that they check, and reading off what was found."""

from __future__ import annotations

import math
import warnings
from abc import ABC
from collections.abc import Callable, Sequence
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from tvselect.bandit.arms import Arms
from tvselect.bandit.stopping import StopReason
from tvselect.rewards import BartReward, FunctionReward, Reward
from tvselect.selectors.game import Game
from tvselect.selectors.history import History

INTERVAL = (0.025, 0.975)


class BanditSelector(SelectorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A selector whose answer is read off chains of Thompson sampling."""

    reward: Any

    def _conclude(self, game: Game, reason: StopReason | None) -> Arms:
        """Pool the chains and read off what was found; returns the pooled arms."""
        layout, chains = game.layout, game.chains
        assert reason is not None
        self.stop_reason_ = reason
        self.n_plays_ = chains.n_plays
        pooled = pool([chain.arms for chain in chains])
        self.history_ = History(
            game.journal,
            len(chains),
            layout.names,
            layout.arm_of_feature,
            (pooled.prior_a, pooled.prior_b),
            pooled.discount,
            layout.decoy_of,
            layout.labels,
        )
        self.threshold_ = layout.by_feature(np.broadcast_to(pooled.threshold, len(pooled)), 0.0)
        supports = [_selected(game, arms) for arms in (pooled, *(c.arms for c in chains))]
        self.support_, self.chain_supports_ = supports[0], np.array(supports[1:])
        a, b = pooled.posterior()
        self.inclusion_probabilities_ = layout.by_feature(a / (a + b), 1.0)
        self.inclusion_intervals_ = np.column_stack(
            [layout.by_feature(betaincinv(a, b, q), 1.0) for q in INTERVAL]
        )
        self.chain_agreement_ = mean_jaccard(self.chain_supports_)
        self.inclusion_spread_ = layout.by_feature(
            np.std([chain.arms.means() for chain in chains], axis=0), 0.0
        )
        return pooled

    def _check_shared(self) -> None:
        """Refuse values that the parameters of both selectors cannot have."""
        check_scalar(self.n_chains, "n_chains", Integral, min_val=1)
        for name in ("patience", "n_features_to_select"):
            check_count(getattr(self, name), name)
        if self.time_limit is not None:
            check_scalar(
                self.time_limit, "time_limit", Real, min_val=0.0, include_boundaries="neither"
            )
            if math.isnan(self.time_limit):
                raise ValueError("time_limit must be a number of seconds, got nan")

    def _refuse_no_target(self, y: Any) -> None:
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None."
            )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = as_reward(self.reward).takes_missing
        return tags


def as_reward(reward: Reward | Callable[..., ArrayLike] | None) -> Reward:
    """The reward that a setting stands for."""
    if reward is None:
        return BartReward()
    return reward if isinstance(reward, Reward) else FunctionReward(reward)


def warn_of_interrupt(reason: StopReason | None, stacklevel: int) -> None:
    """Say that the result is not that of a whole run."""
    if reason is StopReason.INTERRUPTED:
        text = "interrupted; the result covers the plays so far"
        warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)


def check_count(value: Any, name: str) -> None:
    """Refuse what is neither None nor a whole number from 1 on."""
    if value is not None:
        check_scalar(value, name, Integral, min_val=1)


def pool(runs: Sequence[Arms]) -> Arms:
    """The counts of several runs of the same game in one."""
    first = runs[0]
    pooled = Arms(len(first), first.prior_a, first.prior_b, first.threshold, first.discount)
    pooled.add(*runs)
    return pooled


def mean_jaccard(sets: NDArray[np.bool_]) -> float:
    """Mean Jaccard index over pairs of rows; two empty sets agree. NaN for one row."""
    values = [
        (a & b).sum() / union if (union := (a | b).sum()) else 1.0 for a, b in combinations(sets, 2)
    ]
    return float(np.mean(values)) if values else float("nan")


def _selected(game: Game, arms: Arms) -> NDArray[np.bool_]:
    selected = np.zeros(len(arms), dtype=np.bool_)
    selected[game.chains[0].oracle.model(arms)] = True
    return game.layout.by_feature(selected, True)
