"""Figures of a selection. They need matplotlib (``tvselect[plot]``), importing them does not."""

from tvselect.after.dependence import JointEffect, joint_effect
from tvselect.plotting.effects import InteractionDisplay
from tvselect.plotting.paths import (
    SelectionPathDisplay,
    SelectionPaths,
    plot_traces,
    selection_paths,
)
from tvselect.plotting.rates import SelectionRateDisplay, plot_stability, top_arms

__all__ = [
    "InteractionDisplay",
    "JointEffect",
    "SelectionPathDisplay",
    "SelectionPaths",
    "SelectionRateDisplay",
    "joint_effect",
    "plot_stability",
    "plot_traces",
    "selection_paths",
    "top_arms",
]
