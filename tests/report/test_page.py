"""The page: what it says, that it is safe, small and alone; and figures for papers."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from numpy.testing import assert_allclose

from tests.decoyed import (
    Marginal,
    fit_chances,
    fit_heights,
    fit_signals,
    pay_likeness,
    stream_heights,
)
from tests.report.conftest import HOSTILE
from tests.selectors.streams import SIGNALS, make_data, parts
from tests.selectors.streams import selector as stream
from tvselect import ThompsonSelector
from tvselect.cli import main
from tvselect.report import About, Findings, gather, plot_run, render, write_report
from tvselect.report.charts import draw_charts
from tvselect.words import column_name, readable

MOST_BYTES = 1_000_000
PAIRS = "Which of them act together"
VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """Elements, attributes, text outside of scripts, and the scripts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.texts = [], [], [], []
        self.open, self.ids, self.chart_ids, self.shapes = [], [], [], Counter()
        self.feed(text)
        self.close()
        contents = [json.loads(text) for kind, text in self.scripts if kind == "application/json"]
        self.charts = dict(zip(self.chart_ids, contents, strict=True))
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
            self.ids.append(dict(attrs).get("id"))
        if dict(attrs).get("class") == "chart":
            self.chart_ids.append(dict(attrs)["id"])
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag in {"path", "use"} and "defs" not in self.open:
            self.shapes.update(filter(None, self.ids))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.ids.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            kind, content = self.scripts[-1]
            self.scripts[-1] = (kind, content + data)
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)


@pytest.fixture(scope="module")
def full():
    """The page of a run with everything on it."""
    selector, X, y = fit_signals([0.65, 0.6, 0, 0, 0], n_chains=2, n_plays=60)
    X["c2"] = X["c0"] ** 3
    found = gather(
        selector, X, y, target="price", about=About(table="houses.csv"),
        notes=["Column id was left out: every value is different."], random_state=0,
    )  # fmt: skip
    return Page(render(found))


SENTENCES = (
    "What matters for price",
    "2 of 5 variables were selected.",
    "What is sure Expected number of false ones among these 2: 0.1.",
    "Variable q-value Selection rate 95 % range c0 q-value 0.050",
    "up to 0.10 is selected",
    "Asked was which of 5 columns of houses.csv help to explain price, in 400 rows. The mean of "
    "price is ",
    "c0 Where it is -",
    "on average at most 10 % of the selected are false",
    "What is selected goes with price; whether it is a cause, no table alone can say.",
    "50 decoys, artificial columns that hold no signal of their own, took part, 10 for each",
    "None of them passed the line; the best had a selection rate of 0.",
    "may only stand in for the cause",
    "It is a mean over tables, not a bound for this one.",
    "The search ran for 60 plays and stopped because all 60 plays are done.",
    "2 independent searches were run. Their answers agree to",
    "Almost the same, so that either could stand for both: c0 and c2.",
    "Column id was left out: every value is different.",
    "not a posterior probability",
    "Fingerprint of data and settings",
    "ThompsonSelector(n_plays=60, random_state=0, reward=",
    "tvselect 0.",
)


def test_sentences(full):
    assert [sentence for sentence in SENTENCES if sentence not in full.text] == []


def test_answer_comes_first(full):
    order = ["were selected", "Asked was", "What is sure", "What is not", "q-value", "How sure",
             "What each variable does",
             "What else", "How the answer came about", "About the table",
             "For the statistician", "How to report this"]  # fmt: skip
    places = [full.text.index(part) for part in order]
    assert places == sorted(places)
    before = full.text[: full.text.index("For the statistician")].lower()
    assert "no clear trend" not in before
    for word in ("posterior", "bandit", "beta(", "π", "jaccard", "thompson", "partial dependence"):
        assert word not in before


def test_every_chart_has_words_and_a_table(full):
    charts = full.charts
    assert list(charts) == ["shape-1", "shape-2", "trajectories", "leading", "sizes"]
    words = [value for name, value in full.attributes if name == "aria-label" and len(value) > 20]
    assert len(words) == len(charts) == full.tags.count("details")
    assert words[-1].startswith("At first")


def test_every_shape_that_is_pointed_at_has_its_words(full):
    """Of each variable a line and a point with its range, of each curve its points."""
    tips = full.charts["trajectories"]
    assert sorted(tips) == [
        *("trajectories-decoy-lines", "trajectories-line-0", "trajectories-line-1"),
        "trajectories-other-lines",
    ]
    for chart in full.charts.values():
        for place, texts in chart.items():
            assert full.shapes[place] == len(texts), place
    name, said = tips["trajectories-line-0"][0]
    assert name == "c0"
    assert said.startswith("selected, q-value 0.050: 0.9")


