"""On tiny tables all trees can be listed: the chain visits them as often as it should.

Law: the total variation distance between the exact posterior of the forest and the
frequencies of a million thinned draws is below 0.01. Independent draws from K forests
with probabilities p would be off by about sum sqrt(p (1 - p) / (2 pi N)); with N = 40,000
the distance is below 0.01 or twice that.
"""

from __future__ import annotations

import collections
import itertools

import numpy as np
import pytest

from tests.exactness.chains import chain_shapes, in_two_sizes, start
from tests.exactness.enumerate_trees import posterior
from tests.exactness.simulate import make_setting

PAIRS, WEIGHED = dict(pair_share=0.6), dict(column_weights=(0.2, 0.5))
TINY = dict(n_rows=6, n_columns=2, n_values=2, n_trees=2, sparse=True)
TABLES = {
    "one tree, p=1": dict(n_rows=8, n_columns=1, n_values=3),
    "one tree, p=2, min_leaf=2": dict(n_rows=6, n_columns=2, n_values=3, min_leaf=2),
    "one tree, p=3, min_leaf=3": dict(n_rows=8, n_columns=3, n_values=4, min_leaf=3),
    "one tree, p=2, missing": dict(n_rows=8, n_columns=2, n_values=3, min_leaf=2, missing=True),
    "two trees, p=1": dict(n_rows=6, n_columns=1, n_values=3, n_trees=2),
    "two trees, p=3, binary, sparse": TINY | dict(n_columns=3, min_leaf=3),
    "two trees, p=2, binary, sparse": TINY | dict(min_leaf=2),
    "one tree, p=3, weighed columns": dict(
        n_rows=8, n_columns=3, n_values=4, min_leaf=3, column_weights=(0.3, 1.0, 0.6)
    ),
    "two trees, p=2, binary, sparse, weighed columns": TINY | WEIGHED | dict(min_leaf=2),
    "one tree, p=1, pairs": PAIRS | dict(n_rows=8, n_columns=1, n_values=3),
    "one tree, p=1, pairs below pairs": PAIRS | dict(
        n_rows=12, n_columns=1, n_values=6, power=0.3
    ),
    "one tree, p=2, min_leaf=2, pairs": PAIRS | dict(
        n_rows=8, n_columns=2, n_values=3, min_leaf=2, power=0.5
    ),
    "one tree, p=2, missing, pairs": PAIRS | dict(
        n_rows=8, n_columns=2, n_values=3, min_leaf=2, missing=True
    ),
    "two trees, p=2, binary, sparse, weighed columns, pairs": TINY | WEIGHED | PAIRS,
    "one tree, p=3, known pairs": PAIRS | dict(
        n_rows=8, n_columns=3, n_values=2, pairs=((0, 1), (1, 0), (2, 2))
    ),
    "two trees, p=2, binary, sparse, weighed columns, known pairs": TINY | WEIGHED | PAIRS | dict(
        pairs=((0, 1),)
    ),
    "one tree, p=2, min_leaf=2, groups": dict(
        n_rows=8, n_columns=2, n_values=3, min_leaf=2, groups=(0, 0, 0, 1, 1, 2, 2, 2)
    ),
    "one tree, p=1, groups, pairs": PAIRS | dict(
        n_rows=8, n_columns=1, n_values=4, power=0.5, leaf_sd=3.0, groups=(0, 0, 0, 0, 0, 0, 1, 1)
    ),
    "two trees, p=2, binary, sparse, groups, known pairs": TINY | PAIRS | dict(
        pairs=((0, 1),), groups=(0, 0, 1, 1, 1, 2)
    ),
}  # fmt: skip
CASES = list(itertools.product(TABLES, (0.8, None)))


def distance(table, sigma, n_draws):
    setting = make_setting(**TABLES[table], seed=3)
    n_rows = setting.table.n_rows
    y = np.random.default_rng(4).standard_normal(n_rows) + (setting.codes[0] == 0)
    exact = posterior(setting, y, sigma)
    base = 2 + 2 * 254 * setting.table.n_columns
    chain = start(setting, y, rng=np.random.default_rng(5), n_iterations=40, sigma=sigma)
    chain_shapes(chain, 50, 40, base)
    counts = collections.Counter(map(tuple, chain_shapes(chain, n_draws, 40, base).tolist()))
    expected = {tuple(wrapped_key(d, base) for d in forest): p for forest, p in exact.items()}
    assert set(counts) <= set(expected)
    tv = 0.5 * sum(abs(counts[k] / n_draws - p) for k, p in expected.items())
    noise = sum(np.sqrt(p * (1 - p) / (2 * np.pi * n_draws)) for p in expected.values())
    return tv, noise, len(expected)


def wrapped_key(digits, base):
    """The key as the chain computes it: a 64-bit integer."""
    value = 1
    for digit in digits:
        value = (value * base + digit) % 2**64
    return value - 2**64 if value >= 2**63 else value


@pytest.mark.parametrize(("table", "sigma"), CASES)
@in_two_sizes(40_000, 1_000_000)
def test_forests_are_visited_by_their_posterior(table, sigma, size, is_full, record_result):
    tv, noise, n_forests = distance(table, sigma, n_draws=size)
    assert n_forests > 3
    if is_full:
        case = f"{table}, sigma {'drawn' if sigma is None else sigma}"
        found = f"{n_forests} forests, distance {tv:.4f} (independent draws: {noise:.4f})"
        record_result("Enumeration", case, found)
    assert tv < (0.01 if is_full else max(0.01, 2 * noise)), (tv, noise, n_forests)
