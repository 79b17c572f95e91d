"""The methods that Thompson Variable Selection is compared with, each with a selector's face."""

from tvstudy.baselines.alpha_investing import AlphaInvesting
from tvstudy.baselines.base import Baseline
from tvstudy.baselines.forests import Boruta, ForestBaseline, RfecvBaseline
from tvstudy.baselines.horseshoe import Horseshoe
from tvstudy.baselines.knockoffs import KnockoffFilter
from tvstudy.baselines.lasso import LassoBaseline
from tvstudy.baselines.spike_slab_lasso import SpikeSlabLasso
from tvstudy.baselines.stability import StabilitySelection
from tvstudy.baselines.trees import BartBaseline, SisBart

__all__ = [
    "AlphaInvesting",
    "BartBaseline",
    "Baseline",
    "Boruta",
    "ForestBaseline",
    "Horseshoe",
    "KnockoffFilter",
    "LassoBaseline",
    "RfecvBaseline",
    "SisBart",
    "SpikeSlabLasso",
    "StabilitySelection",
]
