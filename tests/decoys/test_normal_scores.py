"""Columns on the normal scale: cells, values that come back, mean scores and their covariances."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri

from tvselect.decoys.knockoffs import NormalScores, hermite, mean_scores

WIDE = 0.02  # as in core/tables.h


def test_any_number_inside_a_cell_comes_back_as_the_value():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(101, 3)) ** 3  # points: cells without a width
    low, high = NormalScores.of(X).cells(X)
    assert_array_equal(low, high)
    assert_array_equal(NormalScores.of(X).back(low), X)
    X = rng.integers(0, 4, (200, 2)).astype(float)
    scores = NormalScores.of(X)
    low, high = scores.cells(X)
    assert (low < high).all()
    inside = rng.uniform(np.clip(low, -9, 9), np.clip(high, -9, 9))
    assert_array_equal(scores.back(inside), X)


def test_mean_scores_of_a_half_and_of_a_point():
    low, high = np.array([[0.0, 0.7, -np.inf]]), np.array([[np.inf, 0.7, np.inf]])
    assert_allclose(mean_scores(low, high), [[np.sqrt(2 / np.pi), 0.7, 0.0]], atol=1e-15)


def test_hermite_coefficients_give_the_covariance_of_mean_scores():
    """E[m(z) m(w)] = sum over h of c_h d_h r^h, checked with a million pairs of numbers."""
    rng = np.random.default_rng(2)
    r, n = 0.6, 10**6
    z = rng.standard_normal(n)
    w = r * z + np.sqrt(1 - r**2) * rng.standard_normal(n)
    X = np.column_stack([(z > 1.2) + 0.0, np.floor(w)])
    scores = NormalScores.of(X)
    cells = scores.cells(X)
    m = mean_scores(*cells)
    c, d = hermite(*cells)
    wanted = np.sum(c * d * r ** np.arange(1, c.size + 1))
    product = (m[:, 0] - m[:, 0].mean()) * (m[:, 1] - m[:, 1].mean())
    # The tail of the series is below d_13 c_13 r^13 / (1 - r) < 0.002.
    assert abs(product.mean() - wanted) < 4 * product.std() / np.sqrt(n) + 0.002
    assert np.corrcoef(m.T)[0, 1] < r


def test_cells_are_the_shares_of_seen_values_below_and_up_to_an_entry():
    rng = np.random.default_rng(3)
    seen = np.column_stack(
        [rng.normal(size=200), rng.integers(3, size=200), rng.integers(150, size=200)]
    ).astype(float)
    seen[rng.random(seen.shape) < 0.1] = np.nan
    X = np.vstack([seen[:50], rng.normal(size=(20, 3)), np.full((1, 3), np.nan)])
    scores = NormalScores.of(np.column_stack([seen, np.full(200, np.nan)]))
    found = scores.cells(np.column_stack([X, np.arange(71.0)]))
    for j in range(3):
        values = np.sort(seen[~np.isnan(seen[:, j]), j])
        n = values.size
        below, up_to = (np.searchsorted(values, X[:, j], side) / n for side in ("left", "right"))
        is_wide = up_to - below > max(WIDE, 1.5 / n)
        middle = np.clip((below + up_to) / 2, 0.5 / n, 1 - 0.5 / n)
        is_missing = np.isnan(X[:, j])
        for share, end, bound in zip((below, up_to), found, (-np.inf, np.inf), strict=True):
            expected = np.where(is_missing, bound, ndtri(np.where(is_wide, share, middle)))
            assert_array_equal(end[:, j], expected)
    assert_array_equal(found[0][:, 3], -np.inf)
    assert_array_equal(found[1][:, 3], np.inf)
