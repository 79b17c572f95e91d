"""The prior, simulated directly: independent of the sampler, by rejection.

Draw theta from its grid, s from the Dirichlet, then every tree from its root down;
throw everything away as soon as one split is not allowed (no cut left open, or a
child with too few rows), and once more with probability 1 - weight for every
column used. What survives has the joint law written down in
``docs/prior.md``.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numba
import numpy as np
from scipy import stats

from tvselect.trees import BinnedTable, bin_table

MAX_NODES = 127
MISSING = 255


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


@numba.njit(nogil=True, cache=True)
def draw_forest(
    rng, codes, n_cuts, has_missing, thetas, sparse, n_trees, min_leaf, base, power,
    column_weights, leaf_sd, columns, cuts, missing_left, depths, means, sizes,
):  # fmt: skip
    """Draw until a forest is allowed; fills the arrays (trees, nodes), returns theta's index."""
    n_columns, n_rows = codes.shape
    inside = np.zeros((MAX_NODES, n_rows), dtype=np.bool_)
    low = np.zeros((MAX_NODES, n_columns), dtype=np.int64)
    high = np.zeros((MAX_NODES, n_columns), dtype=np.int64)
    stack = np.zeros(MAX_NODES, dtype=np.int64)
    level = np.zeros(MAX_NODES, dtype=np.int64)
    used = np.zeros(n_columns, dtype=np.bool_)
    s = np.zeros(n_columns)
    s[:] = 1.0 / n_columns
    while True:
        theta_index = int(rng.random() * thetas.shape[0])
        if sparse:
            share = thetas[theta_index] / n_columns
            largest, total = -math.inf, 0.0
            for j in range(n_columns):
                s[j] = math.log(rng.standard_gamma(share + 1.0)) + math.log(rng.random()) / share
                largest = max(largest, s[j])
            for j in range(n_columns):
                s[j] = math.exp(s[j] - largest)
                total += s[j]
            for j in range(n_columns):
                s[j] /= total
        allowed = True
        used[:] = False
        for t in range(n_trees):
            n_nodes = 0
            top = 1
            stack[0], level[0] = 0, 0
            inside[0, :] = True
            low[0, :] = 0
            high[0, :] = n_cuts
            while top > 0 and allowed:
                top -= 1
                place, depth = stack[top], level[top]
                node = n_nodes
                n_nodes += 1
                depths[t, node] = depth
                columns[t, node] = -1
                means[t, node] = 0.0
                if rng.random() >= base * (1.0 + depth) ** -power:
                    means[t, node] = leaf_sd * rng.standard_normal()
                    continue
                u = rng.random()
                j = 0
                while j < n_columns - 1 and u >= s[j]:
                    u -= s[j]
                    j += 1
                if high[place, j] <= low[place, j] or n_nodes + top + 2 > MAX_NODES:
                    allowed = False
                    break
                cut = low[place, j] + int(rng.random() * (high[place, j] - low[place, j]))
                side = has_missing[j] and rng.random() < 0.5
                # The stack position doubles as the place of the node's rows and ranges: the
                # right child takes that of its parent. The left child is on top, so that
                # nodes are visited in preorder.
                right, left = place, top + 1
                n_left = 0
                n_right = 0
                for i in range(n_rows):
                    goes_left = codes[j, i] <= cut or (codes[j, i] == MISSING and side)
                    inside[left, i] = inside[place, i] and goes_left
                    inside[right, i] = inside[place, i] and not goes_left
                    n_left += inside[left, i]
                    n_right += inside[right, i]
                if n_left < min_leaf or n_right < min_leaf:
                    allowed = False
                    break
                for k in range(n_columns):
                    low[left, k], high[left, k] = low[place, k], high[place, k]
                high[left, j] = cut
                low[right, j] = cut + 1
                stack[top], level[top] = right, depth + 1
                stack[top + 1], level[top + 1] = left, depth + 1
                top += 2
                columns[t, node] = j
                used[j] = True
                cuts[t, node] = cut
                missing_left[t, node] = side
            if not allowed:
                break
            sizes[t] = n_nodes
        weight = 1.0
        for j in range(n_columns):
            if used[j]:
                weight *= column_weights[j]
        if allowed and rng.random() < weight:
            return theta_index


@numba.njit(nogil=True, cache=True)
def draw_forests(
    rng, codes, n_cuts, has_missing, thetas, sparse, n_trees, min_leaf, base, power,
    column_weights, leaf_sd, theta_index, columns, cuts, missing_left, depths, means, sizes,
):  # fmt: skip
    """One forest after the other."""
    for r in range(theta_index.shape[0]):
        theta_index[r] = draw_forest(
            rng, codes, n_cuts, has_missing, thetas, sparse, n_trees, min_leaf, base, power,
            column_weights, leaf_sd, columns[r], cuts[r], missing_left[r], depths[r], means[r],
            sizes[r],
        )  # fmt: skip


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
    draw_forests(
        rng, setting.codes, setting.table.cuts.n_cuts.astype(np.int64), setting.table.has_missing,
        theta_grid(setting.table.n_columns), setting.sparse, setting.n_trees, setting.min_leaf,
        setting.base, setting.power, setting.column_weights, setting.leaf_sd, *forests,
    )  # fmt: skip
    return forests


@numba.njit(nogil=True, cache=True)
def evaluate(codes, columns, cuts, missing_left, means, sizes):
    """Sum of the trees at every row, walking the preorder."""
    n_rows = codes.shape[1]
    out = np.zeros(n_rows)
    for t in range(columns.shape[0]):
        skip = np.ones(sizes[t], dtype=np.int64)
        for node in range(sizes[t] - 1, -1, -1):
            if columns[t, node] >= 0:
                left = node + 1
                right = left + skip[left]
                skip[node] = 1 + skip[left] + skip[right]
        for i in range(n_rows):
            node = 0
            while columns[t, node] >= 0:
                code = codes[columns[t, node], i]
                goes_left = code <= cuts[t, node] or (code == MISSING and missing_left[t, node])
                node = node + 1 if goes_left else node + 1 + skip[node + 1]
            out[i] += means[t, node]
    return out


def forest_at(codes, forest):
    return evaluate(
        codes, forest.columns, forest.cuts, forest.missing_left, forest.means, forest.sizes
    )


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
