from __future__ import annotations

import numpy as np
import pytest

from tvselect.decoys.noise import noise_of_rows

N, P = 20_000, 6


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).integers(0, 9, (N, P)) + np.arange(N)[:, None] / 7.0


@pytest.fixture(scope="module")
def noise(table):
    return noise_of_rows(table, 3)


def test_numbers_are_standard_normal_and_independent(noise):
    """Means and correlations have standard error 1/sqrt(N), variances sqrt(2/N)."""
    assert np.abs(noise.mean(axis=0)).max() < 4 / np.sqrt(N)
    assert np.abs(noise.var(axis=0) - 1).max() < 4 * np.sqrt(2 / N)
    off = np.corrcoef(noise.T) - np.eye(P)
    assert np.abs(off).max() < 4 / np.sqrt(N)
    inside = np.mean(np.abs(noise) < 1.96)
    assert abs(inside - 0.95) < 4 * np.sqrt(0.95 * 0.05 / (N * P))


def test_neighbouring_rows_and_other_keys_have_nothing_in_common(table, noise):
    assert abs(np.mean(noise[1:] * noise[:-1])) < 4 / np.sqrt(N * P)
    assert abs(np.mean(noise * noise_of_rows(table, 4))) < 4 / np.sqrt(N * P)
    assert abs(np.mean(noise * table[:, :1] / table.std())) < 4 * table.max() / table.std() / 100


def test_a_row_has_its_numbers_wherever_it_stands(table, noise):
    order = np.random.default_rng(1).permutation(N)
    np.testing.assert_array_equal(noise_of_rows(table[order], 3), noise[order])


def test_one_cell_changes_all_numbers_of_its_row(table, noise):
    other = table[:50].copy()
    other[:, 2] = np.nextafter(other[:, 2], np.inf)
    assert (noise_of_rows(other, 3) != noise[:50]).all()


def test_missing_values_and_zeros_are_equal_to_themselves():
    payload = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    one = noise_of_rows(np.array([[np.nan, 0.0]]), 0)
    np.testing.assert_array_equal(noise_of_rows(np.array([[payload, -0.0]]), 0), one)
