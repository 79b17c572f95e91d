"""The study of every question: its plan and its page."""

from __future__ import annotations

from dataclasses import asdict

import matplotlib
import pytest

from benchmarks import rivals
from tvstudy.grid import Task
from tvstudy.methods import ALL_METHODS
from tvstudy.problems import draw

matplotlib.use("Agg")


def test_methods_and_data_are_known():
    assert {*rivals.METHODS, *rivals.ON_STREAMS} <= set(ALL_METHODS)
    for cells in rivals.QUESTIONS.values():
        for setup, _, _ in cells:
            d = draw(setup, 60, 40, 0)
            assert d.X.shape == (60, 40)
            assert d.support.any() != setup.startswith("null")


def test_slow_methods_see_fewer_data_sets_and_no_wide_tables():
    tasks = list(rivals.plan(4, ["TVS", "Boruta"], ["The paper's set-ups, 10,000 columns"]))
    assert len(tasks) == 4 * 4
    assert {task.method for task in tasks} == {"TVS"}
    tasks = list(rivals.plan(4, ["TVS", "Boruta"], ["Three classes"]))
    assert [task.method for task in tasks] == ["TVS", "Boruta"] * 2 + ["TVS"] * 2


def test_streams_have_methods_of_their_own():
    tasks = list(rivals.plan(1, ["TVS-FDR", "Boruta", "alpha-investing"], [rivals.STREAMS]))
    assert {task.method for task in tasks} == {"TVS-FDR", "alpha-investing"}
    assert {task.n_rows for task in tasks} == {10_000}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "docs" / "images").mkdir(parents=True)
    monkeypatch.setattr(rivals, "ROOT", tmp_path)
    return tmp_path


def row_of(method, replicate, hamming, **more):
    task = Task("bumps", 250, 500, replicate, method)
    measured = {"fdp": 0.1, "power": 0.5, "hamming": hamming, "seconds": 2.0}
    return {
        "key": task.key, **asdict(task), "status": "finished", "exact": False, **measured, **more
    }  # fmt: skip


def test_a_section_and_a_figure_for_each_question_with_rows(folder):
    rows = [row_of("TVS-FDR", k, hamming=k + 1) for k in (1, 2)]
    rows += [row_of("TVS", k, hamming=k) for k in (1, 2)]
    rows += [row_of("IPSS", k, hamming=9) for k in (1, 2)]
    rows += [row_of("Boruta", 1, hamming=0, status="not finished")]
    lines = rivals.page(rows, list(rivals.QUESTIONS), "All rows hold.")
    assert "All rows hold." in lines
    assert [line for line in lines if line.startswith("## ")] == ["## Bumps in groups"]
    start = "| bumps, n=250, p=500 |"
    assert f"{start} IPSS | -6.50 ± 0.50 | 2 | 0.10 / 0.10 | ahead |" in lines
    assert f"{start} TVS | 2 | **1.50 ± 0.50** | 0.50 ± 0.00 | 0.10 ± 0.00 | 2.0 |" in lines
    assert f"{start} IPSS | 2 | 9.00 ± 0.00 | 0.50 ± 0.00 | 0.10 ± 0.00 | 2.0 |" in lines
    assert f"{start} Boruta | 0 | not finished | - | - | - |" in lines
    assert [path.name for path in (folder / "docs" / "images").iterdir()] == ["rivals_3.png"]
