"""The table of what was found, one row per column."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tests.decoyed import fit_signals
from tvselect import PValueReward, StreamingThompsonSelector, ThompsonSelector


def test_one_row_per_column_and_the_best_on_top():
    selector, X, _ = fit_signals([0, 0.65, 0, 0.6, 0])
    frame = selector.to_frame()
    assert frame.columns.tolist() == [
        "name", "selected", "q_value", "selection_rate", "low", "high", "times_played",
        "ranking", "claim",
    ]  # fmt: skip
    assert set(frame.name[:2]) == {"c1", "c3"}
    assert frame.ranking.is_monotonic_increasing
    by_column = frame.sort_index()
    assert by_column.index.tolist() == list(range(5))
    assert by_column.name.tolist() == list(X.columns)
    np.testing.assert_array_equal(by_column.selected, selector.support_)
    np.testing.assert_array_equal(by_column.q_value, selector.q_values_)
    np.testing.assert_array_equal(by_column.selection_rate, selector.selection_rates_)
    np.testing.assert_array_equal(by_column[["low", "high"]], selector.selection_rate_intervals_)
    np.testing.assert_array_equal(by_column.times_played, selector.history_.times_played[:5])
    np.testing.assert_array_equal(by_column.ranking, selector.ranking_)


def test_claims_are_numbered_from_one():
    selector, _, _ = fit_signals([0.65, 0.6, 0, 0, 0], twins=[(0, 2)])
    frame = selector.to_frame().sort_index()
    for number, claim in enumerate(selector.claims_, start=1):
        assert frame.index[frame.claim == number].tolist() == sorted(claim.columns)
    assert frame.claim.isna().sum() == 2
    assert frame.claim[0] == frame.claim[2] != frame.claim[1]


def test_the_median_model_has_no_q_values():
    frame = fit_signals([0.65, 0, 0], max_fdr=None)[0].to_frame()
    assert frame.q_value.isna().all()
    assert frame.selected.sum() == 1


def test_columns_always_included_come_first():
    selector, _, _ = fit_signals([0.65, 0, 0], always_include=["c2"])
    first = selector.to_frame().iloc[0]
    assert (first["name"], first.q_value, first.selection_rate) == ("c2", 0.0, 1.0)
    assert first.times_played == selector.n_plays_


def test_evidence_of_a_stream():
    selector, _, _ = fit_signals([0.65, 0, 0])
    selector.e_values_ = np.array([50.0, 0.5, 0.25])
    selector.selected_since_ = np.array([4, 4, 4])
    frame = selector.to_frame().sort_index()
    assert frame.e_value.tolist() == [50.0, 0.5, 0.25]
    assert frame.selected_since[0] == 4
    assert frame.selected_since[1:].isna().all()


def test_a_stream():
    X = np.random.default_rng(0).random((600, 3))
    selector = StreamingThompsonSelector(
        PValueReward(), batch_size=100, max_fdr=None, random_state=0
    ).fit(X, X[:, 1])
    frame = selector.to_frame()
    assert frame.name.iloc[0] == "x1"
    assert frame.claim.isna().all()


def test_without_pandas(monkeypatch):
    selector, _, _ = fit_signals([0.65, 0, 0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        selector.to_frame()


def test_not_fitted():
    with pytest.raises(NotFittedError):
        ThompsonSelector().to_frame()
