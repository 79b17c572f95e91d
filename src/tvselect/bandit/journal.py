"""The journal: the log of plays, in a SQLite file or in memory.

Counts, paths and resumed runs are read from it. What was appended to a file survives ``kill -9``.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.chain import Play
from tvselect.records import RecordError, parse_json, read_record, to_json

APPLICATION_ID = int.from_bytes(b"TVSJ")
FORMAT = 1
SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE header (id INTEGER PRIMARY KEY, json TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE plays (chain INTEGER, number INTEGER, arms BLOB NOT NULL, rewards BLOB NOT NULL,
  seconds REAL NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (chain, number));
CREATE TABLE kept (name TEXT PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL);
"""
TABLES = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
ROWS = (
    "SELECT number, arms, rewards, seconds, crc FROM plays WHERE chain = ? AND number >= ? "
    "ORDER BY number LIMIT 256"
)
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
    sqlite3.SQLITE_MISUSE: "open it again",
    sqlite3.SQLITE_READONLY: MAKE_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: MAKE_WRITABLE,
}

Row = tuple[int, int, bytes, bytes, float, int]
"""Chain, number, arms as little-endian int32, rewards as bits, seconds, checksum of all."""


class JournalError(ValueError):
    """A journal that cannot be read, written or continued; says which and what to do."""


@dataclass(frozen=True)
class Header:
    """What a journal was written for."""

    fingerprint: str  #: Hash of the data and of the settings
    entropy: int  #: Seed of the run
    n_arms: int
    n_chains: int
    window: int  #: Most plays that are chosen from one state of the arms
    version: str  #: Of the package


