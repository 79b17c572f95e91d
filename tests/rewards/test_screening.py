"""Credit: what stands out from the bulk of the columns, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tvselect.inputs import read_outcome
from tvselect.rewards.screening import bulk_of, marginal_evidence, z_values
from tvselect.trees import bin_table


def make(n_rows=200, n_columns=500, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, n_columns)), rng.standard_normal(n_rows)


def test_evidence_is_the_corrected_p_value_of_the_correlation():
    """Up to the scale of the bulk: from 4,000 columns, known to 2 % (one standard error)."""
    X, y = make(n_columns=4000)
    X[:, 7] += y
    evidence = marginal_evidence(bin_table(X), read_outcome(y, len(y)), 4000)
    z = np.arctanh(stats.pearsonr(X[:, 7], y).statistic) * np.sqrt(197)
    wanted = -np.log(4000 * 2 * stats.norm.sf(z))
    assert evidence[7] == pytest.approx(wanted, rel=0.12)


def test_noise_stands_out_as_often_as_the_correction_says():
    """One of p columns has p-value * p < 1 on average, so 40 tables have about 40 such.

    Poisson with mean 40; the scale is estimated, never below its theoretical value.
    """
    n_found = 0
    for seed in range(40):
        X, y = make(100, 200, seed)
        n_found += (marginal_evidence(bin_table(X), read_outcome(y, len(y)), 200) > 0).sum()
    assert 0 < n_found <= stats.poisson(40).ppf(0.999)


def test_where_all_columns_go_with_the_outcome_none_stands_out():
    X, y = make()
    X += y[:, None]
    assert (
        marginal_evidence(bin_table(X), read_outcome(y, len(y)), 500) > 0
    ).sum() <= stats.poisson(1).ppf(0.999)


def test_more_candidates_leave_less_evidence():
    X, y = make()
    X[:, 7] += y
    table = bin_table(X)
    few, many = (marginal_evidence(table, read_outcome(y, len(y)), n)[7] for n in (500, 5000))
    assert few - many == pytest.approx(np.log(10))


def test_missing_values_are_left_out():
    X, y = make(300)
    X[:, 7] += y
    whole = marginal_evidence(bin_table(X), read_outcome(y, len(y)), 500)
    X[:100, 7] = np.nan
    part = marginal_evidence(bin_table(X), read_outcome(y, len(y)), 500)
    assert 0 < part[7] < whole[7]
    assert np.isfinite(part).all()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_units_do_not_matter(scale):
    X, y = make(50, 40)
    X[:, 7] = y
    evidence = marginal_evidence(bin_table(X), read_outcome(scale * y, 50), 40)
    np.testing.assert_allclose(
        evidence, marginal_evidence(bin_table(X), read_outcome(y, len(y)), 40), rtol=1e-6
    )
    assert evidence[7] > 50


def test_constant_columns_have_none():
    X, y = make(50, 10)
    X[:, 3] = 4.0
    assert marginal_evidence(bin_table(X), read_outcome(y, len(y)), 10)[3] == 0.0


def test_chosen_columns_are_set_against_the_bulk_of_all():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(200, 300)), rng.normal(size=200)
    X += 0.3 * y[:, None]
    codes = bin_table(X).codes[:, :200]
    r = np.array([np.corrcoef(column, y)[0, 1] for column in codes])
    bulk = bulk_of(z_values(r, 200))
    chosen = np.argsort(-np.abs(r))[:20]
    alone = marginal_evidence(bin_table(X[:, chosen]), read_outcome(y, 200), 10, bulks=[bulk])
    whole = marginal_evidence(bin_table(X), read_outcome(y, len(y)), 10)
    np.testing.assert_allclose(alone, whole[chosen])
    assert alone.max() > marginal_evidence(bin_table(X[:, chosen]), read_outcome(y, 200), 10).max()
