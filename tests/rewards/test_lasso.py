from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import Lasso

from tvselect.inputs import read_outcome
from tvselect.rewards import lasso, lasso_path
from tvselect.rewards.base import Data
from tvselect.rewards.lasso import LassoReward

FAMILIES = ["gaussian", "probit"]


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


def play(data, columns=None, seed=0, **settings):
    columns = np.arange(data.X.shape[1]) if columns is None else np.asarray(columns)
    return LassoReward(**settings).start(data)(columns, np.random.default_rng(seed))


def problem_of(data, max_iter=1000):
    rows = np.arange(data.n_rows)
    return lasso._state_problem(data, np.arange(data.X.shape[1]), rows, max_iter)


def path(problem, n_alphas=12):
    alphas = lasso_path.largest_alpha(problem) * np.geomspace(1.0, 0.02, n_alphas)
    walk = lasso_path.walk(problem, alphas)
    return [
        (alpha, coef.copy(), eta.copy()) for alpha, (coef, eta) in zip(alphas, walk, strict=True)
    ]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_solution_meets_the_optimality_conditions(family, weighted):
    problem = problem_of(make_data(family, weighted=weighted))
    for alpha, coef, eta in path(problem):
        mean = expit(eta) if family == "probit" else eta
        score = problem.weight * (problem.y - mean)
        gradient = problem.x @ score
        zero = coef == 0.0
        np.testing.assert_allclose(np.ptp(eta - coef @ problem.x), 0.0, atol=1e-9)
        assert abs(score.sum()) < 1e-4
        assert np.abs(gradient[zero]).max() <= alpha + 1e-4
        np.testing.assert_allclose(gradient[~zero], alpha * np.sign(coef[~zero]), atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_are_those_of_scikit_learn(weighted):
    data = make_data(weighted=weighted)
    problem = problem_of(data)
    for alpha, coef, _ in path(problem)[1:]:
        rival = Lasso(alpha=alpha, tol=1e-10, max_iter=100_000)
        rival.fit(problem.x.T, problem.y, sample_weight=data.sample_weight)
        np.testing.assert_allclose(coef, rival.coef_, atol=2e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_largest_penalty_leaves_nothing(family):
    (_, first, _), (_, second, _), *_ = path(problem_of(make_data(family)))
    assert not first.any()
    assert second.any()


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
    alpha = 0.3 * lasso_path.largest_alpha(problem)
    coef, eta = np.zeros(8), problem.null() + start
    found, at = coef.copy(), eta.copy()
    room = np.empty_like(eta), np.empty_like(eta)
    lasso_path.descend(
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


def test_a_column_alone_is_paid_when_its_correlation_is_above_alpha():
    data = make_data(n_columns=30)
    for j in range(30):
        correlation = abs(np.corrcoef(data.X[:, j], data.outcome.values)[0, 1])
        assert play(data, [j], alpha=correlation * 0.999, bootstrap=False) == [1.0]
        assert play(data, [j], alpha=correlation * 1.001, bootstrap=False) == [0.0]


@pytest.mark.parametrize("family", FAMILIES)
def test_units_of_columns_and_outcome_do_not_matter(family):
    data = make_data(family)
    units = 10.0 ** np.linspace(-200, 200, 100)
    scaled = Data(data.X * units, data.outcome, data.names)
    for alpha in ("1se", 0.1):
        np.testing.assert_array_equal(play(scaled, alpha=alpha), play(data, alpha=alpha))
    y = 1e200 * data.outcome.values - 3.0
    grown = Data(data.X, read_outcome(y, data.n_rows, family=family), data.names)
    np.testing.assert_array_equal(play(grown), play(data))


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_stand_for_copies_of_rows(family):
    data = make_data(family)
    counts = np.random.default_rng(0).integers(0, 4, data.n_rows)
    rows = np.repeat(np.arange(data.n_rows), counts)
    copied = Data(data.X[rows], read_outcome(data.outcome.values[rows], rows.size), data.names)
    weighted = Data(data.X, data.outcome, data.names, counts.astype(float))
    for alpha in (0.3, 0.1, 0.05):
        settings = {"alpha": alpha, "bootstrap": False}
        expected = play(copied, **settings)
        assert expected.any()
        np.testing.assert_array_equal(play(weighted, **settings), expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_standard_error_means_a_larger_penalty(family):
    problem = problem_of(make_data(family))
    alphas = lasso_path.largest_alpha(problem) * np.geomspace(1.0, 0.01, 20)
    places = [
        [lasso._choose_alpha(problem, alphas, rule, np.random.default_rng(s)) for s in range(5)]
        for rule in (True, False)
    ]
    assert np.all(np.less(*places))
    assert np.min(places) > 0


def test_no_row_is_on_both_sides_of_a_fold():
    """Were copies of a row spread over folds, fitting noise would look like a good idea."""
    data = make_data(signal=0.0, n_rows=80)
    share = np.mean([play(data, alpha="cv", seed=seed).mean() for seed in range(20)])
    assert share < 0.08


@pytest.mark.parametrize("family", FAMILIES)
def test_signals_are_found_among_many_columns(family):
    data = make_data(family, n_rows=200, n_columns=500)
    mean = np.mean([play(data, seed=seed) for seed in range(10)], axis=0)
    assert mean[[0, 2]].min() == 1.0
    assert mean[3:].mean() < 0.05


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
            payoffs = play(data, alpha=alpha, seed=seed)
            assert np.isin(payoffs, [0.0, 1.0]).all()
            assert payoffs[4] == 0.0
        assert play(data, alpha=alpha, max_iter=1).shape == (5,)


def test_without_weight_nothing_is_paid():
    data = make_data()
    nothing = Data(data.X, data.outcome, data.names, np.zeros(data.n_rows))
    assert not play(nothing).any()


def test_a_penalty_above_all_pays_nothing():
    assert not play(make_data(), alpha=2.0).any()


@pytest.mark.parametrize(
    ("settings", "error", "name"),
    [
        ({"alpha": "min"}, ValueError, "alpha"),
        ({"alpha": 0.0}, ValueError, "alpha"),
        ({"alpha": -1}, ValueError, "alpha"),
        ({"alpha": np.nan}, ValueError, "alpha"),
        ({"alpha": np.inf}, ValueError, "alpha"),
        ({"alpha": None}, TypeError, "alpha"),
        ({"alpha": True}, TypeError, "alpha"),
        ({"bootstrap": 1}, TypeError, "bootstrap"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"max_iter": 1.5}, TypeError, "max_iter"),
    ],
)
def test_bad_settings_are_named_at_the_start(settings, error, name):
    with pytest.raises(error, match=name):
        LassoReward(**settings).start(make_data())


def test_a_rare_class_takes_no_hundred_times_as_long(monkeypatch):
    """Counted in penalties that ran out of sweeps: the clock of a busy machine says little."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 30))
    limits = []

    def descend(*arguments):
        *problem, max_iter, places, coef, eta, curvature, pull = arguments
        before = coef.copy(), eta.copy()
        original(*problem, max_iter, places, coef, eta, curvature, pull)
        other, at = before
        original(*problem, 200, places, other, at, curvature, pull)
        limits.append(bool(np.abs(other - coef).max() > 1e-12))

    original = lasso_path.descend
    monkeypatch.setattr(lasso_path, "descend", descend)
    for n_positive in (3, 20):
        data = Data(X, read_outcome(np.arange(2000) < n_positive, 2000), tuple(map(str, range(30))))
        play(data)
    assert np.mean(limits) < 0.2
