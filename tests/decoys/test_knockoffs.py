from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage

from tvselect.decoys import GaussianKnockoffs

P = 8
ROWS = 30_000
# A false alarm in a comparison of Gaussian moments: 6e-7 each, under 1e-4 for a whole table.
Z = 5.0
MEAN = np.linspace(-3.0, 4.0, P)
SCALE = np.geomspace(0.1, 20.0, P)
CORRELATIONS = {
    "AR(1) 0.5": 0.5 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))),
    "equal 0.3": 0.3 + 0.7 * np.eye(P),
}
each_law = pytest.mark.parametrize("correlation", CORRELATIONS.values(), ids=CORRELATIONS)


def gaussian(correlation, rows, seed):
    noise = np.random.default_rng(seed).standard_normal((rows, P))
    return MEAN + SCALE * (noise @ np.linalg.cholesky(correlation).T)


def joint_covariance(correlation, s):
    """What a row and its knockoff must have."""
    covariance = correlation * np.outer(SCALE, SCALE)
    apart = covariance - np.diag(s * SCALE**2)
    return np.block([[covariance, apart], [apart, covariance]])


def assert_second_moments(pairs, covariance):
    """Each sample covariance within Z of its standard errors, for Gaussian rows."""
    variance = np.diag(covariance)
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / len(pairs))
    assert (np.abs(np.cov(pairs.T) - covariance) < Z * error).all()


def assert_means(pairs, mean, covariance):
    error = np.sqrt(np.diag(covariance) / len(pairs))
    assert (np.abs(pairs.mean(axis=0) - mean) < Z * error).all()


