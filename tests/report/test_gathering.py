"""Findings say what the selector found."""

from __future__ import annotations

import builtins

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from tests.decoyed import Marginal, fit_chances, fit_signals
from tvselect import LassoReward, Search, StreamingThompsonSelector, ThompsonSelector
from tvselect.bandit.engine import StopReason
from tvselect.report import About, gather, render
from tvselect.report.findings import Control
from tvselect.report.gathering import MOST_DRAWN, best_unselected, control_of, joint_claims

SIGNALS = [0.65, 0.6, 0, 0, 0, 0]


def test_contents():
    selector, _ = fit_chances([0.95, 0.9, 0.1, 0.05], n_chains=3)
    found = gather(selector, target="price", about=About(command="tvs"), notes=["Left out."])
    assert (found.title, found.outcome) == ("What matters for price", "unknown")
    assert (found.asked.n_rows, found.n_columns, found.n_variables) == (50, 4, 4)
    assert (found.n_selected, found.n_chains, found.n_plays, found.unit) == (2, 3, 60, "play")
    assert (found.about, found.notes) == (About(command="tvs"), ("Left out.",))
    assert (found.stop_reason, found.asked.n_plays, found.asked.seed) == (StopReason.PLAYS, 60, 0)
    assert found.asked.fingerprint == selector.result_.journal.header.fingerprint
    assert found.agreement == selector.chain_agreement_
    assert found.control == Control(None, None, None, 0, 0, 0, 0, None)
    assert (found.claims, found.best, found.is_nothing) == ((), None, False)
    assert [v.name for v in found.of_role("selected")] == ["c0", "c1"]
    first = found.variables[0]
    assert (first.n_chains, first.q_value) == (3, None)
    assert (first.low, first.high) == tuple(selector.selection_rate_intervals_[0])
    counts = np.zeros(4)
    for chain in range(3):
        counts += sum(np.bincount(p.arms, minlength=4) for p in selector.result_.plays_of(chain))
    for variable in found.variables:
        place = int(variable.name[1:])
        assert variable.selection_rate == selector.selection_rates_[place]
        assert (variable.path[0], variable.path[-1]) == (0.5, round(variable.selection_rate, 4))
        assert variable.n_played == counts[place]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_groups_are_told_by_a_column_or_given_again_or_missed():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.random((120, 3)), schema=list("abc"))
    donors = [f"d{k % 20}" for k in range(120)]
    y = frame["a"].to_numpy() + 0.1 * rng.normal(size=120)
    selector = ThompsonSelector(Marginal(), n_plays=20, random_state=0)
    named = frame.with_columns(pl.Series("donor", donors))
    by_name = gather(selector.fit(named, y, groups="donor"), named, y)
    assert (by_name.asked.groups, by_name.asked.n_groups) == ("donor", 20)
    assert by_name.dependence_note.startswith(
        "By a model of the selected variables, on 120 rows of 20"
    )
    assert "Rows belong together by donor: 20 groups." in render(by_name)
    selector.fit(frame, y, groups=donors)
    given, missed = gather(selector, frame, y, groups=donors), gather(selector, frame, y)
    assert (given.asked.groups, given.asked.n_groups) == ("", 20)
    assert given.dependence_note == by_name.dependence_note
    assert "take rows as independent" in missed.dependence_note


def test_path_of_one_chain_is_its_trajectory_and_a_long_one_is_thinned():
    selector, _ = fit_chances([0.9, 0.1], n_plays=1000)
    found = gather(selector)
    assert (len(found.steps), found.steps[0], found.steps[-1]) == (200, 0, 1000)
    expected = selector.result_.trajectories(["c0"])[list(found.steps), 0]
    assert found.variables[0].path == tuple(expected.round(4))


def test_of_many_variables_and_names_a_few_are_shown():
    found = gather(fit_chances(np.random.default_rng(0).random(400), n_plays=3)[0])
    assert len(found.of_role("selected")) == len(found.variables) == MOST_DRAWN < found.n_selected
    twins = [(0, j) for j in range(1, 30)]
    (claim,) = joint_claims(fit_signals(np.r_[0.6, np.zeros(39)], twins=twins, max_fdr=None)[0])
    assert (len(claim.variables), claim.n_variables) == (20, 30)
    assert str(claim).endswith(" and 10 more")
    names, groups = ["a\nb", "c", "d"], {"g\t": [1, 2]}
    for variable in gather(fit_signals([0.6, 0, 0], names=names, feature_groups=groups)[0]).of_role(
        "decoy"
    ):
        assert variable.name.endswith(("of a b (column 0)", "of g"))


