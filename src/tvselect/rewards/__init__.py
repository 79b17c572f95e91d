"""Feedback rules: the reward of a played variable."""

from typing import TYPE_CHECKING, Any

from tvselect.rewards.bart import BartReward
from tvselect.rewards.base import Data, Feedback, Reward
from tvselect.rewards.function import FunctionReward
from tvselect.rewards.lasso import LassoReward
from tvselect.rewards.pvalue import PValueReward

if TYPE_CHECKING:
    from tvselect.rewards.importance import ImportanceReward

__all__ = [
    "BartReward",
    "Data",
    "Feedback",
    "FunctionReward",
    "ImportanceReward",
    "LassoReward",
    "PValueReward",
    "Reward",
]


def __getattr__(name: str) -> Any:
    if name != "ImportanceReward":
        raise AttributeError(f"module 'tvselect.rewards' has no attribute {name!r}")
    from tvselect.rewards.importance import ImportanceReward  # with scikit-learn

    return ImportanceReward
