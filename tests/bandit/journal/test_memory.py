from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pytest

from tests.bandit.journal.plays import assert_holds, make_play
from tvselect.bandit.journal import JournalError, MemoryJournal
from tvselect.bandit.play import Play


def test_a_memory_journal_takes_plays_without_a_header_and_can_be_copied():
    journal = MemoryJournal()
    journal.append([make_play(0, 3)])
    assert_holds(copy.deepcopy(journal), 1, 3)


def test_a_memory_journal_is_small():
    arms = np.arange(0, 1_000_000, 58, dtype=np.int32)
    journal = MemoryJournal()
    tracemalloc.start()
    try:
        for t in range(500):
            journal.append([Play(t, arms, arms % 7 == t % 7, 0.1)])
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(play.arms.size for play in journal.plays()) > 8.5e6
    assert used < 40e6


@pytest.mark.parametrize("damaged", [(b"0.6", 7), (None, 7)])
def test_damage_to_what_a_memory_journal_keeps_is_found(damaged):
    journal = MemoryJournal()
    journal.keep("cuts", b"0.5")
    assert copy.deepcopy(journal).kept("cuts") == b"0.5"
    journal._blobs["cuts"] = damaged
    with pytest.raises(JournalError, match="damaged at 'cuts'"):
        journal.kept("cuts")