def test_decoys_and_q_values():
    selector, _, _ = fit_signals(SIGNALS)
    found, means = gather(selector), selector.result_.means()
    n_played = int(np.count_nonzero(selector.result_.times_played[6:]))
    assert found.control == control_of(selector) == Control(
        0.1, selector.expected_false_, "shuffled", 60, n_played, 10, 0,
        means[6:][selector.result_.times_played[6:] > 0].max(),
    )  # fmt: skip
    assert found.control.expected_false == 0.1  # (1 + 0) / 10
    for variable in (*found.of_role("selected"), *found.of_role("unselected")):
        assert variable.q_value == selector.q_values_[int(variable.name[1:])]
    decoys = found.of_role("decoy")
    assert len(decoys) == 5
    assert decoys[0].selection_rate == found.control.highest
    for variable in decoys:
        _, copy, _, column = variable.name.split()
        assert variable.path[-1] == pytest.approx(means[6 * int(copy) + int(column[1:])], abs=1e-4)
        assert variable.q_value is None
    best, rest = best_unselected(selector), 2 + int(np.argmax(selector.selection_rates_[2:]))
    assert (best.name, best.q_value) == (f"c{rest}", 1.0)
    assert best.selection_rate == selector.selection_rates_[rest]


def test_twins_are_a_joint_claim_unless_they_are_one_group():
    settings = {"strengths": [0.6, 0.6, 0, 0, 0], "twins": [(0, 2)]}
    (claim,) = gather(fit_signals(**settings)[0]).claims
    assert set(claim.variables) == {"c0", "c2"}
    assert claim.n_variables == 2
    assert claim.q_value <= 0.1
    assert str(claim) == ", ".join(claim.variables)
    selector, _, _ = fit_signals(**settings, feature_groups={"pair": ["c0", "c2"]})
    assert any(len(claim.columns) == 2 for claim in selector.claims_)
    assert joint_claims(selector) == ()


def test_two_classes_and_categories():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({"colour": rng.choice(["red", "green", None], n), "noise": rng.random(n)})
    y = np.where(rng.random(n) < np.where(X["colour"] == "red", 0.9, 0.2), "yes", "no")
    selector = ThompsonSelector(n_plays=30, random_state=0).fit(X, y)
    found = gather(selector, X, y, random_state=0)
    assert (found.outcome, found.classes) == ("two classes", ("no", "yes"))
    chance = dict(zip(found.dependence[0].labels, found.dependence[0].mean, strict=True))
    # The share of "yes" among some 130 rows has a standard error of 0.04 at most; the prior
    # pulls towards the middle. Three of the one, and as much for the other.
    assert chance["red"] == pytest.approx(0.9, abs=0.2)
    assert chance["green"] == pytest.approx(0.2, abs=0.2)


@pytest.mark.parametrize("kind", [np.asarray, pl.DataFrame])
def test_tables_of_all_kinds_and_the_same_seed(kind):
    X = np.random.default_rng(0).random((60, 4))
    table = X if kind is np.asarray else kind(dict(zip("abcd", X.T, strict=True)))
    selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(table, X[:, 3])
    found, again = (gather(selector, table, X[:, 3], random_state=3) for _ in range(2))
    assert len(found.dependence) == 1
    assert found == again


def test_columns_are_found_by_name():
    frame = pd.DataFrame(np.random.default_rng(0).random((60, 3)), columns=["a", "b", "c"])
    selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0).fit(frame, frame["c"])
    turned = frame[["c", "b", "a"]].assign(extra=pd.Timestamp("2021-01-01"))
    found = gather(selector, turned, frame["c"], random_state=0)
    assert found.dependence[0].variable == "c"
    assert found.dependence[0].at[0] == pytest.approx(frame["c"].quantile(0.01))
    for X, y, message in (
        (frame[["b", "c"]], frame["c"], "'a'"),
        (frame.to_numpy()[:, :2], frame["c"], "X has 2 columns, the selector was fitted on 3"),
        (frame, np.arange(5), "y has 5 values but X has 60 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            gather(selector, X, y)


@pytest.mark.parametrize(
    ("chances", "n_rows", "outcome", "notes"),
    [
        ([0.9, 0.1], 50, np.ones(50), ("y is constant", "Shown are resemblances")),
        ([0.9, 0.1], 4, np.arange(4.0), ("No model could be fitted", "on 4 rows")),
        ([0.05, 0.05], 50, np.arange(50.0), ("There is no selected variable to look at.",
                                             "There is no selected variable to compare with.")),
    ],
)  # fmt: skip
def test_why_there_is_no_picture_is_noted(chances, n_rows, outcome, notes):
    selector, X = fit_chances(chances)
    found = gather(selector, X[:n_rows], outcome, random_state=0)
    assert found.dependence == ()
    assert notes[0] in found.dependence_note
    assert notes[1] in found.resemblance_note


def test_not_fitted():
    with pytest.raises(NotFittedError):
        gather(StreamingThompsonSelector())


def test_gathering_needs_no_extra(monkeypatch):
    allowed = builtins.__import__

    def without_extra(name, *args, **kwargs):
        assert name.partition(".")[0] not in {"jinja2", "matplotlib"}
        return allowed(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_extra)
    selector, X = fit_chances([0.9, 0.1])
    gather(selector, X, X["c0"])


def test_no_secret_is_told():
    selector, _ = fit_chances([0.9, 0.1])
    selector.search = Search(runner="tls://me:s3cr3t@node:8786")
    table = "s3://KEY:s3cr3t@bucket/t.csv"
    about = About(table, f"tvs select '{table}'", "run", {"Source": f"from {table}"})
    text = gather(selector, about=about).to_json()
    assert "s3cr3t" not in text
    assert "s3://***@bucket/t.csv" in text
    assert "tls://***@node:8786" in text
