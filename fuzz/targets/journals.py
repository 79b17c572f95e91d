"""The journal: its file, and what is in it behind checksums that anyone can compute."""

from __future__ import annotations

import io
import json
import sqlite3
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz.mutation import BYTES, JSON
from fuzz.targets.base import Target
from tvselect.bandit.chain import Play
from tvselect.bandit.journal import Header, Journal, checksum
from tvselect.inputs import OutcomeReader
from tvselect.rewards import LassoReward
from tvselect.selectors.batches import BatchReader, known_batches
from tvselect.selectors.encoding import StreamEncoder
from tvselect.selectors.layout import DecoyKind, lay_out_arms
from tvselect.sources import ArraySource

N_ARMS = 5
HEADER = Header("4f1c", 7, N_ARMS, 2, 1, "0.1.0")
NAME = "run.journal"
HEADS: tuple[tuple[bool, DecoyKind | None], ...] = (
    (True, None), (False, "knockoffs"), (True, "knockoffs"), (True, "shuffled"),
)  # fmt: skip
SQL_TOKENS = (
    b"SQLite format 3\0", b"TVSJ", b"CREATE TABLE ", b"CREATE VIEW ", b"CREATE TRIGGER ", b"plays",
    b"header", b"kept", b"INTEGER PRIMARY KEY", b"\x0d\x00", b"\x05\x00", b"\x0a\x00", b"\x02\x02",
    b"\x01\x01", b"\x10\x00", b"sqlite_sequence", b"\x81\x80\x80\x80\x80\x80\x80\x80\x00",
)  # fmt: skip
ZIP_TOKENS = (
    b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"\x93NUMPY", b"\x01\x00",
    b"\x03\x00", b"'descr'", b"'<f8'", b"'|O'", b"'<U9999999'", b"'fortran_order': True",
    b"'shape': ()", b"'shape': (-1,)", b"'shape': (9999999999999,)", b"(4,)", b"names.npy",
    b"settings.npy", b"\x08\x00", b"\x0c\x00", b"\x0e\x00", b"\x63\x00",
)  # fmt: skip


def some_plays(n: int = 4) -> list[Play]:
    """Plays of a chain."""
    arms = [np.array([0, 2, 4], np.int32), np.array([], np.int32), np.array([1], np.int32)]
    return [Play(i, arms[i % 3], arms[i % 3] % 4 == 0, 0.01) for i in range(n)]


@cache
def sound_journal() -> bytes:
    """The bytes of a small journal."""
    with tempfile.TemporaryDirectory() as folder:
        with Journal(f"{folder}/{NAME}") as journal:
            journal.begin(HEADER)
            journal.append(
                [replace(play, chain=chain) for chain in range(2) for play in some_plays()]
            )
            journal.keep("encoder", sound_heads()[0])
            journal.keep("outcome", b'["gaussian", null]')
            journal.keep("batches", b"4")
        return Path(folder, NAME).read_bytes()


