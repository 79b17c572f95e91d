"""``--cluster``: the same run on the workers of a Dask cluster."""

import json

import pytest

from tests.cli.makers import make_table, write

OPTIONS = ("-t", "y", "--reward", "pvalue", "--seed", 1, "--plays", 60, "--window", 4)
NOBODY = "tcp://127.0.0.1:9"


@pytest.fixture
def table(here):
    return write(here / "t.parquet", make_table())


def outcome(folder):
    return (folder / "variables.csv").read_bytes()


def test_a_cluster_writes_the_same_bytes_as_this_machine(tvs, table, here, cluster):
    address = cluster.scheduler_address
    assert tvs("select", table, *OPTIONS, "--out", here / "a", "--cluster", address)[0] == 0
    assert tvs("select", table, *OPTIONS, "--out", here / "b", "--jobs", 2)[0] == 0
    assert outcome(here / "a") == outcome(here / "b")
    assert json.loads((here / "a" / "run.json").read_text())["settings"]["cluster"] == address


def test_a_stream_on_a_cluster(tvs, table, here, cluster):
    stream = ("-t", "y", "--reward", "pvalue", "--seed", 1, "--window", 4, "--batch-size", 50)
    address = cluster.scheduler_address
    assert tvs("select", table, *stream, "--out", here / "a", "--cluster", address)[0] == 0
    assert tvs("select", table, *stream, "--out", here / "b")[0] == 0
    assert outcome(here / "a") == outcome(here / "b")


def test_a_run_goes_on_here_when_its_cluster_is_gone(tvs, table, here, monkeypatch):
    folder = here / "run"
    assert tvs("select", table, *OPTIONS, "--out", folder)[0] == 0
    record = json.loads((folder / "run.json").read_text())
    record["settings"]["cluster"] = NOBODY
    (folder / "run.json").write_text(json.dumps(record))
    monkeypatch.setattr("tvselect.runners.cluster.SECONDS_TO_CONNECT", 1)
    code, _, err = tvs("resume", folder, "--plays", 80)
    assert code == 1
    assert f"no Dask scheduler answers at {NOBODY}" in err
    assert tvs("resume", folder, "--plays", 80, "--jobs", 1)[0] == 0
    assert json.loads((folder / "run.json").read_text())["n_plays"] == 80


def test_a_wrong_address_is_one_error_before_the_table_is_read(failure, tvs, monkeypatch):
    monkeypatch.setattr("tvselect.runners.cluster.SECONDS_TO_CONNECT", 1)
    line = failure("select", "no-such-table.csv", *OPTIONS, "--cluster", NOBODY)
    assert "no Dask scheduler answers" in line
    code, _, err = tvs("select", "t.csv", *OPTIONS, "--cluster", "head-node")
    assert code == 2
    assert "address of a Dask scheduler" in err


def test_here_or_on_a_cluster_but_not_both(tvs):
    code, _, err = tvs("select", "t.csv", *OPTIONS, "--jobs", 2, "--cluster", NOBODY)
    assert code == 2
    assert "not allowed with" in err
