from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tvselect.inputs import read_outcome
from tvselect.trees import Forest, Prior, bin_table, start_chain, working_response
from tvselect.trees.forest import join_forests

N_ITERATIONS = 300


@pytest.fixture(params=[20, 64, 131])
def grown(request):
    """A table with missing values and a chain that has run on it."""
    n_rows = request.param
    rng = np.random.default_rng(n_rows)
    X = rng.standard_normal((n_rows, 6)).round(1)
    y = 3 * X[:, 2] + X[:, 4] + 0.1 * rng.standard_normal(n_rows)
    X[rng.random(X.shape) < 0.2] = np.nan
    table = bin_table(X)
    sampler = start_chain(
        table,
        working_response(read_outcome(y, n_rows)),
        Prior(n_trees=4, min_leaf=1, power=0.5),
        columns=np.array([4, 2, 1]),
        n_iterations=N_ITERATIONS,
        n_burn=0,
        sigma=0.1,
        rng=rng,
    )
    sampler.advance()
    return table, sampler


def small_forest():
    """Two trees: ``x0 <= 3`` (missing left) over ``x1 <= 0`` on its right, and a stump."""
    return Forest(
        starts=np.array([0, 5, 6]),
        left=np.array([1, -1, 3, -1, -1, -1]),
        column=np.array([0, -1, 1, -1, -1, -1]),
        cut=np.array([3, 0, 0, 0, 0, 0], dtype=np.uint8),
        missing_left=np.array([True, False, False, False, False, False]),
        value=np.array([0.0, 1.0, 0.0, 10.0, 100.0, 0.5]),
    )


def walk(forest, codes, row):
    """Value of a forest at one row, by the words of its description."""
    total = 0.0
    for node in forest.starts[:-1]:
        while forest.left[node] >= 0:
            code = codes[forest.column[node], row]
            left = forest.missing_left[node] if code == 255 else code <= forest.cut[node]
            node = forest.left[node] if left else forest.left[node] + 1
        total += forest.value[node]
    return total


def test_a_forest_knows_its_size_depths_and_splits(grown):
    forest = small_forest()
    assert (forest.n_trees, forest.n_splits) == (2, 2)
    assert_array_equal(forest.depths(), [0, 1, 1, 2, 2, 0])
    assert_array_equal(forest.split_counts(4), [1, 1, 0, 0])
    assert_array_equal(forest.uses(3), [[True, True, False], [False] * 3])
    assert_array_equal(forest.branch_pairs(3), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    forest = grown[1].forest()
    depths, splits = forest.depths(), np.flatnonzero(forest.left >= 0)
    assert (forest.column[splits] >= 0).all()
    assert not forest.value[splits].any()
    assert not depths[forest.starts[:-1]].any()
    for child in (forest.left[splits], forest.left[splits] + 1):
        assert_array_equal(depths[child], depths[splits] + 1)
    of_trees = [forest.only([t]).split_counts(6) > 0 for t in range(forest.n_trees)]
    assert_array_equal(forest.uses(6), of_trees)
    counts = forest.split_counts(6)
    assert_array_equal(counts[[4, 2, 1]], grown[1].counts)
    assert_array_equal(counts[[0, 3, 5]], 0)
    assert counts.sum() == forest.n_splits > 0


def test_a_forest_of_some_trees_and_of_several_forests(grown):
    _, sampler = grown
    forest = sampler.forest()
    codes = np.random.default_rng(0).integers(0, 256, (6, 50)).astype(np.uint8)
    alone = np.array([forest.only([t]).evaluate(codes, 50) for t in range(forest.n_trees)])
    assert_allclose(forest.only([3, 1]).evaluate(codes, 50), alone[[3, 1]].sum(axis=0))
    assert not forest.only([]).evaluate(codes, 50).any()
    both = join_forests([forest, small_forest()])
    whole = forest.evaluate(codes, 50) + small_forest().evaluate(codes, 50)
    assert_allclose(both.evaluate(codes, 50), whole)
    assert_array_equal(both.only(range(forest.n_trees, 6)).left, small_forest().left)


def test_values_at_rows_are_those_of_a_walk_down_every_tree(grown):
    _, sampler = grown
    forest = sampler.forest()
    codes = np.random.default_rng(0).integers(0, 256, (6, 100)).astype(np.uint8)
    expected = [walk(forest, codes, row) for row in range(100)]
    assert_allclose(forest.evaluate(codes, 100), expected, rtol=1e-12)
    assert_allclose(forest.evaluate(codes, 7), expected[:7], rtol=1e-12)
    codes = np.array([[3, 4, 4, 4, 255, 0], [7, 0, 1, 255, 9, 255]], dtype=np.uint8)
    assert_array_equal(small_forest().evaluate(codes, 6), [1.5, 10.5, 100.5, 100.5, 1.5, 1.5])


def test_a_snapshot_has_the_values_of_the_chain_and_does_not_follow_it(grown):
    table, sampler = grown
    forest, five = sampler.forest(), sampler.forest(5.0)
    fitted = sampler.fitted()
    assert_array_equal(five.value, 5.0 * forest.value)
    assert_array_equal(five.left, forest.left)
    sampler.chain.leaves.means[:] = 7.0
    sampler.chain.trees.nodes[:] = 0
    values = forest.evaluate(table.codes, table.n_rows)
    assert_allclose(values, fitted, atol=1e-12)


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("n_points", [1, 5, 40, 62])
def test_rows_at_points_have_the_value_of_rows_with_these_codes(grown, first, n_points):
    """Two columns set to points, also where a branch splits on both of them."""
    table, sampler = grown
    forest = join_forests([sampler.forest(), sampler.forest(0.5)])
    codes, n_rows = table.codes, table.n_rows
    points = np.random.default_rng(n_points).integers(0, 40, (2, n_points))
    below = np.array(
        [
            [sum(1 << k for k, code in enumerate(of_column) if code <= c) for c in range(255)]
            for of_column in points.tolist()
        ]
    )
    out = np.full((n_rows, n_points), 7.0)
    forest.add_at_points(codes, first, below, out)
    for k in range(n_points):
        there = codes.copy()
        there[first : first + 2] = points[:, [k]]
        assert_allclose(out[:, k], 7.0 + forest.evaluate(there, n_rows), atol=1e-9)