def _wal_seeds() -> list[bytes]:
    """Logs of a run that was killed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, NAME)
        path.write_bytes(sound_journal())
        with Journal(path) as journal:
            journal.append([Play(4, np.array([3], np.int32), np.array([True]), 0.5)])
            log = Path(folder, f"{NAME}-wal").read_bytes()
    return [log, log[: len(log) // 2], b""]


def _read_journal(path: Path) -> None:
    """As a resumed run does, and then as one that never was: every play and blob."""
    with Journal(path) as journal:
        for chain in range(3):
            for play in journal.plays(chain):
                play.arms.sum()
        for name in ("encoder", "outcome", "batches"):
            journal.kept(name)
    with Journal() as mirror:
        mirror.attach(path, HEADER)


def _clean(folder: Path) -> Path:
    for suffix in ("", "-wal", "-shm", "-journal"):
        (folder / f"{NAME}{suffix}").unlink(missing_ok=True)
    return folder / NAME


def read_file(data: bytes, folder: Path) -> None:
    """The file itself."""
    path = _clean(folder)
    path.write_bytes(data)
    _read_journal(path)


def read_log(data: bytes, folder: Path) -> None:
    """The write-ahead log next to a sound file."""
    path = _clean(folder)
    path.write_bytes(sound_journal())
    path.with_name(f"{NAME}-wal").write_bytes(data)
    _read_journal(path)


def _forge(folder: Path, statement: str, values: tuple[object, ...]) -> Path:
    path = _clean(folder)
    path.write_bytes(sound_journal())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute(statement, values)
    return path


def read_header(data: bytes, folder: Path) -> None:
    """A header of any text, with its checksum."""
    text = data.decode("utf-8", "replace")
    crc = zlib.crc32(text.encode())
    _read_journal(_forge(folder, "UPDATE header SET json = ?, crc = ?", (text, crc)))


def read_record(data: bytes, folder: Path) -> None:
    """A play of any bytes, with its checksum: seconds, length of the arms, arms, rewards."""
    data = data.ljust(9, b"\0")
    (seconds,) = struct.unpack("<d", data[:8])
    arms, rewards = data[9 : 9 + data[8]], data[9 + data[8] :]
    crc = checksum(0, 2, arms, rewards, seconds)
    change = "UPDATE plays SET arms = ?, rewards = ?, seconds = ?, crc = ?"
    statement = f"{change} WHERE chain = 0 AND number = 2"
    kept = 0.0 if seconds != seconds else seconds  # SQLite has no NaN
    _read_journal(_forge(folder, statement, (arms, rewards, kept, crc)))


def _record_seeds() -> list[bytes]:
    made = []
    for play in some_plays():
        arms = play.arms.astype("<i4").tobytes()
        bits = np.packbits(play.rewards).tobytes()
        made.append(struct.pack("<d", play.seconds) + bytes([len(arms)]) + arms + bits)
    return made


@cache
def _source(text: bool) -> ArraySource:
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(12, 4)).round(2), columns=list("abcd"))
    if text:
        table["city"] = ["Ulm", "Bonn", None, "Kiel"] * 3
    return ArraySource(table, rng.normal(size=12))


@cache
def sound_heads() -> list[bytes]:
    """Heads with and without text and decoys, full and not."""
    made = []
    for text, decoys in HEADS:
        source = _source(text)
        batch = next(source.batches(12, 0, np.random.default_rng(0)))
        head = StreamEncoder(source.names, source.categorical, decoys=decoys).having_seen(batch)
        made += [head.to_bytes(), replace(head, n_rows=1000, numbers=None, texts=()).to_bytes()]
    return made


def _stream(text: bool, decoys: DecoyKind | None) -> BatchReader:
    source = _source(text)
    layout = lay_out_arms(source.names, n_copies=int(decoys is not None))
    encoder = StreamEncoder(source.names, source.categorical, decoys=decoys)
    return BatchReader(LassoReward(), layout, encoder, OutcomeReader(), decoy_key=1)


def restore(name: str, data: bytes, text: bool, decoys: DecoyKind | None) -> None:
    """Go on with a stream whose journal keeps these bytes, and read a batch by them."""
    stream = _stream(text, decoys)
    journal = Journal()
    journal.keep(name, data)
    stream = stream.restored(journal)
    source = _source(text)
    batch = next(source.batches(5, 0, np.random.default_rng(0)))
    stream.outcomes.read(batch.target(), batch.n_rows)
    encoder = stream.encoder
    # The selector refuses other kinds of columns before it uses a head.
    if encoder.n_rows and (encoder.categorical == source.categorical).all():
        every = np.arange(encoder.n_columns * (1 + (decoys is not None)))
        with np.errstate(all="ignore"):  # odd numbers are allowed to give odd numbers
            encoder.values(batch, every, np.random.default_rng(3))
        cuts = encoder.cuts.take(every % encoder.n_columns, encoder.column_names(every))
        for column in every:
            cuts.of(int(column))


def head_seeds() -> list[bytes]:
    """Heads; the first byte says of which stream."""
    return [bytes([number // 2]) + head for number, head in enumerate(sound_heads())]


def read_head(data: bytes, folder: Path) -> None:
    """The head of a stream."""
    restore("encoder", data[1:], *HEADS[data[0] % len(HEADS) if data else 0])


def change_member(data: bytes, rng: Random, seeds: Any, tokens: Sequence[bytes]) -> bytes:
    """Damage a file inside the archive; its checksum is right again afterwards."""
    files = _members(data[1:])
    if not files:
        return rng.choice(seeds)
    name = rng.choice(sorted(files))
    files[name] = rng.choice(BYTES)(files[name], rng, [*files.values()], tokens)
    return data[:1] + _archive(files)


def change_array(data: bytes, rng: Random, seeds: Any, tokens: Any) -> bytes:
    """Another shape, type or value of an array; or none."""
    files = _members(data[1:])
    if not files:
        return rng.choice(seeds)
    name = rng.choice(sorted(files))
    try:
        array = np.lib.format.read_array(io.BytesIO(files[name]), allow_pickle=False)
    except Exception:  # damaged before
        return data[:1] + _archive({other: files[other] for other in files if other != name})
    kind = rng.randrange(6)
    with np.errstate(all="ignore"):
        if kind == 0:
            kinds = ("U3", "S2") if array.dtype.kind == "U" else ("f4", "f8", "i8", "u1", "?", "U3")
            with suppress(ValueError):  # text that is no number
                array = array.astype(rng.choice(kinds))
        elif kind == 1:
            array = array.ravel()[: rng.randrange(array.size + 1)]
        elif kind == 2:
            array = np.concatenate([array.ravel(), array.ravel()])
        elif kind == 3:
            array = array[None]
        elif kind == 4 and array.size and array.dtype.kind in "iuf":
            odd = rng.choice((0, 1, -1, 7, 255, 2**31, 2**62, -(2**63), 1e308))
            array = array.copy()
            array.flat[rng.randrange(array.size)] = np.array(odd).astype(array.dtype)
        elif kind == 5 and array.size and array.dtype.kind == "f":
            array = array.copy()
            array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf))
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    files[name] = made.getvalue()
    return data[:1] + _archive(files)


def _members(archive: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            return {name: file.read(name) for name in file.namelist()}
    except Exception:  # damaged before
        return {}


def _archive(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as file:
        for name, content in files.items():
            file.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def read_outcome(data: bytes, folder: Path) -> None:
    """The family of an outcome."""
    restore("outcome", data, False, False)


def read_batches(data: bytes, folder: Path) -> None:
    """How many batches a round has."""
    source, journal = _source(False), Journal()
    journal.keep("batches", data)
    source.n_rows = None
    known_batches(source, 5, journal)


TARGETS = (
    Target("journal", "the SQLite file of a journal", lambda: [sound_journal()], read_file,
           tokens=SQL_TOKENS, share=150),
    Target("journal-log", "the write-ahead log next to it", _wal_seeds, read_log,
           tokens=SQL_TOKENS, share=20),
    Target("journal-header", "a journal's header, checksum right",
           lambda: [json.dumps(asdict(HEADER)).encode()], read_header, changes=JSON, share=100),
    Target("journal-plays", "a journal's plays, checksum right", _record_seeds, read_record,
           share=100),
    Target("kept-head", "the kept head of a stream", head_seeds, read_head,
           tokens=ZIP_TOKENS, changes=(change_member, change_array, change_array), share=100),
    Target("kept-outcome", "the kept outcome of a stream",
           lambda: [b'["gaussian", null]', b'["probit", ["no", "yes"]]', b'["probit", [0, 1]]',
                    b'["auto", null]'],
           read_outcome, changes=JSON, share=1000, per_process=100_000),
    Target("kept-batches", "the kept number of batches", lambda: [b"3", b"40"], read_batches,
           tokens=(b"-", b"0", b"\xd9\xa3", b" ", b"_", b"1" * 5000), share=500,
           per_process=100_000),
)  # fmt: skip
