"""Bayesian additive regression trees: an exact, fast sampler on any columns of a table.

Knows nothing of bandits. :func:`run_bart` is the face; :class:`Sampler` and
:func:`start_chain` are what a loop over many short runs uses.
"""

from tvselect.trees.bart import BartRun, Prediction, effective_size, r_hat, run_bart, run_to_end
from tvselect.trees.bins import BinnedTable, Cuts, bin_table
from tvselect.trees.forest import Forest
from tvselect.trees.prior import Prior
from tvselect.trees.response import Response, working_response
from tvselect.trees.sampler import Sampler, start_chain

__all__ = [
    "BartRun",
    "BinnedTable",
    "Cuts",
    "Forest",
    "Prediction",
    "Prior",
    "Response",
    "Sampler",
    "bin_table",
    "effective_size",
    "r_hat",
    "run_bart",
    "run_to_end",
    "start_chain",
    "working_response",
]
