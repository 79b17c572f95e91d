"""What every journal is: a header, numbered plays with checksums, a few named blobs."""

from __future__ import annotations

import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.play import Play

START_ANEW = "restore a copy, or move it away (and its -wal file) and start anew"
LONGEST = 100
ONE_WRITER = "only one run may write: let the other finish, or choose another path"


class JournalError(ValueError):
    """A journal that cannot be read, written or continued; says which and what to do."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a journal was written for.

    Attributes
    ----------
    fingerprint : str
        Hash of the data and of the settings.
    entropy : int
        Seed of the run.
    window : int
        At most so many plays are chosen from one state of the arms.
    version : str
        Of the package.
    """

    fingerprint: str
    entropy: int
    n_arms: int
    n_chains: int
    window: int
    version: str


class Record(NamedTuple):
    """A play as it is stored: arms as little-endian int32, rewards as bits, a checksum of all."""

    arms: bytes
    rewards: bytes
    seconds: float
    crc: int


class Journal(ABC):
    """A log of the plays of one or more chains.

    Examples
    --------
    >>> from tvselect.bandit.journal import MemoryJournal
    >>> journal = MemoryJournal()
    >>> header = journal.begin(Header("4f1c", 7, n_arms=5, n_chains=1, window=1, version="1"))
    >>> journal.append([Play(0, np.array([2, 4], np.int32), np.array([True, False]), 0.1)])
    >>> [(play.number, play.arms.tolist(), play.rewards.tolist()) for play in journal.plays()]
    [(0, [2, 4], [True, False])]
    >>> journal.keep("cuts", b"0.5")
    >>> journal.kept("cuts")
    b'0.5'
    """

    header: Header | None = None
    name: str = "journal"

    @property
    def is_durable(self) -> bool:
        """Whether plays outlive the process."""
        return True

    @abstractmethod
    def n_plays(self, chain: int = 0) -> int:
        """Number of plays of a chain."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file, if there is one."""

    @abstractmethod
    def _store_header(self, header: Header) -> None: ...

    @abstractmethod
    def _write(
        self, rows: Sequence[tuple[int, int, Record]], blobs: Mapping[str, tuple[bytes, int]]
    ) -> None:
        """Store records with their chain and number, and blobs with their checksum: all or none."""

    @abstractmethod
    def _read(self, chain: int, number: int) -> Record | None: ...

    @abstractmethod
    def _read_kept(self, name: str) -> tuple[bytes, int] | None: ...

    def begin(self, header: Header) -> Header:
        """Dedicate a blank journal, or check that a used one was written for the same search.

        Returns
        -------
        Header
            The stored one: a resumed run takes its seed from it.
        """
        if self.header is None:
            self._store_header(header)
            self.header = header
        changes = [
            f"{name} was {_short(was)}, is {now}"
            for name in ("fingerprint", "n_arms", "n_chains")
            if (was := getattr(self.header, name)) != (now := getattr(header, name))
        ]
        if changes:
            raise self._error(
                f"was written for another data set or other settings ({'; '.join(changes)})",
                "go back to those, or choose another path",
            )
        return self.header

    def append(self, plays: Sequence[Play], keep: Mapping[str, bytes] | None = None) -> None:
        """Add the next plays of some chains, all or none; when this returns, they last.

        A play without arms is legal: it stands for a batch that was skipped.

        Parameters
        ----------
        keep : mapping of name to bytes, optional
            Blobs to keep with the plays, if these are added.
        """
        rows: list[tuple[int, int, Record]] = []
        held: dict[int, int] = {}
        for play in plays:
            chain = int(play.chain)
            if chain < 0 or (self.header is not None and chain >= self.header.n_chains):
                raise ValueError(f"{self.name} has no chain {chain}")
            if not (_is_sound(play.arms, play.rewards, self.header) and isfinite(play.seconds)):
                raise ValueError(f"arms, rewards or seconds of play {play.number} make no sense")
            number = held[chain] if chain in held else self.n_plays(chain)
            if play.number != number:
                what = f"holds {number} plays of chain {chain}: the next is not play {play.number}"
                raise self._error(what, ONE_WRITER)
            rows.append((chain, number, pack(play)))
            held[chain] = number + 1
        self._write(rows, _with_checksums(keep or {}))

    def settle(self) -> None:  # noqa: B027
        """Mend what an interrupt in the midst of :meth:`append` may have left half done."""

    def plays(self, chain: int = 0, start: int = 0) -> Iterator[Play]:
        """Plays of a chain in order, from a number on."""
        for number in range(max(start, 0), self.n_plays(chain)):
            record = self._read(chain, number)
            play = record and _unpack(chain, number, record, self.header)
            if play is None:
                raise self._error(f"is damaged at play {number} of chain {chain}", START_ANEW)
            yield play

    def keep(self, name: str, blob: bytes) -> None:
        """Store a blob next to the plays, in place of an earlier one; it lasts as they do."""
        self._write([], _with_checksums({name: blob}))

    def kept(self, name: str) -> bytes | None:
        """The blob that is kept under a name, None if there is none."""
        found = self._read_kept(name)
        if found is None:
            return None
        blob, crc = found
        if not isinstance(blob, bytes) or crc != _checksum_of_kept(name, blob):
            raise self.damaged_at(name)
        return blob

    def damaged_at(self, name: str) -> JournalError:
        """The error for a blob that is kept, but is not what it should be."""
        what = f"is damaged at {name!r}, which it keeps, or of another version"
        return self._error(what, f"{START_ANEW}, or use the version that wrote it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _error(self, what: str, remedy: str) -> JournalError:
        return JournalError(f"{self.name} {what}; {remedy}")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _is_sound(arms: NDArray[Any], rewards: NDArray[Any], header: Header | None) -> bool:
    """Whether arms increase, exist and have one reward each."""
    n_arms = 2**31 if header is None else header.n_arms
    inside = arms.size == 0 or (arms[0] >= 0 and arms[-1] < n_arms)
    return bool(arms.shape == rewards.shape and inside and (arms[1:] > arms[:-1]).all())


def _checksum(chain: int, number: int, arms: bytes, rewards: bytes, seconds: float) -> int:
    head = struct.pack("<qqqd", chain, number, len(arms), seconds)
    return zlib.crc32(rewards, zlib.crc32(arms, zlib.crc32(head)))


def _checksum_of_kept(name: str, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(name.encode()))


def _with_checksums(blobs: Mapping[str, bytes]) -> dict[str, tuple[bytes, int]]:
    return {
        name: (bytes(blob), _checksum_of_kept(name, bytes(blob))) for name, blob in blobs.items()
    }


def pack(play: Play) -> Record:
    """A play as it is stored."""
    arms = play.arms.astype("<i4").tobytes()
    rewards = np.packbits(play.rewards).tobytes()
    seconds = float(play.seconds)
    return Record(
        arms, rewards, seconds, _checksum(play.chain, play.number, arms, rewards, seconds)
    )


def _unpack(chain: int, number: int, record: Record, header: Header | None) -> Play | None:
    """The play of a record, None if it is damaged."""
    if [type(value) for value in record] != [bytes, bytes, float, int]:
        return None
    if record.crc != _checksum(chain, number, *record[:3]):
        return None
    n_arms, rest = divmod(len(record.arms), 4)
    if rest or len(record.rewards) != -(-n_arms // 8) or not isfinite(record.seconds):
        return None
    play = play_of(chain, number, record)
    return play if _is_sound(play.arms, play.rewards, header) else None


def play_of(chain: int, number: int, record: Record) -> Play:
    """The play of a sound record."""
    arms = np.frombuffer(record.arms, dtype="<i4").astype(np.int32, copy=False)
    bits = np.frombuffer(record.rewards, dtype=np.uint8)
    rewards = np.unpackbits(bits, count=arms.size).view(np.bool_)
    return Play(number, arms, rewards, record.seconds, int(chain))
