from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pytest

from benchmarks import battery, errors_choice
from benchmarks.battery import limits, page
from tvstudy import METHODS, Task, read_rows, runner
from tvstudy.error_tables import (
    choice_table,
    duel_table,
    fdr_table,
    not_finished_list,
    null_tables,
    time_table,
)
from tvstudy.methods import ALL_METHODS, CONTROLLED, WITH_EXTRAS
from tvstudy.problems import Cell


class Claim(NamedTuple):
    columns: list[int]
    q_value: float


class Stub:
    """q-values 0, 0.05, 0.1, ... and a claim of every two neighbours."""

    def fit(self, X, y):
        self.q_values_ = np.arange(X.shape[1]) / 20.0
        pairs = [[j, j + 1] for j in range(0, X.shape[1], 2)]
        self.claims_ = [Claim(pair, self.q_values_[pair].min()) for pair in pairs]

    def get_support(self):
        return self.q_values_ <= 0.1


def row(setup, replicate, method, selected, *, n_true=0, n_signals=0, n_columns=200, claims=None):
    """A finished run that selects the same at both levels."""
    n_false = len(selected) - n_true
    fdp = n_false / max(len(selected), 1)
    n_claims, n_false_claims = claims or (None, None)
    judged = {
        "n_true": n_true, "n_false": n_false, "fdp": fdp, "n_claims": n_claims,
        "n_false_claims": n_false_claims, "claim_size": None if claims is None else 2.0,
        "claim_fdp": None if claims is None else n_false_claims / max(n_claims, 1),
    }  # fmt: skip
    key = f"{setup}/300/{n_columns}/{replicate}/{method}"
    return {
        "key": key, "setup": setup, "n_rows": 300, "n_columns": n_columns,
        "replicate": replicate, "method": method, "status": "finished", "seconds": 4.0,
        "cpu_seconds": 2.0 if method == "TVS-FDR" else 3.0, "fdp": fdp, "exact": False,
        "power": n_true / max(n_signals, 1), "hamming": n_false + n_signals - n_true,
        "selected": selected, "n_signals": n_signals,
        "at": [{"level": level, **judged} for level in (0.1, 0.2)],
    }  # fmt: skip


def nulls(method, n, n_selecting, outcome="normal"):
    return [
        row(f"null: normal, {outcome}", k, method, [1] if k < n_selecting else []) for k in range(n)
    ]


SIGNALS = [
    row("paper: linear", k, "TVS-FDR", [0, 1, 2, 9][: 4 if k == 0 else 3], n_true=3, n_signals=5,
        n_columns=1000, claims=(3, 0))
    for k in range(4)
] + [
    row("paper: linear", k, "IPSS", [0, 8], n_true=1, n_signals=5, n_columns=1000)
    for k in range(2)
]  # fmt: skip


def test_a_run_is_judged_by_columns_and_claims_at_both_levels(monkeypatch, tmp_path):
    monkeypatch.setitem(METHODS, "stub", lambda seed: Stub())
    task = Task("paper: linear", 30, 10, 0, "stub")
    [found] = runner.run_study([task], tmp_path, verbose=0)
    assert found["status"] == "finished"
    assert found["selected"] == [0, 1, 2]
    assert found["n_signals"] == 5
    assert found["cpu_seconds"] >= 0
    strict, loose = found["at"]
    # Signals are 0 to 4; q <= 0.1 has 0, 1, 2 and the claims of 0 and 2, q <= 0.2 has 0 to 4.
    assert (strict["level"], strict["n_true"], strict["n_false"]) == (0.1, 3, 0)
    assert (strict["n_claims"], strict["n_false_claims"], strict["claim_size"]) == (2, 0, 2.0)
    assert (loose["level"], loose["n_true"], loose["n_claims"]) == (0.2, 5, 3)
    assert (tmp_path / "rows.parquet").exists()


def test_rows_with_other_levels_are_refused(tmp_path):
    for wrong in ([], [{"level": 0.1}], "0.1", [1, 2], [SIGNALS[0]["at"][0] | {"fdp": "a"}] * 2):
        (tmp_path / "rows.jsonl").write_text(json.dumps(SIGNALS[0] | {"at": wrong}))
        with pytest.raises(ValueError, match="at 'at'"):
            read_rows(tmp_path)


