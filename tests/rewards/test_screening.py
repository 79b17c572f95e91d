"""Screening: what stands out from the bulk of the columns or pairs, and hardly ever noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tvselect.inputs import read_outcome
from tvselect.inputs.columns import evenly
from tvselect.rewards import screening
from tvselect.rewards.screening import (
    FALSE_ALARM,
    FEWEST_ROWS,
    MOST_PAIRS,
    bulk_of,
    marginal_evidence,
    screen_pairs,
    z_values,
)
from tvselect.trees import bin_table


def noise(n_rows=200, n_columns=500, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, n_columns)), rng.standard_normal(n_rows)


def evidence_of(X, y, n_candidates=None, **bulks):
    n_candidates = n_candidates or X.shape[1]
    return marginal_evidence(bin_table(X), read_outcome(y, len(y)), n_candidates, **bulks)


def test_evidence_is_the_corrected_p_value_of_the_correlation():
    """Up to the scale of the bulk: from 4,000 columns, known to 2 % (one standard error)."""
    X, y = noise(n_columns=4000)
    X[:, 7] += y
    evidence = evidence_of(X, y)
    z = np.arctanh(stats.pearsonr(X[:, 7], y).statistic) * np.sqrt(197)
    wanted = -np.log(4000 * 2 * stats.norm.sf(z))
    assert evidence[7] == pytest.approx(wanted, rel=0.12)
    assert evidence[7] - evidence_of(X, y, 40_000)[7] == pytest.approx(np.log(10))


def test_noise_stands_out_as_often_as_the_correction_says():
    """One of p columns has p-value * p < 1 on average, so 40 tables have about 40 such.

    Poisson with mean 40; the scale is estimated, never below its theoretical value.
    """
    n_found = 0
    for seed in range(40):
        X, y = noise(100, 200, seed)
        n_found += (evidence_of(X, y) > 0).sum()
    assert 0 < n_found <= stats.poisson(40).ppf(0.999)


def test_where_all_columns_go_with_the_outcome_none_stands_out():
    X, y = noise()
    X += y[:, None]
    assert (evidence_of(X, y) > 0).sum() <= stats.poisson(1).ppf(0.999)


def test_missing_values_are_left_out():
    X, y = noise(300)
    X[:, 7] += y
    whole = evidence_of(X, y)
    X[:100, 7] = np.nan
    part = evidence_of(X, y)
    assert 0 < part[7] < whole[7]
    assert np.isfinite(part).all()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_units_do_not_matter_and_constant_columns_have_none(scale):
    X, y = noise(50, 40)
    X[:, 7], X[:, 3] = y, 4.0
    evidence = evidence_of(X, scale * y)
    np.testing.assert_allclose(evidence, evidence_of(X, y), rtol=1e-6)
    assert evidence[7] > 50
    assert evidence[3] == 0.0


def test_rows_of_groups_are_no_evidence_of_their_own(monkeypatch):
    """Ten tables of 60 groups of 10: z-values of 30 columns of noise that vary within groups, and
    of 30 between them, are standard normal: their squares have a mean of 1 within four errors."""
    seen, none = [], screening.Bulk(0.0, 1.0)
    monkeypatch.setattr(screening, "bulk_of", lambda z: seen.append(z.copy()) or none)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        group = rng.permutation(np.arange(600, dtype=np.int32) % 60)
        X = rng.standard_normal((600, 60))
        X[:, 30:] = rng.standard_normal((60, 30))[group]
        noise = rng.standard_normal(60)[group] + rng.standard_normal(600)
        signal = 0.3 * X[:, 0] + X[:, 30]
        X[rng.random(X.shape) < 0.05] = np.nan
        for y in (noise, noise + signal):
            marginal_evidence(bin_table(X), read_outcome(y, 600), 60, groups=group)
    for columns in (slice(30), slice(30, 60)):
        squares = np.square(seen[::2])[:, columns]
        assert abs(squares.mean() - 1.0) < 4 * np.sqrt(2 / squares.size)
    assert np.square(seen[1::2])[:, [0, 30]].mean(axis=0).min() > 10


def test_chosen_columns_are_set_against_the_bulk_of_all():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(200, 300)), rng.normal(size=200)
    X += 0.3 * y[:, None]
    codes = bin_table(X).codes[:, :200]
    r = np.array([np.corrcoef(column, y)[0, 1] for column in codes])
    bulk = bulk_of(z_values(r, 200))
    chosen = np.argsort(-np.abs(r))[:20]
    alone = evidence_of(X[:, chosen], y, 10, bulks=[bulk])
    np.testing.assert_allclose(alone, evidence_of(X, y, 10)[chosen])
    assert alone.max() > evidence_of(X[:, chosen], y, 10).max()


# Pairs


def make(n_rows=300, n_columns=40, pairs=((3, 7),), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_columns))
    signs = np.sign(X - 0.5)
    y = sum(signs[:, i] * signs[:, j] for i, j in pairs) + 0.5 * rng.standard_normal(n_rows)
    return X, y


def screen(X, y):
    return screen_pairs(X, read_outcome(y, len(y)))


def with_missing(X):
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    return X


def with_outlier(y):
    y[5] = 1e12
    return y


CASES = {
    "regression": (lambda X: X, lambda y: y),
    "two classes": (lambda X: X, lambda y: np.where(y > 0, "yes", "no")),
    "missing values": (with_missing, lambda y: y),
    "an outlier": (lambda X: X, with_outlier),
    "single precision": (lambda X: X.astype(np.float32), lambda y: y),
    "columns of 0 and 1": (lambda X: (X > 0.5).astype(int), lambda y: y),
}


@pytest.mark.parametrize("case", CASES)
def test_a_planted_pair_is_found(case):
    X, y = make()
    of_table, of_outcome = CASES[case]
    found = screen(of_table(X), of_outcome(y))
    np.testing.assert_array_equal(found.columns, [[3, 7]])
    assert found.columns.dtype == np.int64
    assert found.z.shape == (1,)


def test_z_is_the_correlation_in_standard_errors():
    X, _ = make()
    halves = np.where(np.median(X, axis=0) < X, 1.0, -1.0)
    y = halves[:, 3] * halves[:, 7]
    wanted = np.sqrt(300) * y.std()
    assert screen(X, y).z == pytest.approx([wanted], rel=1e-5)
    assert screen(X, -y).z == pytest.approx([-wanted], rel=1e-5)


def test_the_strongest_come_first():
    X, _ = make(600)
    signs = np.sign(X - 0.5)
    noise = np.random.default_rng(1).standard_normal(600)
    y = signs[:, 8] * signs[:, 2] - 2 * signs[:, 5] * signs[:, 1] + noise
    found = screen(X, y)
    np.testing.assert_array_equal(found.columns, [[1, 5], [2, 8]])
    assert found.z[0] < 0 < found.z[1]


def test_a_column_is_in_one_pair_only():
    X, y = make(2000, pairs=((3, 7), (3, 11), (7, 11), (20, 21)))
    found = screen(X, y).columns
    assert len(found) == 2
    assert np.unique(found).size == 4
    assert np.isin(found, (3, 7, 11, 20, 21)).all()


def test_there_are_at_most_so_many_pairs():
    n_pairs = MOST_PAIRS + 3
    X = np.random.default_rng(0).random((3000, 2 * n_pairs))
    signs = np.sign(X - 0.5)
    assert len(screen(X, (signs[:, ::2] * signs[:, 1::2]).sum(axis=1)).columns) == MOST_PAIRS


def test_pairs_of_columns_that_are_much_alike_are_left_out(monkeypatch):
    rng = np.random.default_rng(0)
    X, _ = make(500)
    X[:, 7] = X[:, 3] + 0.1 * rng.standard_normal(500)
    alike = np.sign(X[:, 3] - 0.5) * np.sign(X[:, 7] - 0.5)
    y = 5 * alike + 0.1 * rng.standard_normal(500)
    assert screen(X, y).columns.size == 0
    monkeypatch.setattr(screening, "TOO_ALIKE", 1.0)
    np.testing.assert_array_equal(screen(X, y).columns, [[3, 7]])


@pytest.mark.parametrize(
    ("n_missing", "n_found"), [(1000, 0), (990, 1)], ids=["half", "less than half"]
)
def test_columns_that_are_mostly_missing_or_constant_are_left_out(n_missing, n_found):
    X, y = make(2000)
    X[:n_missing, 3] = np.nan
    X[:, 12] = np.nan
    assert screen(X, y).columns.tolist() == [[3, 7]][:n_found]
    X[:, 3] = 4.0
    assert screen(X, y).columns.size == 0
    assert screen(np.ones((50, 5)), y[:50]).columns.shape == (0, 2)


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_columns_that_cannot_be_halved_are_left_out(share, monkeypatch):
    rng = np.random.default_rng(0)
    X, _ = make(2000)
    X[:, 3] = rng.random(2000) < share
    y = (X[:, 3] - share) * np.sign(X[:, 7] - 0.5) + 0.01 * rng.standard_normal(2000)
    assert screen(X, y).columns.size == 0
    monkeypatch.setattr(screening, "SMALLEST_HALF", 0.1)
    np.testing.assert_array_equal(screen(X, y).columns, [[3, 7]])


@pytest.mark.parametrize(
    ("shape", "n_found"), [((FEWEST_ROWS, 2), 1), ((FEWEST_ROWS - 1, 2), 0), ((300, 1), 0)]
)
def test_a_table_needs_rows_and_two_columns(shape, n_found):
    rng = np.random.default_rng(0)
    n_rows = shape[0]
    halves = np.arange(n_rows)[:, None] // [1, 2] % 2
    X = (halves + 0.1 * rng.random((n_rows, 2)))[:, : shape[1]]
    y = (halves[:, 0] ^ halves[:, 1]) + 0.1 * rng.random(n_rows)
    found = screen(X, y)
    assert (found.columns.shape, found.z.shape) == ((n_found, 2), (n_found,))


def test_how_many_columns_are_looked_at_at_once_and_in_all(monkeypatch):
    X, y = make(pairs=((3, 7), (38, 2), (15, 16)))
    whole = screen(with_missing(X), y)
    monkeypatch.setattr(screening, "COLUMNS_AT_ONCE", 8)
    monkeypatch.setattr(screening, "MOST_COLUMNS", 40)
    found = screen(X, y)
    np.testing.assert_array_equal(found.columns, whole.columns)
    np.testing.assert_allclose(found.z, whole.z, rtol=1e-5)
    assert len(whole.columns) == 3
    rows = evenly(300, 150)
    wanted = screen(X[rows], y[rows])
    monkeypatch.setattr(screening, "MOST_VALUES", 150 * X.shape[1])
    assert screen(X, y).z.tolist() == wanted.z.tolist()
    monkeypatch.setattr(screening, "MOST_COLUMNS", 39)
    assert screen(X, y).columns.shape == (0, 2)


NOISE = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy tails": lambda rng, n: rng.standard_t(2, n),
    "two classes": lambda rng, n: rng.random(n) < 0.5,
}


@pytest.mark.parametrize("outcome", NOISE)
def test_noise_has_a_pair_as_rarely_as_is_said(outcome):
    """At most FALSE_ALARM of the tables: of 100, the 99.9 % quantile of Bin(100, FALSE_ALARM)."""
    rng = np.random.default_rng(0)
    n_tables = 100
    n_false = sum(
        screen(rng.standard_normal((60, 40)), NOISE[outcome](rng, 60)).columns.size > 0
        for _ in range(n_tables)
    )
    assert n_false <= stats.binom(n_tables, FALSE_ALARM).ppf(0.999)


def test_where_a_common_factor_makes_all_pairs_alike_none_stands_out():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(300, 1))
    X = factor + rng.normal(size=(300, 200))
    y = factor[:, 0] ** 2 + 0.3 * rng.normal(size=300)
    assert screen_pairs(X, read_outcome(y, 300)).columns.size == 0
