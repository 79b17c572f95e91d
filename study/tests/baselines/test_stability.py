from __future__ import annotations

import numpy as np
import pytest

from tvstudy.baselines import StabilitySelection
from tvstudy.baselines.stability import first_on_path


def test_the_path_is_followed_in_the_order_of_entry():
    """Of orthogonal columns those enter first that go best with the outcome."""
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 6)))[0]
    X -= X.mean(axis=0)
    y = X @ [0.0, 3.0, 0.1, -5.0, 0.0, 2.0]
    assert first_on_path(X, y, 3) == [3, 1, 5]
    assert first_on_path(X, y, 1) == [3]


def test_halves_without_anything_to_explain_take_nothing():
    X = np.random.default_rng(0).standard_normal((10, 3))
    assert first_on_path(X, np.ones(10), 2) == []
    assert first_on_path(np.ones((10, 3)), X[:, 0], 2) == []


@pytest.mark.parametrize(
    ("p", "threshold", "max_false", "expected"),
    [(200, 0.75, 1.0, 10), (200, 0.75, 4.0, 20), (200, 0.9, 1.0, 12), (1, 0.75, 1.0, 1)],
)
def test_columns_of_a_path_by_the_bound(p, threshold, max_false, expected):
    """E[false] <= q^2 / ((2 threshold - 1) p): q is the largest number that keeps the bound."""
    X = np.random.default_rng(1).standard_normal((60, p))
    selector = StabilitySelection(threshold, max_false, n_pairs=1, random_state=0)
    assert selector.fit(X, X[:, 0]).n_first_ == expected


def test_signals_are_stable_and_noise_is_not():
    """Of 20 runs on noise at a bound of one the mean number selected is at most one."""
    rng = np.random.default_rng(2)
    counts = []
    for seed in range(20):
        X = rng.standard_normal((80, 50))
        counts.append(StabilitySelection(random_state=seed).fit(X, X[:, 0]).support_)
        assert counts[-1][0]
    false = np.array(counts)[:, 1:].sum(axis=1)
    assert false.mean() <= 1.0 + 2.0 * false.std() / np.sqrt(20)


@pytest.mark.parametrize(
    "settings", [{"threshold": 0.5}, {"threshold": 1.0}, {"max_false": 0.0}, {"n_pairs": 0}]
)
def test_settings_out_of_range(settings):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match=next(iter(settings))):
        StabilitySelection(**settings).fit(X, X[:, 0])
