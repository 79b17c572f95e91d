"""The journal in memory, which may mirror one on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from tvselect.bandit.journal.base import (
    ONE_WRITER,
    Header,
    Journal,
    JournalError,
    Record,
    pack,
    play_of,
)
from tvselect.bandit.play import Play

Writing = tuple[Sequence[tuple[int, int, Record]], Mapping[str, tuple[bytes, int]]]
NOTHING: Writing = ((), {})


class MemoryJournal(Journal):
    """A journal that goes with the process; four bytes and a bit for each played arm.

    With a journal on disk attached it is the mirror of that one: every write goes to the disk
    first, so that what the memory holds outlives the process, and is read from memory.
    """

    def __init__(self) -> None:
        self._records: dict[int, list[Record]] = {}
        self._blobs: dict[str, tuple[bytes, int]] = {}
        self._disk: Journal | None = None
        self._writing = NOTHING

    def attach(self, disk: Journal, header: Header) -> Header:
        """Mirror a journal on disk until this one is closed.

        An empty journal takes over the plays that the disk holds; one with plays must hold
        as many.

        Returns
        -------
        Header
            The stored one.
        """
        try:
            stored = disk.begin(header)
            for chain in range(stored.n_chains):
                n, n_there = self.n_plays(chain), disk.n_plays(chain)
                if n not in (0, n_there):
                    what = f"holds {n_there} plays of chain {chain}: this run has made {n}"
                    raise disk._error(what, ONE_WRITER)
                missing = disk.plays(chain, n)
                self._remember([(chain, play.number, pack(play)) for play in missing], {})
            self.header, self.name, self._disk = stored, disk.name, disk
        except BaseException:
            self._disk = None
            disk.close()
            raise
        return stored

    @property
    def is_durable(self) -> bool:
        """Whether a journal on disk is attached."""
        return self._disk is not None

    def n_plays(self, chain: int = 0) -> int:
        """Number of plays of a chain."""
        return len(self._records.get(chain, ()))

    def plays(self, chain: int = 0, start: int = 0) -> Iterator[Play]:
        """Plays of a chain in order, from a number on; they were checked on their way in."""
        for number in range(max(start, 0), self.n_plays(chain)):
            yield play_of(chain, number, self._records[chain][number])

    def settle(self) -> None:
        """Remember plays that an interrupt has left on the disk only."""
        (rows, blobs), self._writing = self._writing, NOTHING
        with suppress(JournalError):  # the next write says what is wrong
            disk, missing = self._disk, [row for row in rows if row[1] >= self.n_plays(row[0])]
            if disk is not None and all(disk._read(*row[:2]) == row[2] for row in missing):
                self._remember(missing, blobs)

    def close(self) -> None:
        """Let go of the disk: the plays stay readable."""
        disk, self._disk = self._disk, None
        if disk is not None:
            disk.close()

    def _store_header(self, header: Header) -> None:
        pass

    def _write(
        self, rows: Sequence[tuple[int, int, Record]], blobs: Mapping[str, tuple[bytes, int]]
    ) -> None:
        if self._disk is not None:
            self._writing = rows, blobs
            self._disk._write(rows, blobs)
        self._remember(rows, blobs)
        self._writing = NOTHING

    def _remember(
        self, rows: Sequence[tuple[int, int, Record]], blobs: Mapping[str, tuple[bytes, int]]
    ) -> None:
        self._blobs.update(blobs)
        lists = [self._records.setdefault(chain, []) for chain, _, _ in rows]
        # Not a loop but one call: Ctrl-C comes before or after, so all are added or none.
        any(map(list.append, lists, [record for _, _, record in rows]))

    def _read(self, chain: int, number: int) -> Record:
        return self._records[chain][number]

    def _read_kept(self, name: str) -> tuple[bytes, int] | None:
        if name not in self._blobs and self._disk is not None:
            return self._disk._read_kept(name)
        return self._blobs.get(name)
