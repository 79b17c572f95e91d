"""Sentences about a run, and how to report it: every number is that of the run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.decoyed import fit_chances, fit_signals, stream_heights
from tvselect.after.dependence import Dependence, Scale
from tvselect.after.worth import Worth
from tvselect.bandit.engine import StopReason
from tvselect.report import describe_methods, gather
from tvselect.report.findings import (
    About,
    Best,
    Control,
    HeatMap,
    OutcomeSummary,
    ReportedInteraction,
)
from tvselect.report.sentences import (
    OFF,
    describe_effect,
    describe_false,
    describe_nothing,
    describe_pair,
    describe_question,
    describe_rows,
    describe_untried,
    in_words,
    why_stopped,
)
from tvselect.selectors.results import Asked


@pytest.mark.parametrize(
    ("mean", "labels", "words"),
    [
        ([1, 2, 3], (), "The outcome rises from 1 to 3."),
        ([3, 2.5, 1], (), "The outcome falls from 3 to 1."),
        ([1, 3, 1.2], (), "Highest in between (3); from 1 to 1.2 at the ends."),
        ([3, 1, 2.9], (), "Lowest in between (1); from 3 to 2.9 at the ends."),
        ([1, 1.01, 1.02], (), "No clear trend on its own; it may matter together with others."),
        ([2, 1, 5], ("a", "b", "c"), "Lowest at b (1), highest at c (5)."),
        ([2], ("a",), "2 at a."),
    ],
)
def test_shapes(mean, labels, words):
    at, mean = tuple(map(float, range(len(mean)))), np.asarray(mean, dtype=float)
    low, high = (tuple(mean + step) for step in (-0.05, 0.05))
    assert in_words(Dependence("x", labels, at, "", tuple(mean), low, high)) == words


def test_pairs():
    heat_map = HeatMap(
        Scale((), (0.0, 1.0, 4.0)),
        Scale(("no", "yes"), (0.0, 1.0)),
        ((1.0, 1.0), (1.0, 2.0), (0.5, 4.0)),
    )
    pair = ReportedInteraction(("a", "b"), 1.0, 0.05, heat_map)
    assert describe_pair(pair, heat_map) == (
        "From a = 0 to 4, the outcome changes by -0.5 where b = no, and by +3 where it is yes."
    )


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, ""),
        ({"groups": "donor", "n_groups": 42}, "Rows belong together by donor: 42 groups."),
        ({"groups": "", "n_groups": 42, "n_units": 42}, "Rows belong together: 42 groups."),
        ({"groups": "family"}, "Rows belong together by family."),
        (
            {"order": "rows", "n_units": 21},
            "Rows follow each other in time, as they stand: about 21 independent stretches.",
        ),
        (
            {"groups": "firm", "n_groups": 30, "order": "", "n_units": 30},
            "Rows belong together by firm: 30 groups. Rows follow each other in time, by given "
            "times.",
        ),
    ],
)
def test_rows_that_belong_together(told, words):
    assert describe_rows(Asked(False, "", "gaussian", 0, 1, None, **told)) == words


def test_why_a_run_ended():
    asked = Asked(False, "LassoReward()", "auto", seed=0, window=1, fingerprint=None)
    wanted = replace(asked, n_plays=60, patience=7, time_limit=1.5, n_rounds=3)
    said = [why_stopped(reason, wanted) for reason in StopReason]
    assert all(why_stopped(reason, asked) for reason in StopReason)
    assert len(set(said)) == len(said)
    for words in ("all 60 plays are", "for 7 plays", "of 1.5 s is reached", "after 3 rounds"):
        assert sum(words in text for text in said) == 1


def control(max_fdr=0.1, expected_false=0.5, **changes):
    known = dict(kind="shuffled", n_decoys=60, n_played=60, n_copies=10, n_above=2, highest=0.6)
    return Control(max_fdr, expected_false, **{**known, **changes})


@pytest.mark.parametrize(
    ("n", "found", "sentence"),
    [
        (5, control(), "Expected number of false ones among these 5: 0.5."),
        (1, control(), "Expected number of false ones, with 1 selected: 0.5."),
        (5, control(max_fdr=None), "among these 5: 0.5. No limit was set: error control is off."),
        (5, control(max_fdr=None, expected_false=None), OFF),
    ],
)
def test_how_many_are_false(n, found, sentence):
    assert describe_false(n, found).endswith(sentence)


def test_what_would_have_been_needed():
    best = Best("age", 0.55, 0.3, 0.5)
    said = " ".join(describe_nothing(control(), best, 300))
    for part in ("age, has a q-value of 0.30; 0.10 or less", "60 decoys in 0.60", "above every "
                 "decoy", "With 300 rows"):  # fmt: skip
        assert part in said
    for found in (control(n_copies=1), control(highest=None)):  # where that is not enough
        assert not any("decoy" in text for text in describe_nothing(found, best, None))


def findings_of(outcome, classes, summary):
    """What sentences about the outcome read, and nothing else."""
    asked = Asked(False, "", "auto", 0, 1, None, n_rows=400)
    return SimpleNamespace(
        outcome=outcome, classes=classes, summary=summary, asked=asked, target="y", n_columns=3,
        about=About("t.csv"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "classes", "summary", "words"),
    [
        ("two classes", ("0", "1"), (400, None, (), (380, 20)), "y is “1” in 5.0\xa0%."),
        ("two classes", ("no", "yes"), (400, None, (), (100, 300)), "y is “yes” in 75\xa0%."),
        ("classes", ("a", "b", "c"), (400, None, (), (100, 200, 100)),
         "y is “b” in 50\xa0%, “a” in 25\xa0%, “c” in 25\xa0%."),
        ("survival times", (), (400, None, (), (300, 100)),
         "The event took place in 100 of them (25\xa0%)."),
        ("continuous", (), (400, 21.25, (17.0, 25.5), ()),
         "The mean of y is 21.25; half of the rows lie between 17 and 25.5."),
        ("counts", (), (200, 1.5, (0.0, 2.0), ()),
         "The mean of y is 1.5, in 200 rows looked at for this report; half of the rows lie "
         "between 0 and 2."),
    ],
)  # fmt: skip
def test_the_outcome_by_itself(outcome, classes, summary, words):
    found = findings_of(outcome, classes, OutcomeSummary(*summary))
    begin = "Asked was which of 3 columns of t.csv help to explain y, in 400 rows."
    assert describe_question(found) == f"{begin} {words}"


@pytest.mark.parametrize(
    ("outcome", "of_class", "labels", "mean", "words"),
    [
        ("two classes", "1", ("0", "3", "7"), (0.01, 0.2, 0.38),
         "Where it is 0, y is “1” in 1.0\xa0%; where it is 7, in 38\xa0%."),
        ("two classes", "1", ("Shop", "Web", "Mail"), (0.05, 0.25, 0.06),
         "Where it is Web, y is “1” in 25\xa0%; where it is Shop, in 5.0\xa0%."),
        ("continuous", "", (), (3.0, 1.0, 2.9),
         "Where it is 0, y is 3; where it is 1, 1; where it is 2, 2.9."),
        ("survival times", "", (), (3.0, 5.0, 9.0),
         "Where it is 0, the median of y is 3; where it is 2, 9."),
        ("counts", "", (), (3.0, 3.001, 3.002),
         "Where it is 0, the mean of y is 3; where it is 2, 3: no clear trend on its own. It may "
         "matter together with others."),
    ],
)  # fmt: skip
def test_an_effect_in_units(outcome, of_class, labels, mean, words):
    band = [tuple(value + step for value in mean) for step in (-0.005, 0.005)]
    shape = Dependence("x", labels, (0.0, 1.0, 2.0), of_class, mean, *band)
    said, between = describe_effect(shape, findings_of(outcome, (), None))
    assert said == words
    assert between.count(" to ") == words.count("here it is")


@pytest.mark.parametrize(
    ("n_variables", "n_unplayed", "n_decoys", "n_played", "words"),
    [
        (3, 0, 30, 30, ""),
        (1000, 642, 0, 0, "358 of 1,000 variables were tried: the search was too short for all"),
        (1000, 642, 10_000, 3100, "358 of 1,000 variables and 3,100 of 10,000 decoys were tried. "
         "Of so many only those took part"),
    ],
)  # fmt: skip
def test_variables_and_decoys_that_were_never_tried(
    n_variables, n_unplayed, n_decoys, n_played, words
):
    found = SimpleNamespace(
        n_variables=n_variables, n_unplayed=n_unplayed, n_plays=500, target="y",
        control=control(n_decoys=n_decoys, n_played=n_played),
    )  # fmt: skip
    said = describe_untried(found)
    assert said.startswith(words)
    assert bool(said) == bool(words)


ALWAYS = (
    "Liu, Y. and Ročková, V. (2023)",
    "tvselect: Thompson Variable Selection",
    "only you know",
)


def found(signals=(0.65, 0.6, 0, 0, 0), options=None, **settings):
    selector, X, y = fit_signals(signals, **settings)
    return gather(selector, X, y, target="price", random_state=0, **(options or {}))


def in_time(found):
    return replace(found, asked=replace(found.asked, order="rows"))


CASES = {
    "decoys": (
        lambda: found(options={"left_out": {"constant": 2, "identifier": 1}}, n_chains=2),
        ["The outcome was price (a number).",
         "400 rows and 5 columns besides it, after 3 columns were left out beforehand "
         "(constant: 2, identifier: 1).",
         "80 plays in each of 2 chains", "with seed 0", "all 80 plays are done",
         "10 copies of every column (decoys), shuffled apart", "a false discovery rate of 0.1",
         "Bates et al. 2023", "Bates, S., Candès, E.",
         "Of 5 variables, 2 were selected for price at a false discovery rate of 0.1; the expected "
         "number of false ones is 0.1: c0 (q = 0.050, selection rate 0.9"],
        ["Wang", "knockoffs", "told apart on", "part of every play", "No regression"],
    ),
    "series": (
        lambda: in_time(found()),
        ["No regression was asked beside the trees, as rows follow each other in time."],
        ["with spike and slab"],
    ),
    "median model": (
        lambda: gather(fit_chances([0.9, 0.1, 0.5], always_include=["c1"])[0]),
        ["c1 was part of every play.", "the median model, which makes no statement",
         "- Decoys: none", "- False selections to expect: not known"],
        ["false discovery rate of", "Bates", "Wang", "copies of every"],
    ),
    "nothing": (
        lambda: found(np.zeros(20)),
        ["No column could be told from the decoys at a false discovery rate of 0.10.",
         "The best was c", "This does not exclude weaker effects."],
        ["Of 20 variables,"],
    ),
    "claims": (
        lambda: found([0.6, 0.6, 0, 0, 0], twins=[(0, 2)]),
        ["At least one of each set matters", "were claimed together", "rank correlation of 0.6"],
        ["the median model"],
    ),
    "stream": (
        lambda: gather(stream_heights([0.9, 0.2, 0.1], max_fdr=0.1)),
        ["one batch", "e-BH rule (Wang and Ramdas 2022)", "Wang, R. and Ramdas, A.",
         "every batch handed in is played", "(decoys), shuffled"],
        ["Bates", "fingerprint of data"],
    ),
    "worth": (
        lambda: replace(found(), worth=Worth("R2", (0.7, 0.8), (0.6, 0.7), (0.0, 0.0), (2, 3),
                                             300, 1.5)),
        ["On held-out rows, with the selection made again in each of 2 parts, R2 was",
         "- Checked on held-out rows: R2"],
        ["no (tvs worth)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "said", "unsaid"), CASES.values(), ids=CASES)
def test_what_was_done_is_said_and_nothing_else(make, said, unsaid):
    text = describe_methods(make())
    assert [words for words in (*ALWAYS, *said) if words not in text] == []
    assert [words for words in unsaid if words in text] == []
    assert "\N{NO-BREAK SPACE}" not in text
    titles = [
        line for line in text.splitlines() if line in ("Methods", "Results", "To cite", "Checklist")
    ]
    assert titles == ["Methods", "Results", "To cite", "Checklist"]
