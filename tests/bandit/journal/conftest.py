from __future__ import annotations

import pytest

from tvselect.bandit.journal import MemoryJournal, SqliteJournal


@pytest.fixture(params=["memory", "sqlite"])
def journal(request, tmp_path):
    made = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "a.journal")
    with made:
        yield made
