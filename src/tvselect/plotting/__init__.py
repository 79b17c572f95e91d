"""Figures of a selection. They need matplotlib (``tvselect[plot]``), importing them does not."""

from tvselect.plotting.paths import InclusionPathDisplay, InclusionPaths, inclusion_paths
from tvselect.plotting.probabilities import InclusionProbabilityDisplay, top_arms
from tvselect.plotting.regret import RegretBand, plot_regret, regret_band

__all__ = [
    "InclusionPathDisplay",
    "InclusionPaths",
    "InclusionProbabilityDisplay",
    "RegretBand",
    "inclusion_paths",
    "plot_regret",
    "regret_band",
    "top_arms",
]
