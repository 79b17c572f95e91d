"""The journals of a fit: one in memory, and one on disk where it is asked for."""

from __future__ import annotations

import warnings
from numbers import Integral
from pathlib import Path

from tvselect.bandit.journal import Header, MemoryJournal, SqliteJournal


def begin_journals(
    header: Header, path: str | Path | None, memory: MemoryJournal, random_state: object
) -> tuple[MemoryJournal, SqliteJournal | None, int]:
    """Begin, or go on with, the journals of a run.

    Plays that an earlier run left on disk are in the memory journal afterwards.

    Returns
    -------
    memory, disk, entropy
        The journals, and the seed that the run has to take: that of the journal.
    """
    if path is None:
        return memory, None, memory.begin(header).entropy
    disk = SqliteJournal(path)
    try:
        stored = disk.begin(header)
        memory = MemoryJournal()
        memory.begin(stored)
        for chain in range(stored.n_chains):
            for play in disk.plays(chain):
                memory.append(chain, play)
    except BaseException:
        disk.close()
        raise
    if isinstance(random_state, Integral) and stored.entropy != header.entropy:
        warnings.warn(
            f"{disk.name} was begun with another random_state; the run goes on with that one",
            RuntimeWarning,
            stacklevel=4,
        )
    return memory, disk, stored.entropy
