"""Who may write into the folder of a run: the one who made it, and one at a time."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tvselect.runs.errors import RunError

#: Of systems on which files cannot be locked; the journal still lets one run write.
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}


def make_folders(path: Path) -> tuple[Path, ...]:
    """Make a folder and those above it; returns the ones that were not there, innermost first."""
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    made: list[Path] = []
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir()
            made.insert(0, folder)
    return tuple(made)


def claim(folder: Path, lock: Path) -> None:
    """Make an empty folder one's own, of all who try at the same time.

    Raises
    ------
    FileExistsError
        When it is somebody else's, or not empty.
    """
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    if os.listdir(folder) != [lock.name]:
        lock.unlink()
        raise FileExistsError(errno.EEXIST, "exists already", str(folder))


@contextmanager
def locked(lock: Path) -> Iterator[None]:
    """Keep other processes out as long as this one is inside, or lives.

    Raises
    ------
    RunError
        When another one is inside, or the folder cannot be written to.
    """
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(lock, flags, 0o666)
    except OSError as error:
        raise RunError(f"{lock.parent} cannot be written to ({error.strerror})") from None
    try:
        _lock(handle, lock.parent)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:  # on Windows, where nobody can write to a journal that is open
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(
            f"another tvs is at work in {folder}, or was suspended there; let it finish or end it"
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def require_plain(paths: Sequence[Path]) -> None:
    """Refuse links, pipes and devices: a folder may come from anywhere.

    Raises
    ------
    RunError
        Names the first of them.
    """
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except OSError:  # missing, or not to be read: whoever opens it says so
            continue
        if not stat.S_ISREG(mode):
            what = "a link" if stat.S_ISLNK(mode) else "no file"
            raise RunError(f"{path} is {what}; put the file itself there, or remove it")
