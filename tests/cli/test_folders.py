"""Folders of runs that come from anywhere, and several commands at work in one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.makers import QUICK, make_table, write
from tests.waiting import n_plays, wait_for
from tvselect.runs import RunError
from tvselect.runs.folder import RunFolder, new_folder
from tvselect.sources.addresses import without_secrets
from tvselect.workers import in_threads

ROOT = Path(__file__).parents[2]
STREAM = ("--reward", "pvalue", "--seed", "1", "--stream", "--batch-size", "40",
          "--max-fdr", "none")  # fmt: skip
DEADLINE = 120


@pytest.fixture
def run(run, here):
    return here / run


def change(folder, **values):
    record = json.loads((folder / "run.json").read_text())
    for path, value in values.items():
        *above, last = path.split("__")
        inner = record
        for name in above:
            inner = inner[name]
        inner[last] = value
    (folder / "run.json").write_text(json.dumps(record))


class TestHostileFolders:
    @pytest.mark.parametrize(
        "name", ["journal.sqlite", "journal.sqlite-wal", "run.json", "selected.csv", "run.lock"]
    )
    def test_a_link_is_not_followed(self, name, run, here, failure):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(here / "elsewhere")
        assert f"run/{name} is a link" in failure("resume", "run", "--plays", "80")
        assert not (here / "elsewhere").exists()

    @pytest.mark.parametrize("name", ["run.json", "journal.sqlite-wal", "findings.json"])
    @pytest.mark.parametrize("command", ["resume", "report"])
    def test_a_pipe_is_not_waited_for(self, name, command, run, failure):
        (run / name).unlink(missing_ok=True)
        os.mkfifo(run / name)
        assert f"run/{name} is no file" in failure(command, "run")

    @pytest.mark.parametrize(
        "table",
        ["s3://bucket/t.csv?endpoint_override={host}&scheme=http",
         "s3://KEY:SECRET@bucket/t.csv?endpoint_override={host}&scheme=http",
         "hdfs://{host}/t.csv"],
    )  # fmt: skip
    def test_it_does_not_name_a_host(self, table, run, failure, monkeypatch):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OWN")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "OWN")
        with socket.socket() as host:
            host.bind(("127.0.0.1", 0))
            host.listen()
            host.settimeout(0.2)
            address = table.format(host=f"127.0.0.1:{host.getsockname()[1]}")
            change(run, plan__file__table=address)
            line = failure("resume", "run", "--plays", "80")
            assert "say --table with the whole address" in line
            assert "SECRET" not in line
            with pytest.raises(TimeoutError):
                host.accept()

    @pytest.mark.parametrize(
        "command", ["resume run --plays 61", "worth run --folds 2", "stability run --seeds 2"]
    )
    def test_it_does_not_start_a_thousand_threads(self, command, run, tvs, monkeypatch):
        change(run, settings__jobs=1000)
        asked = []
        opened = "tvselect.workers.in_threads"
        monkeypatch.setattr(opened, lambda n, work: asked.append(n) or in_threads(n, work))
        monkeypatch.setattr("os.cpu_count", lambda: 1)
        assert tvs(*command.split())[0] == 0
        assert set(asked) <= {1}


class FakeBucket:
    """An address that leads to a local file."""

    def __init__(self, monkeypatch, path):
        from pyarrow.fs import LocalFileSystem

        monkeypatch.setattr(
            "tvselect.sources.files.open_remote", lambda url: (LocalFileSystem(), str(path))
        )


@pytest.mark.parametrize("mode", [QUICK, STREAM], ids=["memory", "stream"])
def test_no_secret_is_kept(mode, tvs, here, monkeypatch):
    FakeBucket(monkeypatch, write(here / "t.csv"))
    address = "s3://AKEY:S3CR3T%2Fx@bucket/data/t.csv?endpoint_override=host&region=eu"
    monkeypatch.setattr("tvselect.report.gather", keep_about)
    _, out, err = tvs("select", address, "-t", "y", *mode, "--json")
    folder = here / json.loads(out)["run"]
    assert folder.name == "tvs-t-1"
    seen = "s3://***@bucket/data/t.csv?endpoint_override=***&region=eu"
    assert seen == without_secrets(address)
    assert json.loads((folder / "run.json").read_text())["plan"]["file"]["table"] == seen
    assert seen in (folder / "findings.json").read_text()
    for text in (out, err, *(path.read_bytes().decode("latin-1") for path in folder.iterdir())):
        assert "S3CR3T" not in text
        assert "AKEY" not in text
    more = ("--rounds", "2") if mode is STREAM else ("--plays", "80")
    assert "say --table" in tvs("resume", folder, *more)[2]
    assert tvs("resume", folder, *more, "--table", address)[0] == 0
    assert "S3CR3T" not in (folder / "run.json").read_text()


def keep_about(fit, X, y, *, about, notes, **_):
    class Kept:
        def to_json(self):
            return json.dumps([vars(about), notes])

        title = ""

    return Kept()


class TestOwners:
    def test_an_empty_folder_is_given_to_one(self, here):
        (here / "mine").mkdir()
        new_folder("mine", "t.csv")
        with pytest.raises(RunError, match="exists already"):
            new_folder("mine", "t.csv")

    def test_the_second_run_leaves_the_first_one_alone(self, run, failure):
        before = sorted(run.iterdir())
        assert "exists already" in failure("select", "t.csv", "-t", "y", "--out", "run")
        assert sorted(run.iterdir()) == before

    @pytest.mark.parametrize("place", ["mine", "link", "new/deep"])
    def test_a_start_that_fails_removes_what_it_made(self, place, here, tvs, monkeypatch):
        (here / "mine").mkdir()
        (here / "link").symlink_to(here / "mine")
        write(here / "t.csv")
        before = sorted(here.rglob("*"))

        def fails(*_, **__):
            raise ValueError("the real reason")

        monkeypatch.setattr("tvselect.runs.play.prepare", fails)
        code, _, err = tvs("select", "t.csv", "-t", "y", *QUICK, "--out", place, "--quiet")
        assert (code, err) == (1, "tvs: error: the real reason\n")
        assert sorted(here.rglob("*")) == before

    def test_others_are_kept_out(self, run, failure):
        before = {path: path.read_bytes() for path in run.iterdir()}
        with RunFolder(run).held():
            for command in (["resume", "run", "--plays", "80"], ["report", "run"]):
                assert "another tvs is at work in run" in failure(*command)
        assert {path: path.read_bytes() for path in run.iterdir()} == before

    def test_a_suspended_run_keeps_others_out_and_goes_on(self, tvs, here):
        path = write(here / "t.parquet", make_table(4000))
        command = [sys.executable, "-m", "tests.cli.makers", "select", str(path), "-t", "y",
                   "--reward", "pvalue", "--seed", "1", "--plays", "500",
                   "--out", str(here / "run")]  # fmt: skip
        first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: n_plays(here / "run" / "journal.sqlite") > 5)
            first.send_signal(signal.SIGSTOP)
            assert "another tvs is at work" in tvs("resume", here / "run")[2]
        finally:
            first.send_signal(signal.SIGCONT)
        assert first.wait(DEADLINE) == 0
        record = json.loads((here / "run" / "run.json").read_text())
        assert (record["state"], record["n_plays"]) == ("done", 500)

    def test_a_writer_that_is_refused_writes_nothing(self, run, here, tvs, monkeypatch):
        """Where files cannot be locked, the journal is what lets one run write."""
        monkeypatch.setattr("tvselect.runs.folder._lock", lambda *_: None)
        from tvselect.runs import play

        fit = play.ThompsonSelector.fit
        late = []

        def suspended(self, X, y):
            if not late:
                late.append(1)
                assert tvs("resume", run, "--plays", "90")[0] == 0
                late.extend(path.read_bytes() for path in sorted(run.glob("*.csv")))
                from tvselect.bandit.journal import JournalError

                raise JournalError("only one run may write")
            return fit(self, X, y)

        monkeypatch.setattr(play.ThompsonSelector, "fit", suspended)
        assert tvs("resume", run, "--plays", "80")[0] == 1
        record = json.loads((run / "run.json").read_text())
        assert (record["state"], record["n_plays"]) == ("done", 90)
        assert [path.read_bytes() for path in sorted(run.glob("*.csv"))] == late[1:]


class TestTablesThatChange:
    @pytest.fixture
    def table(self, here):
        pq.write_table(make_table(400), here / "t.parquet", row_group_size=100)
        return here / "t.parquet"

    def test_a_stream_that_was_written_again_must_be_vouched_for(self, table, tvs):
        assert tvs("select", table, "-t", "y", *STREAM, "--out", "run")[0] == 0
        os.utime(table, ns=(1, 1))
        code, _, err = tvs("resume", "run", "--rounds", "2")
        assert (code, "was written again since" in err) == (1, True)
        assert tvs("resume", "run", "--rounds", "2", "--table", table)[0] == 0

    @pytest.mark.parametrize("mode", [QUICK, STREAM], ids=["memory", "stream"])
    def test_a_table_that_is_replaced_ends_no_run_well(self, mode, table, here, tvs, monkeypatch):
        from tvselect.runs import play

        begin = play.make_selector

        def replaced(*arguments):
            pq.write_table(make_table(400, seed=9), here / "new", row_group_size=100)
            os.replace(here / "new", table)
            return begin(*arguments)

        monkeypatch.setattr(play, "make_selector", replaced)
        code, _, err = tvs("select", table, "-t", "y", *mode, "--out", "run")
        assert (code, "was changed or replaced while it was read" in err) == (1, True)
        assert not (here / "run").exists()
