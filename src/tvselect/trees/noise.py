"""The noise variance and the response that the forest is fitted to."""

from __future__ import annotations

import numpy as np

from tvselect.jit import part
from tvselect.trees.bits import sum_over, tabulate_sums
from tvselect.trees.state import PRECISION, SQUARES, Leaves, Proposal, ResponseState


@part
def use_response(response: ResponseState, leaves: Leaves, proposal: Proposal) -> None:
    """Bring everything that depends on ``response.values`` up to date."""
    tabulate_sums(response.values, response.subset_sums)
    for k in range(leaves.size[0]):
        for w in range(proposal.rows.shape[0]):
            proposal.rows[w] = leaves.masks[w, k]
        leaves.sums[k] = sum_over(response.subset_sums, proposal.rows)
    response.real[SQUARES] = 0.0
    for value in response.values:
        response.real[SQUARES] += value * value


@part
def residual_squares(response: ResponseState, leaves: Leaves) -> float:
    """Sum of squared residuals, from the sums over leaves alone."""
    total = response.real[SQUARES]
    for k in range(leaves.size[0]):
        total += leaves.means[k] * (leaves.fitted[k] - 2.0 * leaves.sums[k])
    return max(total, 0.0)


@part
def draw_precision(
    rng: np.random.Generator,
    response: ResponseState,
    leaves: Leaves,
    n_rows: int,
    noise_df: float,
    noise_sum: float,
) -> None:
    """Draw ``1 / sigma^2`` from its conditional: ``chi^2 / (nu lambda + residual squares)``."""
    spread = noise_sum + residual_squares(response, leaves)
    response.real[PRECISION] = rng.chisquare(noise_df + n_rows) / spread
