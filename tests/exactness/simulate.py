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
from tvselect.trees import BinnedTable, bin_table


class Setting(NamedTuple):
    """A small table and a prior."""

    table: BinnedTable
    n_trees: int
    min_leaf: int
    base: float
    power: float
    sparse: bool
    leaf_sd: float
    noise_df: float
    noise_sum: float
    column_weights: np.ndarray
    pair_share: float
    pairs: np.ndarray
    latent_sweeps: int

    @property
    def codes(self):
        return np.ascontiguousarray(self.table.codes[:, : self.table.n_rows])


def make_setting(
    *,
    n_rows,
    n_columns,
    n_values,
    missing=False,
    n_trees=1,
    min_leaf=1,
    sparse=False,
    base=0.95,
    power=2.0,
    leaf_sd=0.7,
    noise_df=5.0,
    noise_sum=1.5,
    column_weights=1.0,
    pair_share=0.0,
    pairs=(),
    latent_sweeps=1,
    seed=0,
):
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
        n_trees,
        min_leaf,
        base,
        power,
        sparse,
        leaf_sd,
        noise_df,
        noise_sum,
        np.broadcast_to(column_weights, n_columns).astype(float),
        pair_share,
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        latent_sweeps,
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
    shape = (n_draws, setting.n_trees, MAX_NODES)
    forests = Forest(
        np.zeros(n_draws, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape, dtype=np.int64),
        np.zeros(shape),
        np.zeros(shape[:2], dtype=np.int64),
    )
    assert setting.table.n_rows <= MAX_ROWS
    assert setting.table.n_columns <= MAX_COLUMNS
    probes.simulate(
        rng, setting.codes, setting.table.cuts.n_cuts.astype(np.int64), setting.table.has_missing,
        theta_grid(setting.table.n_columns), setting.sparse, setting.min_leaf,
        setting.base, setting.power, setting.column_weights, setting.leaf_sd, *forests,
    )  # fmt: skip
    return forests


def forest_at(codes, forest):
    """Sum of the trees at every row."""
    out = np.zeros(codes.shape[1])
    parts = (forest.columns, forest.cuts, forest.missing_left, forest.means, forest.sizes)
    probes.evaluate(codes, *map(np.ascontiguousarray, parts), out)
    return out


def forests_at(codes, forest, n_forests):
    """The sum of the trees, or (classes, rows) where tree ``t`` is one of class ``t % n``."""
    if n_forests == 1:
        return forest_at(codes, forest)
    return np.array(
        [
            forest_at(codes, Forest(0, *(part[k::n_forests] for part in forest[1:])))
            for k in range(n_forests)
        ]
    )


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


def draw_sigma(rng, setting):
    return math.sqrt(setting.noise_sum / rng.chisquare(setting.noise_df))
