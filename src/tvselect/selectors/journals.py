"""The journals of a fit: one in memory, and one on disk where it is asked for."""

from __future__ import annotations

import warnings
from numbers import Integral
from pathlib import Path

from tvselect.bandit.journal import Header, JournalError, MemoryJournal, SqliteJournal
from tvselect.bandit.journal.base import START_ANEW

WIDEST = 10**6


def begin_journals(
    header: Header,
    path: str | Path | None,
    memory: MemoryJournal,
    random_state: object,
    *,
    any_window: bool = True,
) -> tuple[MemoryJournal, SqliteJournal | None, int]:
    """Begin, or go on with, the journals of a run.

    Plays that an earlier run left on disk are in the memory journal afterwards. A run that
    was begun with another window is gone on with only where ``any_window`` will do.

    Returns
    -------
    memory, disk, entropy
        The journals, and the seed that the run has to take: that of the journal.
    """
    if path is None:
        stored = memory.begin(header)
        _compare_windows(stored, header, "warm_start", any_window)
        return memory, None, stored.entropy
    disk = SqliteJournal(path)
    try:
        stored = disk.begin(header)
        _compare_windows(stored, header, disk.name, any_window)
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
            stacklevel=5,
        )
    return memory, disk, stored.entropy


def stored_window(memory: MemoryJournal) -> int:
    """The window that a run was begun with."""
    assert memory.header is not None
    return _window_of(memory.header, memory.name)


def _window_of(header: Header, name: str) -> int:
    window = header.settings.get("window", 1)
    if type(window) is not int or not 1 <= window <= WIDEST:
        raise JournalError(f"{name} has a window of {window!r}; {START_ANEW}")
    return window


def _compare_windows(stored: Header, header: Header, name: str, any_window: bool) -> None:
    was, now = _window_of(stored, name), _window_of(header, name)
    if was != now and not any_window:
        raise JournalError(
            f"{name}: the run was begun with window={was}, which its numbers depend on, not "
            f"{now}; go on with window={was} or 'auto', or start anew"
        )
