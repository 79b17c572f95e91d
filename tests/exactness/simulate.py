"""The prior, simulated directly: independent of the sampler, by rejection.

``tests/core/simulate.h`` draws; here are the small tables that it draws for, and what is made of
the draws.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from tests.core import probes
from tests.core.probes import MAX_COLUMNS, MAX_NODES, MAX_ROWS
from tests.exactness.outcomes import draw_cuts, has_noise, n_forests
from tvselect.trees import BinnedTable, Prior, bin_table
from tvselect.trees import prior as priors


class Setting(NamedTuple):
    """A small table and a prior, whose scales of leaf means and noise are given directly."""

    table: BinnedTable
    prior: Prior
    leaf_sd: float
    noise_sum: float
    column_weights: np.ndarray
    pairs: np.ndarray
    groups: np.ndarray

    @property
    def codes(self):
        return np.ascontiguousarray(self.table.codes[:, : self.table.n_rows])


def make_setting(
    *, n_rows, n_columns, n_values, missing=False, seed=0,
    leaf_sd=0.7, noise_sum=1.5, column_weights=1.0, pairs=(), groups=(), **prior,
):  # fmt: skip
    """A table of small whole numbers, some of them missing."""
    rng = np.random.default_rng(seed)
    X = np.stack(
        [rng.permutation(np.arange(n_rows) % n_values) for _ in range(n_columns)], axis=1
    ).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.25] = np.nan
        X[: n_values - 1, :] = np.arange(n_values - 1)[:, None]
    return Setting(
        bin_table(X),
        Prior(**{"n_trees": 1, "min_leaf": 1, "noise_df": 5.0, **prior}),
        leaf_sd,
        noise_sum,
        np.broadcast_to(column_weights, n_columns).astype(float),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        np.sort(np.array(groups, dtype=np.int32)),
    )


@cache
def theta_grid(n_columns, a=0.5, b=1.0, floor=0.001, size=1000):
    cut = stats.beta(a, b).cdf(floor)
    u = stats.beta(a, b).ppf(cut + (1 - cut) * (np.arange(size) + 0.5) / size)
    return n_columns * u / (1 - u)


class Forest(NamedTuple):
    """Direct draws: nodes in preorder, a leaf has column -1."""

    theta_index: np.ndarray
    columns: np.ndarray
    cuts: np.ndarray
    missing_left: np.ndarray
    depths: np.ndarray
    means: np.ndarray
    sizes: np.ndarray


def simulate_forests(rng, setting, n_draws):
    """Draws of the prior, one row of every array each."""
    table, prior = setting.table, setting.prior
    assert table.n_rows <= MAX_ROWS
    assert table.n_columns <= MAX_COLUMNS
    shape = (n_draws, prior.n_trees, MAX_NODES)
    shapes = [shape[:1], *[shape] * 5, shape[:2]]
    forests = Forest(*map(np.zeros, shapes, ("i8", "i8", "i8", "b1", "i8", "f8", "i8")))
    probes.simulate(
        rng, setting.codes, table.cuts.n_cuts.astype(np.int64), table.has_missing,
        theta_grid(table.n_columns), prior.sparse, prior.min_leaf, prior.base, prior.power,
        setting.column_weights, setting.leaf_sd, *forests,
    )  # fmt: skip
    return forests


class State(NamedTuple):
    """What is drawn from a prior, or where a chain is; for classes the fit is (classes, rows)."""

    fit: np.ndarray
    counts: np.ndarray  # splits by column
    sigma: float
    cuts: np.ndarray
    theta_index: int
    ratio_index: int
    intercepts: np.ndarray | float = 0.0  # as the fit, where they are drawn


def draw_states(rng, setting, family, n_draws):
    """Direct draws of the prior, of the noise and of the cut points."""
    drawn, n = simulate_forests(rng, setting, n_draws), n_forests(family)
    for r in range(n_draws):
        forest = Forest(*(part[r] for part in drawn))
        fits = np.zeros((n, setting.table.n_rows))
        for k in range(n):  # tree t is one of class t % n
            parts = [
                getattr(forest, name)[k::n]
                for name in ("columns", "cuts", "missing_left", "means", "sizes")
            ]
            probes.evaluate(setting.codes, *map(np.ascontiguousarray, parts), fits[k])
        splits = (np.arange(MAX_NODES) < forest.sizes[:, None]) & (forest.columns >= 0)
        counts = np.bincount(forest.columns[splits], minlength=setting.table.n_columns)
        sigma = math.sqrt(setting.noise_sum / rng.chisquare(setting.prior.noise_df))
        sigma = sigma if has_noise(family) else 1.0
        fit, cuts = fits if n > 1 else fits[0], draw_cuts(rng, family)
        place, intercepts = 0, 0.0
        if setting.groups.size:
            place = int(rng.integers(priors.RATIOS.size))
            normal = rng.standard_normal((*fit.shape[:-1], 1 + setting.groups.max()))
            intercepts = sigma * math.sqrt(priors.RATIOS[place]) * normal[..., setting.groups]
        yield State(fit, counts, sigma, cuts, forest.theta_index, place, intercepts)


def prior_statistics(rng, setting, n_draws):
    """Splits, greatest depth, place of theta, splits by column: one row per draw."""
    n_columns = setting.table.n_columns
    out = np.zeros((n_draws, 3 + n_columns))
    for start in range(0, n_draws, 10_000):
        part = out[start : start + 10_000]
        forests = simulate_forests(rng, setting, len(part))
        is_node = np.arange(MAX_NODES) < forests.sizes[:, :, None]
        columns = np.where(is_node, forests.columns, -1)
        part[:, 0] = (columns >= 0).sum(axis=(1, 2))
        part[:, 1] = np.where(is_node, forests.depths, 0).max(axis=(1, 2))
        part[:, 2] = forests.theta_index
        for j in range(n_columns):
            part[:, 3 + j] = (columns == j).sum(axis=(1, 2))
    return out