@pytest.fixture
def awkward():
    """Missing values, a 0/1 column, two collinear columns, a constant and an empty one."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 7)) + rng.normal(size=(200, 1))
    X[:, 1] = X[:, 1] > 1
    X[:, 3] = 5 - 2 * X[:, 2]
    X[:, 4] = 0.1
    X[:, 5] = np.nan
    X[::7, 0] = np.nan
    X[1::5, 4] = np.nan
    return X


@each_law
def test_originals_and_knockoffs_have_the_joint_moments_of_the_law(correlation):
    knockoffs = GaussianKnockoffs.from_correlation(MEAN, SCALE, correlation)
    X = gaussian(correlation, ROWS, seed=1)
    pairs = np.hstack([X, knockoffs.draw(X, np.random.default_rng(2))])
    covariance = joint_covariance(correlation, knockoffs.s)
    assert_second_moments(pairs, covariance)
    assert_means(pairs, np.tile(MEAN, 2), covariance)


@each_law
@pytest.mark.parametrize("swapped", [[0], [1, 4, 6], list(range(P))], ids=str)
def test_swapping_columns_with_their_knockoffs_changes_no_moment(correlation, swapped):
    knockoffs = GaussianKnockoffs.from_correlation(MEAN, SCALE, correlation)
    X = gaussian(correlation, ROWS, seed=3)
    copies = knockoffs.draw(X, np.random.default_rng(4))
    X[:, swapped], copies[:, swapped] = copies[:, swapped], X[:, swapped]
    pairs = np.hstack([X, copies])
    covariance = joint_covariance(correlation, knockoffs.s)
    assert_second_moments(pairs, covariance)
    assert_means(pairs, np.tile(MEAN, 2), covariance)


@each_law
def test_the_algebra_keeps_the_covariance_exactly(correlation):
    known = GaussianKnockoffs.from_correlation(MEAN, SCALE, correlation)
    of_copies = known.slopes @ correlation @ known.slopes.T + known.root @ known.root.T
    # The floor under the eigenvalues moves correlations by 1e-6 of themselves.
    np.testing.assert_allclose(of_copies, correlation, atol=1e-5)
    np.testing.assert_allclose(
        known.slopes @ correlation, correlation - np.diag(known.s), atol=1e-5
    )


@each_law
def test_s_has_the_most_entropy(correlation):
    known = GaussianKnockoffs.from_correlation(MEAN, SCALE, correlation)

    def entropy(s):
        return np.linalg.slogdet(2 * correlation - np.diag(s))[1] + np.log(s).sum()

    best = entropy(known.s)
    for direction in np.random.default_rng(6).normal(size=(50, P)):
        assert entropy(known.s * np.exp(0.05 * direction)) < best


def test_independent_columns_get_independent_knockoffs():
    known = GaussianKnockoffs.from_correlation(MEAN, SCALE, np.eye(P))
    np.testing.assert_allclose(known.s, 1.0, rtol=1e-6)
    np.testing.assert_allclose(known.slopes, 0.0, atol=1e-6)


@each_law
def test_the_estimate_has_the_moments_of_its_rows(correlation):
    X = gaussian(correlation, ROWS, seed=7)
    estimate = GaussianKnockoffs.estimate(X)
    known = GaussianKnockoffs.from_correlation(MEAN, SCALE, correlation)
    np.testing.assert_allclose(estimate.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(estimate.scale, X.std(axis=0), rtol=1e-12)
    # The standard error of an entry of the inverse correlation, which a slope has times s < 1.
    error = np.sqrt(2 / ROWS) * np.diag(np.linalg.inv(correlation)).max()
    np.testing.assert_allclose(estimate.slopes, known.slopes, atol=Z * error)
    np.testing.assert_allclose(estimate.s, known.s, atol=Z * error)


def test_missing_values_stay_missing_and_leave_mean_and_scale_alone():
    correlation = CORRELATIONS["equal 0.3"]
    X = gaussian(correlation, 5000, seed=8)
    X[np.random.default_rng(9).random(X.shape) < 0.2] = np.nan
    estimate = GaussianKnockoffs.estimate(X)
    np.testing.assert_allclose(estimate.mean, np.nanmean(X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(estimate.scale, np.nanstd(X, axis=0), rtol=1e-12)
    copies = estimate.draw(X, np.random.default_rng(10))
    np.testing.assert_array_equal(np.isnan(copies), np.isnan(X))


def test_a_constant_is_its_own_knockoff(awkward):
    estimate = GaussianKnockoffs.estimate(awkward)
    copies = estimate.draw(awkward, np.random.default_rng(0))
    np.testing.assert_array_equal(copies[:, 4], awkward[:, 4])
    assert estimate.scale[4] == 0
    assert estimate.s[4] == 0


def test_a_column_without_values_counts_as_zero(awkward):
    estimate = GaussianKnockoffs.estimate(awkward)
    awkward[:3, 5] = 9.0
    copies = estimate.draw(awkward, np.random.default_rng(0))
    np.testing.assert_array_equal(copies[:3, 5], 0.0)
    assert np.isnan(copies[3:, 5]).all()


def test_all_columns_constant():
    X = np.full((4, 3), 0.1)
    estimate = GaussianKnockoffs.estimate(X)
    np.testing.assert_array_equal(estimate.draw(X, np.random.default_rng(0)), X)


def test_one_collinear_pair_does_not_spoil_the_others():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(2000, 6))
    X[:, 1] = 1 - 3 * X[:, 0]
    estimate = GaussianKnockoffs.estimate(X)
    copies = estimate.draw(X, rng)
    # For a pair with correlation 1 - a, a small, the best s is 4 a / 3.
    shrinkage = ledoit_wolf_shrinkage((X - X.mean(axis=0)) / X.std(axis=0), assume_centered=True)
    np.testing.assert_allclose(estimate.s[:2], 4 * shrinkage / 3, rtol=0.02)
    assert (estimate.s[2:] > 0.9).all()
    # The difference of a copy from its original has the variance 2 s, in units of the column's.
    off = (copies - X)[:, :2] / estimate.scale[:2]
    assert (np.abs(off) < Z * np.sqrt(2 * estimate.s[:2])).all()


def test_collinear_columns_that_the_shrinkage_leaves_alone():
    X = np.tile([[1.0, 1.0], [-1.0, -1.0]], (50, 1))
    copies = GaussianKnockoffs.estimate(X).draw(X, np.random.default_rng(0))
    np.testing.assert_allclose(copies, X, atol=0.02)


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(10, 40)) + rng.normal(size=(10, 1))
    estimate = GaussianKnockoffs.estimate(X)
    assert np.isfinite(estimate.draw(X, rng)).all()
    assert ((estimate.s > 0) & (estimate.s <= 1)).all()


@pytest.mark.parametrize("rows", [2, 3])
def test_very_few_rows(rows):
    rng = np.random.default_rng(13)
    X = rng.normal(size=(rows, 4))
    assert np.isfinite(GaussianKnockoffs.estimate(X).draw(X, rng)).all()


def test_columns_of_0_and_1():
    rng = np.random.default_rng(14)
    X = (rng.random((300, 12)) < np.geomspace(0.01, 0.9, 12)).astype(np.int8)
    copies = GaussianKnockoffs.estimate(X).draw(X, rng)
    assert np.isfinite(copies).all()


def test_a_draw_is_a_function_of_the_table_and_the_generator(awkward):
    estimate = GaussianKnockoffs.estimate(awkward)
    before = awkward.copy()
    first, again, other = (
        estimate.draw(awkward, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first[:, 2] != other[:, 2]).all()
    np.testing.assert_array_equal(awkward, before)


@pytest.mark.parametrize("rows", [1, 2, 31, 200])
@pytest.mark.parametrize("columns", [[], [2], [6, 0], [5, 1, 1, 4, 3]], ids=str)
def test_asked_columns_are_a_slice_of_all(awkward, columns, rows):
    estimate = GaussianKnockoffs.estimate(awkward)
    rngs = np.random.default_rng(15), np.random.default_rng(15)
    some = estimate.draw(awkward[:rows], rngs[0], columns)
    np.testing.assert_array_equal(some, estimate.draw(awkward[:rows], rngs[1])[:, columns])
    assert rngs[0].bit_generator.state == rngs[1].bit_generator.state


def test_bytes_round_trip_bit_for_bit(awkward):
    estimate = GaussianKnockoffs.estimate(awkward)
    stored = estimate.to_bytes()
    read = GaussianKnockoffs.from_bytes(stored)
    assert read.to_bytes() == stored
    draws = [knockoffs.draw(awkward, np.random.default_rng(16)) for knockoffs in (estimate, read)]
    assert draws[0].tobytes() == draws[1].tobytes()


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: b"x" * 50, lambda data: data[:-9]]
)
def test_other_bytes_are_refused(damage, awkward):
    stored = GaussianKnockoffs.estimate(awkward).to_bytes()
    with pytest.raises(ValueError, match="not stored knockoffs"):
        GaussianKnockoffs.from_bytes(damage(stored))


@pytest.mark.parametrize("array", [{"mean": np.zeros(2)}, {"mean": np.array([{}])}])
def test_other_arrays_are_refused(array, tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, **array)
    with pytest.raises(ValueError, match="not stored knockoffs"):
        GaussianKnockoffs.from_bytes(path.read_bytes())


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_infinite_values_are_refused_with_their_column(awkward, value):
    estimate = GaussianKnockoffs.estimate(awkward)
    awkward[3, 2] = value
    with pytest.raises(ValueError, match="Column 2"):
        GaussianKnockoffs.estimate(awkward)
    with pytest.raises(ValueError, match="Column 2"):
        estimate.draw(awkward, np.random.default_rng(0))


@pytest.mark.parametrize("rows", [0, 1])
def test_an_estimate_needs_two_rows(rows):
    with pytest.raises(ValueError, match=f"at least 2 rows, got {rows}"):
        GaussianKnockoffs.estimate(np.zeros((rows, 3)))


def test_a_table_of_another_width_is_refused(awkward):
    estimate = GaussianKnockoffs.estimate(awkward)
    with pytest.raises(ValueError, match="of 7 columns, the table has 6"):
        estimate.draw(awkward[:, 1:], np.random.default_rng(0))


def test_a_table_has_two_dimensions(awkward):
    with pytest.raises(ValueError, match="2 dimensions, got 1"):
        GaussianKnockoffs.estimate(awkward[0])