def test_the_methods_of_the_battery_are_no_part_of_the_study():
    assert list(CONTROLLED) == ["TVS-FDR", "IPSS"]
    assert not METHODS.keys() & CONTROLLED.keys()
    assert ALL_METHODS.keys() == METHODS.keys() | CONTROLLED.keys() | WITH_EXTRAS.keys()


def test_the_number_of_data_sets_is_given_per_method():
    both = ["TVS-FDR", "IPSS"]
    assert limits(both, []) == {"TVS-FDR": {}, "IPSS": {"nulls": 2, "signals": 20}}
    five, seven = ({"nulls": n, "signals": n} for n in (5, 7))
    assert limits(both, ["5"]) == {"TVS-FDR": five, "IPSS": five}
    assert limits(both, ["5", "IPSS=7"]) == {"TVS-FDR": five, "IPSS": seven}


def test_the_share_of_runs_that_select_noise_and_its_verdict():
    # 14 of 100 is within 10 + 2 * 3 %, 17 is not.
    rows = nulls("TVS-FDR", 100, 14) + nulls("TVS-FDR", 100, 17, "counts") + nulls("IPSS", 4, 0)
    lines = null_tables(rows)
    assert lines[0] == (
        "**TVS-FDR**: 1 of 2 cells at most 10% + 2 s.e.; all 200 runs together 15.5 ± 2.6 %."
    )
    assert lines[4:6] == [
        "| normal, normal | 14.0 ± 3.5 (100) |",
        "| normal, counts | **17.0 ± 3.8** (100) |",
    ]
    assert lines[-1] == "| normal, normal | 0.0 ± 0.0 (4) |"
    assert null_tables([]) == []


def test_found_and_false_by_columns_and_claims():
    ours, theirs = fdr_table(SIGNALS, 0.1)[2:]
    start = "| paper: linear, n=300, p=1,000 |"
    # One run in four has a false column of four: 0.0625 with a standard error of 0.0625.
    assert (
        ours == f"{start} TVS-FDR | 4 | 5.0 | 3.00 ± 0.00 | 0.06 ± 0.06 | 3.0 | 2.0 | 0.00 ± 0.00 |"
    )
    assert theirs == f"{start} IPSS | 2 | 5.0 | 1.00 ± 0.00 | **0.50 ± 0.00** | - | - | - |"


def test_a_duel_is_fought_on_the_data_sets_that_both_saw():
    [line] = duel_table(SIGNALS, "TVS-FDR", "IPSS", 0.2)[2:]
    assert line.endswith("| 2 | 3.00 | 1.00 | 2.00 ± 0.00 | ahead |")
    assert len(duel_table(SIGNALS[:4], "TVS-FDR", "IPSS", 0.2)) == 2


def test_times_are_medians_by_kind_of_data():
    lines = time_table(SIGNALS + nulls("TVS-FDR", 3, 0))
    assert lines[2:] == [
        "| paper, n=300, p=1,000 | 2.0 / 4.0 | 3.0 / 4.0 |",
        "| null, n=300, p=200 | 2.0 / 4.0 | - |",
    ]


def test_variants_are_compared_by_their_own_rule():
    lines = choice_table(SIGNALS + nulls("TVS-FDR", 4, 1))
    assert lines[2] == (
        "| TVS-FDR | 4 | 0.25 ± 0.25 | 4 | 0.60 ± 0.00 | 0.06 ± 0.06 | 0.00 ± 0.00 | 2.0 | "
        "0.60, 0.06 |"
    )
    assert lines[3] == "| IPSS | 0 | - | 2 | 0.20 ± 0.00 | 0.50 ± 0.00 | - | 3.0 | 0.20, 0.50 |"


def test_runs_without_a_result_are_named():
    lost = [{"key": "a", "status": "failed", "error": "no luck"}, {"key": "b", "status": "late"}]
    assert not_finished_list([*lost, *SIGNALS]) == ["- a: no luck", "- b: late"]


