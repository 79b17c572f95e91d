"""Findings say what the selector found."""

from __future__ import annotations

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from tests.decoyed import fit_signals
from tvselect import LassoReward, Search, StreamingThompsonSelector, ThompsonSelector
from tvselect.bandit.engine import StopReason
from tvselect.report import About, gather
from tvselect.report.findings import Control
from tvselect.report.gathering import MOST_DRAWN, control_of


def test_contents(fit):
    selector, _ = fit([0.95, 0.9, 0.1, 0.05], n_chains=3)
    found = gather(selector, target="price", about=About(command="tvs"), notes=["Left out."])
    assert found.title == "What matters for price"
    assert (found.asked.n_rows, found.n_columns, found.n_variables) == (50, 4, 4)
    assert (found.n_selected, found.n_chains, found.n_plays, found.unit) == (2, 3, 60, "play")
    assert found.agreement == selector.chain_agreement_
    assert [v.name for v in found.of_role("selected")] == ["c0", "c1"]
    first = found.variables[0]
    assert first.selection_rate == selector.selection_rates_[0]
    assert (first.low, first.high) == tuple(selector.selection_rate_intervals_[0])
    assert first.path[-1] == round(first.selection_rate, 4)
    assert first.n_chains == 3
    assert found.about == About(command="tvs")
    assert found.asked.seed == 0
    assert found.asked.fingerprint == selector.history_.journal.header.fingerprint
    assert (found.stop_reason, found.asked.n_plays) == (StopReason.PLAYS, 60)
    assert found.notes == ("Left out.",)
    assert found.control == Control(None, None, None, 0, 0, 0, None)
    assert (found.claims, found.best, found.is_nothing) == ((), None, False)
    assert first.q_value is None
    assert found.outcome == "unknown"


def test_paths_pool_the_chains_as_the_selector_does(fit):
    selector, _ = fit([0.9, 0.6, 0.4, 0.1], n_chains=2, patience=5)
    for variable in gather(selector).variables:
        place = int(variable.name[1:])
        assert variable.path[0] == 0.5
        assert variable.path[-1] == round(float(selector.selection_rates_[place]), 4)


def test_path_of_one_chain_is_its_trajectory(fit):
    selector, _ = fit([0.9, 0.2])
    found = gather(selector)
    expected = selector.history_.trajectories(["c0"])[:, 0]
    assert found.variables[0].path == tuple(expected.round(4))


def test_number_of_plays_of_a_variable(fit):
    selector, _ = fit([0.9, 0.2])
    counts = sum(np.bincount(play.arms, minlength=2) for play in selector.history_.plays)
    assert {v.name: v.n_played for v in gather(selector).variables} == {
        "c0": counts[0], "c1": counts[1],
    }  # fmt: skip


def test_stream_with_decoys_and_skipped_batches(stream):
    selector = stream([0.9, 0.2, 0.1], max_fdr=0.1, skipped=(3, 4), discount=0.9)
    found = gather(selector)
    assert (found.unit, found.n_plays, found.n_skipped) == ("batch", 40, 2)
    assert (found.asked.n_rows, found.asked.fingerprint) == (None, None)
    assert found.control.n_decoys == 3
    names = [variable.name for variable in found.of_role("decoy")]
    assert sorted(names) == ["decoy of c0", "decoy of c1", "decoy of c2"]


def test_decoys_and_q_values():
    selector, _, _ = fit_signals([0.65, 0.6, 0, 0, 0, 0])
    found = gather(selector)
    assert found.control == control_of(selector)
    for variable in (*found.of_role("selected"), *found.of_role("unselected")):
        assert variable.q_value == selector.q_values_[int(variable.name[1:])]
    decoys = found.of_role("decoy")
    assert len(decoys) == 5
    assert decoys[0].selection_rate == found.control.highest
    for variable in decoys:
        _, copy, _, column = variable.name.split()
        arm = 6 * int(copy) + int(column[1:])
        assert variable.path[-1] == pytest.approx(selector.history_.means()[arm], abs=1e-4)
        assert variable.q_value is None


