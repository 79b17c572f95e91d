"""Feedback rules: what a played variable is paid."""

from tvselect.rewards.bart import BartReward
from tvselect.rewards.base import Data, Feedback, Reward
from tvselect.rewards.function import FunctionReward
from tvselect.rewards.importance import ImportanceReward
from tvselect.rewards.lasso import LassoReward
from tvselect.rewards.pvalue import PValueReward

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
