"""What the selector refuses, and that it names it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.nested import nested
from tests.selectors.test_thompson import N, P, make_data, selector
from tvselect import PValueReward, ThompsonSelector


def test_unknown_arguments_of_fit_are_refused_by_name():
    X, y = make_data()
    with pytest.raises(TypeError, match="'wieght'"):
        selector().fit(X, y, wieght=np.ones(N))


@pytest.mark.parametrize(
    ("payoffs", "error", "match"),
    [
        (lambda p: np.ones(p + 1), ValueError, "payoff"),
        (lambda p: np.full(p, np.nan), ValueError, "outside"),
        (lambda p: np.full(p, 1.5), ValueError, "outside"),
        (lambda p: np.full(p, -0.1), ValueError, "outside"),
        (lambda p: None, TypeError, "no numbers"),
    ],
)
def test_a_function_that_pays_wrongly_is_refused_by_name(payoffs, error, match):
    def my_reward(X, y, rng):
        return payoffs(X.shape[1])

    with pytest.raises(error, match=match) as info:
        selector(my_reward).fit(*make_data())
    assert "my_reward" in str(info.value)


BAD_SETTINGS = {
    "no plays": (dict(n_plays=0), ValueError, "n_plays"),
    "half a play": (dict(n_plays=2.5), TypeError, "n_plays"),
    "no chain": (dict(n_chains=0), ValueError, "n_chains"),
    "no patience": (dict(patience=0), ValueError, "patience"),
    "no time": (dict(time_limit=0), ValueError, "time_limit"),
    "nan seconds": (dict(time_limit=float("nan")), ValueError, "time_limit"),
    "cost 0": (dict(cost=0.0), ValueError, "cost"),
    "cost 1": (dict(cost=1.0), ValueError, "cost"),
    "one cost of 1": (dict(cost=np.r_[np.full(P - 1, 0.5), 1.0]), ValueError, "cost"),
    "nan cost": (dict(cost=np.r_[np.full(P - 1, 0.5), np.nan]), ValueError, "between 0 and 1"),
    "costs of others": (dict(cost=np.full(P + 1, 0.5)), ValueError, "cost has shape"),
    "text cost": (dict(cost="cheap"), ValueError, "cost must hold numbers"),
    "prior 0": (dict(prior=(0.0, 1.0)), ValueError, "prior"),
    "negative prior": (dict(prior=(1.0, -np.ones(P))), ValueError, "prior"),
    "nan prior": (dict(prior=(np.r_[np.ones(P - 1), np.nan], 1.0)), ValueError, "positive and fin"),
    "infinite prior": (dict(prior=(1.0, np.inf)), ValueError, "prior"),
    "three priors": (dict(prior=(1.0, 1.0, 1.0)), ValueError, "pair"),
    "one prior": (dict(prior=1.0), ValueError, "pair"),
    "too many wanted": (dict(n_features_to_select=P + 1), ValueError, "12 arms"),
    "none wanted": (dict(n_features_to_select=0), ValueError, "n_features_to_select"),
    "reward of no kind": (dict(reward=5), TypeError, "callable"),
    "unknown reward": (dict(reward="boost"), ValueError, "got 'boost'"),
    "negative seed": (dict(random_state=-1), ValueError, "random_state"),
    "seed of no kind": (dict(random_state="seven"), ValueError, "seven"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings_are_refused_by_name(case):
    settings, error, match = BAD_SETTINGS[case]
    with pytest.raises(error, match=match):
        ThompsonSelector(**nested(**{"reward": PValueReward(), "n_plays": 2, **settings})).fit(
            *make_data()
        )


X0, Y0 = make_data(n=30)
BAD_DATA = {
    "constant y": (X0, np.ones(30), ValueError, "constant"),
    "nan in y": (X0, np.r_[Y0[:-1], np.nan], ValueError, "y has 1 missing .* row 29"),
    "infinite y": (X0, np.r_[np.inf, Y0[1:]], ValueError, "y has 1 .* row 0"),
    "short y": (X0, Y0[:-1], ValueError, "29 values but X has 30 rows"),
    "no y": (X0, None, ValueError, "y"),
    "two outcomes": (X0, np.c_[Y0, Y0], ValueError, "single column"),
    "all labels differ": (X0, [f"a{k}" for k in range(30)], TypeError, "30 distinct"),
    "text array": (np.full((30, 2), "a"), Y0, ValueError, "(?i)numeric"),
    "text among objects": (np.array([["a", 1.0]] * 30, dtype=object), Y0, ValueError, "float"),
    "one row": (X0[:1], Y0[:1], ValueError, "minimum of 2"),
    "no column": (X0[:, :0], Y0, ValueError, "0 feature"),
    "one dimension": (Y0, Y0, ValueError, "2D array"),
    "three dimensions": (X0[None], Y0, ValueError, "dim"),
    "complex": (X0 + 1j, Y0, ValueError, "Complex"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_are_refused_clearly(case):
    X, y, error, match = BAD_DATA[case]
    with pytest.raises(error, match=match):
        selector(n_plays=2).fit(X, y)