def test_names_of_decoys_are_fit_to_be_shown():
    selector, _, _ = fit_signals(
        [0.6, 0, 0], names=["a\nb", "c", "d"], feature_groups={"g\t": [1, 2]}
    )
    names = {variable.name for variable in gather(selector).of_role("decoy")}
    for name in names:
        assert name.endswith(("of a b (column 0)", "of g")), name


def test_evidence_of_a_stream():
    selector, _, _ = fit_signals([0.65, 0.6, 0, 0, 0, 0])
    selector.e_values_ = np.arange(6.0)
    selector.selected_since_ = np.full(6, 7)
    for variable in gather(selector).variables:
        if variable.role == "decoy":
            assert (variable.e_value, variable.selected_since) == (None, None)
        else:
            assert variable.e_value == int(variable.name[1:])
            assert variable.selected_since == (7 if variable.role == "selected" else None)


def test_nothing_is_a_result():
    selector, X, y = fit_signals(np.zeros(6))
    found = gather(selector, X, y)
    assert found.is_nothing
    assert found.best.q_value > 0.1
    assert not gather(fit_signals(np.zeros(6), max_fdr=None)[0]).is_nothing


def test_claims():
    selector, _, _ = fit_signals([0.6, 0.6, 0, 0, 0], twins=[(0, 2)])
    (claim,) = gather(selector).claims
    assert set(claim.variables) == {"c0", "c2"}


def test_only_what_is_worth_drawing(fit):
    rng = np.random.default_rng(0)
    selector, _ = fit(rng.random(400), n_plays=3)
    found = gather(selector)
    assert len(found.variables) == MOST_DRAWN
    assert found.n_selected > MOST_DRAWN
    assert all(variable.role == "selected" for variable in found.variables)


def test_paths_are_thinned(fit):
    selector, _ = fit([0.9, 0.1], n_plays=1000)
    found = gather(selector)
    assert len(found.steps) == 200
    assert (found.steps[0], found.steps[-1]) == (0, 1000)


def test_nothing_selected(fit):
    selector, X = fit([0.05, 0.05])
    found = gather(selector, X, X["c0"], random_state=0)
    assert found.n_selected == 0
    assert found.dependence == ()
    assert found.dependence_note == "There is no selected variable to look at."
    assert found.resemblance_note == "There is no selected variable to compare with."


def test_interrupted():
    n_calls = 0

    def interrupted(X, y, rng):
        nonlocal n_calls
        n_calls += 1
        if n_calls > 5:
            raise KeyboardInterrupt
        return np.full(X.shape[1], 0.9)

    X = np.random.default_rng(0).random((20, 3))
    selector = ThompsonSelector(interrupted, random_state=0)
    with pytest.warns(RuntimeWarning, match="interrupted"):
        selector.fit(X, X[:, 0])
    found = gather(selector)
    assert (found.n_plays, found.stop_reason) == (5, StopReason.INTERRUPTED)


def test_interrupted_before_the_first_play():
    def interrupted(X, y, rng):
        raise KeyboardInterrupt

    X = np.random.default_rng(0).random((20, 3))
    with pytest.warns(RuntimeWarning, match="interrupted"):
        selector = ThompsonSelector(interrupted).fit(X, X[:, 0])
    found = gather(selector, X, X[:, 0])
    assert (found.n_plays, found.variables, found.steps) == (0, (), (0,))


def test_groups_and_columns_always_included(fit):
    selector, _ = fit(
        [0.9, 0.9, 0.1, 0.1], feature_groups={"pair": ["c0", "c1"]}, always_include=["c3"]
    )  # fmt: skip
    found = gather(selector)
    assert (found.n_columns, found.n_variables) == (4, 2)
    assert found.variables[0].name == "pair"
    assert found.variables[0].members == ("c0", "c1")
    assert found.always == ("c3",)


