"""Draws between bounds: the distribution is that of SciPy's truncated normal law.

Law: the Kolmogorov-Smirnov distance of 20,000 draws has a p-value above 0.001 in every case.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.core.probes import normal_between

N_DRAWS = 20_000
BOUNDS = [
    (0.0, 1.0, -np.inf, np.inf),
    (0.3, 1.0, 0.0, np.inf),
    (-3.0, 2.0, 1.0, np.inf),
    (1.0, 0.5, -np.inf, -2.0),
    (0.0, 1.0, -1.0, 2.0),
    (0.0, 1.0, -0.1, 0.2),
    (0.0, 1.0, 2.0, 2.1),
    (0.0, 1.0, 2.0, 9.0),
    (5.0, 1.0, -9.0, 1.0),
    (5.0, 3.0, 0.9, 1.0),
    (0.0, 1e-3, 0.002, 1.0),
]


@pytest.mark.parametrize(("mean", "sd", "low", "high"), BOUNDS)
def test_draws_have_the_law_of_the_truncated_normal(mean, sd, low, high):
    out = np.empty(N_DRAWS)
    normal_between(np.random.default_rng(1), mean, sd, low, high, out)
    law = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    assert out.min() >= low
    assert out.max() <= high
    assert stats.kstest(out, law.cdf).pvalue > 0.001


@pytest.mark.parametrize(("low", "high"), [(40.0, 41.0), (-60.0, -55.0), (1e6, np.inf)])
def test_bounds_far_from_the_mean_take_no_longer(low, high):
    out = np.empty(100)
    normal_between(np.random.default_rng(1), 0.0, 1.0, low, high, out)
    assert np.all((out >= low) & (out <= high))
