"""The page: what it says, that it is safe, small and alone."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.report.conftest import HOSTILE
from tvselect import ThompsonSelector
from tvselect.report import About, Findings, gather, render, write_report
from tvselect.report import page as page_module
from tvselect.report.names import readable, shown

MOST_BYTES = 2_000_000
VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """Elements, attributes, text outside of scripts, and the scripts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.texts = [], [], [], []
        self.open = []
        self.feed(text)
        self.close()
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            kind, content = self.scripts[-1]
            self.scripts[-1] = (kind, content + data)
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)


@pytest.fixture(scope="module")
def full(fit):
    """The page of a run with everything on it."""
    selector, X = fit([0.95, 0.9, 0.1, 0.1, 0.05], n_chains=2)
    X["c2"] = X["c0"] ** 2
    found = gather(
        selector, X, 3 * X["c0"] + X["c1"], target="price", about=About(table="houses.csv"),
        notes=["Column id was left out: every value is different."], random_state=0,
    )  # fmt: skip
    return Page(render(found))


@pytest.mark.parametrize(
    "sentence",
    [
        "What matters for price",
        "2 of 5 variables were selected.",
        "Table houses.csv Outcome price Its values a number Rows 50 Columns 5 Plays 60",
        "The search ran for 60 plays and stopped because all 60 plays are done.",
        "2 independent searches were run. Their answers agree to",
        "Almost the same, so that either could stand for both: c0 and c2.",
        "Column id was left out: every value is different.",
        "not a posterior probability",
        "Fingerprint of data and settings",
        "ThompsonSelector(n_chains=2, n_plays=60",
        "tvselect 0.",
    ],
)
def test_sentences(full, sentence):
    assert sentence in full.text


def test_answer_comes_first(full):
    order = ["were selected", "What was asked", "How sure", "What each variable does",
             "What else", "How the answer came about", "About the table",
             "For the statistician"]  # fmt: skip
    places = [full.text.index(part) for part in order]
    assert places == sorted(places)
    before = full.text[: full.text.index("For the statistician")].lower()
    for word in ("posterior", "bandit", "beta(", "π", "jaccard", "thompson", "partial dependence"):
        assert word not in before


def test_every_chart_has_words_and_a_table(full):
    specs = [json.loads(text) for kind, text in full.scripts if kind == "application/json"]
    charts = [spec for spec in specs if "layer" in spec]
    assert len(charts) == 5
    assert all(len(spec["description"]) > 20 for spec in charts)
    assert full.tags.count("details") == len(charts)


