from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tvstudy.grid import OFFLINE, PAPER_SETUPS, tasks
from tvstudy.problems import (
    BATTERY,
    PROBLEMS,
    TUNING,
    Cell,
    battery_tasks,
    draw,
    missing_tables,
)
from tvstudy.simulation import simulate

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
SMALL = [Cell("nulls", "null: normal, normal", 30, 5, 3), Cell("signals", "bumps", 30, 20, 2)]


def test_the_battery_has_the_cells_it_promises():
    cells = {(cell.setup, cell.n_rows, cell.n_columns): cell.n_sets for cell in BATTERY}
    assert len(cells) == len(BATTERY) == 14 * 5 + 8 + 4 + 4 + 2
    assert {cell.setup for cell in BATTERY} == set(PROBLEMS)
    assert cells["null: categories, classes", 300, 200] == 200
    assert cells["null: categories, classes", 300, 2_000] == 50
    assert cells["paper: liang", 300, 10_000] == 50
    assert cells["bumps: classes", 250, 500] == 50
    assert all(cell.part == "nulls" for cell in BATTERY if cell.setup.startswith("null"))


@pytest.mark.parametrize("setup", [name for name in PROBLEMS if "planted" not in name])
def test_a_problem_is_a_function_of_its_name_and_seed(setup):
    data, again = draw(setup, 40, 25, 7), draw(setup, 40, 25, 7)
    other = draw(setup, 40, 25, 8)
    assert data.X.shape == (40, 25)
    assert data.support.shape == (25,)
    assert data.support.any() != setup.startswith("null")
    np.testing.assert_array_equal(data.y, again.y)
    assert not np.array_equal(np.asarray(data.X), np.asarray(other.X))


def test_names_of_the_paper_are_its_set_ups():
    for setup in PAPER_SETUPS:
        wanted = simulate(setup, 30, 6, random_state=1)
        for name in (setup, f"paper: {setup}"):
            np.testing.assert_array_equal(draw(name, 30, 6, 1).y, wanted.y)


def test_no_data_set_of_the_battery_served_for_choosing_anything():
    limits = {"a": {}}
    battery = {task.data_seed for task in battery_tasks(BATTERY, limits)}
    assert len(battery) == sum(cell.n_sets for cell in BATTERY)
    tuning_cells = [replace(cell, n_sets=200) for cell in BATTERY]
    tuning = {task.data_seed for task in battery_tasks(tuning_cells, limits, first=TUNING)}
    study = {task.data_seed for task in tasks(OFFLINE, ["a"], n_replicates=70)}
    assert not battery & tuning
    assert not battery & study
    # Experiments by hand count their seeds from 0, 1,000 or 900,000.
    assert min(battery) > 100_000
    assert not battery & set(range(900_000, 901_000))


def test_tasks_come_number_by_number_and_methods_see_as_many_as_they_may():
    every = list(battery_tasks(SMALL, {"a": {}, "b": {"nulls": 1}}, first=5))
    seen = [(task.setup[:4], task.replicate, task.method) for task in every]
    assert seen == [
        ("null", 5, "a"), ("null", 5, "b"), ("bump", 5, "a"), ("bump", 5, "b"),
        ("null", 6, "a"), ("bump", 6, "a"), ("bump", 6, "b"), ("null", 7, "a"),
    ]  # fmt: skip
    assert list(battery_tasks([], {"a": {}})) == []


def test_real_tables_that_are_not_here_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("TVSELECT_DATA", str(tmp_path))
    missing = missing_tables()
    assert set(missing) == {"planted: HIV", "planted: Madelon"}
    assert "madelon.mat" in missing["planted: Madelon"]


def test_signals_are_planted_on_real_tables(monkeypatch):
    monkeypatch.setenv("TVSELECT_DATA", str(SHARED))
    cells = [cell for cell in BATTERY if "planted" in cell.setup]
    if missing := missing_tables():
        pytest.skip("; ".join(missing.values()))
    for cell in cells:
        data = draw(cell.setup, cell.n_rows, cell.n_columns, 1)
        assert data.X.shape == (cell.n_rows, cell.n_columns)
        assert data.support.sum() == 10
        assert (data.X.std(axis=0) > 0).all()
