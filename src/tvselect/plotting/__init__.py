"""Figures of a selection. They need matplotlib (``tvselect[plot]``), importing them does not."""

from tvselect.plotting.effects import JointEffect
from tvselect.plotting.interactions import InteractionDisplay, joint_effect
from tvselect.plotting.paths import SelectionPathDisplay, SelectionPaths, selection_paths
from tvselect.plotting.rates import SelectionRateDisplay, top_arms
from tvselect.plotting.regret import RegretBand, plot_regret, regret_band

__all__ = [
    "InteractionDisplay",
    "JointEffect",
    "RegretBand",
    "SelectionPathDisplay",
    "SelectionPaths",
    "SelectionRateDisplay",
    "joint_effect",
    "plot_regret",
    "regret_band",
    "selection_paths",
    "top_arms",
]