def test_the_page_has_every_table():
    late = SIGNALS[0] | {"status": "not finished", "replicate": 9, "key": "late"}
    rows = [*nulls("IPSS", 2, 0), *SIGNALS, late, *nulls("TVS-FDR", 20, 1)]
    text = "\n".join(page(rows, {"planted: HIV": "It is not here."}, "ipss 1", "make battery"))
    for title in ("Nothing there", "Signals, level 0.1", "Signals, level 0.2", "Hamming", "Time"):
        assert f"## {title}" in text
    assert text.index("**TVS-FDR**") < text.index("**IPSS**")
    assert "Written by `make battery` on " in text
    assert "Left out: planted: HIV. It is not here." in text
    assert "## Runs without a result\n\n- late: not finished" in text
    # Two signals missed, and a false column in one of four runs.
    assert "**2.25 ± 0.25** (4 of 5)" in text
    assert "nan" not in text


def test_a_page_of_a_part_has_no_empty_sections():
    lines = page(nulls("TVS-FDR", 2, 0), {}, "ipss 1", "make battery")
    assert [line for line in lines if line.startswith("## ")] == ["## Nothing there", "## Time"]


@pytest.fixture
def pages(monkeypatch):
    """What the scripts record; stubs for their methods, four cells for their data."""
    written = {}
    cells = (
        Cell("nulls", "null: normal, normal", 20, 6, 3),
        Cell("nulls", "null: categories, classes", 20, 6, 3),
        Cell("signals", "paper: linear", 20, 8, 2),
        Cell("signals", "planted: Madelon", 20, 8, 2),
    )
    for script in (battery, errors_choice):
        monkeypatch.setattr(script, "BATTERY", cells)
        monkeypatch.setattr(script, "record", written.__setitem__)
    for name in CONTROLLED:
        monkeypatch.setitem(CONTROLLED, name, lambda seed: Stub())
    monkeypatch.setattr(battery, "version", lambda package: "1")
    monkeypatch.setattr(ALL_METHODS, "maps", list(ALL_METHODS.maps))
    monkeypatch.setenv("TVSELECT_DATA", "nowhere")
    return written


def test_the_battery_runs_a_part_goes_on_and_leaves_out_absent_tables(pages, tmp_path, monkeypatch):
    def run(*options):
        arguments = ["battery", "--rows", str(tmp_path), "--jobs", "1", *options]
        monkeypatch.setattr("sys.argv", arguments)
        battery.main()
        return len(read_rows(tmp_path))

    assert run("--part", "nulls", "--method", "TVS-FDR", "-n", "1") == 2
    before = (tmp_path / "rows.jsonl").read_bytes()
    # Both null cells with 3 and 2 data sets, the paper's with 2 and 2.
    assert run() == 2 * (3 + 2) + 2 + 2
    assert (tmp_path / "rows.jsonl").read_bytes().startswith(before)
    assert {row["status"] for row in read_rows(tmp_path)} == {"finished"}
    text = "\n".join(pages["errors.md"])
    assert "**TVS-FDR**: 0 of 2 cells" in text
    assert "Left out: planted: Madelon. Madelon is not here" in text
    pages.clear()
    assert run("--only-page") == 14
    assert "\n".join(pages["errors.md"]) == text


def test_variants_are_compared_on_data_sets_of_their_own(pages, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(errors_choice, "CELLS", {("paper: linear", 20, 8)})
    monkeypatch.setattr(
        errors_choice, "ThompsonSelector", lambda **settings: given.append(settings) or Stub()
    )
    monkeypatch.setattr("sys.argv", ["choose", "--rows", str(tmp_path), "-n", "2"])
    errors_choice.main()
    rows = read_rows(tmp_path)
    assert {row["status"] for row in rows} == {"finished"}
    assert {row["replicate"] for row in rows} == {10_000, 10_001}
    text = "\n".join(pages["errors_choice.md"])
    for name in errors_choice.VARIANTS:
        assert f"| {name} | 0 | - | 2 |" in text
    errors_choice.variant({"max_fdr": None})(7)
    assert given[-1] == {"max_fdr": None, "random_state": 7}
