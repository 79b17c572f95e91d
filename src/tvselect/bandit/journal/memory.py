"""The journal in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvselect.bandit.journal.base import Header, Journal, Record


class MemoryJournal(Journal):
    """A journal that goes with the process; four bytes and a bit for each played arm."""

    def __init__(self) -> None:
        self._records: dict[int, list[Record]] = {}
        self._blobs: dict[str, tuple[bytes, int]] = {}

    def n_plays(self, chain: int = 0) -> int:
        """Number of plays of a chain."""
        return len(self._records.get(chain, ()))

    def close(self) -> None:
        """Nothing to let go of: the plays stay readable."""

    def _store_header(self, header: Header) -> None:
        pass

    def _write(
        self, rows: Sequence[tuple[int, int, Record]], blobs: Mapping[str, tuple[bytes, int]]
    ) -> None:
        self._blobs.update(blobs)
        lists = [self._records.setdefault(chain, []) for chain, _, _ in rows]
        # Not a loop but one call: Ctrl-C comes before or after, so all are added or none.
        any(map(list.append, lists, [record for _, _, record in rows]))

    def _read(self, chain: int, number: int) -> Record:
        return self._records[chain][number]

    def _read_kept(self, name: str) -> tuple[bytes, int] | None:
        return self._blobs.get(name)
