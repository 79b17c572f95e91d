"""Pairs that act together: gathered, in words, drawn, and nothing where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.decoyed import pay_likeness
from tests.report.conftest import HOSTILE
from tests.report.test_page import Page
from tvselect import ThompsonSelector
from tvselect.after.dependence import Scale
from tvselect.report import Findings, gather, render
from tvselect.report.findings import HeatMap, ReportedInteraction
from tvselect.report.sentences import describe_pair
from tvselect.words import column_name

SECTION = "Which of them act together"


def joint_run(names=("age", "dose", "noise")):
    """y is high where the first two columns are; the second has two values."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    X[:, 1] = X[:, 1] > 0.5
    y = 2 * X[:, 0] + 2 * X[:, 1] + 4 * (X[:, 0] > 0.5) * X[:, 1] + 0.3 * rng.normal(size=200)
    X = pd.DataFrame(X, columns=pd.Index(names, dtype=object))
    selector = ThompsonSelector(pay_likeness, n_plays=60, max_fdr=None, random_state=0)
    return selector.fit(X, y), X, y


@pytest.fixture(scope="module")
def run():
    return joint_run()


@pytest.fixture(scope="module")
def found(run):
    return gather(*run, target="price", random_state=0)


def test_findings_have_the_pairs_of_the_selector(run, found):
    (pair,), (interaction,) = found.interactions, run[0].interactions_
    assert pair.names == interaction.names == ("age", "dose")
    assert (pair.strength, pair.q_value) == (interaction.strength, interaction.q_value)
    heat_map = pair.heat_map
    assert heat_map.second.labels == ("0", "1")
    rise = np.array(heat_map.mean)[-1] - np.array(heat_map.mean)[0]
    np.testing.assert_allclose(rise, [2, 6], atol=0.7)
    assert Findings.from_json(found.to_json()) == found


def test_the_page_says_and_draws_them(found):
    page = Page(render(found))
    assert page.text.index("What each variable does") < page.text.index(SECTION)
    assert page.text.index(SECTION) < page.text.index("What else could have been chosen?")
    assert "Pair Strength q-value age x dose" in page.text
    assert "in units of price" in page.text
    assert "where dose = 0, and by +" in page.text
    (heat_map,) = [pair.heat_map for pair in found.interactions]
    cells = page.charts["joint-1"]["tips"]["joint-1-heat-cells"]
    assert len(cells) == page.shapes["joint-1-heat-cells"] == len(heat_map.first.at) * 2
    assert cells[-1] == [f"{heat_map.mean[-1][1]:.4g} at {heat_map.first.ticks[-1]} and 1"]
    words = [value for name, value in page.attributes if name == "aria-label"]
    assert any(text.startswith("age x dose: From age =") for text in words)
    assert page.tags.count("details") == len(page.charts)


def test_without_the_table_there_is_no_heat_map(run):
    found = gather(run[0])
    assert [pair.heat_map for pair in found.interactions] == [None]
    assert SECTION in Page(render(found)).text


def test_none_of_a_stream_or_where_effects_add_up(stream, fit):
    for selector in (stream([0.9, 0.8, 0.1]), fit([0.9, 0.1])[0]):
        found = gather(selector)
        assert found.interactions == ()
        assert SECTION not in Page(render(found)).text


def test_hostile_names():
    names = HOSTILE[:3]
    page = Page(render(gather(*joint_run(names), random_state=0)))
    assert " x ".join(column_name(name, j) for j, name in enumerate(names[:2])) in page.text


def test_words():
    heat_map = HeatMap(
        Scale((), (0.0, 1.0, 4.0)),
        Scale(("no", "yes"), (0.0, 1.0)),
        ((1.0, 1.0), (1.0, 2.0), (0.5, 4.0)),
    )
    pair = ReportedInteraction(("a", "b"), 1.0, 0.05, heat_map)
    assert describe_pair(pair, heat_map) == (
        "From a = 0 to 4, the outcome changes by -0.5 where b = no, and by +3 where it is yes."
    )
