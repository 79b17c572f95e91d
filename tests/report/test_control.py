"""What is said about false selections."""

from __future__ import annotations

import numpy as np
import pytest

from tests.decoyed import fit_heights, fit_signals
from tvselect.report.findings import Best, Control
from tvselect.report.gathering import best_unselected, control_of, joint_claims
from tvselect.report.sentences import OFF, describe_false, describe_nothing

SIGNALS = [0.65, 0.6, 0, 0, 0, 0]


def control(max_fdr=0.1, expected_false=0.5, **changes):
    known = dict(kind="shuffled", n_decoys=60, n_copies=10, n_above=2, highest=0.6)
    return Control(max_fdr, expected_false, **{**known, **changes})


def test_control_of_a_fit():
    selector, _, _ = fit_signals(SIGNALS)
    found = control_of(selector)
    decoys = selector.history_.means()[6:]
    assert (found.max_fdr, found.kind, found.n_decoys, found.n_copies) == (0.1, "shuffled", 60, 10)
    assert found.expected_false == selector.expected_false_ == 0.1  # (1 + 0) / 10
    assert found.n_above == 0
    assert found.highest == decoys[selector.history_.times_played[6:] > 0].max()


def test_control_is_off():
    found = control_of(fit_signals(SIGNALS, max_fdr=None)[0])
    assert found == Control(None, None, None, 0, 0, 0, None)
    selector = fit_heights([0.95, 0.9, 0.1])
    with_decoys = control_of(selector)
    assert (with_decoys.max_fdr, with_decoys.n_decoys, with_decoys.n_above) == (None, 30, 20)
    assert with_decoys.expected_false == selector.expected_false_ > 1


def test_twins_are_a_joint_claim():
    selector, _, _ = fit_signals([0.6, 0.6, 0, 0, 0], twins=[(0, 2)])
    (claim,) = joint_claims(selector)
    assert set(claim.variables) == {"c0", "c2"}
    assert claim.n_variables == 2
    assert claim.q_value <= 0.1
    assert str(claim) == ", ".join(claim.variables)


def test_columns_of_one_group_are_no_joint_claim():
    selector, _, _ = fit_signals(
        [0.6, 0.6, 0, 0, 0], twins=[(0, 2)], feature_groups={"pair": ["c0", "c2"]}
    )
    assert any(len(claim.columns) == 2 for claim in selector.claims_)
    assert joint_claims(selector) == ()


def test_claims_that_are_not_made_are_not_said():
    selector, _, _ = fit_signals(np.zeros(6))
    assert joint_claims(selector) == ()


def test_many_names_are_cut():
    twins = [(0, j) for j in range(1, 30)]
    (claim,) = joint_claims(fit_signals(np.r_[0.6, np.zeros(39)], twins=twins, max_fdr=None)[0])
    assert (len(claim.variables), claim.n_variables) == (20, 30)
    assert str(claim).endswith(" and 10 more")


def test_the_best_that_was_not_selected():
    selector, _, _ = fit_signals(SIGNALS)
    best = best_unselected(selector)
    rest = [2 + int(np.argmax(selector.selection_rates_[2:]))]
    assert (best.name, best.q_value) == (f"c{rest[0]}", 1.0)
    assert best.selection_rate == selector.selection_rates_[rest[0]]
    assert best_unselected(fit_signals(SIGNALS, max_fdr=None)[0]) is None


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (control(), "Expected number of false ones among these 5: 0.5."),
        (control(max_fdr=None), "among these 5: 0.5. No limit was set: error control is off."),
        (control(max_fdr=None, expected_false=None), OFF),
    ],
)
def test_how_many_are_false(found, sentence):
    assert describe_false(5, found).endswith(sentence)


def test_what_would_have_been_needed():
    said = " ".join(describe_nothing(control(), Best("age", 0.55, 0.3, 0.5), 300))
    for part in ("age, has a q-value of 0.30; 0.10 or less", "60 decoys in 0.60", "With 300 rows"):
        assert part in said


def test_being_above_every_decoy_is_only_said_where_it_is_enough():
    best = Best("age", 0.55, 0.3, 0.5)
    assert any("above every decoy" in text for text in describe_nothing(control(), best, None))
    for found in (control(n_copies=1), control(highest=None)):
        assert not any("decoy" in text for text in describe_nothing(found, best, None))
