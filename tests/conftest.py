"""Shared by all tests: the record of long checks."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "exactness.md"
_rows: list[tuple[str, str, str]] = []


@pytest.fixture
def record_result():
    """Call with (check, case, finding); written to docs/results when the session ends."""
    return lambda check, case, finding: _rows.append((check, case, finding))


def pytest_sessionfinish(session, exitstatus):
    if not _rows or hasattr(session.config, "workerinput"):
        return
    root = RESULTS.parents[2]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True
    ).stdout.strip()
    lines = [
        "# Exactness at full size",
        "",
        f"Written by `make check-long` on {datetime.date.today()}, commit {commit or 'unknown'}: "
        + ("all passed." if exitstatus == 0 else "NOT all passed."),
        "",
        "| check | case | finding |",
        "|---|---|---|",
        *(f"| {check} | {case} | {finding} |" for check, case, finding in _rows),
        "",
    ]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(lines))