def test_loads_nothing(full):
    links = [value for name, value in full.attributes if name in {"src", "href", "action"}]
    outside = [link.partition(",")[0] for link in links if not link.startswith("#")]
    assert outside == ["data:", "data:text/csv;charset=utf-8"]
    places = [value for name, value in full.attributes if name == "id"]
    assert len(places) == len(set(places))
    assert {link[1:] for link in links if link.startswith("#")} <= set(places)
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(full.tags)
    assert not [name for name, _ in full.attributes if name.startswith("on") or name == "style"]
    (policy,) = (value for _, value in full.attributes if value and "default-src" in value)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("where", ["names", "texts"])
def test_hostile_text_is_inert(hostile, where):
    if where == "names":
        selector, X = hostile
        found = gather(selector, X, X.iloc[:, 0], random_state=0)
        expected = [column_name(name, j) for j, name in enumerate(HOSTILE)]
    else:
        found = gather(
            fit_chances([0.9, 0.1])[0], title=HOSTILE[0], target=HOSTILE[1], notes=HOSTILE,
            about=About(*HOSTILE[:3], dict(zip(HOSTILE, HOSTILE, strict=True))),
        )  # fmt: skip
        expected = [readable(name) for name in HOSTILE]
    text = render(found)
    page = Page(text)
    text.encode("utf-8")
    assert page.tags.count("script") == len(page.scripts)
    (runnable,) = (content for kind, content in page.scripts if kind is None)
    assert "alert(" not in runnable
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    for kind, content in page.scripts:
        assert kind is None or not set(content) & set("<>&")
    for name in expected:
        assert " ".join(name.split()) in page.text


def test_wide_runs_and_long_names_stay_small():
    chances = np.where(np.arange(2000) < 40, 0.95, 0.05)
    names = [f"{j} {'y' * 10_000}" if j < 200 else f"c{j}" for j in range(2000)]
    selector, X = fit_chances(chances, names=names, n_plays=300)
    found = gather(selector, X, X.iloc[:, 0], random_state=0)
    assert found.n_selected == 40
    assert len(render(found).encode()) < MOST_BYTES
    assert len(found.to_json()) < 500_000


@pytest.mark.parametrize(
    ("chances", "settings", "sentences"),
    [
        ([0.05, 0.05], {}, ["None of the 2 variables was selected.", "No variable was useful"]),
        ([0.95], {}, ["The one variable was selected."]),
        ([0.05], {}, ["It was not selected."]),
        ([0.95, 0.1], {"n_plays": 1}, ["1 play is few", "ran for 1 play and stopped"]),
        ([0.95, 0.5, 0.1], {}, ["The table was not at hand", "Near the line"]),
        (
            np.full(30, 0.9),
            {},
            ["30 of 30 variables were selected.", "Error control is off", "And 20 more"],
        ),
        ([0.9, 0.1], {"always_include": ["c1"]}, ["Always part of the model, as asked: c1"]),
        (
            [0.9, 0.9, 0.1],
            {"feature_groups": {"pair": [0, 1]}},
            ["of 2 variables", "pair group of c0, c1"],
        ),
        ([0.9, 0.9, 0.1], {"cost": [0.5, 0.6, 0.7]}, ["Beyond the vertical line it is selected"]),
    ],
)
def test_unusual_runs(chances, settings, sentences):
    said = Page(render(gather(fit_chances(chances, **settings)[0]))).text
    assert [sentence for sentence in sentences if sentence not in said] == []


def test_interrupted_before_the_first_play():
    def interrupted(X, y, rng):
        raise KeyboardInterrupt

    X = np.random.default_rng(0).random((20, 3))
    with pytest.warns(RuntimeWarning, match="interrupted"):
        selector = ThompsonSelector(interrupted).fit(X, X[:, 0])
    found = gather(selector, X, X[:, 0])
    assert (found.n_plays, found.variables, found.steps) == (0, (), (0,))
    page = Page(render(found))
    assert "Nothing was tried: there is no play to learn from." in page.text
    assert "stopped because it was interrupted" in page.text


def evident():
    selector, _, _ = fit_signals([0.65, 0.6, 0, 0, 0, 0])
    selector.e_values_, selector.selected_since_ = np.full(6, 321.0), np.full(6, 7)
    return selector


