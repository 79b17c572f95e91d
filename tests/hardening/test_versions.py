"""Runs that released versions left behind: they are read, reported and continued."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version

import pytest

from tests.cli.makers import quick_gather, quick_render
from tests.hardening.fixtures.make import HERE, N_PLAYS, offline, stream
from tests.selectors.runs import assert_same, plays_of
from tvselect.bandit.journal import SqliteJournal
from tvselect.cli import main

RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "plays.json").exists())


@pytest.fixture(params=RELEASES)
def stored(request, tmp_path):
    """A copy, so that the stored files stay as they are."""
    return shutil.copytree(HERE / request.param, tmp_path / request.param)


def test_the_first_release_is_stored_and_so_is_this_one():
    assert "0.1.0" in RELEASES
    assert version("tvselect") in RELEASES


def test_stored_files_are_small_and_name_no_machine():
    files = [path for path in HERE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) < 200_000 * len(RELEASES)
    for name in ("run.json", "findings.json"):
        for release in RELEASES:
            text = (HERE / release / "run" / name).read_text()
            assert "/data/table.csv" in text
            assert str(HERE) not in text


@pytest.mark.parametrize("name", ["offline", "stream"])
def test_plays_are_read(stored, name):
    wanted = json.loads((stored / "plays.json").read_text())[name]
    with SqliteJournal(stored / f"{name}.journal") as journal:
        assert journal.header.version == stored.name
        found = [
            [chain, play.number, play.arms.tolist(), play.rewards.tolist()]
            for chain in range(journal.header.n_chains)
            for play in journal.plays(chain)
        ]
    assert found == wanted
    assert len(found) > 10


def test_an_offline_run_goes_on(stored):
    resumed = offline(stored / "offline.journal", 2 * N_PLAYS)
    assert resumed.n_plays_ == 2 * N_PLAYS
    assert_same(resumed, offline(None, 2 * N_PLAYS))


def test_a_run_that_was_killed_goes_on(stored):
    assert (stored / "killed.journal-wal").stat().st_size > 0
    with SqliteJournal(stored / "killed.journal") as journal:
        assert [journal.n_plays(chain) for chain in (0, 1)] == [5, 5]
    assert_same(offline(stored / "killed.journal"), offline(None))


def test_a_stream_goes_on(stored):
    before = json.loads((stored / "plays.json").read_text())["stream"]
    resumed = stream(stored / "stream.journal", n_rounds=2)
    assert json.loads(json.dumps(plays_of(resumed)[: len(before)])) == before
    assert_same(resumed, stream(None, n_rounds=2))


def test_the_folder_of_a_run_is_reported_and_resumed(stored, capsys, monkeypatch):
    """With a page that costs nothing; what it shows is read as ever."""
    monkeypatch.chdir(stored)
    monkeypatch.setattr("tvselect.runs.pages.gather", quick_gather)
    monkeypatch.setattr("tvselect.runs.pages.render", quick_render)
    assert main(["report", "run"]) == 0
    assert (stored / "run" / "report.html").read_text() == "<html>What explains y?</html>"
    first = (stored / "run" / "variables.csv").read_bytes()
    assert main(["resume", "run", "--table", "table.csv"]) == 0
    assert (stored / "run" / "variables.csv").read_bytes() == first
    assert main(["resume", "run", "--plays", "15"]) == 0
    assert json.loads((stored / "run" / "run.json").read_text())["n_plays"] == 15
    assert "Traceback" not in capsys.readouterr().err
