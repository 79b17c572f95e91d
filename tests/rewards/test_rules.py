"""Rewards other than BART, each by its own rule; what they all promise is in test_contract.py."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.special import expit
from sklearn.ensemble import BaggingRegressor, ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from tvselect.inputs import read_outcome
from tvselect.rewards import (
    Data,
    FunctionReward,
    ImportanceReward,
    LassoReward,
    PValueReward,
    rules,
)
from tvselect.rewards.rules import LassoProblem, check_payoffs, on_replicates, p_values, seeded

FAMILIES = ["gaussian", "probit"]


def data_of(y):
    y = np.asarray(y)
    return Data(np.zeros((y.size, 1)), read_outcome(y, y.size), ("x0",))


def noise_data(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n_rows, n_columns)), rng.standard_normal(n_rows)
    return Data(X, read_outcome(y, n_rows), tuple(map(str, range(n_columns))))


@pytest.mark.parametrize(
    ("reward", "error", "name"),
    [
        *((FunctionReward(f), TypeError, "function must be a callable") for f in (None, 3, "mean")),
        *((PValueReward(alpha), ValueError, "alpha") for alpha in (0.0, 1.0, np.nan)),
        (PValueReward("small"), TypeError, "alpha"),
        (PValueReward(bootstrap="yes"), TypeError, "bootstrap"),
        *((ImportanceReward(e), TypeError, "estimator must be an") for e in ("forest", 3, Ridge)),
        (ImportanceReward(ExtraTreesClassifier()), ValueError, "ExtraTreesC.* y is continuous"),
        (ImportanceReward(bootstrap=1), TypeError, "bootstrap"),
        *((LassoReward(alpha), ValueError, "alpha") for alpha in ("min", 0.0, -1, np.nan, np.inf)),
        *((LassoReward(alpha), TypeError, "alpha") for alpha in (None, True)),
        (LassoReward(bootstrap=1), TypeError, "bootstrap"),
        (LassoReward(max_iter=0), ValueError, "max_iter"),
        (LassoReward(max_iter=1.5), TypeError, "max_iter"),
    ],
)
def test_bad_settings_are_named_at_the_start(reward, error, name):
    with pytest.raises(error, match=name):
        reward.start(noise_data(10, 2))


# What rewards return, and the rows that they look at


def test_numbers_and_booleans_become_floats_of_their_own():
    floats = np.array([0.0, 1.0, 0.5])
    series = pd.Series(floats, index=[7, 8, 9])
    for values in ([0, 1, 0.5], (False, True, 0.5), floats, np.float32(floats), series,
                   [-1e-17, 1.0 + 1e-15, 0.5]):  # fmt: skip
        payoffs = check_payoffs(values, 3)
        assert payoffs.dtype == np.float64
        np.testing.assert_array_equal(payoffs, floats)
        assert payoffs is not values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 1], r"2 payoff\(s\).*each of the 3 played columns"),
        ([], r"0 payoff\(s\)"),
        (0.5, r".*shape \(\)"),
        ([[0, 1, 1]], r".*shape \(1, 3\)"),
        ([[0, 1], [1]], ".*different lengths"),
        ([0, np.nan, 1], r".*position 1 \(nan\); use 0"),
        ([0, 1, np.inf], r".*position 2 \(inf\); rescale or clip"),
        ([0, -0.1, 1.5], r"2 payoff\(s\) outside \[0, 1\], the first at position 1 \(-0.1\)"),
        (None, "no numbers but .*NoneType"),
        ("abc", "no numbers but .*str"),
        (["a", "b", "c"], "no numbers but .*<U1"),
        ((v for v in (0, 1, 1)), "no numbers but .*generator"),
        (sparse.csr_array(np.eye(3)), "no numbers but .*array"),
        ([1j, 0, 0], "no numbers but .*complex"),
    ],
)
def test_wrong_payoffs_are_named_with_a_remedy(values, message):
    error = TypeError if "no numbers" in message else ValueError
    with pytest.raises(error, match=f"^my reward returned {message}"):
        check_payoffs(values, 3, what="my reward")


def rows_of_plays(y, n_plays, bootstrap=True, rng=None):
    """The rows that plays look at, and the last payoffs."""
    seen, rng = [], rng or np.random.default_rng(0)
    score = lambda columns, rows, rng: seen.append(rows) or np.ones(len(columns))  # noqa: E731
    feedback = on_replicates(data_of(y), bootstrap, score)
    payoffs = [feedback(np.arange(1), rng) for _ in range(n_plays)]
    return np.array(seen), payoffs[-1]


def test_bootstrap_draws_rows_uniformly_with_replacement():
    n, n_draws = 20, 2000
    draws, _ = rows_of_plays(np.arange(n), n_draws)
    assert draws.shape == (n_draws, n)
    counts = np.bincount(draws.ravel(), minlength=n)
    assert abs(counts - n_draws).max() < 4.5 * np.sqrt(n_draws)
    distinct = np.mean([np.unique(rows).size for rows in draws]) / n
    assert distinct == pytest.approx(1 - (1 - 1 / n) ** n, abs=0.01)
    np.testing.assert_array_equal(rows_of_plays(np.arange(n), 1, False)[0], [np.arange(n)])


def test_a_replicate_with_one_class_is_drawn_again_but_not_for_ever():
    for rows in rows_of_plays([0] * 9 + [1], 50)[0]:
        assert 0 < (rows == 9).sum() < 10

    class Stuck:
        def integers(self, n, size):
            return np.zeros(size, dtype=np.int64)

    draws, payoffs = rows_of_plays([0] * 9 + [1], 1, rng=Stuck())
    assert draws.size == 0
    np.testing.assert_array_equal(payoffs, [0.0])


# A function of one's own


@pytest.fixture
def few():
    X = np.arange(12, dtype=np.int16).reshape(4, 3)
    return Data(X, read_outcome(["b", "a", "a", "b"], 4), ("x0", "x1", "x2"))


def call(function, few, *columns, rng=None):
    return FunctionReward(function).start(few)(np.array(columns), rng)


def test_the_function_sees_copies_of_columns_and_outcome_and_the_generator(few):
    rng, seen = np.random.default_rng(5), []

    def look(X, y, rng):
        seen.append((X.copy(), X.dtype, y.copy(), rng))
        X[:] = y[:] = -1.0
        return np.zeros(X.shape[1])

    for _ in range(2):
        call(look, few, 2, 0, rng=rng)
    for X, dtype, y, given in seen:
        np.testing.assert_array_equal(X, few.X[:, [2, 0]])
        assert dtype == np.float64
        np.testing.assert_array_equal(y, [1.0, 0.0, 0.0, 1.0])
        assert given is rng


def test_mistakes_of_the_function_are_named(few):
    def halves(X, y, rng):
        return [0.5]

    with pytest.raises(ValueError, match=r"reward function 'halves' returned 1 payoff\(s\)"):
        call(halves, few, 0, 1)
    with pytest.raises(TypeError, match="reward function 'partial' returned no numbers"):
        call(partial(lambda X, y, rng: None), few, 0)


# p-values


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_p_values_are_those_of_scipy_on_the_rows_where_a_column_is_seen(missing):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) * 10.0 ** np.arange(-3, 3) + 1e3
    X[rng.random(X.shape) < missing] = np.nan
    y = rng.standard_normal(40)
    expected = [stats.pearsonr(x[~np.isnan(x)], y[~np.isnan(x)]).pvalue for x in X.T]
    np.testing.assert_allclose(p_values(X, y), expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("column", "p"),
    [
        ([7.1, 7.1, 7.1, 7.1], 1.0),
        ([np.nan] * 4, 1.0),
        ([np.nan, np.nan, 1, 2], 1.0),
        ([1, 2, 3, np.nan], 1.0),  # the outcome is constant where the column is seen
        ([0, 0, 0, 1e300], 0.0),
        ([0, 0, 0, 1e-300], 0.0),
    ],
)
def test_columns_about_which_nothing_or_everything_is_known(column, p):
    y = np.array([0.1, 0.1, 0.1, 0.7])
    assert p_values(np.array(column)[:, None], y) == pytest.approx([p], abs=1e-12)


def test_with_bootstrap_the_mean_payoff_passes_one_half_where_p_passes_alpha():
    data = noise_data(200, 300)
    rng = np.random.default_rng(1)
    feedback = PValueReward(alpha=0.2).start(data)
    mean = np.mean([feedback(np.arange(300), rng) for _ in range(200)], axis=0)
    p = p_values(data.X, data.outcome.values)
    assert mean[p < 0.1].min() > 0.5
    assert mean[p > 0.4].max() < 0.5


# The importance in an estimator


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = 4 * X[:, 2] - 2 * X[:, 0] + 0.1 * rng.standard_normal(80)
    return Data(X, read_outcome(y, 80), ("a", "b", "c", "d"))


@pytest.fixture(scope="module")
def two_classes(data):
    return Data(data.X, read_outcome(data.outcome.values > 0, 80), data.names)


def importances(estimator, data, seed=0, bootstrap=True):
    feedback = ImportanceReward(estimator, bootstrap=bootstrap).start(data)
    return feedback(np.arange(4), np.random.default_rng(seed))


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression()])
def test_coefficients_are_rescaled_by_the_largest(model, data, two_classes):
    given = two_classes if isinstance(model, LogisticRegression) else data
    payoffs = importances(model, given, bootstrap=False)
    coef = np.abs(np.ravel(model.fit(given.X, given.outcome.values).coef_))
    np.testing.assert_allclose(payoffs, coef / coef.max(), rtol=1e-6)


def test_the_default_follows_the_outcome_and_an_estimator_must_have_importances(data, two_classes):
    for table in (data, two_classes):
        payoffs = importances(None, table)
        assert payoffs.argmax() == 2
        assert payoffs[1] < 0.3
    assert not importances(DecisionTreeRegressor(max_depth=1, min_samples_leaf=50), data).any()
    with pytest.raises(TypeError, match=r"KNeighborsRegressor\(\) has neither"):
        importances(KNeighborsRegressor(), data)


@pytest.mark.parametrize(
    "estimator", [ExtraTreesRegressor(5), make_pipeline(StandardScaler(), Ridge(solver="sag"))]
)
def test_estimators_are_seeded_by_the_generator_and_left_as_they_were(estimator, data):
    before = estimator.get_params()
    first = importances(estimator, data, seed=1, bootstrap=False)
    np.testing.assert_array_equal(importances(estimator, data, seed=1, bootstrap=False), first)
    assert (importances(estimator, data, seed=2, bootstrap=False) != first).any()
    assert estimator.get_params() == before


def test_nested_random_states_are_set():
    model = seeded(BaggingRegressor(DecisionTreeRegressor()), np.random.default_rng(0))
    states = [model.random_state, model.estimator.random_state]
    assert all(isinstance(state, int) for state in states)
    assert states[0] != states[1]


def test_what_the_estimator_takes_the_reward_takes():
    for estimator, missing, weights in (
        (None, True, True), (Ridge(), False, True), (KNeighborsRegressor(), False, False),
        ("forest", False, False),
    ):  # fmt: skip
        reward = ImportanceReward(estimator)
        assert (reward.takes_missing, reward.takes_weights) == (missing, weights)


# The LASSO


def make_data(family="gaussian", n_rows=60, n_columns=100, signal=2.0, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    X[:, 1] = 0.9 * X[:, 0] + 0.5 * X[:, 1]
    y = signal * (X[:, 0] - X[:, 2]) + rng.standard_normal(n_rows)
    if family == "probit":
        y = np.where(y > 0.5, 1, 0)
    weight = rng.exponential(size=n_rows) if weighted else None
    outcome = read_outcome(y, n_rows, family=family)
    return Data(X, outcome, tuple(map(str, range(n_columns))), weight)


def lasso(data, columns=None, seed=0, **settings):
    columns = np.arange(data.X.shape[1]) if columns is None else np.asarray(columns)
    return LassoReward(**settings).start(data)(columns, np.random.default_rng(seed))


def problem_of(data):
    rows = np.arange(data.n_rows)
    return LassoProblem.of(data, np.arange(data.X.shape[1]), rows, max_iter=1000)


def path(problem):
    alphas = problem.largest_alpha() * np.geomspace(1.0, 0.02, 12)
    return [(a, *map(np.copy, fit)) for a, fit in zip(alphas, problem.path(alphas), strict=True)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_solution_meets_the_optimality_conditions(family, weighted):
    problem = problem_of(make_data(family, weighted=weighted))
    fits = path(problem)
    assert [coef.any() for _, coef, _ in fits[:2]] == [False, True]
    for alpha, coef, eta in fits:
        mean = expit(eta) if family == "probit" else eta
        score = problem.weight * (problem.y - mean)
        gradient = problem.x @ score
        zero = coef == 0.0
        np.testing.assert_allclose(np.ptp(eta - coef @ problem.x), 0.0, atol=1e-9)
        assert abs(score.sum()) < 1e-4
        assert np.abs(gradient[zero]).max() <= alpha + 1e-4
        np.testing.assert_allclose(gradient[~zero], alpha * np.sign(coef[~zero]), atol=1e-4)


def sweep(problem, alpha, places, coef, eta, care):
    """One sweep of coordinate descent, written down with NumPy; how much its moves are worth."""
    steepest = 0.25 if problem.binary else 1.0
    mean = expit(eta) if problem.binary else eta
    curvature = problem.weight.copy()
    if problem.binary:
        curvature *= np.minimum(care * np.maximum(mean * (1 - mean), 1e-4), steepest)
    pull = problem.weight * (problem.y - mean)
    worth = []
    for j in (None, *places):
        x = np.ones_like(eta) if j is None else problem.x[j]
        size, gain = curvature @ x**2, pull @ x
        if j is not None:
            gain += coef[j] * size
            target = np.sign(gain) * max(abs(gain) - alpha, 0.0) / size
            move, coef[j] = target - coef[j], target
        else:
            move = gain / size
        pull -= move * curvature * x
        eta += move * x
        worth.append(np.sqrt(size / steepest) * abs(move))
    return max(worth)


@pytest.mark.parametrize("n_sweeps", [1, 2, 3, 6])
@pytest.mark.parametrize(
    ("family", "start"), [("gaussian", 0.3), ("probit", 0.3), ("probit", -5.0), ("probit", -12.0)]
)
def test_sweeps_are_those_that_are_written_down(family, start, n_sweeps):
    """Of all columns, then of those that are not zero, until these have come to rest.

    Far from where they end, where the loss is flat, steps become too long, and then more careful.
    """
    problem = problem_of(make_data(family, n_rows=20, n_columns=8))
    alpha = 0.3 * problem.largest_alpha()
    coef, eta = np.zeros(8), problem.null() + start
    found, at = coef.copy(), eta.copy()
    room = np.empty_like(eta), np.empty_like(eta)
    rules.descend(
        problem.x, problem.y, problem.weight, problem.binary, alpha, n_sweeps, np.arange(8),
        found, at, *room,
    )  # fmt: skip
    care, before, everything = 1.0, np.inf, True
    for _ in range(n_sweeps):
        places = np.arange(8) if everything else np.flatnonzero(coef)
        largest = sweep(problem, alpha, places, coef, eta, care)
        if largest < 1e-5 and everything:
            break
        care *= 2.0 if largest > before else 1.0
        before, everything = largest, largest < 1e-5
    assert coef.any()
    assert care > 1.0 or start > -10.0 or n_sweeps < 6
    np.testing.assert_allclose(found, coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(at, eta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_units_of_columns_and_outcome_do_not_matter(family):
    data = make_data(family)
    units = 10.0 ** np.linspace(-200, 200, 100)
    scaled = Data(data.X * units, data.outcome, data.names)
    for alpha in ("1se", 0.1):
        np.testing.assert_array_equal(lasso(scaled, alpha=alpha), lasso(data, alpha=alpha))
    y = 1e200 * data.outcome.values - 3.0
    grown = Data(data.X, read_outcome(y, data.n_rows, family=family), data.names)
    np.testing.assert_array_equal(lasso(grown), lasso(data))


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_stand_for_copies_of_rows(family):
    data = make_data(family)
    counts = np.random.default_rng(0).integers(0, 4, data.n_rows)
    rows = np.repeat(np.arange(data.n_rows), counts)
    copied = Data(data.X[rows], read_outcome(data.outcome.values[rows], rows.size), data.names)
    weighted = Data(data.X, data.outcome, data.names, counts.astype(float))
    for alpha in (0.3, 0.1, 0.05):
        settings = {"alpha": alpha, "bootstrap": False}
        expected = lasso(copied, **settings)
        assert expected.any()
        np.testing.assert_array_equal(lasso(weighted, **settings), expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_standard_error_means_a_larger_penalty(family):
    problem = problem_of(make_data(family))
    alphas = problem.largest_alpha() * np.geomspace(1.0, 0.01, 20)
    places = [
        [rules._choose_alpha(problem, alphas, rule, np.random.default_rng(s)) for s in range(5)]
        for rule in (True, False)
    ]
    assert np.all(np.less(*places))
    assert np.min(places) > 0


def test_no_row_is_on_both_sides_of_a_fold():
    """Were copies of a row spread over folds, fitting noise would look like a good idea."""
    data = make_data(signal=0.0, n_rows=80)
    share = np.mean([lasso(data, alpha="cv", seed=seed).mean() for seed in range(20)])
    assert share < 0.08


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("alpha", ["1se", "cv", 1e-4])
def test_hard_problems_end_in_peace(family, alpha):
    """Few rows, copies of columns, the outcome among the columns, one row of a class."""
    rng = np.random.default_rng(0)
    for n_rows in (2, 3, 5, 12):
        y = np.zeros(n_rows)
        y[0] = 1.0
        x = rng.standard_normal(n_rows)
        data = Data(
            np.column_stack([x, x, -x, y, np.ones(n_rows)]),
            read_outcome(y, n_rows, family=family),
            tuple("abcde"),
        )
        for seed in range(5):
            payoffs = lasso(data, alpha=alpha, seed=seed)
            assert np.isin(payoffs, [0.0, 1.0]).all()
            assert payoffs[4] == 0.0
        assert lasso(data, alpha=alpha, max_iter=1).shape == (5,)


def test_a_penalty_above_all_correlations_and_rows_without_weight_pay_nothing():
    data = make_data()
    largest = np.abs(np.corrcoef(data.X.T, data.outcome.values)[-1, :-1]).max()
    assert lasso(data, alpha=largest * 0.999, bootstrap=False).sum() == 1.0
    assert not lasso(data, alpha=largest * 1.001, bootstrap=False).any()
    assert not lasso(replace(data, sample_weight=np.zeros(data.n_rows))).any()
