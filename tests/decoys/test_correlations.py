from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.decoys.tables import autoregressive, common_factor
from tvselect.decoys.correlations import LARGEST_BLOCK, estimate_correlations
from tvselect.decoys.scores import NormalScores, hermite, mean_scores


def estimate(X):
    cells = NormalScores.of(X).cells(X)
    return estimate_correlations(mean_scores(*cells), hermite(*cells))


def full(found):
    R = found.loadings @ found.loadings.T
    own = np.eye(len(R))
    for members, correlation, _ in found.blocks:
        own[np.ix_(members, members)] = correlation
    return R + own * np.outer(found.rest, found.rest)


def test_many_rows_give_the_correlations_of_the_sample():
    """Thresholds fall with the rows; each entry has a standard error below 1 / sqrt(rows)."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(20_000, 6)) @ rng.normal(size=(6, 6))
    assert_allclose(full(estimate(mixed)), np.corrcoef(mixed.T), atol=0.05)


@pytest.mark.parametrize("cut", [0.0, 1.0])
def test_0_and_1_have_the_correlations_of_the_normal_numbers_behind(cut):
    z = autoregressive(0.7, 20_000, 5, np.random.default_rng(1))
    wanted = 0.7 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    # The standard error of a tetrachoric correlation is about 2 / sqrt(rows).
    assert_allclose(full(estimate((z > cut) + 0.0)), wanted, atol=5 * 2 / np.sqrt(20_000))


def test_a_common_factor_is_one_factor_and_neighbours_are_none():
    rng = np.random.default_rng(2)
    assert estimate(common_factor(300, 500, rng)).loadings.shape == (500, 1)
    for p in (20, 500):
        assert estimate(autoregressive(0.9, 300, p, rng)).loadings.shape == (p, 0)


def test_blocks_are_disjoint_sound_and_not_too_large():
    rng = np.random.default_rng(3)
    found = estimate(autoregressive(0.8, 300, 1000, rng))
    members = np.concatenate([block.members for block in found.blocks])
    assert np.unique(members).size == members.size > 950
    for block in found.blocks:
        assert block.members.size <= LARGEST_BLOCK
        assert_allclose(np.diag(block.correlation), 1.0)
        assert np.linalg.eigvalsh(block.correlation)[0] > 0
        assert_allclose(block.precision @ block.correlation, np.eye(len(block.members)), atol=1e-8)


def test_columns_that_do_not_vary_are_alone():
    X = np.random.default_rng(4).normal(size=(100, 4))
    X[:, 2] = 7.0
    found = estimate(X)
    assert not any(2 in block.members for block in found.blocks)
    assert_array_equal(found.loadings[2], 0.0)
