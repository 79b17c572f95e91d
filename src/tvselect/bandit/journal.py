"""The journal: the log of plays. Counts, trajectories and resumed runs are read from it."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.bandit.play import Play

APPLICATION_ID = int.from_bytes(b"TVSJ")
FORMAT = 1
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE header (id INTEGER PRIMARY KEY, json TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE plays (chain INTEGER, number INTEGER, arms BLOB NOT NULL, rewards BLOB NOT NULL,
  seconds REAL NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (chain, number));
"""
SECONDS_TO_WAIT = 5.0
START_ANEW = "restore a copy, or move it away (and its -wal file) and start anew"
ONE_WRITER = "only one run may write: let the other finish, or choose another path"
RUN_AGAIN = "see to the disk and run again: every play written so far is kept"
MAKE_WRITABLE = "make the file and its folder writable, or choose another path"
REMEDIES = {
    sqlite3.SQLITE_BUSY: ONE_WRITER,
    sqlite3.SQLITE_CONSTRAINT: ONE_WRITER,
    sqlite3.SQLITE_FULL: RUN_AGAIN,
    sqlite3.SQLITE_IOERR: RUN_AGAIN,
    sqlite3.SQLITE_MISUSE: "open it again, in this thread",
    sqlite3.SQLITE_READONLY: MAKE_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: MAKE_WRITABLE,
}


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
    n_arms, n_chains : int
    settings : dict
        For people; goes through JSON.
    version : str
        Of the package.
    """

    fingerprint: str
    entropy: int
    n_arms: int
    n_chains: int
    settings: dict[str, Any]
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
    >>> journal = MemoryJournal()
    >>> header = journal.begin(Header("4f1c", 7, n_arms=5, n_chains=1, settings={}, version="1"))
    >>> journal.append(0, Play(0, np.array([2, 4], np.int32), np.array([True, False]), 0.1))
    >>> [(play.number, play.arms.tolist(), play.rewards.tolist()) for play in journal.plays()]
    [(0, [2, 4], [True, False])]
    """

    header: Header | None = None
    name: str = "journal"

    @abstractmethod
    def n_plays(self, chain: int = 0) -> int:
        """Number of plays of a chain."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file, if there is one."""

    @abstractmethod
    def _store_header(self, header: Header) -> None: ...

    @abstractmethod
    def _write(self, chain: int, number: int, record: Record) -> None: ...

    @abstractmethod
    def _read(self, chain: int, number: int) -> Record | None: ...

    def begin(self, header: Header) -> Header:
        """Dedicate a blank journal, or check that a used one was written for the same game.

        Returns
        -------
        Header
            The stored one: a resumed run takes its seed from it.
        """
        if self.header is None:
            self._store_header(header)
            self.header = header
        changes = [
            f"{name} was {was}, is {now}"
            for name in ("fingerprint", "n_arms", "n_chains")
            if (was := getattr(self.header, name)) != (now := getattr(header, name))
        ]
        if changes:
            raise self._error(
                f"was written for another data set or other settings ({'; '.join(changes)})",
                "go back to those, or choose another path",
            )
        return self.header

    def append(self, chain: int, play: Play) -> None:
        """Add the next play of a chain; when this returns, it outlives the process."""
        if chain < 0 or (self.header is not None and chain >= self.header.n_chains):
            raise ValueError(f"{self.name} has no chain {chain}")
        if not (_is_sound(play.arms, play.rewards, self.header) and isfinite(play.seconds)):
            raise ValueError(f"arms, rewards or seconds of play {play.number} make no sense")
        if play.number != (n_plays := self.n_plays(chain)):
            what = f"holds {n_plays} plays of chain {chain}: the next is not play {play.number}"
            raise self._error(what, ONE_WRITER)
        self._write(int(chain), n_plays, _pack(chain, play))

    def plays(self, chain: int = 0, start: int = 0) -> Iterator[Play]:
        """Plays of a chain in order, from a number on."""
        for number in range(max(start, 0), self.n_plays(chain)):
            record = self._read(chain, number)
            play = record and _unpack(chain, number, record, self.header)
            if play is None:
                raise self._error(f"is damaged at play {number} of chain {chain}", START_ANEW)
            yield play

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _error(self, what: str, remedy: str) -> JournalError:
        return JournalError(f"{self.name} {what}; {remedy}")


