from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import lasso_path

from tvstudy.baselines import KnockoffFilter
from tvstudy.baselines.knockoffs import entries, fixed_knockoffs, knockoff_threshold


def linear_data(rng, n_rows, n_columns, n_signals=10, size=0.5, correlation=0.3):
    X = rng.standard_normal((n_rows, n_columns))
    for j in range(1, n_columns):
        X[:, j] = correlation * X[:, j - 1] + math.sqrt(1 - correlation**2) * X[:, j]
    support = np.zeros(n_columns, dtype=bool)
    support[rng.choice(n_columns, n_signals, replace=False)] = True
    return X, X @ (size * support) + rng.standard_normal(n_rows), support


@pytest.mark.parametrize(
    ("W", "q", "offset", "expected"),
    [
        ([], 0.1, 1, math.inf),
        ([0.0, 0.0], 0.9, 0, math.inf),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.1, 1, 1.0),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], 0.1, 1, math.inf),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], 0.1, 0, 1.0),
        ([-1, 2, 3, 4, 5], 0.25, 1, 2.0),
        ([-1, 2, 3, 4, 5], 0.25, 0, 1.0),
        ([-1, 2, 3, 4, 5], 0.24, 1, math.inf),
        ([-2, 2, 3, 4, 5], 0.25, 0, 2.0),
        ([-2, 2, 3, 4, 5], 0.24, 0, 3.0),
        ([-5, 1, 2, 3, 4], 0.9, 1, 1.0),  # two against four, by the smallest |W|
        ([-3.0, -2.0, -1.0], 0.9, 1, math.inf),
        ([0.0, 0.5, 0.5, -0.5], 0.5, 0, 0.5),
    ],
)
def test_thresholds_by_hand(W, q, offset, expected):
    # Candidates: (W, #{W <= -t} + offset over #{W >= t} at most q) by counting.
    assert knockoff_threshold(W, q, offset) == expected


