"""Feedback rules: the reward of a played variable."""

from tvselect.rewards.bart import BartReward
from tvselect.rewards.base import Data, Feedback, Reward
from tvselect.rewards.rules import FunctionReward, ImportanceReward, LassoReward, PValueReward

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
