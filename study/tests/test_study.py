from __future__ import annotations

import json
import threading
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from tvselect.workers import open_runner
from tvstudy import METHODS, OFFLINE, Task, read_rows, runner, tasks
from tvstudy.__main__ import main
from tvstudy.cell import run_apart
from tvstudy.check import check_rows
from tvstudy.figures import plot_study
from tvstudy.rows import append_row
from tvstudy.summary import summarise
from tvstudy.tables import (
    calibration_table,
    check_table,
    error_table,
    hamming_table,
    verdict,
)

SMALL = [Task("linear", 40, 20, replicate, "LASSO, CV") for replicate in range(3)]


class First:
    """Selects the first columns."""

    def __init__(self, n):
        self.n = n

    def fit(self, X, y):
        self.mask = np.arange(X.shape[1]) < self.n

    def get_support(self):
        return self.mask

    def to_frame(self):
        rates = np.where(self.mask, 0.95, 0.3)
        played = np.arange(rates.size) < rates.size - 1
        return pd.DataFrame({"selection_rate": rates, "times_played": 3 * played})


class Slow(First):
    def fit(self, X, y):
        threading.Event().wait()


class Broken(First):
    def fit(self, X, y):
        raise RuntimeError("no luck")


@pytest.fixture
def methods(monkeypatch):
    monkeypatch.setitem(METHODS, "five", lambda seed: First(5))
    monkeypatch.setitem(METHODS, "seven", lambda seed: First(7))
    monkeypatch.setitem(METHODS, "slow", lambda seed: Slow(5))
    monkeypatch.setitem(METHODS, "broken", lambda seed: Broken(5))


def grid_of(*names, n=2):
    return [Task("linear", 30, 10, replicate, name) for replicate in range(n) for name in names]


def test_the_grid_has_every_cell_and_the_same_data_for_all_methods():
    every = list(tasks(OFFLINE, ["a", "b"]))
    assert len(every) == len({task.key for task in every}) == 50 * 8 * 2
    assert every[0].data_seed == every[1].data_seed
    assert every[0].method_seed != every[1].method_seed
    assert len({task.data_seed for task in every}) == 50 * 8
    some = list(tasks(OFFLINE, ["a"], n_replicates=3, setups=["liang"], n_columns=[1000]))
    assert [(t.setup, t.n_columns, t.replicate) for t in some] == [
        ("liang", 1000, r) for r in range(3)
    ]


def test_rows_are_judged_and_kept(methods, tmp_path):
    rows = runner.run_study(grid_of("five", "seven"), tmp_path, n_jobs=2, verbose=0)
    assert len(rows) == 4
    by_method = summarise(rows)["linear", 30, 10]
    assert by_method["five"].means["hamming"] == 0
    assert by_method["five"].exact == 1
    assert by_method["seven"].means["hamming"] == 2
    assert by_method["seven"].means["fdp"] == pytest.approx(2 / 7)
    assert (tmp_path / "rows.parquet").exists()


def test_a_second_call_runs_only_what_is_missing(methods, tmp_path):
    runner.run_study(grid_of("five", n=1), tmp_path, verbose=0)
    before = (tmp_path / "rows.jsonl").read_bytes()
    rows = runner.run_study(grid_of("five", n=3), tmp_path, verbose=0)
    assert (tmp_path / "rows.jsonl").read_bytes().startswith(before)
    assert [row["replicate"] for row in rows] == [0, 1, 2]


def test_a_line_cut_off_by_a_kill_is_run_again(methods, tmp_path):
    runner.run_study(grid_of("five"), tmp_path, verbose=0)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert len(read_rows(tmp_path)) == 1
    assert len(runner.run_study(grid_of("five"), tmp_path, verbose=0)) == 2


def test_what_does_not_end_or_fails_is_recorded_as_such(methods, tmp_path):
    rows = runner.run_study(
        grid_of("slow", "broken", "five", n=1), tmp_path, n_jobs=2, time_limit=1.0, verbose=0
    )
    status = {row["method"]: row["status"] for row in rows}
    assert status == {"slow": "not finished", "broken": "failed", "five": "finished"}
    assert (
        next(row["error"] for row in rows if row["method"] == "broken") == "RuntimeError: no luck"
    )
    table = "\n".join(hamming_table(rows))
    assert "| slow | not finished |" in table
    assert "| five | **0.00** |" in table


