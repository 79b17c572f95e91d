from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from tvstudy.simulation import simulate_null
from tvstudy.simulation.nulls import COLUMNS, OUTCOMES

N = 4000


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_null_has_its_shape_no_signal_and_is_a_function_of_the_seed(columns, outcome):
    data, again = (simulate_null(columns, outcome, 60, 7, random_state=3) for _ in range(2))
    assert data.X.shape == (60, 7)
    assert data.y.shape == (60,)
    assert data.support.shape == (7,)
    assert not data.support.any()
    assert np.isfinite(data.y).all()
    pd.testing.assert_frame_equal(pd.DataFrame(data.X), pd.DataFrame(again.X))
    np.testing.assert_array_equal(data.y, again.y)


def test_columns_are_what_their_name_says():
    X = {name: simulate_null(name, "normal", N, 6, random_state=1).X for name in COLUMNS}
    assert kstest(X["t(3)"][:, 0], "t", (3,)).pvalue > 1e-3
    assert kstest(X["uniform"][:, 0], "uniform").pvalue > 1e-3
    assert kstest(X["normal"][:, 0], "norm").pvalue > 1e-3
    # A correlation of 0.9 has a standard error of (1 - 0.81) / sqrt(N) = 0.003.
    assert np.corrcoef(X["AR(0.9)"].T)[2, 3] == pytest.approx(0.9, abs=0.012)
    assert np.unique(X["0-1"]).tolist() == [0.0, 1.0]
    share = np.isnan(X["missing"]).mean(axis=0)
    assert 0.0 < share.max() < 0.35
    levels = X["categories"].nunique()
    assert all(isinstance(value, str) for value in X["categories"].iloc[0])
    assert levels.between(2, 10).all()
    assert levels.nunique() > 1


def test_outcomes_are_what_their_name_says():
    y = {name: simulate_null("normal", name, N, 2, random_state=2).y for name in OUTCOMES}
    assert kstest(y["t(2)"], "t", (2,)).pvalue > 1e-3
    for name, share in (("classes", 0.5), ("rare class", 0.05)):
        assert np.unique(y[name]).tolist() == [0.0, 1.0]
        assert y[name].mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / N))
    assert y["counts"].mean() == pytest.approx(2.0, abs=4 * np.sqrt(2.0 / N))
    assert (y["counts"] == y["counts"].round()).all()
