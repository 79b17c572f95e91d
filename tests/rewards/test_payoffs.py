from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tvselect.inputs import read_outcome
from tvselect.rewards.base import Data
from tvselect.rewards.payoffs import check_payoffs, draw_rows


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 0.5],
        (False, True, 0.5),
        np.array([0.0, 1.0, 0.5], dtype=np.float32),
        pd.Series([0.0, 1.0, 0.5], index=[7, 8, 9]),
        [-1e-17, 1.0 + 1e-15, 0.5],
    ],
)
def test_numbers_and_booleans_become_floats(values):
    payoffs = check_payoffs(values, 3)
    assert payoffs.dtype == np.float64
    np.testing.assert_array_equal(payoffs, [0.0, 1.0, 0.5])


def test_the_array_of_the_caller_is_not_handed_on():
    values = np.array([0.0, 1.0])
    check_payoffs(values, 2)[0] = 1.0
    assert values[0] == 0.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 1], r"returned 2 payoff\(s\).*each of the 3 played columns"),
        ([], r"returned 0 payoff\(s\)"),
        (0.5, r"shape \(\)"),
        ([[0, 1, 1]], r"shape \(1, 3\)"),
        ([[0, 1], [1]], "different lengths"),
        ([0, np.nan, 1], r"position 1 \(nan\); use 0"),
        ([0, 1, np.inf], r"position 2 \(inf\); rescale or clip"),
        ([0, -0.1, 1.5], r"2 payoff\(s\) outside \[0, 1\], the first at position 1 \(-0.1\)"),
    ],
)
def test_wrong_payoffs_are_named_with_a_remedy(values, message):
    with pytest.raises(ValueError, match=f"^my reward .*{message}"):
        check_payoffs(values, 3, what="my reward")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (None, "NoneType"),
        ("abc", "str"),
        (["a", "b", "c"], "<U1"),
        ([None, 1, 0], "object"),
        ((v for v in (0, 1, 1)), "generator"),
        (sparse.csr_array(np.eye(3)), "array"),
        ([1j, 0, 0], "complex"),
    ],
)
def test_payoffs_that_are_no_numbers_are_a_type_error(values, kind):
    with pytest.raises(TypeError, match=f"the reward returned no numbers but .*{kind}"):
        check_payoffs(values, 3)


def data_of(y):
    y = np.asarray(y)
    return Data(np.zeros((y.size, 1)), read_outcome(y, y.size), ("x0",))


def test_without_bootstrap_all_rows_are_looked_at():
    rows = draw_rows(data_of([1.0, 2, 3]), False, np.random.default_rng(0))
    np.testing.assert_array_equal(rows, [0, 1, 2])


def test_bootstrap_draws_rows_uniformly_with_replacement():
    rng = np.random.default_rng(0)
    n, n_draws = 20, 2000
    data = data_of(np.arange(n))
    draws = np.array([draw_rows(data, True, rng) for _ in range(n_draws)])
    assert draws.shape == (n_draws, n)
    counts = np.bincount(draws.ravel(), minlength=n)
    assert abs(counts - n_draws).max() < 4.5 * np.sqrt(n_draws)
    distinct = np.mean([np.unique(rows).size for rows in draws]) / n
    assert distinct == pytest.approx(1 - (1 - 1 / n) ** n, abs=0.01)


def test_a_replicate_with_one_class_is_drawn_again():
    rng = np.random.default_rng(0)
    data = data_of([0] * 9 + [1])
    for _ in range(50):
        rows = draw_rows(data, True, rng)
        assert 0 < data.outcome.values[rows].sum() < 10


def test_redraws_come_to_an_end():
    data = data_of([0, 1])

    class Stuck:
        def integers(self, n, size):
            return np.zeros(size, dtype=np.int64)

    assert draw_rows(data, True, Stuck()) is None
