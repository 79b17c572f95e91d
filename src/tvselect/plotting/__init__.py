"""Figures of a selection. They need matplotlib (``tvselect[plot]``), importing them does not."""

from tvselect.plotting.effects import JointEffect
from tvselect.plotting.interactions import InteractionDisplay, joint_effect
from tvselect.plotting.paths import InclusionPathDisplay, InclusionPaths, inclusion_paths
from tvselect.plotting.probabilities import InclusionProbabilityDisplay, top_arms
from tvselect.plotting.regret import RegretBand, plot_regret, regret_band

__all__ = [
    "InclusionPathDisplay",
    "InclusionPaths",
    "InclusionProbabilityDisplay",
    "InteractionDisplay",
    "JointEffect",
    "RegretBand",
    "inclusion_paths",
    "joint_effect",
    "plot_regret",
    "regret_band",
    "top_arms",
]
