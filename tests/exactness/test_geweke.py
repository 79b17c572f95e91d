"""Geweke's joint test, one kernel at a time.

Law: start at an exact draw of (parameters, data) from the prior, then alternate the
kernel under test with fresh data given the parameters. The joint law must not change:
over many replicates the means of test functions before and after agree within 4
standard errors of their paired difference. The loop is in ``tests/core/geweke.h``.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.probes import replicates
from tests.exactness.chains import in_two_sizes, start
from tests.exactness.outcomes import FAMILIES, has_noise, n_forests
from tests.exactness.simulate import make_setting, simulate_forests
from tvselect.trees.state import in_bit_order

TREE, MEANS, NOISE, CONCENTRATION_DRAW, LATENTS, SWEEP, RATIO = range(7)
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
KERNELS |= {
    f"{name}, groups": kernel for name, kernel in KERNELS.items() if name != "concentration"
}
KERNELS["variance of groups, groups"] = RATIO
N_FUNCTIONS = 12


def z_scores(name, family, n_replicates):
    setting = make_setting(
        n_rows=20, n_columns=3, n_values=4, n_trees=max(2, n_forests(family)), min_leaf=2,
        missing=True, sparse=True, column_weights=(0.6, 1.0, 0.3),
        pair_share=0.5 if "pairs" in name else 0.0,
        pairs=((0, 2), (2, 0)) if "known" in name else (), seed=2,
        groups=np.arange(20) % 9 // 2 if name.endswith("groups") else (),
    )  # fmt: skip
    rng = np.random.default_rng(11)
    n_rows = setting.table.n_rows
    observed = np.ones(n_rows)
    if family in ("probit", "survival"):
        observed = np.stack([observed, 2.0 * observed])
    chain = start(setting, observed, rng=rng, n_iterations=1, family=family)
    mask = in_bit_order(np.ones(chain.design.n_rows)) == 1.0
    before, after = np.zeros((2, n_replicates, N_FUNCTIONS))
    fit = np.zeros(chain.chain.response.values.size)
    for first in range(0, n_replicates, 10_000):
        some = slice(first, min(first + 10_000, n_replicates))
        drawn = simulate_forests(rng, setting, some.stop - first)
        replicates(
            rng, chain.design, chain.prior, chain.chain, chain.trace, KERNELS[name], 3,
            setting.prior.noise_df, setting.noise_sum, mask, *drawn, fit, before[some], after[some],
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
    if not (family == "gaussian" and "latents" in name)
    and not (not has_noise(family) and "noise" in name)
    and (family in ("gaussian", "probit") or "latents" in name or "whole iteration" in name)
]


@pytest.mark.parametrize(("name", "family"), CASES)
@in_two_sizes(20_000, 1_000_000)
def test_a_kernel_leaves_the_joint_law_alone(name, family, size, is_full, record_result):
    z, n_moved = z_scores(name, family, n_replicates=size)
    assert n_moved >= 1
    if is_full:
        found = f"{n_moved} functions moved, largest z {z.max():.2f}"
        record_result("Geweke, one kernel", f"{name}, {family}", found)
    assert np.all(z < 4), z