def test_hostile_names_are_fit_to_be_shown(hostile):
    selector, X = hostile
    names = [variable.name for variable in gather(selector).variables]
    assert len(set(names)) == X.shape[1]
    assert max(map(len, names)) < 150
    for name in names:
        assert name.encode("utf-8")
        assert not set(name) & set("\n\t\x00\u202e")


def test_two_classes_and_categories():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({"colour": rng.choice(["red", "green", None], n), "noise": rng.random(n)})
    y = np.where(rng.random(n) < np.where(X["colour"] == "red", 0.9, 0.2), "yes", "no")
    selector = ThompsonSelector(n_plays=30, random_state=0).fit(X, y)
    found = gather(selector, X, y, random_state=0)
    assert (found.outcome, found.classes) == ("two classes", ("no", "yes"))
    shape = found.dependence[0]
    chance = dict(zip(shape.labels, shape.mean, strict=True))
    # The share of "yes" among some 130 rows has a standard error of 0.04 at most; the prior
    # pulls towards the middle. Three of the one, and as much for the other.
    assert chance["red"] == pytest.approx(0.9, abs=0.2)
    assert chance["green"] == pytest.approx(0.2, abs=0.2)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_tables_of_all_kinds(kind):
    X = np.random.default_rng(0).random((60, 4))
    names = ["a", "b", "c", "d"]
    table = X if kind is np.asarray else kind(dict(zip(names, X.T, strict=True)))
    selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(table, X[:, 3])
    found = gather(selector, table, X[:, 3], random_state=0)
    assert len(found.dependence) == 1


def test_columns_are_found_by_name():
    frame = pd.DataFrame(np.random.default_rng(0).random((60, 3)), columns=["a", "b", "c"])
    selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(frame, frame["c"])
    turned = frame[["c", "b", "a"]].assign(extra=pd.Timestamp("2021-01-01"))
    found = gather(selector, turned, frame["c"], random_state=0)
    assert found.dependence[0].variable == "c"
    assert found.dependence[0].at[0] == pytest.approx(frame["c"].quantile(0.01))
    with pytest.raises(ValueError, match="'a'"):
        gather(selector, frame[["b", "c"]], frame["c"])
    with pytest.raises(ValueError, match="X has 2 columns, the selector was fitted on 3"):
        gather(selector, frame.to_numpy()[:, :2], frame["c"])
    with pytest.raises(ValueError, match="y has 5 values but X has 60 rows"):
        gather(selector, frame, np.arange(5))


def test_outcome_that_cannot_be_read_is_noted(fit):
    selector, X = fit([0.9, 0.1])
    found = gather(selector, X, np.ones(len(X)))
    assert found.dependence == ()
    assert "y is constant" in found.dependence_note


def test_too_few_rows_are_noted(fit):
    selector, X = fit([0.9, 0.1])
    found = gather(selector, X[:4], X["c0"][:4])
    assert found.dependence == ()
    assert "No model could be fitted" in found.dependence_note


def test_same_seed_same_findings(fit):
    selector, X = fit([0.9, 0.8, 0.1])
    y = X["c0"] + X["c1"]
    assert gather(selector, X, y, random_state=3) == gather(selector, X, y, random_state=3)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        gather(StreamingThompsonSelector())


def test_gathering_needs_no_extra(fit, monkeypatch):
    allowed = builtins.__import__

    def without_extra(name, *args, **kwargs):
        assert name.partition(".")[0] not in {"jinja2", "matplotlib"}
        return allowed(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_extra)
    selector, X = fit([0.9, 0.1])
    gather(selector, X, X["c0"])


def test_no_secret_is_told(fit):
    selector, _ = fit([0.9, 0.1])
    selector.search = Search(runner="tls://me:s3cr3t@node:8786")
    table = "s3://KEY:s3cr3t@bucket/t.csv"
    about = About(table, f"tvs select '{table}'", "run", {"Source": f"from {table}"})
    text = gather(selector, about=about).to_json()
    assert "s3cr3t" not in text
    assert "s3://***@bucket/t.csv" in text
    assert "tls://***@node:8786" in text
