from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.trees.designs import codes_of
from tvselect.inputs import read_outcome
from tvselect.trees import Prior, bin_table, start_chain, working_response
from tvselect.trees.bins import packed
from tvselect.trees.state import in_bit_order, in_row_order, locked

N_ITERATIONS = 200


def make(family, n_rows=150):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((n_rows, 6))
    X[::11, 2] = np.nan
    X[:, 5] = rng.integers(3, size=n_rows)
    y = 3 * X[:, 0] + X[:, 5] + 0.5 * rng.standard_normal(n_rows)
    outcome = read_outcome(y > y.mean() if family == "probit" else y, n_rows)
    return bin_table(X), working_response(outcome)


def cut(table, response, rows):
    """The table and the response with some rows only; cuts and units stay."""
    codes = np.zeros((table.n_columns, 64 * -(-rows.size // 64)), dtype=np.uint8)
    codes[:, : rows.size] = table.codes[:, rows]
    observed = [in_bit_order(in_row_order(v, response.n_rows)[rows]) for v in response.observed]
    return (
        replace(table, words=locked(packed(codes, table.widths)), n_rows=rows.size),
        replace(response, observed=np.stack(observed), n_rows=rows.size),
    )


def advance(table, response, *, columns, rows=None, shadows=None, sparse=True):
    chain = start_chain(
        table,
        response,
        Prior(n_trees=5, sparse=sparse),
        columns=columns,
        rows=rows,
        shadows=shadows,
        n_iterations=N_ITERATIONS,
        n_burn=N_ITERATIONS // 2,
        rng=np.random.default_rng(3),
    )
    chain.advance()
    return chain


def assert_same_chain(one, other):
    assert_array_equal(one.counts, other.counts)
    for a, b in zip(one.averages(), other.averages(), strict=True):
        assert_array_equal(a, b)
    for a, b in zip(one.trace, other.trace, strict=True):
        assert_array_equal(a, b)
    assert_array_equal(one.fitted(), other.fitted())
    assert one.acceptance_rate == other.acceptance_rate
    assert one.rng.random() == other.rng.random()


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("n_rows", [64, 65, 100, 150])
@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_a_chain_on_some_rows_is_the_chain_on_the_table_cut_to_these_rows(family, n_rows, sparse):
    table, response = make(family)
    rows = np.random.default_rng(n_rows).permutation(150)[:n_rows]
    columns = np.array([5, 0, 2, 3])
    one = advance(table, response, columns=columns, rows=rows, sparse=sparse)
    other = advance(*cut(table, response, rows), columns=columns, sparse=sparse)
    assert one.trace.n_splits.max() > 0
    assert_same_chain(one, other)
    leaves, others = one.forest(), other.forest()
    assert_array_equal(leaves.value, others.value)


@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_all_rows_are_the_default(family):
    table, response = make(family)
    columns = np.array([1, 0, 5])
    one = advance(table, response, columns=columns, rows=np.arange(150))
    assert_same_chain(one, advance(table, response, columns=columns))


@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_rows_that_are_left_out_do_not_matter(family):
    table, response = make(family)
    rows = np.flatnonzero(np.arange(150) % 3)
    columns = np.arange(6)
    before = advance(table, response, columns=columns, rows=rows)
    codes = table.codes.copy()
    codes[:, ::3] = 0
    observed = np.stack([in_row_order(bound, 150) for bound in response.observed])
    observed[:, ::3] = observed[:, :1]
    changed = (
        replace(table, words=locked(packed(codes, table.widths))),
        replace(response, observed=np.stack([in_bit_order(bound) for bound in observed])),
    )
    assert_same_chain(before, advance(*changed, columns=columns, rows=rows))


@pytest.mark.parametrize("rows", [None, np.arange(0, 150, 2)])
@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_shadows_are_shuffled_copies_behind_the_columns(family, rows):
    table, response = make(family)
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


def test_no_shadows_are_the_default():
    table, response = make("gaussian")
    columns = np.array([1, 0, 5])
    one = advance(table, response, columns=columns, shadows=np.empty(0, dtype=np.int64))
    assert_same_chain(one, advance(table, response, columns=columns))
