"""BART and DART importance: what is averaged, where it is cut, what is screened before."""

from __future__ import annotations

import numpy as np
import pytest

from tvselect.seeds import as_generator
from tvselect.trees import run_bart
from tvstudy.baselines import BartBaseline, SisBart
from tvstudy.baselines.trees import important, screen


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((200, 40))
    return X, 10.0 * (X[:, 3] - 0.5) ** 2 + 3.0 * X[:, 7] + 0.3 * rng.standard_normal(200)


def test_the_cuts():
    splits, inclusion = np.array([1.0, 0.99, 3.0]), np.array([0.49, 0.5, 1.0])
    np.testing.assert_array_equal(important(splits, inclusion, "splits"), [True, False, True])
    np.testing.assert_array_equal(important(splits, inclusion, "inclusion"), [False, True, True])


@pytest.mark.parametrize("sparse", [False, True])
def test_chains_are_runs_of_bart_and_are_averaged(data, sparse):
    found = BartBaseline(10, sparse, 600, n_chains=3, random_state=4).fit(*data)
    runs = [
        run_bart(*data, n_trees=10, sparse=sparse, n_iterations=600, random_state=child)
        for child in as_generator(4).spawn(3)
    ]
    np.testing.assert_allclose(found.mean_splits_, np.mean([r.mean_splits for r in runs], axis=0))
    np.testing.assert_allclose(found.inclusion_, np.mean([r.inclusion for r in runs], axis=0))


def test_dart_finds_what_has_no_correlation(data):
    dart = BartBaseline.dart(n_iterations=3000, random_state=0)
    assert (dart.n_trees, dart.sparse) == (50, True)
    assert dart.fit(*data).get_support(indices=True).tolist() == [3, 7]
    dart.set_params(cut="inclusion").fit(*data)
    assert dart.support_[[3, 7]].all()


def test_two_numbers_are_two_classes(data):
    X, y = data
    found = BartBaseline(n_iterations=500, random_state=0).fit(X, y > np.median(y))
    assert list(found.classes_) == [False, True]
    run = run_bart(
        X,
        y > np.median(y),
        n_trees=20,
        n_iterations=500,
        random_state=as_generator(0).spawn(1)[0],
    )
    assert run.family == "probit"
    np.testing.assert_array_equal(found.mean_splits_, run.mean_splits)


def test_wrong_settings_are_refused(data):
    with pytest.raises(ValueError, match="cut must be"):
        BartBaseline(cut="half").fit(*data)
    with pytest.raises(ValueError, match="n_chains"):
        BartBaseline(n_chains=0).fit(*data)
    with pytest.raises(ValueError, match="n_trees"):
        BartBaseline(n_trees=0).fit(*data)


@pytest.fixture(scope="module")
def wide_data():
    rng = np.random.default_rng(0)
    X = rng.random((150, 400)) * np.geomspace(0.01, 100.0, 400)
    y = X[:, 5] / X[:, 5].std() + (X[:, 9] > np.median(X[:, 9])) * 2 + 0.5 * rng.random(150)
    return X, y


def test_the_largest_correlations_pass(wide_data):
    X, y = wide_data
    correlation = [abs(np.corrcoef(x, y)[0, 1]) for x in X.T]
    np.testing.assert_array_equal(screen(X, y, 30), np.sort(np.argsort(correlation)[-30:]))


def test_constants_are_last():
    x = np.random.default_rng(0).random((20, 3))
    X = np.column_stack([np.full(20, 1e6), x])
    np.testing.assert_array_equal(screen(X, x[:, 1], 3), [1, 2, 3])
    np.testing.assert_array_equal(screen(X, x[:, 1], 4), [0, 1, 2, 3])


def test_n_over_log_n_columns_pass_by_default(wide_data):
    found = SisBart(n_iterations=1000, random_state=0).fit(*wide_data)
    assert found.screened_.size == int(150 / np.log(150)) == 29
    assert {5, 9} <= set(found.get_support(indices=True))
    out = np.setdiff1d(np.arange(400), found.screened_)
    assert not found.mean_splits_[out].any()
    assert not found.inclusion_[out].any()
    np.testing.assert_array_equal(found.support_, found.mean_splits_ >= 1.0)


def test_a_signal_without_correlation_does_not_pass():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (300, 500))
    found = SisBart(n_screen=5, n_iterations=200, random_state=0).fit(X, X[:, 0] ** 2)
    assert 0 not in found.screened_


def test_more_columns_than_there_are_is_all_of_them(wide_data):
    X, y = wide_data
    found = SisBart(n_screen=50, n_iterations=200, cut="inclusion", random_state=0)
    assert found.fit(X[:, :12], y).screened_.size == 12
    np.testing.assert_array_equal(found.support_, found.inclusion_ >= 0.5)


def test_wrong_settings_of_the_screening_are_refused(wide_data):
    with pytest.raises(ValueError, match="n_screen"):
        SisBart(n_screen=0).fit(*wide_data)
    with pytest.raises(ValueError, match="cut must be"):
        SisBart(cut="half").fit(*wide_data)
