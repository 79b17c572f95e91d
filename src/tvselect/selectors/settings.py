"""Settings that the selectors share, checked and brought to arms."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, check_scalar

from tvselect.bandit.oracle import threshold
from tvselect.rewards import BartReward, FunctionReward, Reward
from tvselect.selectors.features import Deal

PerArm = float | NDArray[np.float64]


def as_reward(reward: Reward | Callable[..., ArrayLike] | None) -> Reward:
    """The reward that a setting stands for."""
    if reward is None:
        return BartReward()
    if isinstance(reward, Reward):
        return reward
    return FunctionReward(reward)


def check_count(value: Any, name: str) -> None:
    """Refuse what is neither None nor a whole number from 1 on."""
    if value is not None:
        check_scalar(value, name, Integral, min_val=1)


def check_time_limit(time_limit: float | None) -> None:
    """Refuse what is neither None nor a positive number of seconds."""
    if time_limit is None:
        return
    check_scalar(time_limit, "time_limit", Real, min_val=0.0, include_boundaries="neither")
    if math.isnan(time_limit):
        raise ValueError("time_limit must be a number of seconds, got nan")


def check_wanted(n_features_to_select: int | None, dealt: Deal) -> None:
    """Refuse a model of more arms than there are."""
    if n_features_to_select is not None and n_features_to_select > dealt.n_arms:
        raise ValueError(
            f"n_features_to_select={n_features_to_select} is more than the "
            f"{dealt.n_arms} arms there are"
        )


def arm_thresholds(cost: float | ArrayLike, dealt: Deal) -> PerArm:
    """Thresholds of the arms from the costs of the features."""
    costs = per_arm(cost, dealt, "cost")
    if not np.all((np.asarray(costs) > 0) & (np.asarray(costs) < 1)):
        raise ValueError(f"cost must lie strictly between 0 and 1, got {cost!r}")
    return threshold(costs)


def arm_priors(prior: Any, dealt: Deal) -> tuple[PerArm, PerArm]:
    """Beta priors of the arms from those of the features."""
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise ValueError(f"prior must be a pair (a, b), got {prior!r}")
    a, b = (per_arm(value, dealt, "prior") for value in prior)
    for value in (a, b):
        if not (np.isfinite(value).all() and np.all(np.asarray(value) > 0)):
            raise ValueError(f"prior must be positive and finite, got {prior!r}")
    return a, b


def per_arm(value: Any, dealt: Deal, what: str) -> PerArm:
    """A setting for all, or one value per feature (alike within a group), by arm."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must hold numbers, got {value!r}") from None
    if array.ndim == 0:
        return float(array)
    if array.shape != dealt.arm_of_feature.shape:
        raise ValueError(
            f"{what} has shape {array.shape}; it takes one value, or one for each of the "
            f"{dealt.arm_of_feature.size} columns"
        )
    played = dealt.arm_of_feature >= 0
    by_arm = np.empty(dealt.n_arms)
    by_arm[dealt.arm_of_feature[played]] = array[played]
    if not np.array_equal(by_arm[dealt.arm_of_feature[played]], array[played], equal_nan=True):
        raise ValueError(f"{what} must be the same for all columns of a group")
    return by_arm


def entropy_of(random_state: Any) -> int:
    """Seed of a run."""
    if random_state is None:
        return secrets.randbits(128)
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state!r}")
        return int(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        words = random_state.generate_state(2, np.uint64)
        return int(words[0]) | int(words[1]) << 64
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(check_random_state(random_state).randint(2**31 - 1))