@pytest.mark.parametrize(("n", "p"), [(60, 12), (25, 12), (24, 12), (15, 12), (14, 12)])
def test_gram_identities_of_fixed_knockoffs(n, p):
    rng = np.random.default_rng(n)
    X = linear_data(rng, n, p, 2, correlation=0.8)[0] * 10.0 ** rng.integers(-3, 4, p) + 5
    y = rng.standard_normal(n)
    Z, copies, aimed = fixed_knockoffs(X, y, rng)
    m = n if n > 2 * p else 2 * p + 2
    assert Z.shape == copies.shape == (m, p)
    unit = (X - X.mean(axis=0)) / np.linalg.norm(X - X.mean(axis=0), axis=0)
    np.testing.assert_allclose(Z[:n], unit, atol=1e-12)
    gram = Z.T @ Z
    cross = Z.T @ copies
    # To rounding, whatever the correlations.
    np.testing.assert_allclose(copies.T @ copies, gram, atol=1e-10)
    np.testing.assert_allclose((gram - cross)[~np.eye(p, dtype=bool)], 0.0, atol=1e-10)
    s = np.diag(gram - cross)
    assert (s > 0).all()
    assert (s <= 2).all()
    np.testing.assert_allclose(copies[:n].sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(copies[n:].sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(aimed[:n], y - y.mean(), atol=1e-12)


def test_added_rows_have_the_noise_of_the_regression():
    # The variance of the added outcomes is that of the residuals, chi-squared: 5 s.e.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((220, 200))
    y = X[:, 0] + 3 * rng.standard_normal(220)
    new = fixed_knockoffs(X, y, rng)[2][220:]
    design = np.column_stack([np.ones(220), X])
    rss = np.linalg.lstsq(design, y, rcond=None)[1][0]
    variance = rss / (220 - 201)
    dof = new.size - 1
    assert new @ new / dof == pytest.approx(variance, rel=5 * math.sqrt(2 / dof))


def test_columns_enter_where_a_path_of_fine_steps_sees_them_first():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((100, 16))
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    y = Z[:, :3].sum(axis=1) + rng.standard_normal(100)
    found = entries(Z, y, rng)
    alphas = found.max() * np.geomspace(1.0, 0.01, 100)
    coefs = lasso_path(Z, y - y.mean(), alphas=alphas, tol=1e-8)[1]
    first = np.where((coefs != 0).any(axis=1), alphas[(coefs != 0).argmax(axis=1)], 0.0)
    # A step is up to 100^(1/99) = 4.8% below the entry; entries below 1% are not seen.
    seen = found > 0.011 * found.max()
    assert seen.sum() > 10
    np.testing.assert_allclose(found[seen] / first[seen], 1.024, atol=0.025)


@pytest.mark.parametrize(
    ("kind", "n_rows", "n_sets"),
    [("gaussian", 100, 40), ("fixed", 100, 100), ("fixed", 35, 100)],
)
def test_the_false_discovery_rate_is_kept(kind, n_rows, n_sets):
    # Mean proportion at most q + 3 standard errors; something must be found.
    rng = np.random.default_rng(1)
    q, shares, power = 0.2, [], []
    model = KnockoffFilter(kind, q, random_state=rng)
    for _ in range(n_sets):
        X, y, support = linear_data(rng, n_rows, 24, 8)
        found = model.fit(X, y).support_
        shares.append((found & ~support).sum() / max(1, found.sum()))
        power.append((found & support).sum() / 8)
    assert np.mean(shares) < q + 3 * np.std(shares) / math.sqrt(n_sets)
    assert np.mean(power) > (0.5 if n_rows == 100 else 0.1)


@pytest.mark.parametrize("kind", ["gaussian", "fixed"])
def test_statistics_of_noise_have_fair_signs(kind):
    # 16 noise columns in 60 sets: signs of W, where there is one, within 4 s.e. of one half.
    rng = np.random.default_rng(2)
    model = KnockoffFilter(kind, random_state=rng)
    W = []
    for _ in range(60):
        X, y, support = linear_data(rng, 80, 20, 4)
        W.append(model.fit(X, y).statistics_[~support])
    signs = np.sign(np.concatenate(W))
    signs = signs[signs != 0]
    assert signs.size > {"gaussian": 300, "fixed": 800}[kind]  # most coefficients are zero
    assert abs(signs.mean()) < 4 / math.sqrt(signs.size)


def test_constant_columns_are_never_selected():
    rng = np.random.default_rng(0)
    X, y, _ = linear_data(rng, 150, 20, 10, size=2)
    X[:, [3, 17]] = 7.0
    for kind in ("gaussian", "fixed"):
        model = KnockoffFilter(kind, 0.2, random_state=0).fit(X, y)
        assert (model.statistics_[[3, 17]] == 0).all()
        assert not model.support_[[3, 17]].any()
    assert not KnockoffFilter(q=0.2).fit(np.ones((9, 2)), y[:9]).support_.any()


def test_columns_that_do_not_fit_the_fixed_kind():
    rng = np.random.default_rng(0)
    X, y, _ = linear_data(rng, 20, 19, 2)
    with pytest.raises(ValueError, match="more than columns"):
        KnockoffFilter("fixed").fit(X, y)
    twice = np.hstack([X[:, :4], X[:, :4]])
    with pytest.raises(ValueError, match="follow from one another"):
        KnockoffFilter("fixed").fit(twice, y)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"kind": "sdp"}, "kind"),
        ({"q": 1.0}, "q"),
        ({"q": np.nan}, "q must be"),
        ({"offset": 2}, "offset"),
    ],
)
def test_settings_are_checked(settings, match):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=match):
        KnockoffFilter(**settings).fit(*linear_data(rng, 30, 5, 2)[:2])


def test_selection_rates_as_statistics():
    """Columns and copies are arms alike; a signal of every half of the rows beats its copy."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 12))
    y = X[:, :4] @ [3.0, -3.0, 3.0, 3.0] + rng.standard_normal(150)
    selector = KnockoffFilter(q=0.3, statistic="tvs", random_state=0).fit(X, y)
    assert selector.support_[:4].all()
    assert (selector.statistics_[:4] > 0.5).all()
    assert (np.abs(selector.statistics_) <= 1.0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"statistic": "ridge"}, "statistic"), ({"kind": "fixed", "statistic": "tvs"}, "gaussian")],
)
def test_unknown_statistics(settings, message):
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match=message):
        KnockoffFilter(**settings).fit(X, X[:, 0])
