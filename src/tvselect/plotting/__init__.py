"""Figures of a selection. They need matplotlib (``tvselect[plot]``), importing them does not."""

from tvselect.plotting.effects import JointEffect
from tvselect.plotting.interactions import InteractionDisplay, joint_effect
from tvselect.plotting.paths import SelectionPathDisplay, SelectionPaths, selection_paths
from tvselect.plotting.rates import SelectionRateDisplay, top_arms

__all__ = [
    "InteractionDisplay",
    "JointEffect",
    "SelectionPathDisplay",
    "SelectionPaths",
    "SelectionRateDisplay",
    "joint_effect",
    "selection_paths",
    "top_arms",
]