def test_a_cell_is_the_same_whatever_runs_beside_it(tmp_path):
    one = runner.run_study(SMALL, tmp_path / "a", n_jobs=1, verbose=0)
    two = runner.run_study(SMALL[::-1], tmp_path / "b", n_jobs=2, verbose=0)
    pick = lambda rows: sorted((row["key"], row["selected"]) for row in rows)  # noqa: E731
    assert pick(one) == pick(two)


def test_cells_run_on_any_runner(tmp_path):
    here = runner.run_study(SMALL, tmp_path / "a", verbose=0)
    there = runner.run_study(SMALL, tmp_path / "b", cluster=open_runner("threads", 2), verbose=0)
    differ = ("seconds", "cpu_seconds", "peak_mb")
    pick = lambda rows: [{k: v for k, v in r.items() if k not in differ} for r in rows]  # noqa: E731
    assert pick(here) == pick(there)


def test_what_does_not_end_or_fails_on_a_runner_is_recorded_as_such(tmp_path):
    long = Task("linear", 300, 1000, 0, "horseshoe")
    [row] = runner.run_study([long], tmp_path, time_limit=0.1, cluster=open_runner(), verbose=0)
    assert (row["status"], row["seconds"]) == ("not finished", 0.1)
    row = run_apart(Task("linear", 20, 5, 0, "nobody"), None)
    assert row == {"status": "failed", "error": "KeyError: 'nobody'"}


def test_unknown_methods_are_refused_before_anything_runs(tmp_path):
    with pytest.raises(ValueError, match="no method is named 'nobody'"):
        runner.run_study(grid_of("nobody"), tmp_path, verbose=0)


def test_calibration_counts_signals_by_rate_among_columns_that_were_played(methods, tmp_path):
    rows = runner.run_study(grid_of("seven"), tmp_path, verbose=0)
    table = calibration_table(rows, "seven")
    assert table[-1] == "| 0.9 to 1.0 | 14 | 10 | 0.71 |"
    assert table[-2] == "| 0.3 to 0.4 | 4 | 0 | 0.00 |"


def test_the_figure_has_a_panel_for_each_measure(methods, tmp_path):
    rows = runner.run_study(grid_of("five", "seven"), tmp_path, verbose=0)
    titles = [ax.get_title() for ax in plot_study(rows, 10).axes]
    assert titles == ["false discovery proportion", "power", "Hamming distance", "seconds, median"]
    noise = plot_study([{**row, "n_signals": 0} for row in rows], 10)
    assert "power" not in [ax.get_title() for ax in noise.axes]


def test_long_names_of_cells_wrap_in_the_legend(methods, tmp_path):
    rows = runner.run_study(grid_of("five"), tmp_path, verbose=0)
    names = [f"null: columns of some kind or other, {k}" for k in range(6)]
    figure = plot_study([{**row, "setup": name} for row in rows for name in names])
    figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


@pytest.mark.parametrize("seconds", [0.0, 1e-7, 1e-6])
def test_a_method_that_takes_no_time_can_be_drawn(seconds, tmp_path):
    row = {**asdict(SMALL[0]), "status": "finished", "exact": True, "seconds": seconds}
    rows = [row | {"fdp": 0.0, "power": 1.0, "hamming": 0}]
    plot_study(rows, 20).savefig(tmp_path / "a.png")


def test_the_command_line(methods, tmp_path, capsys):
    out = str(tmp_path / "study")
    arguments = ["run", "offline", "--out", out, "--method", "five", "-r", "1", "--columns", "1000"]
    assert main([*arguments, "--setup", "linear"]) == 0
    assert "| five | **0.00" in capsys.readouterr().out
    assert main(["table", out]) == 0
    assert main(["figure", out, "--columns", "1000", "--to", str(tmp_path / "a.png")]) == 0
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert main(["methods"]) == 0
    assert "five" in capsys.readouterr().out
    assert main(["table", str(tmp_path / "nothing")]) == 1
    assert "holds no study" in capsys.readouterr().err