class MemoryJournal(Journal):
    """A journal that goes with the process; four bytes and a bit for each played arm."""

    def __init__(self) -> None:
        self._records: dict[int, list[Record]] = {}

    def n_plays(self, chain: int = 0) -> int:
        """Number of plays of a chain."""
        return len(self._records.get(chain, ()))

    def close(self) -> None:
        """Nothing to let go of: the plays stay readable."""

    def _store_header(self, header: Header) -> None:
        pass

    def _write(self, chain: int, number: int, record: Record) -> None:
        self._records.setdefault(chain, []).append(record)

    def _read(self, chain: int, number: int) -> Record:
        return self._records[chain][number]


class SqliteJournal(Journal):
    """A journal in a SQLite file; what was appended survives ``kill -9``.

    The write-ahead log is not forced to the disk at every play: when the power fails the last
    few plays may be missing, and a resumed run plays them again. One run may write, others read.

    Parameters
    ----------
    path : path-like
        A new file, or a journal to go on with. Anything else is refused and left untouched.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SqliteJournal(f"{folder}/run.journal") as journal:
    ...         header = journal.begin(Header("4f1c", 7, 5, 1, {}, "1"))
    ...     with SqliteJournal(f"{folder}/run.journal") as journal:
    ...         journal.begin(Header("4f1c", 8, 5, 1, {}, "1")).entropy
    7
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(os.path.realpath(path))
        self.name = f"journal {os.fspath(path)!r}"
        with self._errors():
            self._look() if self._path.exists() else self._create()
            self._db = self._connect("mode=rw")
            try:
                self._db.execute("PRAGMA synchronous = NORMAL")
                self.header = self._stored_header()
            except BaseException:
                self._db.close()
                raise

    def n_plays(self, chain: int = 0) -> int:
        """Number of plays of a chain."""
        with self._errors():
            query = "SELECT count(*) FROM plays WHERE chain = ?"
            return int(self._db.execute(query, (int(chain),)).fetchone()[0])

    def close(self) -> None:
        """Move the write-ahead log into the file and let go of it."""
        with self._errors():
            self._db.close()

    def _look(self) -> None:
        """Refuse what is not an intact journal, by reading only."""
        if not self._path.is_file():
            raise self._error("is not a file", "choose another path")
        if not (os.access(self._path, os.R_OK | os.W_OK) and os.access(self._path.parent, os.W_OK)):
            raise self._error("is read-only, or its folder is", MAKE_WRITABLE)
        with self._path.open("rb") as file:
            head = file.read(100)
        if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION_ID:
            raise self._error("is not a journal of tvselect", "choose another path")
        if (found := int.from_bytes(head[60:64])) != FORMAT:
            raise self._error(f"has format {found}, this is for format {FORMAT}", "update tvselect")
        wal = self._beside("-wal")
        hot = wal.exists() and wal.stat().st_size > 0
        with closing(self._connect("mode=ro" if hot else "mode=ro&immutable=1")) as db:
            if db.execute("PRAGMA integrity_check(1)").fetchone() != (b"ok",):
                raise self._error("is damaged", START_ANEW)

    def _create(self) -> None:
        if not self._path.parent.is_dir():
            raise self._error("is to be in a folder that does not exist", "make the folder first")
        if not os.access(self._path.parent, os.W_OK):
            raise self._error("is to be in a read-only folder", MAKE_WRITABLE)
        with closing(sqlite3.connect(":memory:")) as db:
            db.executescript(SCHEMA)
            image = bytearray(db.serialize())
        image[18:20] = b"\2\2"  # a file in WAL mode from its first byte on
        with self._path.open("xb") as file:
            try:
                # The log of a journal that was deleted would be replayed into this one.
                self._beside("-wal").unlink(missing_ok=True)
                self._beside("-shm").unlink(missing_ok=True)
                file.write(image)
                file.flush()
            except BaseException:
                self._path.unlink()
                raise

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self._path.as_uri()}?{mode}"
        db = sqlite3.connect(uri, SECONDS_TO_WAIT, uri=True, isolation_level=None)
        db.text_factory = bytes
        return db

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
            raise self._error(f"failed ({error})", REMEDIES.get(code, START_ANEW)) from error
        except UnicodeDecodeError as error:  # of a message that quotes a damaged file
            raise self._error("is damaged", START_ANEW) from error
        except OSError as error:
            raise self._error(f"failed ({error.strerror})", "choose another path") from error

    def _stored_header(self) -> Header | None:
        row = self._db.execute("SELECT json, crc FROM header").fetchone()
        if row is None:
            return None
        text, crc = row
        if not isinstance(text, bytes) or zlib.crc32(text) != crc:
            raise self._error("is damaged in its header", START_ANEW)
        return Header(**json.loads(text))

    def _store_header(self, header: Header) -> None:
        text = json.dumps(asdict(header)).encode()
        with self._errors():
            row = (0, text.decode(), zlib.crc32(text))
            self._db.execute("INSERT INTO header VALUES (?, ?, ?)", row)

    def _write(self, chain: int, number: int, record: Record) -> None:
        if self.header is None:
            raise self._error("has no header", "call begin first")
        with self._errors():
            self._db.execute(
                "INSERT INTO plays VALUES (?, ?, ?, ?, ?, ?)", (chain, number, *record)
            )

    def _read(self, chain: int, number: int) -> Record | None:
        with self._errors():
            query = "SELECT arms, rewards, seconds, crc FROM plays WHERE chain = ? AND number = ?"
            row = self._db.execute(query, (int(chain), number)).fetchone()
        return row and Record(*row)


def fold_counts(
    journal: Journal, n_arms: int, chains: Iterable[int] = (0,)
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Successes and failures of every arm, summed over the plays of some chains."""
    successes, failures = np.zeros((2, n_arms), dtype=np.int64)
    for chain in chains:
        for play in journal.plays(chain):
            successes[play.arms] += play.rewards
            failures[play.arms] += ~play.rewards
    return successes, failures


