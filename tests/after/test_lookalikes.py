"""Look-alikes are found, by rank and whatever the sign, and nothing else is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from tvselect.after.dependence import chance_level, find_lookalikes
from tvselect.inputs import read_table
from tvselect.inputs.columns import centred_ranks


def test_copied_column():
    X = np.random.default_rng(0).random((200, 50))
    X[:, 30] = X[:, 4]
    X[:, 31] = -np.exp(X[:, 4])
    [found] = find_lookalikes(read_table(X), np.array([4]), np.delete(np.arange(50), 4))
    assert found == [(30, 1.0), (31, -1.0)]


@pytest.mark.parametrize("at_once", [1, 2**22])
def test_same_as_scipy(monkeypatch, at_once):
    monkeypatch.setattr("tvselect.inputs.columns.VALUES_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(150, 1)) + 0.7 * rng.normal(size=(150, 12))).round(1)  # ties
    found = find_lookalikes(read_table(X), np.array([0, 1]), np.arange(2, 12))
    for expected, matches in zip(spearmanr(X).statistic[:2, 2:], found, strict=True):
        best = np.argsort(-np.abs(expected))[:5]
        assert [match.column for match in matches] == (best + 2).tolist()
        assert [match.correlation for match in matches] == pytest.approx(expected[best])


def test_weak_correlations_missing_values_constants_and_text():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(100), "text": rng.choice(["u", "v"], 100), "one": 1.0})
    X["b"] = X["a"].where(X.index >= 10)
    X = X.assign(**{f"noise {j}": rng.random(100) for j in range(10)})
    found = find_lookalikes(read_table(X), np.array([0, 1]), np.arange(1, X.shape[1]))
    assert [[match.column for match in matches] for matches in found] == [[3], []]
    assert found[0][0].correlation > 0.8
    assert find_lookalikes(read_table(X), np.array([0]), np.array([1])) == [[]]


def test_chance_level_is_what_unrelated_columns_reach():
    rng = np.random.default_rng(0)
    n, p, strongest = 100, 500, []
    for _ in range(20):
        ranks = centred_ranks(rng.random((p + 1, n)))
        strongest.append(np.abs(ranks[0] @ ranks[1:].T).max())
    # The maximum scatters by some 0.03 around its median; 20 of them leave 0.007.
    assert np.median(strongest) == pytest.approx(chance_level(n, p), abs=0.03)
    assert chance_level(2, 10) == 1.0
