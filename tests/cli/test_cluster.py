"""``--cluster``: the same run on the workers of a Dask cluster."""

import json
import socket

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
    assert address not in (here / "a" / "run.json").read_text().replace(f"--cluster {address}", "")


def test_a_folder_does_not_say_which_cluster_to_join(tvs, table, here):
    """What a scheduler answers is unpickled: it could run anything."""
    with socket.socket() as scheduler:
        scheduler.bind(("127.0.0.1", 0))
        scheduler.listen()
        scheduler.settimeout(0.2)
        address = f"tcp://127.0.0.1:{scheduler.getsockname()[1]}"
        assert tvs("select", table, *OPTIONS, "--out", here / "run")[0] == 0
        record = json.loads((here / "run" / "run.json").read_text())
        record["settings"]["cluster"] = address
        record["command"] += f" --cluster {address}"
        (here / "run" / "run.json").write_text(json.dumps(record))
        assert "at 'settings.cluster'" in tvs("resume", here / "run", "--plays", 80)[2]
        del record["settings"]["cluster"]
        (here / "run" / "run.json").write_text(json.dumps(record))
        assert tvs("resume", here / "run", "--plays", 80)[0] == 0
        with pytest.raises(TimeoutError):
            scheduler.accept()


def test_a_run_goes_on_where_this_call_says(tvs, table, here, cluster, monkeypatch):
    address = cluster.scheduler_address
    assert tvs("select", table, *OPTIONS, "--out", here / "run", "--cluster", address)[0] == 0
    assert tvs("resume", here / "run", "--plays", 80)[0] == 0
    assert tvs("resume", here / "run", "--plays", 90, "--cluster", address)[0] == 0
    monkeypatch.setattr("tvselect.workers.SECONDS_TO_CONNECT", 1)
    code, _, err = tvs("resume", here / "run", "--plays", 100, "--cluster", NOBODY)
    assert code == 1
    assert f"no Dask scheduler answers at {NOBODY}" in err
    assert json.loads((here / "run" / "run.json").read_text())["n_plays"] == 90


def test_a_wrong_address_is_one_error_before_the_table_is_read(failure, monkeypatch):
    monkeypatch.setattr("tvselect.workers.SECONDS_TO_CONNECT", 1)
    line = failure("select", "no-such-table.csv", *OPTIONS, "--cluster", NOBODY)
    assert "no Dask scheduler answers" in line
