from __future__ import annotations

import numpy as np
import pytest

from tvstudy.simulation import (
    simulate_counts,
    simulate_expression,
    simulate_grades,
    simulate_survival,
)

N = 4000


def rng():
    return np.random.default_rng(0)


def test_four_genes_differ_between_the_classes_and_no_other():
    data = simulate_expression(N, 30, rng())
    assert data.support.sum() == 4
    means = np.array([data.X[data.y == k].mean(axis=0) for k in range(3)])
    apart = means.max(axis=0) - means.min(axis=0)
    # A mean of N / 3 rows has a standard error of 0.027.
    np.testing.assert_allclose(apart[data.support], 1.2, atol=0.16)
    assert apart[~data.support].max() < 0.16


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("censored", [0.3, 0.7])
def test_the_wanted_share_of_the_times_is_censored(censored, proportional):
    data = simulate_survival(N, 30, rng(), censored=censored, proportional=proportional)
    assert data.support.sum() == 5
    assert data.y["time"].min() > 0.0
    assert 1.0 - data.y["event"].mean() == pytest.approx(censored, abs=0.002)


@pytest.mark.parametrize("mean", [0.3, 20.0])
def test_counts_follow_their_rate(mean):
    data = simulate_counts(N, 30, rng(), mean=mean)
    assert data.support.sum() == 5
    assert data.y.dtype.kind == "i"
    assert data.y.min() >= 0
    assert mean < data.y.mean() < 3.0 * mean


def test_grades_have_their_shares():
    data = simulate_grades(N, 30, rng(), shares=(0.5, 0.25, 0.15, 0.1))
    assert data.support.sum() == 5
    shares = np.bincount(data.y) / N
    np.testing.assert_allclose(shares, (0.5, 0.25, 0.15, 0.1), atol=0.001)
