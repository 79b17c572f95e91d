"""Data and settings that run_bart refuses, by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.trees.test_bart import NAMES, N, data, run
from tvselect.trees import Prior, bin_table

X, Y = data(20)
with_inf, all_missing, text = X.copy(), X.copy(), X.astype(object)
with_inf[3, 2] = np.inf
all_missing[:, 2] = np.nan
text[:, 2] = "u"
one_nan, one_inf = Y.copy(), Y.copy()
one_nan[4], one_inf[4] = np.nan, np.inf


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (X[:19], Y, ValueError, "y has 20 values but X has 19 rows"),
        (X, Y[:0], ValueError, "y has 0 values but X has 20 rows"),
        (X[:0], Y[:0], ValueError, "X is empty: 0 rows"),
        (X[:, :0], Y, ValueError, "X is empty: 20 rows, 0 columns"),
        (X[:, 0], Y, ValueError, "X must have two dimensions"),
        (X, X, ValueError, "y must be a single column"),
        (X, np.ones(20), ValueError, r"y is constant \(1.0"),
        (X, one_nan, ValueError, "y has 1 missing or infinite.*row 4"),
        (X, one_inf, ValueError, "y has 1 missing or infinite.*row 4"),
        (X, [f"u{k}" for k in range(20)], TypeError, "y holds text"),
        (text, Y, TypeError, "column 'x2' of X holds no numbers"),
        (
            pd.DataFrame(X, columns=NAMES).assign(c="u"),
            Y,
            TypeError,
            "column 'c' of X holds no",
        ),
        (pl.DataFrame(X, NAMES).with_columns(c=pl.lit("u")), Y, TypeError, "column 'c' of X"),
        (with_inf, Y, ValueError, "column 'x2' of X holds infinite"),
        (pd.DataFrame(with_inf, columns=NAMES), Y, ValueError, "column 'c' of X holds inf"),
        (all_missing, Y, ValueError, "column 'x2' of X holds no value"),
        (X[:1], Y[:1], ValueError, "one row"),
        (pd.Series(Y), Y, ValueError, "X is a single column"),
        (None, Y, ValueError, "X must have two dimensions"),
        (X, None, ValueError, "y must be a single column"),
    ],
)
def test_bad_data_are_refused_by_name(X, y, error, message):
    with pytest.raises(error, match=message):
        run(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_iterations": 0}, ValueError, "n_iterations == 0"),
        ({"n_iterations": -5}, ValueError, "n_iterations == -5"),
        ({"n_iterations": 10.0}, TypeError, "n_iterations must be an instance of int"),
        ({"n_iterations": "10"}, TypeError, "n_iterations"),
        ({"n_burn": N}, ValueError, f"n_burn == {N}, must be <= {N - 1}"),
        ({"n_burn": -1}, ValueError, "n_burn == -1"),
        ({"n_burn": 2.5}, TypeError, "n_burn"),
        ({"n_trees": 0}, ValueError, "n_trees == 0"),
        ({"n_trees": 2.0}, TypeError, "n_trees"),
        ({"n_keep": 0}, ValueError, "n_keep == 0"),
        ({"n_keep": 1.5}, TypeError, "n_keep"),
        ({"family": "probit"}, ValueError, "y has 20 classes.*probit takes two"),
        ({"family": "poisson"}, ValueError, "family must be.*'poisson'"),
        ({"columns": ["a", "z"]}, ValueError, "columns names 'a', which X does not have"),
        ({"columns": [1, 4]}, ValueError, "columns has 4; .* 0 to 3"),
        ({"columns": [-1]}, ValueError, "columns has -1"),
        ({"columns": [1.0]}, ValueError, r"columns has 1\.0"),
        ({"columns": [True, False, True, False]}, ValueError, "columns has True"),
        ({"columns": np.array([True, False])}, ValueError, "columns has .*True"),
        ({"columns": [1, 2, 1]}, ValueError, "columns has 'x1' 2 times"),
        ({"columns": ["x1", 1]}, ValueError, "columns has 'x1' 2 times"),
        ({"columns": []}, ValueError, "columns must be a sequence of at least one"),
        ({"columns": "x1"}, ValueError, "columns must be a sequence.*'x1'"),
        ({"columns": 2}, ValueError, "columns must be a sequence.*2"),
        ({"sigma": 0}, ValueError, "sigma must be a positive number.*0"),
        ({"sigma": -1.0}, ValueError, "sigma must be a positive number"),
        ({"sigma": np.nan}, ValueError, "sigma must be a positive number.*nan"),
        ({"sigma": "1"}, ValueError, "sigma must be a positive number.*'1'"),
        ({"noise_scale": 0}, ValueError, "noise_scale must be a positive number.*0"),
        ({"noise_scale": -1}, ValueError, "noise_scale"),
        ({"noise_scale": np.inf}, ValueError, "noise_scale"),
        ({"noise_scale": np.nan}, ValueError, "noise_scale"),
        ({"noise_scale": "mad"}, ValueError, "noise_scale.*'mad'"),
        ({"noise_scale": None}, ValueError, "noise_scale.*None"),
        ({"noise_scale": [1.0, 2.0]}, ValueError, "noise_scale"),
        ({"random_state": -1}, ValueError, "random_state.*-1"),
        ({"random_state": "seed"}, TypeError, "random_state.*'seed'"),
        ({"random_state": 0.5}, TypeError, "random_state.*0.5"),
        ({"max_cuts": 0}, ValueError, "max_cuts == 0"),
        ({"max_cuts": 255}, ValueError, "max_cuts == 255"),
        ({"max_cuts": 10.0}, TypeError, "max_cuts"),
        ({"prior": {"n_trees": 3}}, TypeError, "prior must be a Prior"),
    ],
)
def test_bad_settings_are_refused_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        run(X, Y, **settings)


def test_a_bad_noise_scale_is_refused_for_two_classes_too():
    with pytest.raises(ValueError, match="noise_scale"):
        run(X, Y > 0, noise_scale="mad")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[:5], Y[:5], "5 rows and 4 columns; use 'sd'"),
        (np.where(np.eye(20, 4) == 1, np.nan, X), Y, "without missing values; use 'sd'"),
        (X, 3 * X[:, 0] + 1, "fits y exactly; use 'sd'"),
    ],
)
def test_a_linear_noise_scale_needs_a_linear_model(X, y, message):
    with pytest.raises(ValueError, match=f"noise_scale='linear'.*{message}"):
        run(X, y, noise_scale="linear", prior=Prior(min_leaf=2))


def test_a_linear_noise_scale_needs_the_table_itself():
    with pytest.raises(ValueError, match="noise_scale='linear' needs the table itself"):
        run(bin_table(X), Y, noise_scale="linear")


def test_a_table_too_short_for_any_split_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match=r"X has 9 rows, .* at least 5 rows each"):
        run(X[:9], y[:9])
    assert run(X[:9], y[:9], prior=Prior(min_leaf=4)).n_splits.size > 0


def test_sigma_cannot_be_fixed_for_two_classes():
    X, y = data()
    with pytest.raises(ValueError, match="sigma cannot be fixed"):
        run(X, y > np.median(y), sigma=1.0)


def test_a_noise_scale_out_of_proportion_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match="noise_scale=1e-200 is out of all proportion"):
        run(X, y, noise_scale=1e-200)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_an_outcome_beyond_the_range_of_doubles_is_refused():
    X, y = data()
    y = np.where(y > np.median(y), 1.7e308, -1.7e308)
    y[0] = 0.0
    with pytest.raises(ValueError, match="y spans more than a double can hold"):
        run(X, y)
