"""What moves of two splits have to know of a tree, against trees written out in full."""

from __future__ import annotations

import numpy as np
import pytest

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


@pytest.fixture(params=N_SPLITS, ids=lambda n_splits: f"{n_splits} splits")
def trees(request):
    return [random_tree(request.param, seed) for seed in range(20)]


def test_the_split_child_of_a_pair(trees):
    for tree, _ in trees:
        for node in range(2 * tree.splits[0] + 1):
            left = tree.nodes[0, node, LEFT]
            wanted = {(STUMP, LEAF): left, (LEAF, STUMP): left + 1}
            found = probes.split_child(tree, 0, node)
            assert found == wanted.get(written_out(tree, node), 0)


def test_pairs_are_counted_and_listed(trees):
    for tree, _ in trees:
        pairs = [k for k in range(2 * tree.splits[0] + 1) if probes.split_child(tree, 0, k)]
        assert probes.n_pairs(tree, 0) == len(pairs) == pairs_in(written_out(tree))
        assert [probes.nth_pair(tree, 0, rank) for rank in range(len(pairs))] == pairs


def test_pairs_after_a_birth_at_any_leaf(trees):
    for tree, leaves in trees:
        for leaf in leaves:
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
