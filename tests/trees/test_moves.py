"""What moves of two splits have to know of a tree, and draws of normals between bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.core import probes
from tvselect.trees.state import LEFT, PARENT, Trees

LEAF = ()
STUMP = (LEAF, LEAF)
N_SPLITS = (0, 1, 2, 3, 4, 6, 9, 15)


def random_tree(n_splits, seed):
    """Leaves are split at random, and siblings stand anywhere, as they do after deaths."""
    rng = np.random.default_rng(seed)
    nodes = np.zeros((1, 2 * n_splits + 3, 8), dtype=np.int32)
    leaves = [0]
    for place in rng.permutation(n_splits):
        node, left = leaves.pop(rng.integers(len(leaves))), 2 * int(place) + 1
        nodes[0, node, LEFT] = left
        nodes[0, left : left + 2, PARENT] = node
        leaves += [left, left + 1]
    return Trees(nodes, np.array([n_splits])), sorted(leaves)


def written_out(trees, node=0, grown=None):
    """The subtree of a node in tuples, after a pair birth at the leaf ``grown``."""
    left = trees.nodes[0, node, LEFT]
    if left == 0:
        return (LEAF, STUMP) if node == grown else LEAF
    return tuple(written_out(trees, child, grown) for child in (left, left + 1))


def pairs_in(tree):
    is_pair = tree in ((LEAF, STUMP), (STUMP, LEAF))
    return is_pair + sum(pairs_in(child) for child in tree)


@pytest.mark.parametrize("n_splits", N_SPLITS)
@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_splits_are_found_counted_and_listed(n_splits, seed):
    tree, leaves = random_tree(n_splits, seed)
    pairs = []
    for node in range(2 * n_splits + 1):
        left = tree.nodes[0, node, LEFT]
        wanted = {(STUMP, LEAF): left, (LEAF, STUMP): left + 1}.get(written_out(tree, node), 0)
        assert probes.split_child(tree, 0, node) == wanted
        pairs += [node] if wanted else []
    assert probes.n_pairs(tree, 0) == len(pairs) == pairs_in(written_out(tree))
    assert [probes.nth_pair(tree, 0, rank) for rank in range(len(pairs))] == pairs
    for leaf in leaves:  # after a birth
        wanted = pairs_in(written_out(tree, grown=leaf))
        assert probes.pairs_after(tree, 0, leaf) == wanted


def test_every_pair_is_as_likely_as_the_others_and_half_of_the_draws_are_of_none():
    """1,000 draws: counts within four standard errors of their binomial laws."""
    rng = np.random.default_rng(0)
    pairs = np.array([[0, 3], [3, 0], [5, 2], [1, 1]])
    out = np.zeros((1000, 2), dtype=np.int64)
    probes.draw_pairs(rng, pairs, out)
    drawn = [tuple(pair) for pair in out.tolist()]
    assert abs(drawn.count((-1, -1)) - 500) < 4 * np.sqrt(250)
    for pair in pairs:
        assert abs(drawn.count(tuple(pair)) - 125) < 4 * np.sqrt(125 * 7 / 8)
    state = rng.bit_generator.state
    probes.draw_pairs(rng, pairs[:0], out[:1])
    assert out[0].tolist() == [-1, -1]
    assert rng.bit_generator.state == state


# Draws between bounds have the law of SciPy's truncated normal

N_DRAWS = 20_000
BOUNDS = [
    (0.0, 1.0, -np.inf, np.inf),
    (0.3, 1.0, 0.0, np.inf),
    (-3.0, 2.0, 1.0, np.inf),
    (1.0, 0.5, -np.inf, -2.0),
    (0.0, 1.0, -1.0, 2.0),
    (0.0, 1.0, -0.1, 0.2),
    (0.0, 1.0, 2.0, 2.1),
    (0.0, 1.0, 2.0, 9.0),
    (5.0, 1.0, -9.0, 1.0),
    (5.0, 3.0, 0.9, 1.0),
    (0.0, 1e-3, 0.002, 1.0),
]


@pytest.mark.parametrize(("mean", "sd", "low", "high"), BOUNDS)
def test_draws_have_the_law_of_the_truncated_normal(mean, sd, low, high):
    """The Kolmogorov-Smirnov distance of 20,000 draws has a p-value above 0.001."""
    out = np.empty(N_DRAWS)
    probes.normal_between(np.random.default_rng(1), mean, sd, low, high, out)
    law = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    assert out.min() >= low
    assert out.max() <= high
    assert stats.kstest(out, law.cdf).pvalue > 0.001


@pytest.mark.parametrize(("low", "high"), [(40.0, 41.0), (-60.0, -55.0), (1e6, np.inf)])
def test_bounds_far_from_the_mean_take_no_longer(low, high):
    out = np.empty(100)
    probes.normal_between(np.random.default_rng(1), 0.0, 1.0, low, high, out)
    assert np.all((out >= low) & (out <= high))
