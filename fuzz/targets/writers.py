"""Two or three writers of one journal or folder: who is refused writes nothing.

Every byte of a case is a step: which writer, and what it does. What the journal holds in the end
must be what the steps say that were not refused, in their order.
"""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz.targets.base import Target
from fuzz.targets.calls import HarmError, make_run, small_table, tvs
from fuzz.targets.folders import seen
from fuzz.targets.journals import HEADER, N_ARMS
from tvselect.bandit.chain import Play
from tvselect.bandit.journal import Header, Journal, JournalError
from tvselect.runs import RunError
from tvselect.runs.folder import RunFolder, new_folder

N_WRITERS = 3
OTHER = Header("another", 8, N_ARMS, 2, 1, "0.1.0")
MOST_STEPS = 40


@dataclass
class _Writer:
    """One that writes to a journal, attached to one in memory as runs do, or as it is."""

    number: int
    journal: Journal | None = None
    mark: float = field(default=0.0)

    def open(self, path: Path, header: Header, *, attached: bool) -> None:
        self.close()
        if attached:
            journal = Journal()
            journal.attach(path, header)
            self.journal = journal
        else:
            self.journal = Journal(path)
            self.journal.begin(header)

    def play(self, chain: int, n: int) -> list[Play]:
        """The next plays by what this writer knows."""
        assert self.journal is not None
        first = self.journal.n_plays(chain)
        arms = np.array([self.number], np.int32)
        made = []
        for number in range(first, first + n):
            self.mark += 1.0
            made.append(Play(number, arms, np.array([True]), self.mark, chain))
        return made

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()
        self.journal = None


def write_journal(data: bytes, folder: Path) -> None:
    """Steps of writers of one journal."""
    path = folder / "run.journal"
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    writers = [_Writer(number) for number in range(N_WRITERS)]
    wanted: dict[int, list[tuple[int, float]]] = {0: [], 1: []}
    kept: bytes | None = None
    first_refusal: JournalError | None = None
    for step in data[:MOST_STEPS]:
        writer, what, more = writers[step % N_WRITERS], step // N_WRITERS % 8, step // 24
        try:
            if what == 0 or writer.journal is None:
                writer.open(path, OTHER if more == 9 else HEADER, attached=more % 4 > 0)
            elif what < 4:
                plays = writer.play(more % 2, 1 + more % 3)
                writer.journal.append(plays)
                wanted[more % 2] += [(writer.number, play.seconds) for play in plays]
            elif what < 6:
                plays, blob = writer.play(more % 2, 1), bytes([step])
                writer.journal.append(plays, {"batches": blob})
                wanted[more % 2] += [(writer.number, play.seconds) for play in plays]
                kept = blob
            else:
                writer.close()
        except JournalError as error:
            first_refusal = first_refusal or error
            with suppress(JournalError):
                writer.close()
        _compare(path, wanted, kept)
    for writer in writers:
        writer.close()
    _compare(path, wanted, kept)
    if first_refusal is not None:
        raise first_refusal


def _compare(path: Path, wanted: dict[int, list[tuple[int, float]]], kept: bytes | None) -> None:
    if not path.exists():
        return
    with Journal(path) as journal:
        for chain, expected in wanted.items():
            found = [(int(play.arms[0]), play.seconds) for play in journal.plays(chain)]
            if found != expected:
                raise HarmError(f"chain {chain} holds {found}, not {expected}")
        if journal.kept("batches") != kept:
            raise HarmError("what is kept is not what was kept last")


def prepare(folder: Path) -> None:
    """A run, and a copy of it to begin with."""
    table = folder / "table.csv"
    table.write_text(small_table())
    make_run(folder / "sound", table, 1)


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("resume", "run", "--no-report"), ("report", "run"),
    ("resume", "run", "--no-report", "--plays", "14"),
    ("select", "table.csv", "--target", "y", "--out", "run", "--no-report", "--plays", "12",
     "--reward", "pvalue"),
)  # fmt: skip


def write_folder(data: bytes, folder: Path) -> None:
    """Writers who hold a folder, want to, claim it or run a command there."""
    path = folder / "run"
    shutil.rmtree(path, ignore_errors=True)
    if data[:1] < b"\xc0":
        shutil.copytree(folder / "sound", path)
    holds: dict[int, AbstractContextManager[Any]] = {}
    refusal: RunError | None = None
    try:
        for step in data[1:MOST_STEPS]:
            who, what = step % N_WRITERS, step // N_WRITERS % 16
            before = seen(path)
            try:
                if what < 5 and who not in holds and path.is_dir():
                    hold = RunFolder(path).held()
                    hold.__enter__()
                    if holds:
                        raise HarmError("two hold one folder")
                    holds[who] = hold
                elif what < 9 and who in holds:
                    holds.pop(who).__exit__(None, None, None)
                elif what == 9:
                    new_folder(path, "table.csv")
                    if before:
                        raise HarmError("a folder with something in it is given away")
                elif (what == 10 and len(data) % 4 == 0) or holds:
                    tvs(*COMMANDS[step % len(COMMANDS)])
                    if holds:
                        raise HarmError(f"{COMMANDS[step % len(COMMANDS)]} beside another")
            except RunError as error:
                refusal = refusal or error
                after = seen(path)
                after.pop("run.lock", None), before.pop("run.lock", None)
                if after != before:
                    raise HarmError("one who was refused has written") from error
    finally:
        for hold in holds.values():
            hold.__exit__(None, None, None)
    if refusal is not None:
        raise refusal


def _steps(n: int, *first: int) -> list[bytes]:
    rng = Random(0)
    return [bytes(first), *(bytes(first) + rng.randbytes(rng.randint(4, 30)) for _ in range(n))]


TARGETS = (
    Target("journal-writers", "steps of three writers of one journal", lambda: _steps(12, 24, 27),
           write_journal, share=8, quick=8),
    Target("folder-writers", "steps of three writers of one folder of a run",
           lambda: _steps(12, 0, 0), write_folder, prepare, share=8, quick=8),
)  # fmt: skip
