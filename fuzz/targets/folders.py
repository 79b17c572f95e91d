"""Folders of runs whose members are missing, swapped, links, pipes, sockets or folders.

The first byte of a case is the command; then three bytes each: which member, what becomes of it,
and with which detail.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.targets.base import Target
from fuzz.targets.calls import HarmError, make_run, small_table, tvs

MEMBERS = (
    "run.json", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm",
    "journal.sqlite-journal", "selected.csv", "variables.csv", "interactions.csv", "findings.json",
    "report.html", "run.lock", ".",
)  # fmt: skip
COMMANDS = (
    ("resume", "run", "--no-report"), ("report", "run"), ("compare", "run", "other"),
    ("transform", "run", "table.csv", "-o", "out.csv", "--force"), ("compare", "other", "run"),
    ("resume", "run", "--no-report", "--plays", "14"),
    ("select", "table.csv", "--target", "y", "--reward", "pvalue", "--plays", "3", "--no-report",
     "--seed", "1", "--out", "run"),
)  # fmt: skip
WRITERS = {"resume", "report", "select"}
OURS_TO_CHANGE = {"run.lock", "journal.sqlite-wal", "journal.sqlite-shm"}
OUTSIDE, RUN, OTHER = "outside", "run", "other"


def prepare(folder: Path) -> None:
    """Two runs on a table, and a place that is none of their business."""
    table = folder / "table.csv"
    table.write_text(small_table())
    for seed, name in enumerate((RUN, OTHER)):
        make_run(folder / name, table, seed)
    (folder / OUTSIDE).mkdir()
    _kept.cache_clear()
    _kept(folder)


@cache
def _kept(folder: Path) -> dict[str, dict[str, bytes]]:
    """What the folders hold, by name."""
    return {
        name: {file.name: file.read_bytes() for file in (folder / name).iterdir()}
        for name in (RUN, OTHER)
    }


DAMAGES = (
    "left out", "empty", "cut", "folder", "link", "pipe", "socket", "device", "locked up", "link",
    "pipe",
)  # fmt: skip
SWAPS = 3


def damage(kind: str, path: Path, content: bytes, outside: Path, detail: int) -> None:
    """Put something else where a member was, unless it is left out."""
    match kind:
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(content[: len(content) * detail // 256])
        case "folder":
            path.mkdir()
            if detail % 2:
                (path / "inside").write_bytes(content)
        case "link":
            path.symlink_to(_link_target(path, content, outside, detail % 5))
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(os.path.relpath(path))
        case "device":
            path.symlink_to(("/dev/zero", "/dev/null", "/dev/stdin", "/proc/self/mem")[detail % 4])
        case "locked up":
            path.write_bytes(content)
            path.chmod(0o000 if detail % 2 else 0o444)


def _link_target(path: Path, content: bytes, outside: Path, kind: int) -> Path:
    """A sound file, nothing yet, the link itself, a folder, or a pipe."""
    target = {2: path, 3: outside}.get(kind, outside / path.name)
    if kind == 0:
        target.write_bytes(content)
    elif kind == 4:
        target.unlink(missing_ok=True)  # the same member may be damaged twice
        os.mkfifo(target)
    return target


def put_run(data: bytes, folder: Path) -> tuple[str, ...]:
    """Make the folder of a case; returns the command."""
    path, outside = folder / RUN, folder / OUTSIDE
    for old in (path, outside):
        _remove(old)
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    path.mkdir()
    kept = _kept(folder)
    for name, content in kept[RUN].items():
        (path / name).write_bytes(content)
    for start in range(1, min(len(data), 13), 3):
        member, what, detail = data[start : start + 3].ljust(3, b"\0")
        place = path / (name := MEMBERS[member % len(MEMBERS)])
        if name == "." and what % 8:  # the folder itself: rarely, as then the rest is of no account
            continue
        if not path.is_dir() or path.is_symlink():
            break
        _remove(place)
        kind = what % (len(DAMAGES) + SWAPS)
        if kind >= len(DAMAGES):
            others = kept[OTHER] if kind % 2 else kept[RUN]
            from_name = name if kind % 2 else MEMBERS[detail % len(MEMBERS)]
            place.write_bytes(others.get(from_name, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * 64))
        else:
            damage(DAMAGES[kind], place, kept[RUN].get(name, b"{}"), outside, detail)
    return COMMANDS[data[0] % len(COMMANDS) if data else 0]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def seen(folder: Path) -> dict[str, Any]:
    """All that lies in a folder, by path: contents of files, targets of links, kinds of others."""
    found: dict[str, Any] = {}
    for place in sorted(folder.rglob("*")):
        mode = place.lstat().st_mode
        name = str(place.relative_to(folder))
        if stat.S_ISLNK(mode):
            found[name] = os.readlink(place)
        else:
            found[name] = place.read_bytes() if stat.S_ISREG(mode) else stat.S_IFMT(mode)
    return found


def read(data: bytes, folder: Path) -> None:
    """Run a command on the folder of a case; nothing changes but what the command is for."""
    command = put_run(data, folder)
    before = seen(folder)
    failed = True
    try:
        tvs(*command)
        failed = False
    finally:
        after = seen(folder)
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        for name in sorted(changed):
            inside = Path(name).parts
            may = inside[0] == RUN and command[0] in WRITERS and len(inside) <= 2
            if command[0] == "transform":
                may = name == "out.csv"
            if failed and inside[-1] not in OURS_TO_CHANGE:
                may = False
            if not may:
                raise HarmError(f"{' '.join(command[:2])} has changed {name}")


def seeds() -> list[bytes]:
    """Every command on a sound run, and on one with each kind of damage."""
    rng = Random(0)
    return [
        *(bytes([command]) for command in range(len(COMMANDS))),
        *(bytes([rng.randrange(4), rng.randrange(12), kind, rng.randrange(256)])
          for kind in range(len(DAMAGES) + SWAPS)),
    ]  # fmt: skip


TARGETS = (
    Target("run-folder", "folders of runs with links, pipes, sockets, folders and the files of "
           "others as members; `tvs resume`, `report`, `compare`, `transform`, `select --out`",
           seeds, read, prepare, share=30, quick=10),
)  # fmt: skip
