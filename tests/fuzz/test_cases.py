"""A few damaged files for every reader; ``make fuzz-million`` runs many more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from benchmarks.records import ROOT
from fuzz.__main__ import Tally, deal, fuzz, page, row, rows_of
from fuzz.targets import TARGETS
from fuzz.targets.base import Target
from fuzz.verdict import fault_in, own_name
from fuzz.worker import Bench
from tvselect.records import read_record
from tvselect.sources import SourceError


def test_only_our_errors_come_out(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.worker", "quick", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdout=subprocess.PIPE,
        text=True,
    )
    cases = [
        said for line in done.stdout.splitlines() if isinstance(said := json.loads(line), dict)
    ]
    assert [said for said in cases if "fault" in said] == []
    assert done.returncode == 0, f"ended with {done.returncode} after {cases[-1]}"
    assert Counter(said["target"] for said in cases) == {
        target.name: target.quick for target in TARGETS.values()
    }
    read = {said["target"] for said in cases if said["outcome"] == "read"}
    assert TARGETS.keys() - read == {"address"}


@pytest.mark.parametrize(
    ("how", "fault"),
    [("ends", "the process ended with code -9"), ("waits", "hangs: ended after 60 s")],
)
def test_a_case_that_ends_or_holds_up_its_process_is_a_fault(how, fault, tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.__main__.WORKER", "tests.fuzz.fragile")
    monkeypatch.setenv("FRAGILE", how)
    tally = fuzz(TARGETS["groups"], 3, 0, tmp_path)
    assert [(found["case"], found["fault"]) for found in tally.faults] == [(2, fault)]
    assert (tmp_path / "groups-0-2").read_bytes() == TARGETS["groups"].case(0, 2)


@pytest.mark.parametrize("name", TARGETS)
def test_a_case_is_made_again_from_its_number(name):
    target = TARGETS[name]
    numbers = range(len(target.seeds) + 30)
    made = [target.case(3, k) for k in numbers]
    assert [target.case(3, k) for k in numbers] == made
    assert [target.case(4, k) for k in numbers] != made


def caught(call):
    try:
        call()
    except Exception as error:
        return error


def test_whose_error_it_is():
    assert own_name(caught(lambda: read_record(Tally, 3, "a"))) == "RecordError"
    assert own_name(SourceError("no")) == "SourceError"
    for call in (
        lambda: json.loads("{"),
        lambda: int("x"),
        lambda: [][0],
        lambda: b"\xff".decode(),
    ):
        assert own_name(caught(call)) is None
        assert fault_in(caught(call)).startswith("foreign")
    assert "without a message" in fault_in(SourceError(" "))


def make_target(read):
    return Target("groups", "a test", lambda: [b"a", b"b"], read)


@pytest.mark.parametrize(
    "read", [lambda data, folder: 1 / 0, lambda data, folder: b"".decode(data.decode())]
)
def test_a_foreign_error_is_seen(read, tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.worker.limit_memory", lambda room: None)
    monkeypatch.chdir(tmp_path)
    bench = Bench(make_target(read))
    try:
        assert fault_in(bench.outcome(b"a")).startswith("foreign")
    finally:
        bench.close()


def test_the_page_has_every_target():
    rows = {name: row(Tally(name, n=5000), 1) for name in TARGETS}
    text = "\n".join(page(rows, "make fuzz"))
    assert f"{5000 * len(TARGETS):,} cases, 0 faults" in text
    assert rows_of(text) == rows
    assert sum(deal(1_000_000, list(TARGETS.values())).values()) >= 1_000_000
