"""Waiting for what another process does."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path


def wait_for(condition, seconds=60.0):
    """Look until a condition holds; its value then."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return value


def n_plays(journal: Path) -> int:
    """How many plays a journal holds that another process may be writing; 0 if there is none."""
    try:
        with closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM plays").fetchone()[0])
    except sqlite3.Error:
        return 0
