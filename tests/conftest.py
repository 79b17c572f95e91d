"""Shared by all tests: the record of long checks, a small cluster."""

from __future__ import annotations

import datetime

import pytest

from benchmarks.records import ROOT, commit, heading

RESULTS = ROOT / "docs" / "results" / "exactness.md"
COLUMNS = "| check | case | finding | date | commit |"
collect_ignore = ["typed_script.py"]
_rows: list[tuple[str, str, str]] = []


@pytest.fixture
def record_result():
    """Call with (check, case, finding); written to docs/results when the session ends."""
    return lambda check, case, finding: _rows.append((check, case, finding))


def pytest_sessionstart(session):
    """Compile what tests need of the core's inside before workers start, once for all of them."""
    has_workers = getattr(session.config.option, "numprocesses", None)
    if has_workers and not hasattr(session.config, "workerinput"):
        from tests.core import probes

        probes.build()


def pytest_sessionfinish(session, exitstatus):
    """Write the findings of this session over those of the same checks and cases."""
    if not _rows or hasattr(session.config, "workerinput"):
        return
    kept = {}
    if RESULTS.exists():
        _, _, table = RESULTS.read_text().partition(COLUMNS)
        kept = {tuple(line.split(" | ")[:2]): line for line in table.splitlines()[2:] if line}
    for row in _rows:
        line = f"| {' | '.join(row)} | {datetime.date.today()} | {commit()} |"
        kept[tuple(line.split(" | ")[:2])] = line
    passed = "all passed" if exitstatus == 0 else "NOT all passed"
    lines = [
        *heading("Long checks: exactness, regret, killed runs", "make check-long"),
        f"Checks of the last session: {passed}.",
        "",
        COLUMNS,
        "|---|---|---|---|---|",
        *(kept[key] for key in sorted(kept)),
        "",
    ]
    RESULTS.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def cluster():
    """Two Dask worker processes of one thread each."""
    distributed = pytest.importorskip("distributed", reason="needs dask")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of them, and two workers again when a test has lost one."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client
