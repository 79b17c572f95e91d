"""Geweke's joint test, one kernel at a time.

Law: start at an exact draw of (parameters, data) from the prior, then alternate the
kernel under test with fresh data given the parameters. The joint law must not change:
over many replicates the means of test functions before and after agree within 4
standard errors of their paired difference.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.exactness.chains import start
from tests.exactness.outcomes import CENSORED_AT, FAMILIES, OFFSET, has_noise, n_forests
from tests.exactness.simulate import make_setting, simulate_forests
from tvselect.jit import kernel, part
from tvselect.trees.bits import (
    bit_place,
    in_bit_order,
    overlaps,
    rows_at_most,
    sum_over,
    weighted_sum,
)
from tvselect.trees.dirichlet import count_split, draw_concentration
from tvselect.trees.gibbs import run
from tvselect.trees.latents import draw_latents, forest_at_rows
from tvselect.trees.leaves import draw_leaf_means, set_leaf_mean
from tvselect.trees.noise import draw_precision, use_response
from tvselect.trees.pair_moves import move
from tvselect.trees.state import (
    BOUNDS,
    CLASSES,
    CONCENTRATION,
    COUNT,
    DEPTH,
    GRADES,
    LEAF,
    LEFT,
    LEVEL,
    LOWER,
    N_DONE,
    N_SPLITS,
    PRECISION,
    UPPER,
)
from tvselect.trees.structure import merge_leaves, nth_prunable, split_leaf

TREE, MEANS, NOISE, CONCENTRATION_DRAW, LATENTS, SWEEP = range(6)
KERNELS = {
    "birth, death and leaf means": TREE,
    "birth, death, pairs and leaf means": TREE,
    "birth, death, known pairs and leaf means": TREE,
    "leaf means": MEANS,
    "noise": NOISE,
    "concentration": CONCENTRATION_DRAW,
    "latents": LATENTS,
    "whole iteration": SWEEP,
}
N_FUNCTIONS = 10


@part
def clear(chain):
    """Back to stumps with means zero."""
    trees, leaves, tally, _, _ = chain
    for t in range(trees.splits.shape[0]):
        while trees.splits[t] > 0:
            merge_leaves(trees, leaves, t, nth_prunable(trees, t, 0))
    leaves.means[:] = 0.0
    leaves.fitted[:] = 0.0
    tally.columns[:] = 0
    tally.ladder[:] = 0
    tally.whole[:] = 0


@part
def plant(design, prior, chain, tree, columns, cuts, missing_left, means, size, stack):
    """Give a stump the shape and means of a tree in preorder."""
    trees, leaves, tally, response, proposal = chain
    stack[0] = 0
    top = 1
    for k in range(size):
        top -= 1
        node = stack[top]
        leaf = trees.nodes[tree, node, LEAF]
        if columns[k] < 0:
            set_leaf_mean(leaves, leaf, means[k])
            continue
        rows_at_most(
            design.codes, design.starts[columns[k]], int(design.widths[columns[k]]), leaves.masks,
            leaf, cuts[k], int(missing_left[k]), proposal.rows,
        )  # fmt: skip
        overlaps(leaves.masks, leaves.size[0], proposal.rows, proposal.shared)
        split_leaf(
            trees, leaves, proposal, tree, node, columns[k], cuts[k], int(missing_left[k]),
            sum_over(response.subset_sums, proposal.rows),
            weighted_sum(proposal.shared, leaves.means, leaves.size[0]),
        )  # fmt: skip
        count_split(tally, columns[k], 0, prior.burn)
        stack[top] = trees.nodes[tree, node, LEFT] + 1
        stack[top + 1] = trees.nodes[tree, node, LEFT]
        top += 2


@part
def fresh_data(rng, design, prior, chain, mask, fit):
    """Data given the parameters: outcomes, or latents and what is seen of them."""
    _, leaves, _, response, proposal = chain
    forest_at_rows(leaves, fit)
    sd = response.real[PRECISION] ** -0.5
    for i in range(fit.shape[0]):
        if mask[i]:
            value = fit[i] + sd * rng.standard_normal()
            response.values[i] = value
            if prior.latent == BOUNDS and prior.free_noise:
                see_times(response.observed, i, value)
            elif prior.latent == BOUNDS:
                response.observed[LOWER, i] = -OFFSET if value > -OFFSET else -np.inf
                response.observed[UPPER, i] = np.inf if value > -OFFSET else -OFFSET
            elif prior.latent == GRADES:
                level = 0
                while level < prior.cuts.shape[0] and value > response.cuts[level]:
                    level += 1
                response.observed[LEVEL, i] = level
    if prior.latent == CLASSES:
        see_classes(response, prior.cuts, design.n_rows)
    use_response(response, leaves, proposal)


@part
def see_times(observed, i, value):
    """A third is known, a third censored, a third rounded."""
    lower = upper = value
    if i % 3 == 1 and value > CENSORED_AT:
        lower, upper = CENSORED_AT, np.inf
    elif i % 3 == 2:
        lower = np.floor(value)
        upper = lower + 1.0
    observed[LOWER, i], observed[UPPER, i] = lower, upper


@part
def see_classes(response, offsets, n_rows):
    n_classes = offsets.shape[0]
    block = n_rows // n_classes
    for i in range(block):
        best, largest = 0, -np.inf
        for k in range(n_classes):
            latent = offsets[k] + response.values[bit_place(k * block + i)]
            if latent > largest:
                best, largest = k, latent
        for k in range(n_classes):
            response.observed[LEVEL, bit_place(k * block + i)] = best


@part
def functions(chain, fit, mask, out):
    trees, leaves, tally, response, _ = chain
    forest_at_rows(leaves, fit)
    out[0] = tally.whole[N_SPLITS]
    out[1] = tally.columns[0, COUNT]
    out[2] = tally.whole[CONCENTRATION]
    out[3] = np.log(response.real[PRECISION])
    depth = 0
    for t in range(trees.splits.shape[0]):
        for node in range(2 * trees.splits[t] + 1):
            depth = max(depth, trees.nodes[t, node, DEPTH])
    out[4] = depth
    square, cross, values = 0.0, 0.0, 0.0
    for i in range(fit.shape[0]):
        if mask[i]:
            square += fit[i] ** 2
            cross += fit[i] * response.values[i]
            values += response.values[i] ** 2
    out[5] = square
    # Heavy tails of the noise would drown these without a bound.
    out[6] = np.arctan(cross)
    out[7] = np.arctan(values / 30.0)
    out[8] = fit[0]
    out[9] = np.arctan(response.cuts[0])


@kernel
def replicates(
    rng, design, prior, chain, trace, under_test, n_rounds, noise_df, noise_sum, mask, theta_index,
    columns, cuts, missing_left, means, sizes, stack, fit, before, after,
):  # fmt: skip
    trees, leaves, tally, response, proposal = chain
    n_trees = trees.splits.shape[0]
    for r in range(theta_index.shape[0]):
        clear(chain)
        tally.whole[CONCENTRATION] = theta_index[r]
        response.real[PRECISION] = 1.0
        if prior.free_noise:
            response.real[PRECISION] = rng.chisquare(noise_df) / noise_sum
        if prior.latent == GRADES:
            one, two = rng.standard_normal(), rng.standard_normal()
            response.cuts[0], response.cuts[1] = min(one, two), max(one, two)
        for t in range(n_trees):
            plant(
                design, prior, chain, t, columns[r, t], cuts[r, t], missing_left[r, t],
                means[r, t], sizes[r, t], stack,
            )  # fmt: skip
        fresh_data(rng, design, prior, chain, mask, fit)
        functions(chain, fit, mask, before[r])
        for _ in range(n_rounds):
            if under_test in (TREE, MEANS):
                for t in range(n_trees):
                    if under_test == TREE:
                        move(rng, design, prior, chain, t, 0)
                    draw_leaf_means(
                        rng, trees, leaves, t, prior.leaf_precision, response.real[PRECISION]
                    )
            elif under_test == NOISE:
                draw_precision(
                    rng, response, leaves, design.n_rows, prior.noise_df, prior.noise_sum
                )
            elif under_test == CONCENTRATION_DRAW:
                draw_concentration(rng, tally, prior, design.columns.shape[0])
            elif under_test == LATENTS:
                draw_latents(rng, prior, response, leaves, proposal, design.n_rows)
                functions(chain, fit, mask, after[r])
            else:
                tally.whole[N_DONE] = 0
                run(rng, design, prior, chain, trace, 1)
            fresh_data(rng, design, prior, chain, mask, fit)
        if under_test != LATENTS:
            functions(chain, fit, mask, after[r])


def z_scores(name, family, n_replicates):
    setting = make_setting(
        n_rows=20,
        n_columns=3,
        n_values=4,
        n_trees=max(2, n_forests(family)),
        min_leaf=2,
        missing=True,
        sparse=True,
        column_weights=(0.6, 1.0, 0.3),
        pair_share=0.5 if "pairs" in name else 0.0,
        pairs=((0, 2), (2, 0)) if "known" in name else (),
        seed=2,
    )
    rng = np.random.default_rng(11)
    n_rows = setting.table.n_rows
    observed = np.ones(n_rows)
    if family in ("probit", "survival"):
        observed = np.stack([observed, 2.0 * observed])
    chain = start(setting, observed, rng=rng, n_iterations=1, family=family)
    mask = in_bit_order(np.ones(chain.design.n_rows)) == 1.0
    before = np.zeros((n_replicates, N_FUNCTIONS))
    after = np.zeros((n_replicates, N_FUNCTIONS))
    stack, fit = np.zeros(128, dtype=np.int64), np.zeros(chain.chain.response.values.size)
    for first in range(0, n_replicates, 10_000):
        some = slice(first, min(first + 10_000, n_replicates))
        drawn = simulate_forests(rng, setting, some.stop - first)
        replicates(
            rng, chain.design, chain.prior, chain.chain, chain.trace, KERNELS[name], 3,
            setting.noise_df, setting.noise_sum, mask, drawn.theta_index, drawn.columns, drawn.cuts,
            drawn.missing_left, drawn.means, drawn.sizes, stack, fit, before[some], after[some],
        )  # fmt: skip
    gap = after - before
    error = gap.std(axis=0, ddof=1) / np.sqrt(n_replicates)
    moved = error > 0
    return np.abs(gap.mean(axis=0)[moved] / error[moved]), int(moved.sum())


# Moves of trees see the values, not how they came about: two families are enough for them.
CASES = [
    (name, family)
    for name in KERNELS
    for family in FAMILIES
    if not (family == "gaussian" and name == "latents")
    and not (not has_noise(family) and name == "noise")
    and (family in ("gaussian", "probit") or name in ("latents", "whole iteration"))
]


@pytest.mark.parametrize(("name", "family"), CASES)
def test_a_kernel_leaves_the_joint_law_alone(name, family):
    z, n_moved = z_scores(name, family, n_replicates=20_000)
    assert n_moved >= 1
    assert np.all(z < 4), z


@pytest.mark.long
@pytest.mark.parametrize(("name", "family"), CASES)
def test_a_kernel_leaves_the_joint_law_alone_at_full_size(name, family, record_result):
    z, n_moved = z_scores(name, family, n_replicates=1_000_000)
    record_result(
        "Geweke, one kernel",
        f"{name}, {family}",
        f"{n_moved} functions moved, largest z {z.max():.2f}",
    )
    assert np.all(z < 4), z
