"""What every baseline promises, whatever its method."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import tvstudy.baselines as room
from tvstudy.baselines import (
    BartBaseline,
    Baseline,
    Horseshoe,
    LassoBaseline,
    SisBart,
    SpikeSlabLasso,
)

N_ROWS, N_COLUMNS = 120, 9
SIGNALS = [1, 4]
CONSTANT = 6
NAMES = [f"gene {j}" for j in range(N_COLUMNS)]

QUICK = {
    "AlphaInvesting": {},
    "BartBaseline": {"n_iterations": 400},
    "Boruta": {"estimator": RandomForestRegressor(10, max_depth=4), "n_iterations": 20},
    "ForestBaseline": {"estimator": RandomForestRegressor(20)},
    "Horseshoe": {"n_iterations": 300, "n_burn": 100},
    "KnockoffFilter": {"q": 0.5, "offset": 0},
    "LassoBaseline": {"n_folds": 5},
    "RfecvBaseline": {"estimator": "linear", "cv": 3},
    "SisBart": {"n_iterations": 400},
    "SpikeSlabLasso": {"n_lambda0": 20},
    "StabilitySelection": {"n_pairs": 20},
}


@pytest.fixture(params=sorted(set(room.__all__) - {"Baseline"}))
def baseline(request):
    method = getattr(room, request.param)
    return method(**QUICK[request.param], random_state=3)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    X[:, CONSTANT] = 2.0
    y = 3.0 * X[:, 1] - 3.0 * X[:, 4] + rng.standard_normal(N_ROWS)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def test_settings_follow_scikit_learn(baseline):
    assert isinstance(baseline, Baseline)
    assert isinstance(baseline, SelectorMixin)
    copy = clone(baseline)
    assert copy is not baseline
    assert copy.get_params().keys() == baseline.get_params().keys()
    assert "random_state" in baseline.get_params()
    for name, value in baseline.get_params(deep=False).items():
        assert getattr(baseline, name) is value
    kinds = {p.kind for p in inspect.signature(type(baseline)).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_the_support_is_a_mask_and_holds_the_signals(baseline, data):
    """Two signals of 30 standard errors each; noise may come along, constants may not."""
    assert baseline.fit(*data) is baseline
    assert baseline.support_.shape == (N_COLUMNS,)
    assert baseline.support_.dtype == np.bool_
    assert baseline.support_[SIGNALS].all()
    assert not baseline.support_[CONSTANT]
    assert baseline.n_features_in_ == N_COLUMNS


def test_transform_keeps_the_selected_columns(baseline, data):
    X, y = data
    kept = baseline.fit(X, y).transform(X)
    np.testing.assert_array_equal(kept, X[:, baseline.support_])
    assert list(baseline.get_feature_names_out()) == [f"x{j}" for j in baseline.get_support(True)]
    fitted = make_pipeline(clone(baseline), LinearRegression()).fit(X, y)
    assert fitted.score(X, y) > 0.8


def test_names_of_a_data_frame_come_out_again(baseline, data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(N_ROWS) + 7)
    baseline.fit(frame, pd.Series(y, index=frame.index))
    assert list(baseline.feature_names_in_) == NAMES
    found = list(baseline.get_feature_names_out())
    assert found == [NAMES[j] for j in np.flatnonzero(baseline.support_)]
    kept = baseline.set_output(transform="pandas").transform(frame)
    assert list(kept.columns) == found
    with pytest.raises(ValueError, match="feature names"):
        baseline.transform(frame[NAMES[::-1]])


def test_the_same_random_state_the_same_answer(baseline, data):
    """The data are left alone (they are read-only) and a second fit forgets the first."""
    X, y = data
    first = clone(baseline).fit(X, y).support_
    baseline.fit(X[:, ::-1], -y)
    np.random.seed(0)  # noqa: NPY002  what happens elsewhere does not matter
    np.testing.assert_array_equal(baseline.fit(X, y).support_, first)
    frame = pd.DataFrame(X, columns=NAMES)
    np.testing.assert_array_equal(clone(baseline).fit(frame, y).support_, first)
    fortran = clone(baseline).fit(np.asfortranarray(X), y).support_
    np.testing.assert_array_equal(fortran, first)


def test_generators_and_seed_sequences_are_random_states(baseline, data):
    seed = np.random.SeedSequence(8)
    first = clone(baseline).set_params(random_state=seed).fit(*data).support_
    again = clone(baseline).set_params(random_state=np.random.SeedSequence(8)).fit(*data)
    np.testing.assert_array_equal(again.support_, first)
    clone(baseline).set_params(random_state=np.random.default_rng(1)).fit(*data)
    with pytest.raises((TypeError, ValueError), match="random_state"):
        clone(baseline).set_params(random_state=-1).fit(*data)


def test_missing_values_are_refused(baseline, data):
    X, y = data
    for bad in (np.nan, np.inf):
        holes = X.copy()
        holes[3, 2] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            clone(baseline).fit(holes, y)
        gaps = y.copy()
        gaps[3] = bad
        with pytest.raises(ValueError, match="y has 1 missing or infinite"):
            clone(baseline).fit(X, gaps)


def test_a_constant_outcome_is_refused(baseline, data):
    with pytest.raises(ValueError, match="y is constant"):
        baseline.fit(data[0], np.full(N_ROWS, 2.5))


def test_lengths_must_agree_and_y_must_be_there(baseline, data):
    X, y = data
    with pytest.raises(ValueError, match="y has 119 values but X has 120 rows"):
        clone(baseline).fit(X, y[:-1])
    with pytest.raises(ValueError, match="requires y"):
        clone(baseline).fit(X, None)


def test_labels_are_two_classes_or_refused(baseline, data):
    """A method for two classes finds the signals; any other says what it wants."""
    X, y = data
    labels = np.where(y > 0.0, "yes", "no")
    if baseline.takes_classes:
        baseline.fit(X, labels)
        assert list(baseline.classes_) == ["no", "yes"]
        assert baseline.support_[SIGNALS].all()
    else:
        with pytest.raises(TypeError, match=f"{type(baseline).__name__} explains a continuous"):
            baseline.fit(X, labels)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        BartBaseline(n_iterations=50),
        Horseshoe(n_iterations=20, n_burn=5),
        LassoBaseline(n_folds=3),
        SisBart(n_iterations=50),
        SpikeSlabLasso(n_lambda0=20),
    ]
)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    """Those of the quick ones; what they check lies with the base class."""
    check(estimator)


def test_nothing_can_be_asked_before_the_fit(baseline, data):
    with pytest.raises(NotFittedError):
        baseline.transform(data[0])


def test_all_are_here():
    assert set(QUICK) | {"Baseline"} == set(room.__all__)