def test_rows_survive_a_missing_newline(tmp_path):
    row = {**asdict(SMALL[0]), "status": "failed"}
    (tmp_path / "rows.jsonl").write_text(json.dumps({**row, "key": "a"}))
    append_row(tmp_path, {**row, "key": "b"})
    assert [row["key"] for row in read_rows(tmp_path)] == ["a", "b"]


def test_errors_are_told_apart(methods, tmp_path):
    rows = runner.run_study(grid_of("five", "seven"), tmp_path, verbose=0)
    assert error_table(rows)[2:] == ["| five | 0.0 + 0.0 |", "| seven | 0.0 + 2.0 |"]


def test_the_verdict_pairs_the_data_sets(methods, tmp_path):
    rows = runner.run_study(grid_of("five", "seven", n=3), tmp_path, verbose=0)
    (line,) = verdict(rows, "seven")[2:]
    assert line == "| linear, n=30, p=10 | five | +2.00 ± 0.00 | 3 | 0.29 / 0.00 | behind |"
    assert verdict(rows, "five")[2].endswith("| -2.00 ± 0.00 | 3 | 0.00 / 0.29 | ahead |")
    for row in rows:
        row["method"] = row["method"].replace("seven", "five, with seven")
    assert len(verdict(rows, "five")) == 2  # no rival of itself
    for row in rows:
        row["method"] = row["method"].replace("five, with seven", "seven")
        row["hamming"] = 3 if row["method"] == "seven" else (1, 7, 2)[row["replicate"]]
    # Differences 2, -4, 1 of seven minus five: mean -1/3, so from five's side +1/3 +- 1.86.
    assert verdict(rows, "five")[2].endswith("| 3 | 0.00 / 0.29 | within one s.e. |")
    assert "| +0.33 ± 1.86 |" in verdict(rows, "five")[2]


def test_a_method_that_saw_fewer_data_sets_says_so(methods, tmp_path):
    rows = runner.run_study(grid_of("five", n=2), tmp_path, verbose=0)
    assert "0.00 ± 0.00** (2)" in hamming_table(rows, 50)[2]
    assert "(2)" not in hamming_table(rows, 2)[2]


def test_rows_that_no_longer_hold_are_named(methods, tmp_path, monkeypatch, capsys):
    rows = runner.run_study(grid_of("five", "seven", n=3), tmp_path, verbose=0)
    assert all(one.same for one in check_rows(rows, 3, verbose=0))
    assert main(["check", str(tmp_path)]) == 0
    monkeypatch.setitem(METHODS, "seven", lambda seed: First(6))
    checked = check_rows(rows, 2, verbose=0)
    assert [(one.method, one.same) for one in checked] == [("five", True)] * 2 + [
        ("seven", False)
    ] * 2
    table = check_table(check_rows(rows, 5, verbose=0))
    assert table[2] == "| five | 3 | 3 | - |"
    assert table[3].startswith("| seven | 3 | 0 | ")
    assert {"linear/30/10/0", "linear/30/10/1", "linear/30/10/2"} <= set(
        table[3].replace(",", "").split()
    )
    assert main(["check", str(tmp_path)]) == 1
    assert "| seven | 2 | 0 |" in capsys.readouterr().out
    monkeypatch.setitem(METHODS, "seven", lambda seed: Broken(7))
    assert not check_rows(rows, 1, verbose=0)[1].same


def test_only_rows_that_ended_in_time_are_checked(methods, tmp_path):
    rows = runner.run_study(grid_of("broken", "five"), tmp_path, verbose=0)
    rows[-1]["seconds"] = 100.0
    assert [one.key for one in check_rows(rows, 2, verbose=0)] == ["linear/30/10/0/five"]
    assert check_rows(rows[:1], verbose=0) == []
    with pytest.raises(ValueError, match="per_method=0"):
        check_rows(rows, 0)
