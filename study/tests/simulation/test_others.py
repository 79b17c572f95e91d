"""Other people's benchmarks: their recipes give what they say."""

from __future__ import annotations

import numpy as np
import pytest

from tvstudy.simulation.others import EDGES, LAWS, simulate_half, simulate_rings

N = 4000


@pytest.mark.parametrize("kind", EDGES)
def test_every_shape_has_two_columns_and_its_classes_are_equal(kind):
    data = simulate_rings(kind, N, 20, np.random.default_rng(1))
    assert data.support.sum() == 2 * len(kind.split("+"))
    # The published edges halve the classes but for about 0.01; a share has an error of 0.008.
    assert data.y.mean() == pytest.approx(0.5, abs=0.01 + 4 * 0.008)


def test_a_ring_and_a_cross_are_where_the_support_says():
    ring, cross = (
        simulate_rings(kind, N, 20, np.random.default_rng(2)) for kind in ("ring", "XOR")
    )
    radius = np.hypot(*(ring.X[:, ring.support] - 0.5).T)
    np.testing.assert_array_equal(ring.y, (radius >= 0.2349) & (radius <= 0.4651))
    a, b = cross.X[:, cross.support].T > 0.5
    np.testing.assert_array_equal(cross.y, a ^ b)


@pytest.mark.parametrize("law", LAWS)
def test_the_square_of_half_of_the_columns_is_the_outcome(law):
    data = simulate_half(law, N, 100, np.random.default_rng(4))
    assert data.support.sum() == 50
    left = data.y - (2.0 * data.X[:, data.support].sum(axis=1) - 2.0) ** 2
    # Noise of variance 1, and products that add less than 0.1.
    assert left.var() == pytest.approx(1.05, abs=0.05 + 4 * np.sqrt(2 / N))
