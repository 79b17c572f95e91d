"""All trees of a tiny table with their exact posterior."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln, logsumexp

from tests.exactness.simulate import theta_grid
from tvselect.trees import prior as priors
from tvselect.trees.state import MISSING


class Tree(NamedTuple):
    """A tree: its key, log prior without the columns, columns, and leaf memberships."""

    digits: tuple[int, ...]
    log_prior: float
    columns: tuple[int, ...]
    leaves: tuple[tuple[int, ...], ...]


def all_trees(setting):
    """Every allowed tree of the setting's table."""
    codes = setting.codes.astype(int)
    n_cuts = setting.table.cuts.n_cuts.astype(int)
    prior, n_rows = setting.prior, setting.table.n_rows

    def grow(rows, ranges, depth):
        p = prior.base * (1 + depth) ** -prior.power
        yield Tree((0,), math.log1p(-p), (), (tuple(rows),))
        for j, (low, high) in enumerate(ranges):
            coins = (0, 1) if setting.table.has_missing[j] else (0,)
            for cut, m in itertools.product(range(low, high), coins):
                left = [i for i in rows if codes[j, i] <= cut or (codes[j, i] == MISSING and m)]
                right = [i for i in rows if i not in left]
                if min(len(left), len(right)) < prior.min_leaf:
                    continue
                here = math.log(p) - math.log(high - low) - math.log(len(coins))
                below = [*ranges[:j], (low, cut), *ranges[j + 1 :]]
                above = [*ranges[:j], (cut + 1, high), *ranges[j + 1 :]]
                digit = 1 + 2 * (254 * j + cut) + m
                for a, b in itertools.product(
                    grow(left, below, depth + 1), list(grow(right, above, depth + 1))
                ):
                    yield Tree(
                        (digit, *a.digits, *b.digits),
                        here + a.log_prior + b.log_prior,
                        (j, *a.columns, *b.columns),
                        a.leaves + b.leaves,
                    )

    return list(grow(list(range(n_rows)), [(0, c) for c in n_cuts], 0))


def log_columns(columns, n_columns, sparse):
    """Log probability of the columns of all splits."""
    counts = np.bincount(columns, minlength=n_columns) if columns else np.zeros(n_columns, int)
    if not sparse:
        return -counts.sum() * math.log(n_columns)
    theta = theta_grid(n_columns)
    urn = gammaln(theta) - gammaln(theta + counts.sum())
    for c in counts:
        urn = urn + gammaln(theta / n_columns + c) - gammaln(theta / n_columns)
    return logsumexp(urn) - math.log(theta.size)


def log_likelihood(forest, y, leaf_sd, sigmas, groups):
    """Log density of y, leaf means and intercepts integrated out, for every sigma and rho."""
    Z = np.zeros((len(y), sum(len(tree.leaves) for tree in forest)))
    leaves = [leaf for tree in forest for leaf in tree.leaves]
    for k, rows in enumerate(leaves):
        Z[list(rows), k] = 1.0
    ratios = priors.RATIOS[:, None, None] if groups.size else np.zeros((1, 1, 1))
    is_same = groups[:, None] == groups if groups.size else np.zeros((len(y), len(y)))
    root = np.linalg.cholesky(np.eye(len(y)) + ratios * is_same)  # of the noise over sigma^2
    values, vectors = np.linalg.eigh(
        leaf_sd**2 * np.linalg.solve(root, np.linalg.solve(root, Z @ Z.T).swapaxes(1, 2))
    )
    white = np.linalg.solve(root, np.broadcast_to(y[:, None], (len(root), len(y), 1)))
    projected = (vectors.swapaxes(1, 2) @ white) ** 2
    variances = np.maximum(values, 0.0)[:, :, None] + np.square(sigmas)
    determinant = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)[:, None]
    return -determinant - 0.5 * np.sum(
        np.log(2 * np.pi * variances) + projected / variances, axis=1
    )


def posterior(setting, y, sigma):
    """Exact posterior of the forest: {tuple of digits per tree: probability}."""
    if sigma is None:
        n_sigmas = 100 if setting.groups.size else 4000
        u = (np.arange(n_sigmas) + 0.5) / n_sigmas
        sigmas = np.sqrt(setting.noise_sum / stats.chi2.ppf(u, setting.prior.noise_df))
    else:
        sigmas = np.array([sigma])
    trees = all_trees(setting)
    weights = {}
    for forest in itertools.product(trees, repeat=setting.prior.n_trees):
        columns = [j for tree in forest for j in tree.columns]
        weights[tuple(tree.digits for tree in forest)] = (
            sum(tree.log_prior for tree in forest)
            + log_columns(columns, setting.table.n_columns, setting.prior.sparse)
            + sum(math.log(setting.column_weights[j]) for j in set(columns))
            + logsumexp(log_likelihood(forest, y, setting.leaf_sd, sigmas, setting.groups))
        )
    total = logsumexp(list(weights.values()))
    return {forest: math.exp(w - total) for forest, w in weights.items()}
