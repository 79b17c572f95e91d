from __future__ import annotations

import numpy as np
import pytest

from tvselect.decoys.entropy import most_entropy

P = 8
CORRELATIONS = {
    "AR(0.5)": 0.5 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))),
    "equal 0.3": 0.3 + 0.7 * np.eye(P),
}


@pytest.mark.parametrize("n_copies", [1, 2, 10])
@pytest.mark.parametrize("R", CORRELATIONS.values(), ids=CORRELATIONS)
def test_s_has_the_most_entropy(R, n_copies):
    def entropy(s):
        values = np.linalg.eigvalsh((1 + 1 / n_copies) * R - np.diag(s))
        if values[0] <= 0:
            return -np.inf
        return np.log(values).sum() + n_copies * np.log(s).sum()

    s = most_entropy(R, n_copies)
    for direction in np.random.default_rng(6).normal(size=(50, P)):
        assert entropy(s * np.exp(0.05 * direction)) < entropy(s)


def test_independent_columns_have_all_the_room():
    np.testing.assert_allclose(most_entropy(np.eye(P), 4), 1.0, rtol=1e-3)


def test_a_pair_that_is_nearly_one_column():
    """For a pair with correlation 1 - a, a small, the best s of one copy is 4 a / 3."""
    R = np.array([[1.0, 1 - 1e-4], [1 - 1e-4, 1.0]])
    np.testing.assert_allclose(most_entropy(R, 1), 4e-4 / 3, rtol=0.01)
