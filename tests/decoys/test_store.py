from __future__ import annotations

import io

import numpy as np
import pytest

from tests.decoys.tables import autoregressive, common_factor
from tvselect.decoys import Knockoffs, restore_knockoffs, store_knockoffs
from tvselect.inputs.npz import read_arrays


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    X = autoregressive(0.8, 200, 12, rng)
    X[:, 3] = X[:, 3] > 0
    X[::9, 1] = np.nan
    return X


@pytest.mark.parametrize("n_copies", [1, 3])
def test_bytes_round_trip_bit_for_bit(table, n_copies):
    estimate = Knockoffs.estimate(table, n_copies)
    stored = store_knockoffs(estimate)
    read = restore_knockoffs(stored)
    assert store_knockoffs(read) == stored
    draws = [knockoffs.draw(table, np.random.default_rng(16)) for knockoffs in (estimate, read)]
    assert draws[0].tobytes() == draws[1].tobytes()


def test_factors_and_lone_columns_round_trip():
    X = common_factor(300, 40, np.random.default_rng(0))
    estimate = Knockoffs.estimate(X)
    assert estimate.loadings.shape[1] == 1
    assert store_knockoffs(restore_knockoffs(store_knockoffs(estimate))) == store_knockoffs(
        estimate
    )


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: b"x" * 50, lambda data: data[:-9]]
)
def test_other_bytes_are_refused(damage, table):
    with pytest.raises(ValueError, match="not stored knockoffs"):
        restore_knockoffs(damage(store_knockoffs(Knockoffs.estimate(table))))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rest", lambda part: part[:-1]),
        ("rest", lambda part: np.append(part[:-1], np.nan)),
        ("n_copies", lambda part: part * 0),
        ("starts", lambda part: part[::-1]),
        ("values", lambda part: part[:-3]),
        ("members", lambda part: part + 1),
        ("sizes", lambda part: part * 2),
        ("sizes", lambda part: -part),
        ("precision", lambda part: part[:-1]),
        ("root", lambda part: part * np.inf),
        ("s", lambda part: part.astype(np.float32)),
        ("loadings", lambda part: np.ones(5)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change, table):
    arrays = read_arrays(store_knockoffs(Knockoffs.estimate(table)))
    arrays[name] = change(arrays[name])
    file = io.BytesIO()
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="not stored knockoffs"):
        restore_knockoffs(file.getvalue())
