"""A journal that is cut off: in its log, as a killed writer leaves it, and in the file itself.

The log of a run that was killed is cut at every byte of its last record: the journal opens, and
that play alone is lost. A file without a log holds the plays of a run that ended; cut off anywhere
it is refused, as a part of it is lost.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.bandit.plays import assert_holds, write
from tests.bandit.test_journal_damage import FRAME, PAGE, lay, refuse, write_and_leave
from tvselect.bandit.journal import Journal

FRAME_HEADER, N_PLAYS = 24, 3


@pytest.fixture
def path():
    """In memory where there is such a folder: journals are opened thousands of times."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name) / "run.journal"


@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.long)])
def test_without_its_last_record_a_log_holds_the_plays_before(step, path, record_result):
    """Every byte around the frames of the record and some, or all, inside."""
    content, log, ends = write_and_leave(path, N_PLAYS)
    start, end = ends[-2:]
    edges = range(start, end, FRAME)
    cuts = {cut for edge in edges for cut in range(edge, edge + FRAME_HEADER + 3)}
    for cut in sorted(cuts | {*range(start, end, step), *range(end - 8, end)}):
        lay(path, content, log[:cut])
        with Journal(path) as journal:
            assert_holds(journal, N_PLAYS - 1)
    if step == 1:
        record_result("Truncated", "log", f"{end - start} cuts: one play lost, each time")


def test_a_file_that_is_cut_off_is_refused_and_left_as_it_is(path):
    """At every byte around its pages, and here and there inside."""
    write(path, N_PLAYS)
    content = path.read_bytes()
    pages = range(PAGE, len(content) + 1, PAGE)
    cuts = {cut for page in pages for cut in range(page - 50, page + 50)}
    cuts |= {*range(1, 150), *range(1, len(content), 331)}
    for cut in sorted(cut for cut in cuts if cut < len(content)):
        path.write_bytes(content[:cut])
        refuse(path, r"run\.journal' is .*; \w+")
        assert os.listdir(path.parent) == [path.name]
