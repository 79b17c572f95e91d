"""Findings go through JSON unchanged, and nothing else comes back from it."""

from __future__ import annotations

import json

import pytest

from tests.decoyed import fit_signals
from tvselect.report import Findings, gather


@pytest.fixture(scope="module")
def findings():
    selector, _, _ = fit_signals([0.65, 0, 0, 0], twins=[(0, 2)], n_chains=2)
    return gather(selector, notes=["One."])


def test_json_round_trip(findings):
    assert Findings.from_json(findings.to_json()) == findings


def test_json_of_hostile_names(hostile):
    selector, X = hostile
    findings = gather(selector, X)
    text = findings.to_json()
    assert text.isascii()
    assert Findings.from_json(text) == findings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no file of findings"),
        ("nonsense", "no file of findings"),
        ("[]", "no file of findings"),
        ("{}", "no file of findings"),
        ("[" * 100_000, "no file of findings"),
        ('{"format": "tvselect findings"}', "version None"),
        ('{"format": "tvselect findings", "version": 99}', "version 99, this program reads"),
        ('{"format": "tvselect findings", "version": 4}', "findings is None, not an object"),
        ('{"format": "tvselect findings", "version": NaN}', "NaN"),
    ],
)
def test_no_findings(text, message):
    with pytest.raises(ValueError, match=message):
        Findings.from_json(text)


def pair(first, second, mean):
    scales = [{"labels": [], "at": at} for at in (first, second)]
    heat_map = {"first": scales[0], "second": scales[1], "mean": mean}
    return {"names": ["x", "z"], "strength": 1, "q_value": 0.1, "heat_map": heat_map}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["title"], 5, r"findings\.title is 5, not text"),
        (["n_plays"], True, r"n_plays is True, not a whole number"),
        (["n_plays"], 1.5, "not a whole number"),
        (["n_plays"], None, "not a whole number"),
        (["outcome"], "many", "not one of"),
        (["outcome"], ["continuous"], "not one of"),
        (["seconds"], "1", "not a number"),
        (["seconds"], 10**400, "not finite"),
        (["classes"], "no", "not a list"),
        (["about", "more"], [["a"]], r"about\.more is .*, not an object"),
        (["about", "more"], {"a": {"b": 1}}, r"about\.more\.a is .*, not text"),
        (["stop_reason"], "it was late", "not one of"),
        (["asked", "is_stream"], 1, "is_stream is 1, not true or false"),
        (["control"], [], "control is .*, not an object"),
        (["control", "max_fdr"], "0.1", "control.max_fdr"),
        (["claims", 0, "variables"], "c0", "not a list"),
        (["variables", 0, "q_value"], "0.1", "q_value"),
        (["variables", 0, "selection_rate"], "0.5", r"variables\[0\]\.selection_rate"),
        (["variables", 0, "path"], [0.5], "one value per step"),
        (["variables", 0, "role"], "king", "not one of"),
        (["variables", 0, "colour"], "red", r"variables\[0\]\.colour is not known"),
        (["played"], [], "one value per step"),
        (["dependence"], [{"variable": "x", "labels": [], "of_class": "", "at": [1], "mean": [],
                           "low": [1], "high": [1]}], "uneven"),
        (["dependence"], [{"variable": "x", "labels": [], "of_class": "", "at": [], "mean": [],
                           "low": [], "high": []}], "has no point"),
        (["interactions"], [pair([0, 1], [0], [[1]])], "'x x z' has uneven lengths"),
        (["interactions"], [pair([0], [0], [[]])], "'x x z' has uneven lengths"),
        (["interactions"], [pair([], [0], [])], "no value"),
        (["resemblances"], [{"variable": "x", "alike": []}], "has no look-alike"),
        (["outcome"], "two classes", "two with two classes"),
        (["steps"], [], "one value per step"),
    ],
)  # fmt: skip
def test_damaged_findings(findings, path, value, message):
    content = json.loads(findings.to_json())
    place = content["findings"]
    if path == ["outcome"] and value == "two classes":
        place["classes"] = []
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        Findings.from_json(json.dumps(content))


def test_missing_entry(findings):
    content = json.loads(findings.to_json())
    del content["findings"]["steps"]
    with pytest.raises(ValueError, match=r"findings\.steps is missing"):
        Findings.from_json(json.dumps(content))


def test_of_role(findings):
    assert {variable.name for variable in findings.of_role("selected")} == {"c0", "c2"}
    assert len(findings.of_role("decoy")) == 5
