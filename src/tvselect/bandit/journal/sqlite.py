"""The journal in a SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from tvselect.bandit.journal.base import ONE_WRITER, START_ANEW, Header, Journal, Record
from tvselect.bandit.journal.log import hides_plays

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
SECONDS_TO_WAIT = 5.0
WITHOUT_LOG = (
    "restore a copy of both files, or move the -wal file away and run again: what was played "
    "since the last checkpoint is played again, to the same end"
)
LOOK_AGAIN = f"run again; if it stays so, {START_ANEW}"
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


class SqliteJournal(Journal):
    """A journal in a SQLite file; what was appended survives ``kill -9``.

    The write-ahead log is not forced to the disk at every play: when the power fails the last
    few plays may be missing, and a resumed run plays them again. Damage inside the log is refused:
    SQLite would leave out what comes after it. One run may write, others read.

    Parameters
    ----------
    path : path-like
        A new or empty file, or a journal to go on with. Anything else is refused and left
        untouched.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SqliteJournal(f"{folder}/run.journal") as journal:
    ...         header = journal.begin(Header("4f1c", 7, 5, 1, 1, "1"))
    ...     with SqliteJournal(f"{folder}/run.journal") as journal:
    ...         journal.begin(Header("4f1c", 8, 5, 1, 1, "1")).entropy
    7
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(os.path.realpath(path))
        self.name = f"journal {os.fspath(path)!r}"
        with self._errors():
            if not self._look():
                self._create()
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

    def _look(self) -> bool:
        """Whether there is a journal; what is not an intact one is refused, by reading only."""
        for suffix in ("-wal", "-shm"):
            beside = self._beside(suffix)
            # SQLite would write through a link, and wait for a pipe.
            if beside.is_symlink() or (beside.exists() and not beside.is_file()):
                raise self._error(f"has a {suffix} file that is none", "remove that one")
        with suppress(FileNotFoundError, NotADirectoryError):
            undo = self._beside("-journal")
            # Of another mode than ours: SQLite would wait for a pipe, and undo what a file says. A
            # run that is just making the journal has one that begins with 0: nothing to undo.
            if not stat.S_ISREG(undo.lstat().st_mode) or undo.read_bytes()[:1] > b"\0":
                raise self._error("has a -journal file, which no run has made", "remove that one")
        if not self._path.exists():
            return False
        if not self._path.is_file():
            raise self._error("is not a file", "choose another path")
        if not (os.access(self._path, os.R_OK | os.W_OK) and os.access(self._path.parent, os.W_OK)):
            raise self._error("is read-only, or its folder is", MAKE_WRITABLE)
        log = self._log()  # before the file: another run may be making both
        hot = len(log) > 0
        with self._path.open("rb") as file:
            head = file.read(100)
            size = os.fstat(file.fileno()).st_size
        if not head and hot:
            raise self._error("is empty, but its -wal file is not", START_ANEW)
        if not head:  # left by a run that was killed as it made the file
            return False
        if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION_ID:
            raise self._error("is not a journal of tvselect", "choose another path")
        if (found := int.from_bytes(head[60:64])) != FORMAT:
            raise self._error(f"has format {found}, this is for format {FORMAT}", "update tvselect")
        page_size, n_pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
        # While another run writes, what is read may be half of one log and half of the next.
        if hides_plays(log, page_size) and log == self._log():
            raise self._error("has a damaged -wal file with plays in it", WITHOUT_LOG)
        if not hot and size < page_size * n_pages:
            raise self._error("is cut off, unless another run is just making it", LOOK_AGAIN)
        with closing(self._connect("mode=ro" if hot else "mode=ro&immutable=1")) as db:
            # First the tables: a view, trigger or index of others could run code of theirs.
            if db.execute(TABLES).fetchall() != _tables():
                raise self._error("is not a journal of tvselect", "choose another path")
            if db.execute("PRAGMA integrity_check(1)").fetchone() != (b"ok",):
                raise self._error("is damaged", START_ANEW)
        return True

    def _log(self) -> bytes:
        try:
            return self._beside("-wal").read_bytes()
        except FileNotFoundError:
            return b""

    def _create(self) -> None:
        if not self._path.parent.is_dir():
            raise self._error("is to be in a folder that does not exist", "make the folder first")
        if not os.access(self._path.parent, os.W_OK):
            raise self._error("is to be in a read-only folder", MAKE_WRITABLE)
        with closing(sqlite3.connect(":memory:")) as db:
            db.executescript(SCHEMA)
            image = bytearray(db.serialize())
        image[18:20] = b"\2\2"  # a file in WAL mode from its first byte on
        with self._path.open("ab") as file, closing(self._connect("mode=rw")) as db:
            db.execute("BEGIN EXCLUSIVE")  # of runs that start at the same time one writes
            if os.fstat(file.fileno()).st_size > 0:
                return
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
        header = _read_header(text)
        if header is None:
            what = "is damaged in its header, or of another version"
            remedy = f"use the version of tvselect that wrote it; else {START_ANEW}"
            raise self._error(what, remedy)
        return header

    def _store_header(self, header: Header) -> None:
        text = json.dumps(asdict(header)).encode()
        with self._errors():
            row = (0, text.decode(), zlib.crc32(text))
            self._db.execute("INSERT INTO header VALUES (?, ?, ?)", row)

    def _write(
        self, rows: Sequence[tuple[int, int, Record]], blobs: Mapping[str, tuple[bytes, int]]
    ) -> None:
        self._demand_header()
        values = [(chain, number, *record) for chain, number, record in rows]
        kept = [(name, *blob) for name, blob in blobs.items()]
        with self._errors(), self._db:  # commits, or rolls back what fails or is interrupted
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO plays VALUES (?, ?, ?, ?, ?, ?)", values)
            self._db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", kept)

    def _read(self, chain: int, number: int) -> Record | None:
        with self._errors():
            query = "SELECT arms, rewards, seconds, crc FROM plays WHERE chain = ? AND number = ?"
            row = self._db.execute(query, (int(chain), number)).fetchone()
        return row and Record(*row)

    def _read_kept(self, name: str) -> tuple[bytes, int] | None:
        with self._errors():
            query = "SELECT value, crc FROM kept WHERE name = ?"
            return self._db.execute(query, (name,)).fetchone()

    def _demand_header(self) -> None:
        if self.header is None:
            raise self._error("has no header", "call begin first")


def _read_header(text: bytes) -> Header | None:
    """The header of a text, None if it is none."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    kinds: dict[str, Any] = dict.fromkeys(("entropy", "n_arms", "n_chains", "window"), int)
    kinds |= {"fingerprint": str, "version": str}
    if {n: type(v) for n, v in values.items()} != kinds:
        return None
    header = Header(**values)
    counts = header.n_arms, header.n_chains, header.window
    return header if header.entropy >= 0 and min(counts) >= 1 else None


@cache
def _tables() -> list[tuple[Any, ...]]:
    """The tables of a journal, as SQLite lists them."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.text_factory = bytes
        db.executescript(SCHEMA)
        return db.execute(TABLES).fetchall()
