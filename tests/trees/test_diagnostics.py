"""R-hat and effective sizes: known values of chains with known correlations."""

from __future__ import annotations

import numpy as np
import pytest

from tvselect.trees import effective_size, r_hat


def chains(correlation, n_chains=4, n=4000, seed=1):
    noise = np.random.default_rng(seed).normal(size=(n_chains, n))
    for t in range(1, n):
        noise[:, t] = correlation * noise[:, t - 1] + np.sqrt(1 - correlation**2) * noise[:, t]
    return noise


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.5, 0.9])
def test_the_effective_size_of_autoregressive_chains_is_known(correlation):
    found = effective_size(chains(correlation))
    expected = 16000 * (1 - correlation) / (1 + correlation)
    assert found == pytest.approx(expected, rel=0.2)


def test_what_does_not_agree_is_seen_whatever_the_shape():
    mixed = chains(0.3)
    apart = mixed + np.array([[0.0], [0.0], [0.0], [1.0]])
    wide = mixed * np.array([[1.0], [1.0], [1.0], [3.0]])  # the same mean, another spread
    drift = mixed[:1] + np.linspace(0, 3, 4000)
    assert r_hat(mixed) < 1.01
    assert min(r_hat(apart), r_hat(wide), r_hat(drift)) > 1.05
    assert effective_size(apart) < 100
    together = np.stack([mixed, apart], axis=-1)
    np.testing.assert_array_equal(r_hat(together), [r_hat(mixed), r_hat(apart)])
    np.testing.assert_allclose(
        effective_size(together), [effective_size(mixed), effective_size(apart)]
    )


def test_ranks_alone_count():
    mixed = chains(0.5)
    assert effective_size(np.exp(5 * mixed)) == effective_size(mixed)


def test_constants_and_short_chains():
    assert np.isnan(r_hat(np.ones((2, 10))))
    assert np.isnan(effective_size(np.ones((2, 10))))
    with pytest.raises(ValueError, match=r"at least 4 draws, got shape \(2, 3\)"):
        r_hat(np.ones((2, 3)))
