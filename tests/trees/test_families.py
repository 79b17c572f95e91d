"""Outcomes that are neither a number nor two classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tvselect.inputs import read_outcome
from tvselect.inputs.outcome import survival_array
from tvselect.trees import run_bart, working_response
from tvselect.trees.response import chances_of_classes, class_offsets, rounding_bounds
from tvselect.trees.state import in_row_order

N_ROWS = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.random((N_ROWS, 6))
    return X, 4 * X[:, 1] + 3 * (X[:, 4] > 0.5) + rng.standard_normal(N_ROWS)


def outcome_of(family, latent):
    rng = np.random.default_rng(4)
    if family == "ordinal":
        return np.digitize(latent, np.quantile(latent, [0.3, 0.5, 0.9]))
    if family == "counts":
        return rng.poisson(np.exp(latent / 2))
    if family == "survival":
        time, until = np.exp(latent), np.exp(rng.normal(4.0, 2.0, latent.size))
        return survival_array(np.minimum(time, until), time <= until)
    return np.array(["low", "mid", "top"])[np.digitize(latent, np.quantile(latent, [0.3, 0.6]))]


@pytest.mark.parametrize("family", ["ordinal", "counts", "survival", "classes"])
def test_a_few_iterations_in_plain_python_too(table, family):
    X, latent = table[0][:40], table[1][:40]
    found = run_bart(
        X, outcome_of(family, latent), family=family, n_trees=2, n_iterations=4, random_state=0
    )
    assert np.isfinite(found.predict(X)).all()
    assert np.isfinite(found.sigma).all()


@pytest.mark.parametrize("family", ["ordinal", "counts", "survival", "classes"])
def test_a_run_finds_and_predicts(table, family):
    X, latent = table
    found = run_bart(
        X, outcome_of(family, latent), family=family, sparse=True, n_trees=20, n_iterations=2000,
        random_state=0,
    )  # fmt: skip
    assert set(found.table(2)["variable"]) == {"x1", "x4"}
    predicted = found.predict(X)
    if family == "classes":
        assert predicted.shape == (N_ROWS, 3)
        np.testing.assert_allclose(predicted.sum(axis=1), 1.0)
        predicted = predicted[:, 2]
    assert stats.spearmanr(predicted, latent).statistic > 0.8
    assert f", {family}, " in repr(found)


def test_times_that_all_ended_are_the_gaussian_run_on_their_log(table):
    X, latent = table
    time = np.exp(latent)
    latent = np.log(time)
    one = run_bart(X, latent, n_iterations=300, random_state=1)
    for y in (survival_array(time, np.ones(N_ROWS)), np.column_stack([time, time])):
        other = run_bart(X, y, family="survival", n_iterations=300, random_state=1)
        np.testing.assert_array_equal(other.mean_splits, one.mean_splits)
        np.testing.assert_array_equal(other.sigma, one.sigma)
        np.testing.assert_array_equal(other.forest.value, one.forest.value)


@pytest.mark.parametrize("labels", ["abc", "cab", "bca", "acb", "bac", "cba"])
def test_the_order_of_classes_changes_the_chain_not_the_law(table, labels):
    """Law: class k's forest is that of its label; offsets go with the shares."""
    _, latent = table
    place = np.digitize(latent, np.quantile(latent, [0.2, 0.5]))
    response = working_response(read_outcome(np.array(list(labels))[place], N_ROWS))
    expected = class_offsets(np.array([0.2, 0.3, 0.5]))[np.argsort(list(labels))]
    np.testing.assert_allclose(response.cuts, expected, atol=0.02)


@pytest.mark.parametrize("shares", [[0.2, 0.3, 0.5], [0.01, 0.01, 0.98], [0.1] * 10])
def test_offsets_of_classes_give_their_shares(shares):
    offsets = class_offsets(np.array(shares))
    assert abs(offsets.mean()) < 1e-9
    np.testing.assert_allclose(chances_of_classes(offsets), shares, atol=1e-6)
    draws = offsets + np.random.default_rng(0).standard_normal((200_000, len(shares)))
    seen = np.bincount(draws.argmax(axis=1), minlength=len(shares)) / 200_000
    error = np.sqrt(np.array(shares) * (1 - np.array(shares)) / 200_000)
    assert np.all(np.abs(seen - shares) < 4.5 * error)


def test_counts_lie_between_the_quantiles_of_their_shares():
    counts = np.array([0.0, 0.0, 1.0, 5.0])
    lower, upper = rounding_bounds(counts)
    np.testing.assert_allclose(stats.norm.cdf(lower), [0, 0, 0.5, 0.75])
    np.testing.assert_allclose(stats.norm.cdf(upper), [0.5, 0.5, 0.75, 1.0])
    response = working_response(read_outcome(np.tile(counts, 5), 20, family="counts"))
    seen = np.stack([in_row_order(bound, 20) for bound in response.observed])
    assert np.all(seen[0] < seen[1])


def test_columns_keep_their_names_where_some_are_chosen(table):
    X, latent = table
    y = outcome_of("classes", latent)
    found = run_bart(X, y, columns=[4, 5, 1], sparse=True, n_iterations=1000, random_state=0)
    assert found.names == ("x4", "x5", "x1")
    assert set(found.table(2)["variable"]) == {"x1", "x4"}
    assert found.predict(X).shape == (N_ROWS, 3)


def test_grades_and_classes_have_no_noise_to_fix(table):
    X, latent = table
    for family in ("ordinal", "classes"):
        with pytest.raises(ValueError, match="no noise to draw"):
            run_bart(X, outcome_of("ordinal", latent), family=family, sigma=1.0)
