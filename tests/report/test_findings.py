"""Findings go through JSON, and what is damaged is refused with its place."""

from __future__ import annotations

import json

import pytest

from tests.decoyed import fit_signals
from tvselect.report import Findings, gather


@pytest.fixture(scope="module")
def findings():
    selector, _, _ = fit_signals([0.65, 0, 0, 0], twins=[(0, 2)], n_chains=2)
    return gather(selector, notes=["One."])


def test_json_round_trip(findings, hostile):
    assert Findings.from_json(findings.to_json()) == findings
    assert {variable.name for variable in findings.of_role("selected")} == {"c0", "c2"}
    selector, X = hostile
    found = gather(selector, X)
    text = found.to_json()
    assert text.isascii()
    assert Findings.from_json(text) == found
    names = [variable.name for variable in found.variables]
    assert len(set(names)) == X.shape[1]
    assert max(map(len, names)) < 150
    for name in names:
        assert name.encode("utf-8")
        assert not set(name) & set("\n\t\x00\u202e")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no file of findings"),
        ("[]", "no file of findings"),
        ("{}", "no file of findings"),
        ("[" * 100_000, "no file of findings"),
        ('{"format": "tvselect findings"}', "version None"),
        ('{"format": "tvselect findings", "version": 99}', "version 99, this program reads"),
        ('{"format": "tvselect findings", "version": 5}', "findings is None, not an object"),
        ('{"format": "tvselect findings", "version": NaN}', "NaN"),
    ],
)
def test_no_findings(text, message):
    with pytest.raises(ValueError, match=message):
        Findings.from_json(text)


def summary(n_rows, counts):
    return {"n_rows": n_rows, "mean": None, "quartiles": [], "counts": counts}


WORTH = {
    "score": "R2", "selected": [], "all": [], "none": [], "n_selected": [], "n_rows": 9,
    "seconds": 1.0, "always": [], "held_back": "Rows",
}  # fmt: skip
STABILITY = {"seeds": [], "names": [], "shares": [], "selection_rates": [], "jaccard": 1.0,
             "n_selected": [], "seconds": 1.0}  # fmt: skip


def pair(first, second, mean):
    scales = [{"labels": [], "at": at, "is_date": False} for at in (first, second)]
    heat_map = {"first": scales[0], "second": scales[1], "mean": mean}
    return {"names": ["x", "z"], "strength": 1, "q_value": 0.1, "heat_map": heat_map}


def shape(at, mean):
    return {"variable": "x", "labels": [], "of_class": "", "at": at, "mean": mean, "low": at,
            "high": at, "is_date": False}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["title"], 5, r"findings\.title is 5, not text"),
        (["n_plays"], 1.5, "not a whole number"),
        (["outcome"], "many", "not one of"),
        (["seconds"], 10**400, "not finite"),
        (["about", "more"], {"a": {"b": 1}}, r"about\.more\.a is .*, not text"),
        (["stop_reason"], "it was late", "not one of"),
        (["control", "max_fdr"], "0.1", "control.max_fdr"),
        (["claims", 0, "variables"], "c0", "not a list"),
        (["variables", 0, "selection_rate"], "0.5", r"variables\[0\]\.selection_rate"),
        (["variables", 0, "path"], [0.5], "one value per step"),
        (["variables", 0, "colour"], "red", r"variables\[0\]\.colour is not known"),
        (["played"], [], "one value per step"),
        (["steps"], [], "one value per step"),
        (["needed"], [1.0], "one value per step"),
        (["summary"], summary(9, [9]), "each class must have its number of rows"),
        (["summary"], summary(9, []), "lacks its rows, mean or quartiles"),
        (["worth"], {**WORTH, "score": "R3"}, r"worth\.score is 'R3', not one of"),
        (["worth"], WORTH, "one or more folds"),
        (["stability"], STABILITY, "one or more seeds"),
        (["dependence"], [shape([1], [])], "the dependence on 'x' has uneven lengths"),
        (["dependence"], [shape([], [])], "the dependence on 'x' has uneven lengths"),
        (["interactions"], [pair([0, 1], [0], [[1]])], "a heat map has uneven lengths"),
        (["interactions"], [pair([0], [0], [[]])], "a heat map has uneven lengths"),
        (["interactions"], [pair([], [0], [])], "a heat map has uneven lengths"),
        (["interactions"], [pair([0], [], [[]])], "a heat map has uneven lengths"),
        (["resemblances"], [{"variable": "x", "alike": []}], "has no look-alike"),
        (["outcome"], "two classes", "two with two classes"),
        (["steps"], None, r"findings\.steps is missing"),
    ],
)
def test_damaged_findings(findings, path, value, message):
    content = json.loads(findings.to_json())
    place = content["findings"]
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        Findings.from_json(json.dumps(content))
