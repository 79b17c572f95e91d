"""A few values far out do not have the cut points to themselves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tvselect.trees import bin_table
from tvselect.trees.bins import find_crowded

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "x",
    [
        RNG.random(300),
        RNG.normal(size=3000),
        RNG.exponential(size=300),
        RNG.exponential(size=300) * (RNG.random(300) < 0.5),
        np.append(RNG.random(300), 5.0),
    ],
    ids=["uniform", "normal", "exponential", "half of it zero", "not so far"],
)
def test_plain_columns_stay_on_an_even_grid(x):
    cuts = bin_table(x[:, None]).cuts
    assert cuts.step[0] > 0.0
    np.testing.assert_allclose(np.diff(cuts.of(0)), (x.max() - x.min()) / 101)


@pytest.mark.parametrize("far", [[999.0], [-9999.0], [-1e300, 1e300], [-9999.0] * 100, [80.0]])
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_far_value_is_a_bin_and_the_others_have_the_rest(far, is_shuffled):
    plain = np.random.default_rng(1).normal(size=300)
    x = np.append(plain, [*far, np.nan])
    order = np.random.default_rng(2).permutation(x.size) if is_shuffled else np.arange(x.size)
    table = bin_table(np.column_stack([x, x - 1.0, x * 2.0])[order])
    codes = np.empty((3, x.size), dtype=np.uint8)
    codes[:, order] = table.codes[:, : x.size]
    assert codes[0, -1] == 255
    assert np.unique(codes[0, :300]).size > 90
    assert np.intersect1d(codes[0, :300], codes[0, 300:-1]).size == 0
    for j, column in enumerate([x, x - 1.0, x * 2.0]):
        expected = np.searchsorted(table.cuts.of(j), column[:-1], side="right")
        assert_array_equal(codes[j, :-1], expected)


def test_rare_values_of_a_column_of_zeros_are_cut_among_themselves():
    x = np.zeros(5000)
    x[:300] = RNG.random(300)
    assert bin_table(x[:, None]).cuts.step[0] > 0.0
    x[0] = 9999.0
    table = bin_table(x[:, None])
    assert np.unique(table.codes[0, :300]).size > 90


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        (np.arange(99), False),  # seven bins hold seven in 99
        (np.repeat(np.arange(30), 3), False),  # and here 21 in 90
        (np.repeat([5, 9, 40, 80], [15, 16, 29, 30]), True),  # the first seven 31 in 90
        (np.repeat([5, 12, 40, 80], [15, 15, 30, 30]), False),  # which these two do not share
        (np.repeat([93, 99, 4, 50], [15, 16, 29, 30]), True),
    ],
)
def test_a_column_is_crowded_when_a_third_of_it_lies_in_few_bins(codes, wanted):
    values = np.ones((1, codes.size))
    crowded = np.zeros(1, dtype=np.bool_)
    coded = codes.astype(np.uint8)[None]
    find_crowded(values, coded, np.ones(1), 7, crowded)
    assert crowded[0] == wanted
    for step, value in ((0.0, 1.0), (1.0, 0.0)):  # cut at listed points; nothing but zeros
        crowded[:] = False
        find_crowded(value * values, coded, np.full(1, step), 7, crowded)
        assert not crowded[0]
