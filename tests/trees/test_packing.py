"""Columns of two and three values are kept as bits, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tvselect.inputs import read_outcome
from tvselect.rewards.screening import marginal_evidence
from tvselect.trees import Prior, bin_table, bins, run_bart
from tvselect.trees.bins import packed
from tvselect.trees.response import working_response
from tvselect.trees.sampler import start_chain
from tvselect.trees.state import locked, n_words, pack_codes, unpack_codes

SIZES = (1, 63, 64, 65, 200)
N_ITERATIONS = 300


def two_values(n_rows, n_columns=7, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.4).astype(float)
    X[:, 0] = 3.0  # a single value
    X[:, 1] = np.where(X[:, 1] > 0, 1e300, -2.5)
    return X


def few_values(n_rows, n_columns=7, seed=0):
    """Columns of two values, of genotypes with and without missing ones, and one of many."""
    X = two_values(n_rows, n_columns, seed)
    rng = np.random.default_rng(seed + 1)
    X[:, 3:6] = rng.integers(3, size=(n_rows, 3))
    X[rng.random(n_rows) < 0.1, 4] = np.nan
    X[: n_rows // 5, 1] = np.nan
    X[:, 2] = rng.random(n_rows)
    return X


def as_bytes(table):
    widths = np.full(table.n_columns, 8, dtype=np.uint8)
    return replace(table, words=locked(packed(table.codes, widths)), widths=widths)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize(("width", "values"), [(1, [0, 1]), (2, [0, 1, 2, 255]), (8, range(256))])
def test_packed_codes_come_back(n_rows, width, values):
    codes = np.zeros((5, 64 * n_words(n_rows)), dtype=np.uint8)
    codes[:, :n_rows] = np.random.default_rng(n_rows).choice(values, size=(5, n_rows))
    words = pack_codes(codes, width)
    assert words.shape == (5, width * n_words(n_rows))
    assert_array_equal(unpack_codes(words, width), codes)


@pytest.mark.parametrize("n_rows", SIZES[1:])
def test_two_values_take_a_bit(n_rows):
    X = two_values(n_rows)
    table = bin_table(X)
    assert (table.widths == 1).all()
    assert table.words.nbytes == 8 * n_words(n_rows) * X.shape[1]
    assert not table.words.flags.writeable
    assert_array_equal(table.codes[:, :n_rows].T, X.min(axis=0) < X)
    assert not table.codes[:, n_rows:].any()
    assert_array_equal(np.concatenate([codes for _, codes in table.blocks()]), table.codes)


@pytest.mark.parametrize(
    ("odd", "width"), [([np.nan], 2), ([1e3], 2), ([1e3, 1e4], 8), ([np.nan, 1e3, 1e4], 8)]
)
@pytest.mark.parametrize("place", [1, 3, 6])
def test_every_column_is_as_narrow_as_its_values_allow(monkeypatch, odd, width, place):
    monkeypatch.setattr(bins, "VALUES_IN_CACHE", 400)  # two columns at a time
    X = two_values(200)
    X[5 : 5 + len(odd), place] = odd
    table = bin_table(X)
    assert_array_equal(table.widths, np.where(np.arange(7) == place, width, 1))
    assert table.words.size == (6 + width) * n_words(200)
    for j in range(X.shape[1]):
        assert_array_equal(table.codes[j, :200], bin_table(X[:, [j]]).codes[0, :200])


@pytest.mark.parametrize("kind", ["gaussian", "probit"])
def test_bits_and_bytes_give_the_same_forests(kind):
    X = few_values(150, 30)
    y = X[:, 3] + 2 * X[:, 5] * X[:, 7] + np.random.default_rng(2).standard_normal(150)
    if kind == "probit":
        y = y > 1
    packed = bin_table(X)
    runs = [
        run_bart(table, y, sparse=True, n_iterations=N_ITERATIONS, random_state=4)
        for table in (packed, as_bytes(packed))
    ]
    assert runs[0].n_splits[-1] > 0
    assert_array_equal(runs[0].mean_splits, runs[1].mean_splits)
    assert_array_equal(runs[0].n_splits, runs[1].n_splits)
    assert_array_equal(runs[0].predict(packed), runs[1].predict(X))


@pytest.mark.parametrize("rows", [None, np.arange(149, 20, -2)])
@pytest.mark.parametrize("shadows", [None, np.array([3, 3, 4])])
def test_bits_and_bytes_show_the_same_rows_and_shadows(rows, shadows):
    X = few_values(150, 30)
    outcome = read_outcome(X[:, 3] + np.random.default_rng(2).standard_normal(150), 150)
    packed = bin_table(X)
    chains = [
        start_chain(
            table,
            working_response(outcome),
            Prior(n_trees=5),
            columns=np.array([3, 4, 2]),
            rows=rows,
            shadows=shadows,
            n_iterations=200,
            n_burn=100,
            rng=np.random.default_rng(6),
        )
        for table in (packed, as_bytes(packed))
    ]
    for chain in chains:
        chain.advance()
    assert_array_equal(chains[0].averages()[0], chains[1].averages()[0])


def test_marginal_evidence_is_the_same():
    X = few_values(150, 30)
    y = X[:, 3] + np.random.default_rng(2).standard_normal(150)
    packed, outcome = bin_table(X), read_outcome(y, 150)
    assert marginal_evidence(packed, outcome, 30)[3] > 1
    assert_array_equal(
        marginal_evidence(packed, outcome, 30), marginal_evidence(as_bytes(packed), outcome, 30)
    )