def trajectories(
    plays: Iterable[Play], arms: ArrayLike, prior_a: ArrayLike = 1.0, prior_b: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """Posterior means of chosen arms: a row before the first play, then one after each.

    Parameters
    ----------
    plays : iterable of Play
    arms : integer array
        In any order.
    prior_a, prior_b : float or one of each chosen arm
        Their Beta prior.

    Examples
    --------
    >>> plays = [Play(0, np.array([2, 4], np.int32), np.array([True, False]), 0.1)]
    >>> trajectories(plays, [4, 0, 2]).round(2)
    array([[0.5 , 0.5 , 0.5 ],
           [0.33, 0.5 , 0.67]])
    """
    wanted = np.asarray(arms, dtype=np.int64)
    a, b = (np.array(np.broadcast_to(p, wanted.shape), np.float64) for p in (prior_a, prior_b))
    means = [a / (a + b)]
    for play in plays:
        if play.arms.size:
            place = np.searchsorted(play.arms, wanted).clip(max=play.arms.size - 1)
            hit = play.arms[place] == wanted
            a += hit & play.rewards[place]
            b += hit & ~play.rewards[place]
        means.append(a / (a + b))
    return np.array(means)


def played_sizes(plays: Iterable[Play]) -> NDArray[np.int64]:
    """Number of arms in each play."""
    return np.array([play.arms.size for play in plays], dtype=np.int64)


def _is_sound(arms: NDArray[Any], rewards: NDArray[Any], header: Header | None) -> bool:
    """Whether arms increase, exist and have one reward each."""
    n_arms = 2**31 if header is None else header.n_arms
    inside = arms.size == 0 or (arms[0] >= 0 and arms[-1] < n_arms)
    return bool(arms.shape == rewards.shape and inside and (arms[1:] > arms[:-1]).all())


def _checksum(chain: int, number: int, arms: bytes, rewards: bytes, seconds: float) -> int:
    head = struct.pack("<qqqd", chain, number, len(arms), seconds)
    return zlib.crc32(rewards, zlib.crc32(arms, zlib.crc32(head)))


def _pack(chain: int, play: Play) -> Record:
    arms = play.arms.astype("<i4").tobytes()
    rewards = np.packbits(play.rewards).tobytes()
    seconds = float(play.seconds)
    return Record(arms, rewards, seconds, _checksum(chain, play.number, arms, rewards, seconds))


def _unpack(chain: int, number: int, record: Record, header: Header | None) -> Play | None:
    """The play of a record, None if it is damaged."""
    if [type(value) for value in record] != [bytes, bytes, float, int]:
        return None
    if record.crc != _checksum(chain, number, *record[:3]):
        return None
    arms = np.frombuffer(record.arms, dtype="<i4").astype(np.int32, copy=False)
    bits = np.frombuffer(record.rewards, dtype=np.uint8)
    rewards = np.unpackbits(bits, count=arms.size).astype(np.bool_)
    if not _is_sound(arms, rewards, header):
        return None
    return Play(number, arms, rewards, record.seconds)
