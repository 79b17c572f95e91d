from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tvstudy.baselines import ipss as room
from tvstudy.baselines.ipss import Ipss


@pytest.fixture
def package(monkeypatch):
    """Stands for the package: says what it was given, draws from the global state."""
    import sys
    from types import SimpleNamespace

    seen = []

    def ipss(X, y, selector):
        assert selector == "gb"
        seen.append((X, y, np.random.random()))  # noqa: NPY002
        return {"q_values": {j: [0.5, 0.1, 0.05][j] for j in (2, 0, 1)}}

    monkeypatch.setitem(sys.modules, "ipss", SimpleNamespace(ipss=ipss))
    return seen


def test_q_values_are_in_the_order_of_the_columns_and_cut_at_the_level(package):
    X, y = np.eye(3), [1.0, 2.0, 4.0]
    selector = Ipss(random_state=0).fit(X, y)
    np.testing.assert_array_equal(selector.q_values_, [0.5, 0.1, 0.05])
    assert selector.get_support().tolist() == [False, True, True]
    assert Ipss(0.05).fit(X, y).get_support().tolist() == [False, False, True]


def test_its_draws_are_a_function_of_the_seed_and_leave_the_global_state_alone(package):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for seed in (0, 0, 1):
        Ipss(random_state=seed).fit(np.eye(3), [1.0, 2.0, 4.0])
    first, again, other = (draw for _, _, draw in package)
    assert first == again != other
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_text_and_gaps_become_numbers_and_labels_classes(package):
    X = pd.DataFrame({"a": ["y", "x", "y"], "b": [1.0, np.nan, 4.0], "c": [1, 2, 3]})
    Ipss(random_state=0).fit(X, ["no", "yes", "no"])
    given, y, _ = package[0]
    np.testing.assert_array_equal(given, [[1, 1, 1], [0, 2.5, 2], [1, 4, 3]])
    assert y.tolist() == [0.0, 1.0, 0.0]


def test_the_package_itself_finds_a_strong_signal():
    pytest.importorskip("ipss")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    selector = room.Ipss(random_state=0).fit(X, 5.0 * X[:, 2] + 0.1 * rng.standard_normal(60))
    assert selector.q_values_.argmin() == 2
    assert selector.support_[2]