@pytest.mark.parametrize(
    ("make", "sentences", "unsaid"),
    [
        (lambda: stream_heights([0.9, 0.8, 0.1], skipped=(1,)),
         ["1 of 40 batches were skipped"], [PAIRS]),
        (lambda: fit_heights([0.95, 0.9, 0.1]),
         [r"among these 2: [\d.]+\. No limit was set", "no limit was set for it",
          r"No better than the best decoy: c\d",
          "20 decoys passed the line: some of the selected variables may be"], []),
        (lambda: fit_signals(np.zeros(20))[0],
         [r"Nothing here can be told from noise\. Asked was which of 20 columns help to explain y, "
          r"in 400 rows\. The best variable, c",
          r"With 400 rows, only stronger effects can be seen than there are here\."],
         ["were selected.", "was selected.", "Expected number", "It was not selected"]),
        (lambda: fit_signals([0.6, 0.6, 0, 0, 0], twins=[(0, 2)])[0],
         ["Variables that cannot be told apart", "(c0, c2|c2, c0) 0.050",
          "At least one of q-value Selection rate together"], []),
        (lambda: fit_signals([0.6, 0, 0], twins=[(0, 2)], max_fdr=None)[0],
         [r"share of plays in which at least one of them proved useful"], ["matters:"]),
        (evident,
         ["q-value Evidence Since batch Selection rate", "evidence 321 since batch 7",
          "kept after every batch and under any rule of stopping",
          "The evidence counts every row once"], []),
    ],
    ids=["skipped batches", "no limit", "noise", "claims", "claims without control", "evidence"],
)  # fmt: skip
def test_runs_with_decoys_and_streams(make, sentences, unsaid):
    said = Page(render(gather(make()))).text
    assert [sentence for sentence in sentences if not re.search(sentence, said)] == []
    assert [words for words in unsaid if words in said] == []


