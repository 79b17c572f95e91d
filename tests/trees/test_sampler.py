"""The state of a chain is what its trees say; rows, shadows and steps of a chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.core import probes
from tvselect.inputs import read_outcome
from tvselect.trees import Prior, bin_table, start_chain, working_response
from tvselect.trees.bins import packed
from tvselect.trees.state import (
    ACCEPTED,
    COLUMN,
    CUT,
    DEPTH,
    LEAF,
    LEFT,
    MISSING_LEFT,
    N_SPLITS,
    NO_GROUPS,
    PARENT,
    SQUARES,
    in_bit_order,
    in_row_order,
    locked,
    n_words,
    unpack_codes,
    with_more_room,
)

SOME, MANY = 100, 500
DEEP = {"min_leaf": 1, "power": 0.0, "n_trees": 1, "sigma": 0.05}
CASES = {
    "small": {"n_rows": 20, "min_leaf": 1},
    "one word": {"n_rows": 64},
    "odd rows": {"n_rows": 131, "n_trees": 10},
    "missing": {"n_rows": 150, "missing": 0.3, "min_leaf": 3},
    "mostly missing": {"n_rows": 90, "missing": 0.9, "min_leaf": 1},
    "many leaves": {"n_rows": 300, "min_leaf": 1, "power": 0.3, "n_trees": 3, "sigma": 0.05},
    "one deep tree": {"n_rows": 200, **DEEP},
    "large leaves": {"n_rows": 200, "min_leaf": 40},
    "no room to split": {"n_rows": 30, "min_leaf": 16},
    "probit": {"n_rows": 100, "family": "probit", "missing": 0.1},
    "classes": {"n_rows": 100, "family": "classes", "missing": 0.1, "n_trees": 6},
    "sparse": {"n_rows": 100, "sparse": True, "missing": 0.1},
    "some columns": {"n_rows": 100, "columns": [6, 1, 3], "missing": 0.1, "sparse": True},
    "few cuts": {"n_rows": 100, "max_cuts": 2, "power": 0.5, "min_leaf": 1},
    "most cuts": {"n_rows": 300, "max_cuts": 254, "min_leaf": 1, "missing": 0.05},
    "pairs": {"n_rows": 100, "pair_share": 0.5, "missing": 0.1},
    "pairs in one deep tree": {"n_rows": 200, **DEEP, "pair_share": 0.7},
    "known pairs": {
        "n_rows": 100, "pair_share": 0.5, "pairs": [(0, 5), (3, 1), (4, 4)], "sparse": True,
    },
    "groups": {"n_rows": 100, "n_groups": 13, "pair_share": 0.4, "missing": 0.1},
    "groups in one deep tree": {"n_rows": 200, **DEEP, "n_groups": 70, "pair_share": 0.4},
    "groups, classes": {"n_rows": 100, "n_groups": 30, "family": "classes", "n_trees": 6},
    "groups, probit": {"n_rows": 130, "n_groups": 1, "family": "probit"},
    "prior only": {"n_rows": 60, "sigma": np.inf, "power": 0.5, "min_leaf": 2},
}  # fmt: skip


def table_on(rng, n_rows, *, missing=0.0, family="gaussian", max_cuts=100):
    X = np.column_stack(
        [rng.standard_normal((n_rows, 4)), rng.integers(0, 4, n_rows), rng.random(n_rows) < 0.5,
         np.exp(3 * rng.standard_normal(n_rows)), np.ones(n_rows)]
    )  # fmt: skip
    signal = 3 * X[:, 1] + 2 * (X[:, 4] > 1) + np.sin(4 * X[:, 3]) + X[:, 0] * X[:, 5]
    y = signal + 0.3 * rng.standard_normal(n_rows)
    X[rng.random(X.shape) < missing] = np.nan
    if family == "probit":
        y = y > np.median(y)
    if family == "classes":
        y = np.digitize(y, np.quantile(y, [0.3, 0.6])).astype(str)
    return bin_table(X, max_cuts=max_cuts), working_response(read_outcome(y, n_rows))


def chain_on(
    *, n_rows, columns=None, sigma=None, n_iterations=MANY, n_burn=0, seed=0, pairs=(), n_groups=0,
    missing=0.0, family="gaussian", max_cuts=100, **prior,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    return start_chain(
        *table_on(rng, n_rows, missing=missing, family=family, max_cuts=max_cuts),
        Prior(**{"n_trees": 5, **prior}),
        columns=None if columns is None else np.array(columns),
        n_iterations=n_iterations,
        n_burn=n_burn,
        sigma=sigma,
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        groups=rng.permutation(n_rows).astype(np.int32) % n_groups if n_groups else NO_GROUPS,
        rng=rng,
    )


def codes_of(design):
    """Codes (columns, rows) of all columns of a design."""
    size = n_words(design.n_rows)
    columns = zip(design.starts.tolist(), design.widths.tolist(), strict=True)
    words = [(design.codes[None, at : at + size * width], width) for at, width in columns]
    return np.concatenate([unpack_codes(*part) for part in words])[:, : design.n_rows]


def rows_of_leaves(sampler):
    """The row set of every leaf (leaves, rows), read bit by bit."""
    leaves = sampler.chain.leaves
    words = np.ascontiguousarray(leaves.masks[:, : leaves.size[0]].T)
    by_bit = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    padded = np.array([in_row_order(bits, bits.size) for bits in by_bit], dtype=bool)
    assert not padded[:, sampler.design.n_rows :].any()
    return padded[:, : sampler.design.n_rows]


def walk(sampler):
    """Every node: its tree, place, depth, rows, and the cuts that those above leave open."""
    design, trees, codes = sampler.design, sampler.chain.trees, codes_of(sampler.design)
    n_forests = max(1, sampler.prior.cuts.size)
    forest_of_row = np.arange(design.n_rows) // (design.n_rows // n_forests)
    all_cuts = [(0, int(design.n_cuts[where])) for where in design.columns]
    for tree, nodes in enumerate(trees.nodes):
        stack = [(0, 0, forest_of_row == tree % n_forests, all_cuts)]
        while stack:
            node, depth, here, cuts = stack.pop()
            yield tree, node, depth, here, cuts
            left, column, cut = nodes[node, [LEFT, COLUMN, CUT]].tolist()
            if left == 0:
                continue
            code = codes[design.columns[column]]
            goes_left = (code <= cut) | ((code == 255) & (nodes[node, MISSING_LEFT] == 1))
            low, high = cuts[column]
            for child, side, limits in (
                (left, goes_left, (low, cut)),
                (left + 1, ~goes_left, (cut + 1, high)),
            ):
                below = [*cuts[:column], limits, *cuts[column + 1 :]]
                stack.append((child, depth + 1, here & side, below))


def check_trees(sampler, rows):
    """Every tree is well formed and sends the rows to the leaves that hold them."""
    design, (trees, leaves, tally, *_) = sampler.design, sampler.chain
    counts = np.zeros(design.columns.size, dtype=int)
    seen_nodes, seen_leaves = [[] for _ in trees.nodes], []
    for tree, node, depth, here, cuts in walk(sampler):
        nodes = trees.nodes[tree]
        seen_nodes[tree].append(node)
        assert nodes[node, DEPTH] == depth
        left = nodes[node, LEFT]
        if left == 0:
            leaf = nodes[node, LEAF]
            seen_leaves.append(leaf)
            assert leaves.owners[leaf].tolist() == [tree, node]
            assert_array_equal(rows[leaf], here)
            assert here.sum() >= sampler.prior.min_leaf or depth == 0
            continue
        column = nodes[node, COLUMN]
        low, high = cuts[column]
        assert low <= nodes[node, CUT] < high
        assert nodes[node, MISSING_LEFT] <= design.has_missing[design.columns[column]]
        assert nodes[left, PARENT] == nodes[left + 1, PARENT] == node
        counts[column] += 1
    for nodes, n_splits in zip(seen_nodes, trees.splits, strict=True):
        assert sorted(nodes) == list(range(2 * n_splits + 1))
    assert sorted(seen_leaves) == list(range(leaves.size[0]))
    assert_array_equal(sampler.counts, counts)
    assert tally.whole[N_SPLITS] == counts.sum() == trees.splits.sum()
    assert_array_equal(tally.ladder, [(counts > m).sum() for m in range(tally.ladder.size)])


def check_sums(sampler, rows):
    """What the chain keeps about its leaves is what the rows say."""
    leaves, response = sampler.chain.leaves, sampler.chain.response
    size = leaves.size[0]
    by_row = in_row_order(response.values, sampler.design.n_rows)
    forest = leaves.means[:size] @ rows
    assert_array_equal(leaves.gram[:size, :size], rows.astype(int) @ rows.T)
    assert_allclose(leaves.sums[:size], rows @ by_row, atol=1e-9)
    assert_allclose(leaves.fitted[:size], rows @ forest, atol=1e-9)
    assert response.real[SQUARES] == pytest.approx((by_row**2).sum(), abs=1e-9)
    assert np.isfinite(forest).all()
    if sampler.chain.groups.sizes.size:
        check_groups(sampler, rows, by_row - forest)


def check_groups(sampler, rows, residuals):
    """What the chain keeps about its groups."""
    groups, size = sampler.chain.groups, len(rows)
    of_group = np.zeros((groups.sizes.size, 64 * n_words(sampler.design.n_rows)))
    for word, group, bits in groups.parts[: groups.whole[0]].tolist():
        of_group[group, 64 * word + np.flatnonzero([bits >> bit & 1 for bit in range(64)])] += 1
    of_group = in_row_order(of_group, sampler.design.n_rows)
    assert (of_group.sum(axis=0) == 1).all()
    ratio = sampler.prior.ratios[groups.whole[1]]
    assert_array_equal(groups.sizes, of_group.sum(axis=1))
    assert_array_equal(groups.weights, ratio / (1 + ratio * groups.sizes))
    assert_array_equal(groups.rows[:size], rows @ of_group.T)
    assert_allclose(groups.rest, of_group @ residuals, atol=1e-9)


def check(sampler):
    rows = rows_of_leaves(sampler)
    check_trees(sampler, rows)
    check_sums(sampler, rows)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_state_of_a_chain_is_what_its_trees_say(case, seed):
    sampler = chain_on(**CASES[case], seed=seed)
    grown = False
    for step in (1, 2, *[MANY // 10] * 9, None):
        sampler.advance(step)
        check(sampler)
        grown |= sampler.counts.any()
    assert sampler.n_done == sampler.n_iterations
    assert grown != (case == "no room to split")


@pytest.mark.parametrize("case", ["missing", "one deep tree", "few cuts"])
def test_looking_at_a_tree_finds_what_is_there(case):
    sampler = chain_on(**CASES[case])
    sampler.advance()
    trees = sampler.chain.trees
    for tree, nodes in enumerate(trees.nodes):
        used = range(2 * trees.splits[tree] + 1)
        leaves = [node for node in used if nodes[node, LEFT] == 0]
        splits = [node for node in used if nodes[node, LEFT] != 0]
        prunable = [node for node in splits if {*nodes[node, LEFT] + np.arange(2)} <= {*leaves}]
        for nth, wanted in (
            (probes.nth_leaf, leaves), (probes.nth_split, splits), (probes.nth_prunable, prunable)
        ):  # fmt: skip
            assert [nth(trees, tree, rank) for rank in range(len(wanted))] == wanted
        assert probes.n_prunable(trees, tree) == len(prunable)
        assert [node for node in used if probes.is_prunable(trees, tree, node)] == prunable
    for tree, node, _, _, cuts in walk(sampler):
        if trees.nodes[tree, node, LEFT] == 0:
            for column, where in enumerate(sampler.design.columns):
                n_cuts = int(sampler.design.n_cuts[where])
                low, high = probes.open_cuts(trees, tree, node, column, n_cuts)
                assert [*range(low, high)] == [*range(*cuts[column])]


@pytest.mark.parametrize("case", ["missing", "one deep tree", "most cuts", "known pairs", "groups"])
def test_a_split_and_its_removal_leave_every_leaf_as_it_was(case):
    """The split leaf keeps its mean on both sides, so that all sums by row stay, too."""
    sampler = chain_on(**CASES[case])
    sampler.advance(MANY // 2)
    sampler.chain = with_more_room(with_more_room(sampler.chain))
    design, chain = sampler.design, sampler.chain
    before, fitted = by_leaf(sampler), sampler.fitted()
    n_made = 0
    for tree in range(chain.trees.splits.size):
        for rank in range(chain.trees.splits[tree] + 1):
            node = probes.nth_leaf(chain.trees, tree, rank)
            for column, where in enumerate(design.columns.tolist()):
                n_cuts = int(design.n_cuts[where])
                low, high = probes.open_cuts(chain.trees, tree, node, column, n_cuts)
                if low >= high:
                    continue
                cut, side = (low + high) // 2, bool(design.has_missing[where] and rank % 2)
                counts = sampler.counts
                probes.split(chain, design, tree, node, column, cut, side)
                counts[column] += 1
                assert_array_equal(sampler.counts, counts)
                rows = rows_of_leaves(sampler)
                check_sums(sampler, rows)
                assert_allclose(sampler.fitted(), fitted, atol=1e-9)
                if all(rows.sum(axis=1) >= sampler.prior.min_leaf):
                    check_trees(sampler, rows)
                probes.merge(chain, tree, node)
                after = by_leaf(sampler)
                assert after.keys() == before.keys()
                for leaf, found in after.items():
                    assert_allclose(found, before[leaf], atol=1e-9)
                n_made += 1
    assert n_made > 20
    check_trees(sampler, rows_of_leaves(sampler))


def test_rows_of_groups_stand_together_and_those_of_classes_apart():
    sampler = chain_on(n_rows=100, n_groups=30, n_iterations=2)
    assert sorted(sampler.chain.groups.sizes) == [0, 0] + 20 * [3] + 10 * [4]
    sampler = chain_on(n_rows=100, n_groups=1, family="classes", n_iterations=2)
    assert sampler.chain.groups.sizes.tolist() == 3 * [100] + 5 * [0]


def by_leaf(sampler):
    """What the chain keeps of every leaf, by tree and rows; the order of leaves does not matter."""
    leaves, rows = sampler.chain.leaves, rows_of_leaves(sampler)
    return {
        (int(leaves.owners[k, 0]), rows[k].tobytes()): (
            leaves.gram[k, k], leaves.sums[k], leaves.means[k], leaves.fitted[k]
        )
        for k in range(leaves.size[0])
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_averages_are_those_over_all_iterations_after_burn_in(case):
    sampler = chain_on(**CASES[case], n_iterations=SOME, n_burn=SOME // 3)
    before = np.zeros(sampler.chain.trees.splits.size, dtype=int)
    counts, accepted = [], 0
    for iteration in range(SOME + 1):
        mean, share = sampler.averages()
        drawn = np.array(counts[SOME // 3 :] or [0 * sampler.counts])
        assert_allclose(mean, drawn.mean(axis=0), atol=1e-12)
        assert_allclose(share, (drawn > 0).mean(axis=0), atol=1e-12)
        if iteration == SOME:
            break
        sampler.advance(1)
        splits = sampler.chain.trees.splits.copy()
        accepted += np.count_nonzero(splits != before)
        before = splits
        counts.append(sampler.counts)
        assert sampler.trace.n_splits[iteration] == sampler.counts.sum()
    assert sampler.chain.tally.whole[ACCEPTED] == accepted
    assert sampler.acceptance_rate == accepted / (SOME * before.size)


def assert_same_chain(one, other):
    for a, b in zip(one.trace, other.trace, strict=True):
        assert_array_equal(a, b)
    for a, b in zip(one.averages(), other.averages(), strict=True):
        assert_array_equal(a, b)
    for name in ("starts", "left", "cut", "missing_left", "value"):
        assert_array_equal(getattr(one.forest(), name), getattr(other.forest(), name))
    assert_array_equal(one.counts, other.counts)
    assert_array_equal(one.fitted(), other.fitted())
    assert one.acceptance_rate == other.acceptance_rate
    assert one.rng.random() == other.rng.random()


@pytest.mark.parametrize("case", CASES)
def test_a_chain_is_the_same_in_one_go_and_in_steps(case):
    whole = chain_on(**CASES[case], n_iterations=SOME, n_burn=SOME // 2)
    steps = chain_on(**CASES[case], n_iterations=SOME, n_burn=SOME // 2)
    whole.advance()
    for step in (1, 0, 3, SOME // 2, 1, 10 * SOME):
        steps.advance(step)
    assert steps.n_done == SOME
    assert_same_chain(whole, steps)


@pytest.mark.parametrize(
    "setting",
    [
        {"n_trees": 1, "power": 0.0, "min_leaf": 1, "sigma": 0.02, "missing": 0.1},
        {"n_trees": 40, "power": 0.2, "min_leaf": 1, "sigma": 0.05, "sparse": True},
        {"n_trees": 150, "power": 0.5, "min_leaf": 1, "family": "probit"},
        {"n_trees": 1, "power": 0.0, "min_leaf": 1, "sigma": 0.02, "pair_share": 0.9},
        {"n_trees": 40, "power": 0.2, "min_leaf": 1, "sigma": 0.05, "pair_share": 0.9},
    ],
    ids=["nodes", "leaves", "many trees", "nodes of pairs", "leaves of pairs"],
)
def test_more_room_on_the_way_changes_nothing(setting):
    plain = chain_on(n_rows=400, **setting, n_burn=100)
    roomy = chain_on(n_rows=400, **setting, n_burn=100)
    for _ in range(4):
        roomy.chain = with_more_room(roomy.chain)
    first = plain.chain
    plain.advance()
    roomy.advance()
    assert plain.chain.leaves.sums.size > first.leaves.sums.size
    assert roomy.chain.leaves.sums.size == 16 * first.leaves.sums.size
    assert_same_chain(plain, roomy)
    check(plain)


def test_sums_stay_right_over_a_long_chain():
    sampler = chain_on(n_rows=250, n_trees=20, min_leaf=1, missing=0.1, n_iterations=50_000)
    sampler.advance()
    forest = sampler.forest()
    check(sampler)
    sampler.chain = with_more_room(sampler.chain)
    check(sampler)
    assert_array_equal(sampler.forest().value, forest.value)


def test_a_chain_on_constant_columns_never_splits_nor_runs_past_its_end():
    sampler = chain_on(n_rows=50, columns=[7], n_iterations=SOME)
    sampler.advance(2 * SOME)
    assert not sampler.trace.n_splits.any()
    state = sampler.rng.bit_generator.state
    sampler.advance()
    sampler.advance(3)
    assert sampler.n_done == SOME
    assert sampler.rng.bit_generator.state == state


# Rows and shadows


def cut(table, response, rows):
    """The table and the response with some rows only; cuts and units stay."""
    codes = np.zeros((table.n_columns, 64 * -(-rows.size // 64)), dtype=np.uint8)
    codes[:, : rows.size] = table.codes[:, rows]
    observed = in_bit_order(in_row_order(response.observed, response.n_rows)[:, rows])
    return (
        replace(table, words=locked(packed(codes, table.widths)), n_rows=rows.size),
        replace(response, observed=observed, n_rows=rows.size),
    )


def advance(table, response, *, columns, rows=None, shadows=None, sparse=True):
    chain = start_chain(
        table,
        response,
        Prior(n_trees=5, sparse=sparse),
        columns=columns,
        rows=rows,
        shadows=shadows,
        n_iterations=2 * SOME,
        n_burn=SOME,
        rng=np.random.default_rng(3),
    )
    chain.advance()
    return chain


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("n_rows", [64, 65, 100, 150])
@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_a_chain_on_some_rows_is_the_chain_on_the_table_cut_to_these_rows(family, n_rows, sparse):
    table, response = table_on(np.random.default_rng(8), 150, missing=0.1, family=family)
    rows = np.random.default_rng(n_rows).permutation(150)[:n_rows]
    columns = np.array([5, 0, 2, 3])
    one = advance(table, response, columns=columns, rows=rows, sparse=sparse)
    other = advance(*cut(table, response, rows), columns=columns, sparse=sparse)
    assert one.trace.n_splits.max() > 0
    assert_same_chain(one, other)


@pytest.mark.parametrize("rows", [None, np.arange(0, 150, 2)])
@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_shadows_are_shuffled_copies_behind_the_columns(family, rows):
    table, response = table_on(np.random.default_rng(8), 150, missing=0.1, family=family)
    columns, shadows = np.array([4, 1]), np.array([1, 1, 5])
    chain = advance(table, response, columns=columns, rows=rows, shadows=shadows)
    seen = np.arange(150) if rows is None else rows
    codes = codes_of(chain.design)
    assert_array_equal(codes[:2], table.codes[columns][:, seen])
    for shadow, column in zip(codes[2:], shadows, strict=True):
        assert_array_equal(np.sort(shadow), np.sort(table.codes[column, seen]))
        assert (shadow != table.codes[column, seen]).any()
    assert (codes[2] != codes[3]).any()
    assert chain.counts.size == 5
    if family == "gaussian":  # probit replaces its values by latent ones
        values = in_row_order(chain.chain.response.values, seen.size)
        assert_array_equal(values, in_row_order(response.observed[0], 150)[seen])