class Journal:
    """A log of the plays of one or more chains, with a header and a few named blobs.

    Everything has a checksum, and damage is refused. The write-ahead log of a file is not synced at
    every play: after a power failure the last plays may be missing, and are played again. One run
    may write, others read. A path must be new, empty or a journal; without one it is in memory.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.header: Header | None = None  #: What it was written for, once begun
        self.name = "journal"
        self._path: Path | None = None
        if path is None:
            self._db = _open()
            return
        self.name = f"journal {os.fspath(path)!r}"
        file = Path(os.path.realpath(path))
        with self._errors():
            if not self._holds_journal(file):
                self._create(file)
            self._db = _open(file, "mode=rw")
            try:
                self._db.execute("PRAGMA synchronous = NORMAL")
                self.header = self._stored_header()
            except BaseException:
                self._db.close()
                raise
        self._path = file

    @property
    def is_durable(self) -> bool:
        """Whether plays outlive the process."""
        return self._path is not None

    def begin(self, header: Header) -> Header:
        """Write the header of a blank journal, or check it; returns the stored one and its seed."""
        if self.header is None:
            text = to_json(header)
            self._query("INSERT INTO header VALUES (0, ?, ?)", text, zlib.crc32(text.encode()))
            self.header = header
        changes = [
            f"{name} was {str(was)[:100]}, is {now}"
            for name in ("fingerprint", "n_arms", "n_chains")
            if (was := getattr(self.header, name)) != (now := getattr(header, name))
        ]
        if changes:
            raise self._error(
                f"was written for another data set or other settings ({'; '.join(changes)})",
                "go back to those, or choose another path",
            )
        return self.header

    def attach(self, path: str | os.PathLike[str], header: Header) -> Header:
        """Go on in a file, which holds no fewer plays, until :meth:`close`; returns its header."""
        file = Journal(path)
        try:
            stored = file.begin(header)
            for chain in range(stored.n_chains):
                n, n_there = self.n_plays(chain), file.n_plays(chain)
                if n not in (0, n_there):
                    what = f"holds {n_there} plays of chain {chain}: this run has made {n}"
                    raise file._error(what, ONE_WRITER)
                for _ in file.plays(chain, n):
                    pass  # so that damage is found now, not after hours of play
        except BaseException:
            file._db.close()
            raise
        self.header, self.name, self._path = stored, file.name, file._path
        self._db, file._db = file._db, self._db
        return stored

    def close(self) -> None:
        """Close the file, its write-ahead log moved into it; the plays stay readable."""
        if self._path is None:
            return
        with self._errors(), closing(self._db):
            memory = _copy(self._db)
        self._db, self._path = memory, None

    def n_plays(self, chain: int = 0) -> int:
        """Number of plays of a chain."""
        query = "SELECT coalesce(max(number), -1) + 1 FROM plays WHERE chain = ?"
        return int(self._query(query, int(chain))[0][0])

    def plays(self, chain: int = 0, start: int = 0) -> Iterator[Play]:
        """Plays of a chain in order, from a number on."""
        number, end = max(start, 0), self.n_plays(chain)
        while number < end:
            for row in self._query(ROWS, int(chain), number) or [()]:
                play = unpack((chain, *row), self.header) if row[:1] == (number,) else None
                if play is None:
                    raise self._error(f"is damaged at play {number} of chain {chain}", START_ANEW)
                yield play
                number += 1

    def append(self, plays: Sequence[Play], blobs: Mapping[str, bytes] | None = None) -> None:
        """Add plays (one without arms is a skipped batch) and blobs to keep, all or none.

        Blobs take the place of earlier ones, and last as plays do.
        """
        if self._path is not None and self.header is None:
            raise self._error("has no header", "call begin first")
        rows: list[Row] = []
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
            rows.append(pack(play))
            held[chain] = number + 1
        kept = [
            (name, blob := bytes(given), _checksum_of_kept(name, blob))
            for name, given in (blobs or {}).items()
        ]
        with self._errors(), self._db:  # commits, or rolls back what fails or is interrupted
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO plays VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", kept)

    def keep(self, name: str, blob: bytes) -> None:
        """Store a blob next to the plays."""
        self.append([], {name: blob})

    def kept(self, name: str, read: Callable[[bytes], Any] = bytes) -> Any:
        """What is kept under a name, None if nothing is; ``read`` makes it of bytes if they fit."""
        for blob, crc in self._query("SELECT value, crc FROM kept WHERE name = ?", name):
            if not isinstance(blob, bytes) or crc != _checksum_of_kept(name, blob):
                raise self.damaged_at(name)
            try:
                return read(blob)
            except ValueError as error:
                raise self.damaged_at(name) from error
        return None

    def damaged_at(self, name: str) -> JournalError:
        """The error for a blob that is kept, but is not what it should be."""
        what = f"is damaged at {name!r}, which it keeps, or of another version"
        return self._error(what, f"{START_ANEW}, or use the version that wrote it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_db"):
            self._db.close()

    def __getstate__(self) -> dict[str, Any]:
        image = bytearray(_copy(self._db).serialize())
        image[18:20] = b"\1\1"  # memory has no write-ahead log
        return {"header": self.header, "image": bytes(image)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy is in memory, whatever it was made of."""
        self.__init__()  # type: ignore[misc]
        self.header = state["header"]
        self._db.deserialize(state["image"])

    def _query(self, statement: str, *values: object) -> list[Any]:
        with self._errors():
            return self._db.execute(statement, values).fetchall()

    def _error(self, what: str, remedy: str) -> JournalError:
        return JournalError(f"{self.name} {what}; {remedy}")

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
        with suppress(RecordError, UnicodeDecodeError):
            header = read_record(Header, parse_json(text.decode()))
            counts = header.n_arms, header.n_chains, header.window
            if header.entropy >= 0 and min(counts) >= 1:
                return header
        remedy = f"use the version of tvselect that wrote it; else {START_ANEW}"
        raise self._error("is damaged in its header, or of another version", remedy)

    def _holds_journal(self, path: Path) -> bool:
        """Whether there is a journal; what is not an intact one is refused, by reading only."""
        for suffix in ("-wal", "-shm"):
            beside = _beside(path, suffix)
            # SQLite would write through a link, and wait for a pipe.
            if beside.is_symlink() or (beside.exists() and not beside.is_file()):
                raise self._error(f"has a {suffix} file that is none", "remove that one")
        with suppress(FileNotFoundError, NotADirectoryError):
            undo = _beside(path, "-journal")
            # Of another mode than ours: SQLite would wait for a pipe, and undo what a file says. A
            # run that is just making the journal has one that begins with 0: nothing to undo.
            if not stat.S_ISREG(undo.lstat().st_mode) or undo.read_bytes()[:1] > b"\0":
                raise self._error("has a -journal file, which no run has made", "remove that one")
        if not path.exists():
            return False
        if not path.is_file():
            raise self._error("is not a file", "choose another path")
        if not (os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK)):
            raise self._error("is read-only, or its folder is", MAKE_WRITABLE)
        log = _log_of(path)  # before the file: another run may be making both
        with path.open("rb") as file:
            head = file.read(100)
            size = os.fstat(file.fileno()).st_size
        if not head and log:
            raise self._error("is empty, but its -wal file is not", START_ANEW)
        if not head:  # left by a run that was killed as it made the file
            return False
        if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION_ID:
            raise self._error("is not a journal of tvselect", "choose another path")
        if (found := int.from_bytes(head[60:64])) != FORMAT:
            raise self._error(f"has format {found}, this is for format {FORMAT}", "update tvselect")
        page_size, n_pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
        # While another run writes, what is read may be half of one log and half of the next.
        if hides_plays(log, page_size) and log == _log_of(path):
            raise self._error(
                "has a damaged -wal file with plays in it",
                "restore a copy of both files, or move the -wal file away and run again: what was "
                "played since the last checkpoint is played again, to the same end",
            )
        if not log and size < page_size * n_pages:
            what = "is cut off, unless another run is just making it"
            raise self._error(what, f"run again; if it stays so, {START_ANEW}")
        with closing(_open(path, "mode=ro" if log else "mode=ro&immutable=1")) as db:
            # First the tables: a view, trigger or index of others could run code of theirs.
            if db.execute(TABLES).fetchall() != _tables():
                raise self._error("is not a journal of tvselect", "choose another path")
            if db.execute("PRAGMA integrity_check(1)").fetchone() != (b"ok",):
                raise self._error("is damaged", START_ANEW)
        return True

    def _create(self, path: Path) -> None:
        if not path.parent.is_dir():
            raise self._error("is to be in a folder that does not exist", "make the folder first")
        if not os.access(path.parent, os.W_OK):
            raise self._error("is to be in a read-only folder", MAKE_WRITABLE)
        with closing(_open()) as db:
            image = bytearray(db.serialize())
        image[18:20] = b"\2\2"  # a file in WAL mode from its first byte on
        with path.open("ab") as file, closing(_open(path, "mode=rw")) as db:
            db.execute("BEGIN EXCLUSIVE")  # of runs that start at the same time one writes
            if os.fstat(file.fileno()).st_size > 0:
                return
            try:
                # The log of a journal that was deleted would be replayed into this one.
                _beside(path, "-wal").unlink(missing_ok=True)
                _beside(path, "-shm").unlink(missing_ok=True)
                file.write(image)
                file.flush()
            except BaseException:
                path.unlink()
                raise