def joint_run(names=("age", "dose", "noise")):
    """y is high where the first two columns are; the second has two values."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    X[:, 1] = X[:, 1] > 0.5
    y = 2 * X[:, 0] + 2 * X[:, 1] + 4 * (X[:, 0] > 0.5) * X[:, 1] + 0.3 * rng.normal(size=200)
    X = pd.DataFrame(X, columns=pd.Index(names, dtype=object))
    selector = ThompsonSelector(pay_likeness, n_plays=60, max_fdr=None, random_state=0)
    return selector.fit(X, y), X, y


def test_pairs_that_act_together_are_said_and_drawn():
    selector, X, y = joint_run()
    found = gather(selector, X, y, target="price", random_state=0)
    (pair,), (interaction,) = found.interactions, selector.interactions_
    assert pair.names == interaction.names == ("age", "dose")
    assert (pair.strength, pair.q_value) == (interaction.strength, interaction.q_value)
    heat_map = pair.heat_map
    assert heat_map.second.labels == ("0", "1")
    rise = np.array(heat_map.mean)[-1] - np.array(heat_map.mean)[0]
    np.testing.assert_allclose(rise, [2, 6], atol=0.7)
    assert Findings.from_json(found.to_json()) == found
    page = Page(render(found))
    places = [page.text.index(part) for part in ("What each variable does", PAIRS, "What else")]
    assert places == sorted(places)
    for words in ("Pair Strength q-value age x dose", "in units of price", "dose = 0, and by +"):
        assert words in page.text
    cells = page.charts["joint-1"]["joint-1-heat-cells"]
    assert len(cells) == page.shapes["joint-1-heat-cells"] == len(heat_map.first.at) * 2
    assert cells[-1] == [f"{heat_map.mean[-1][1]:.4g} at {heat_map.first.ticks[-1]} and 1"]
    words = [value for name, value in page.attributes if name == "aria-label"]
    assert any(text.startswith("age x dose: From age =") for text in words)
    assert page.tags.count("details") == len(page.charts)
    without_table = gather(selector)
    assert [pair.heat_map for pair in without_table.interactions] == [None]
    assert PAIRS in Page(render(without_table)).text


def test_pairs_of_hostile_names():
    names = HOSTILE[:3]
    page = Page(render(gather(*joint_run(names), random_state=0)))
    assert " x ".join(column_name(name, j) for j, name in enumerate(names[:2])) in page.text


def test_pictures_have_the_colours_of_the_page(full):
    """Colours that the style sheet does not know are fit for dark pages as they are."""
    assert len(re.findall(r"highest decoy 0\.\d\d", full.text)) == 2
    known = {value for name, value in full.attributes if name in {"fill", "stroke"}}
    assert {"var(--accent)", "var(--decoy)", "var(--muted)", "var(--other)"} <= known
    assert known == {value for value in known if value == "none" or value.startswith("var(--")}


def test_settings_of_matplotlib_and_a_file_change_nothing():
    found = gather(fit_chances([0.9, 0.1])[0])
    page = render(found)
    assert render(Findings.from_json(found.to_json())) == page
    with matplotlib.rc_context({"axes.facecolor": "pink", "font.size": 30, "svg.fonttype": "path"}):
        assert render(found) == page


def test_write_report_replaces_at_once(tmp_path, monkeypatch):
    selector, _ = fit_chances([0.9, 0.1])
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


@pytest.mark.parametrize("module", ["jinja2", "matplotlib"])
def test_without_the_extra(monkeypatch, module):
    found = gather(fit_chances([0.9, 0.1])[0])
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=re.escape("pip install 'tvselect[report]'")):
        render(found)


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    """A folder with the findings of a run in which two columns act together."""
    folder = tmp_path_factory.mktemp("run")
    found = gather(*joint_run(), target="price", random_state=0)
    (folder / "findings.json").write_text(found.to_json())
    return folder


@pytest.mark.parametrize(
    ("kind", "suffix", "words"),
    [
        ("rates", ".svg", ["age", "dose", "noise", "selection rate, with 95 % interval"]),
        ("effects", ".svg", ["age", "dose", "expected price"]),
        ("interactions", ".svg", ["age", "dose", "expected price"]),
        ("rates", ".pdf", []),
        ("effects", ".png", []),
    ],
)
def test_every_kind_is_written_the_same_twice(joint, kind, suffix, words, tmp_path):
    files = [tmp_path / f"{name}{suffix}" for name in "ab"]
    before = dict(pyplot.rcParams)
    for file in files:
        figure = plot_run(joint, kind, file, width=5)
        assert figure.get_figwidth() == 5
    assert dict(pyplot.rcParams) == before
    assert pyplot.get_fignums() == []
    if suffix != ".svg":  # ids of an SVG are drawn at random
        assert files[0].read_bytes() == files[1].read_bytes()
    text = files[0].read_bytes().decode("latin-1")
    assert [word for word in words if word not in text] == []


def test_evidence_of_a_stream():
    X, y = make_data()
    fitted = stream(Marginal(alpha=0.1), decoys="shuffled", n_rounds=2).fit(X, y)
    found = gather(fitted)
    lines = [variable.evidence for variable in found.of_role("selected")]
    selected = [fitted.e_values_[int(v.name[1:])] for v in found.of_role("selected")]
    assert_allclose(np.exp([line[-1] for line in lines]), selected, rtol=1e-3)
    assert_allclose([line[0] for line in lines], np.log(0.5), atol=1e-3)  # half is for the table
    by_parts = stream(Marginal(alpha=0.1), decoys="shuffled")
    for number, part in enumerate(parts(X, y), 1):
        e_values = by_parts.partial_fit(*part).e_values_[SIGNALS]
        assert_allclose([line[number] for line in lines], np.log(e_values / 2), atol=1e-3)
    # e-BH: 12 variables, none of them selected, then two.
    assert_allclose([found.needed[0], found.needed[-1]], np.log([120, 60]), atol=1e-3)
    (axes,) = plot_run(found, "evidence").axes
    assert axes.get_yscale() == "log"
    assert {text.get_text() for text in axes.texts} == {f"x{j}" for j in SIGNALS}
    assert "evidence" in draw_charts(found)
    assert "evidence" not in draw_charts(gather(evident()))


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("effects", "The table was not at hand"),
        ("evidence", "e-values are of streams"),
        ("interactions", "no pair of variables"),
        ("many", "kind must be one of rates, effects"),
    ],
)
def test_what_a_run_does_not_have_is_said(kind, problem):
    with pytest.raises(ValueError, match=problem):
        plot_run(gather(fit_signals([0.6, 0, 0])[0]), kind)


def test_by_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(
        "a,y\n" + "".join(f"{k % 7},{k % 7 + k % 3}\n" for k in range(90))
    )
    select = ["select", "t.csv", "-t", "y", "--plays", "5", "--reward", "pvalue", "--out", "run"]
    assert main([*select, "--no-report", "--family", "gaussian"]) == 0
    assert main(["plot", "run", "-o", "fig.pdf"]) == 0
    assert capsys.readouterr().out.endswith("fig.pdf\n")
    assert (tmp_path / "fig.pdf").read_bytes().startswith(b"%PDF")
    for arguments, problem in (
        (["fig.pdf"], "fig.pdf exists already; say --force"),
        (["fig.txt"], "fig.txt must end in .pdf, .svg, .png"),
        (["e.pdf", "--kind", "evidence"], "there is no figure of evidence"),
    ):
        assert main(["plot", "run", "-o", *arguments]) == 1
        assert problem in capsys.readouterr().err
    assert main(["plot", "run", "-o", "fig.pdf", "--force"]) == 0
