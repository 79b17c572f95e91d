"""What the soak does besides killing: second writers, links and pipes, files touched."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.hardening.drivers import start

if TYPE_CHECKING:
    from tests.hardening.soak import Soak

SIDE_FILES = ("journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal", "run.lock")
PATIENCE = 1800.0
ONE_WRITER, AT_WORK = "only one run may write", "another tvs is at work"


def second_in_folder(soak: Soak) -> None:
    """A second driver asks for the lock of the folder: refused, and nothing is written."""
    before = sorted(os.listdir(soak.folder))
    second, said = _start(soak, "--drive")
    second.wait(PATIENCE)
    _require(AT_WORK, said)
    if sorted(os.listdir(soak.folder)) != before:
        raise SystemExit(f"the second driver left something in {os.listdir(soak.folder)}")
    soak.note("second drivers in the folder", "a second driver in the folder is refused")


def second_on_journal(soak: Soak) -> None:
    """A second driver goes past the lock: of the two one goes on, and is started again."""
    second, said = _start(soak, "--drive-unlocked")
    try:
        ends = time.monotonic() + PATIENCE
        while second.poll() is None and soak.driver.poll() is None:
            if time.monotonic() > ends:
                raise SystemExit("two drivers write to one journal")
            time.sleep(0.2)
        is_first = soak.driver.poll() is not None
        _require(ONE_WRITER, soak.said if is_first else said)
    finally:
        second.kill()
        second.wait()
    which = "first" if is_first else "second"
    soak.note("second drivers on the journal", f"two drivers on the journal: the {which} gives way")
    if is_first:
        soak.driver = soak.start_driver()


def side_file(soak: Soak) -> None:
    """A link, a pipe or a folder in the place of a file beside the journal: refused, not used."""
    soak.kill_driver()
    soak.say("the driver is killed")
    place = soak.folder / str(soak.rng.choice(SIDE_FILES))
    aside, outside = soak.folder.with_name("aside"), soak.folder.with_name("outside")
    if there := place.exists():
        place.rename(aside)
    kind = str(soak.rng.choice(["link", "pipe", "folder"]))
    if kind == "link":
        place.symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    second, said = _start(soak, "--drive")
    try:
        second.wait(PATIENCE)
    finally:
        second.kill()
        place.rmdir() if kind == "folder" else place.unlink()
    _require(place.name.partition(".sqlite")[2] or place.name, said)
    if outside.exists():
        raise SystemExit(f"the driver wrote through {place.name}")
    if there:
        aside.rename(place)
    soak.note("side files replaced", f"a {kind} in the place of {place.name} is refused")
    soak.driver = soak.start_driver()


def touched(soak: Soak) -> None:
    """Files of the folder get other times while the run goes on."""
    for file in soak.folder.iterdir():
        with_times = soak.rng.uniform(0, 2e9, 2)
        if file.is_file():
            os.utime(file, tuple(with_times))
    soak.note("files touched", "all files of the folder get other times")


def _start(soak: Soak, how: str) -> tuple[subprocess.Popen[str], Path]:
    said = soak.said.with_name("said-by-second")
    with said.open("w") as file:
        return start(how, soak.table, soak.journal, soak.address, stderr=file), said


def _require(words: str, said: Path) -> None:
    if words not in (text := said.read_text()):
        raise SystemExit(f"a driver ended without saying {words!r}: {text}")