def pack(play: Play) -> Row:
    """A play as it is stored."""
    chain, number, seconds = int(play.chain), int(play.number), float(play.seconds)
    arms = play.arms.astype("<i4").tobytes()
    rewards = np.packbits(play.rewards).tobytes()
    return chain, number, arms, rewards, seconds, checksum(chain, number, arms, rewards, seconds)


def unpack(row: tuple[Any, ...], header: Header | None) -> Play | None:
    """The play of a stored row, None if it is damaged."""
    chain, number, arms, rewards, seconds, crc = row
    if [type(value) for value in row[2:]] != [bytes, bytes, float, int]:
        return None
    if crc != checksum(chain, number, arms, rewards, seconds) or not isfinite(seconds):
        return None
    n_arms, rest = divmod(len(arms), 4)
    if rest or len(rewards) != -(-n_arms // 8):
        return None
    played = np.frombuffer(arms, dtype="<i4").astype(np.int32, copy=False)
    bits = np.unpackbits(np.frombuffer(rewards, dtype=np.uint8), count=n_arms).view(np.bool_)
    is_sound = _is_sound(played, bits, header)
    return Play(number, played, bits, seconds, int(chain)) if is_sound else None


def checksum(chain: int, number: int, arms: bytes, rewards: bytes, seconds: float) -> int:
    """The checksum of a play."""
    head = struct.pack("<qqqd", chain, number, len(arms), seconds)
    return zlib.crc32(rewards, zlib.crc32(arms, zlib.crc32(head)))


def _checksum_of_kept(name: str, blob: bytes) -> int:
    return zlib.crc32(blob, zlib.crc32(name.encode()))


def _is_sound(arms: NDArray[Any], rewards: NDArray[Any], header: Header | None) -> bool:
    """Whether arms increase, exist and have one reward each."""
    n_arms = 2**31 if header is None else header.n_arms
    inside = arms.size == 0 or (arms[0] >= 0 and arms[-1] < n_arms)
    return bool(arms.shape == rewards.shape and inside and (arms[1:] > arms[:-1]).all())


def _copy(db: sqlite3.Connection) -> sqlite3.Connection:
    memory = _open()
    db.backup(memory)
    return memory


def _open(path: Path | None = None, mode: str = "") -> sqlite3.Connection:
    """A file, or a new journal in memory."""
    where = f"{path.as_uri()}?{mode}" if path else ":memory:"
    # A fitted selector may be read in another thread than it was fitted in.
    db = sqlite3.connect(
        where, SECONDS_TO_WAIT, uri=True, isolation_level=None, check_same_thread=False
    )
    db.text_factory = bytes
    if path is None:
        db.executescript(SCHEMA)
    return db


@cache
def _tables() -> list[tuple[Any, ...]]:
    """The tables of a journal, as SQLite lists them."""
    with closing(_open()) as db:
        return db.execute(TABLES).fetchall()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _log_of(path: Path) -> bytes:
    try:
        return _beside(path, "-wal").read_bytes()
    except FileNotFoundError:
        return b""


def hides_plays(log: bytes, page_size: int) -> bool:
    """Whether an intact commit lies behind damage in a write-ahead log of SQLite.

    SQLite reads up to the first frame with a wrong checksum. A killed writer leaves only its last
    frames unfinished; an intact commit further on was damaged later, and its plays would be lost.
    """
    size = 24 + page_size  # a frame: its head and a page
    n_frames = (len(log) - 32) // size
    # Of another size of pages the file is damaged: SQLite will say so.
    if n_frames < 1 or page_size not in {2**k for k in range(9, 16)}:
        return False
    head = np.frombuffer(log, ">u4", 8).astype(np.uint32)
    words = "=u4"  # checksums are made in the byte order of the machine
    frames = np.frombuffer(log, np.uint8, n_frames * size, 32).reshape(n_frames, size)
    about = frames[:, :24].copy().view(">u4").astype(np.uint32)
    content = np.delete(frames, np.s_[8:24], axis=1).view(words)
    salts, sums = about[:, 2:4], about[:, 4:]
    fits = (_wal_checksums(np.vstack([head[6:], sums[:-1]]), content) == sums).all(axis=1)
    n_read = 0
    head_content = np.frombuffer(log[:24], words)[None, :]
    if (_wal_checksums(np.zeros((1, 2), np.uint32), head_content) == head[6:]).all():
        fits &= (salts == head[4:6]).all(axis=1)  # others remain of an earlier log
        n_read = n_frames if fits.all() else int(fits.argmin())
    is_commit = about[:, 1] > 0
    return bool((fits & is_commit)[n_read:].any())


def _wal_checksums(start: NDArray[np.uint32], content: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """SQLite's checksum of every row, each from a start of its own."""
    one, two = start[:, 0].copy(), start[:, 1].copy()
    for even, odd in content.T.copy().reshape(-1, 2, len(content)):
        one += even + two
        two += odd + one
    return np.column_stack([one, two])