def test_loads_nothing(full):
    links = [value for name, value in full.attributes if name in {"src", "href", "action"}]
    assert links == ["data:,"]
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(full.tags)
    assert not [name for name, _ in full.attributes if name.startswith("on") or name == "style"]
    policy = dict(full.attributes)["content"] and next(
        value for name, value in full.attributes if name == "content" and "default-src" in value
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("where", ["names", "texts"])
def test_hostile_text_is_inert(hostile, fit, where):
    if where == "names":
        selector, X = hostile
        found = gather(selector, X, X.iloc[:, 0], random_state=0)
        expected = [shown(name, j) for j, name in enumerate(HOSTILE)]
    else:
        selector, X = fit([0.9, 0.1])
        found = gather(
            selector, title=HOSTILE[0], target=HOSTILE[1], notes=HOSTILE,
            about=About(*HOSTILE[:3], dict(zip(HOSTILE, HOSTILE, strict=True))),
        )  # fmt: skip
        expected = [readable(name) for name in HOSTILE]
    text = render(found)
    page = Page(text)
    text.encode("utf-8")
    assert page.tags.count("script") == len(page.scripts)
    runnable = [content for kind, content in page.scripts if kind is None]
    assert len(runnable) == 2
    assert not any("alert(" in content for content in runnable)
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    for kind, content in page.scripts:
        if kind == "application/json":
            assert not set(content) & set("<>&")
            json.loads(content)
    for name in expected:
        assert " ".join(name.split()) in page.text


def test_names_are_values_never_fields(hostile):
    selector, X = hostile
    page = Page(render(gather(selector, X, X.iloc[:, 0], random_state=0)))
    specs = [json.loads(text) for kind, text in page.scripts if kind == "application/json"]
    hostile_text = [readable(name)[:20] for name in HOSTILE if name]

    def check(value, inside_data=False):
        if isinstance(value, dict):
            for key, item in value.items():
                assert inside_data or not any(text in key for text in hostile_text)
                check(item, inside_data or key in {"datasets", "value", "description", "names"})
        elif isinstance(value, list):
            for item in value:
                check(item, inside_data)
        elif isinstance(value, str) and not inside_data:
            assert not any(text in value for text in hostile_text)

    check(specs)


def test_wide_run_is_small():
    rng = np.random.default_rng(0)
    p = 10_000
    chance = np.where(np.arange(p) < 40, 0.95, 0.05)

    def pay(X, y, rng):
        return (rng.random(X.shape[1]) < X[0]).astype(float)

    X = np.vstack([chance, rng.random((30, p))])
    selector = ThompsonSelector(pay, n_plays=500, random_state=0).fit(X, X[:, 0])
    found = gather(selector, X, X[:, 0], random_state=0)
    page = render(found)
    assert found.n_selected == 40
    assert len(page.encode()) < MOST_BYTES
    assert len(found.to_json()) < 500_000


def test_long_names_stay_small(fit):
    names = [f"{j} {'y' * 10_000}" for j in range(300)]
    selector, X = fit(np.linspace(0, 1, 300), names=names, n_plays=200)
    assert len(render(gather(selector, X, X.iloc[:, 0])).encode()) < MOST_BYTES


@pytest.mark.parametrize(
    ("chances", "settings", "sentences"),
    [
        ([0.05, 0.05], {}, ["None of the 2 variables was selected.", "No variable was useful"]),
        ([0.95], {}, ["The one variable was selected."]),
        ([0.05], {}, ["It was not selected."]),
        ([0.95, 0.1], {"n_plays": 1}, ["1 play is few", "ran for 1 play and stopped"]),
        ([0.95, 0.5, 0.1], {}, ["The table was not at hand", "Close to the line"]),
        (np.full(30, 0.9), {}, ["30 of 30 variables were selected."]),
        ([0.9, 0.1], {"always_include": ["c1"]}, ["Always part of the model, as asked: c1"]),
        ([0.9, 0.9, 0.1], {"groups": {"pair": [0, 1]}}, ["pair group of c0, c1"]),
        ([0.9, 0.9, 0.1], {"cost": [0.5, 0.6, 0.7]}, ["Beyond the upright line it is selected"]),
    ],
)
def test_unusual_runs(fit, chances, settings, sentences):
    selector, _ = fit(chances, **settings)
    page = Page(render(gather(selector)))
    for sentence in sentences:
        assert sentence in page.text


def test_interrupted_before_the_first_play():
    def interrupted(X, y, rng):
        raise KeyboardInterrupt

    X = np.random.default_rng(0).random((20, 3))
    with pytest.warns(RuntimeWarning, match="interrupted"):
        selector = ThompsonSelector(interrupted).fit(X, X[:, 0])
    page = Page(render(gather(selector)))
    assert "Nothing was tried: there is no play to learn from." in page.text
    assert "stopped because it was interrupted" in page.text


def test_decoys(stream):
    selector = stream([0.9, 0.8, 0.1], decoys="knockoffs", skipped=(1,))
    page = Page(render(gather(selector)))
    assert "3 decoys, artificial columns that know nothing of the outcome, took part" in page.text
    assert "2 decoys passed the line: some of the selected variables may be" in page.text
    assert "1 of 40 batches were passed over" in page.text


def test_page_of_findings_from_a_file(fit):
    found = gather(fit([0.9, 0.1])[0])
    assert render(Findings.from_json(found.to_json())) == render(found)


def test_write_report_replaces_at_once(fit, tmp_path, monkeypatch):
    selector, _ = fit([0.9, 0.1])
    path = tmp_path / "report.html"
    path.write_text("old")
    assert write_report(selector, path, title="New") == path
    assert "<title>New</title>" in path.read_text(encoding="utf-8")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(selector, str(path), title="Newer")
    assert "<title>New</title>" in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]


def test_compiled_templates_are_kept(fit, monkeypatch, tmp_path):
    found = gather(fit([0.9, 0.1])[0])
    page = render(found)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert render(found) == page
    kept = list(tmp_path.glob("tvselect/jinja-*/*"))
    assert len(kept) == 2
    kept[0].write_bytes(b"")
    kept[1].write_bytes(kept[1].read_bytes()[:-100])
    assert render(found) == page
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept[0]))  # no folder
    assert render(found) == page


def test_without_the_extra(fit, monkeypatch, tmp_path):
    found = gather(fit([0.9, 0.1])[0])

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("tvselect.report.bundle.import_module", missing)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    page_module.bundle.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=re.escape("pip install 'tvselect[report]'")):
        render(found)
