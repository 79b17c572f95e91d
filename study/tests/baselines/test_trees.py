"""BART and DART importance: what is averaged and where it is cut."""

from __future__ import annotations

import numpy as np
import pytest

from tvselect.inputs import as_generator
from tvselect.trees import run_bart
from tvstudy.baselines import BartBaseline
from tvstudy.baselines.trees import important


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
