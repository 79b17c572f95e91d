from __future__ import annotations

import numpy as np

from tvselect.inputs.outcome import has_outliers, pull_in


def test_values_far_out_are_pulled_in_where_they_are_few():
    y = np.random.default_rng(0).normal(size=500)
    y[[3, 4]] = 1e12, -1e9
    values, n_moved = pull_in(y)
    assert n_moved == 2
    assert not has_outliers(values)
    np.testing.assert_array_equal(np.delete(values, [3, 4]), np.delete(y, [3, 4]))


def test_a_long_tail_is_left_alone():
    y = np.exp(np.random.default_rng(0).normal(size=500))
    assert has_outliers(y)
    assert pull_in(y)[0] is y


def test_a_mass_at_one_value_is_no_reason_to_flatten_the_rest():
    y = np.zeros(200)
    y[:20] = np.arange(20.0)
    assert pull_in(y)[0] is y
