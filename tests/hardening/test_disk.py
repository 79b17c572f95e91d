"""Disks that are full and disks that cannot be written to, real ones (of memory)."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager

import pytest

from tests.bandit.plays import HEADER, assert_holds, make_play, write
from tests.selectors.runs import assert_same
from tests.selectors.streams import make_data as make_stream
from tests.selectors.streams import selector as stream_selector
from tests.selectors.test_resuming import make_data, selector
from tvselect.bandit.journal import Journal, JournalError


@contextmanager
def mounted(folder, size):
    """A disk of a certain size; says why where there can be none."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("this machine does not let a disk be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def remount(folder, option):
    subprocess.run(["mount", "-o", f"remount,{option}", folder], check=True)


def append_until_full(journal, written):
    for number in range(200):
        journal.append([make_play(number)])
        written.append(number)


def write_until_full(path, written):
    with Journal(path) as journal:
        journal.begin(HEADER)
        append_until_full(journal, written)


@pytest.mark.parametrize("size", ["4k", "24k", "32k", "64k", "100k", "200k", "400k"])
def test_on_a_full_disk_every_play_that_was_written_is_kept(size, tmp_path):
    with mounted(tmp_path / "disk", size) as disk:
        path, written = disk / "a", []
        with pytest.raises(JournalError, match=r"disk/a' failed \(.*\); \w+"):
            write_until_full(path, written)
        n_written = len(written)
        try:
            with Journal(path) as journal:
                assert_holds(journal, n_written)
        except JournalError:  # not even room to read it
            assert n_written == 0
        remount(disk, "size=8m")
        with Journal(path) as journal:
            assert_holds(journal, n_written)
        write(path, n_written + 5)
        with Journal(path) as journal:
            assert_holds(journal, n_written + 5)


def test_a_journal_goes_on_by_itself_when_there_is_room_again(tmp_path):
    with mounted(tmp_path / "disk", "200k") as disk:
        with Journal(disk / "a") as journal:
            journal.begin(HEADER)
            with pytest.raises(JournalError, match="run again"):
                append_until_full(journal, written := [])
            play = make_play(len(written))
            with pytest.raises(JournalError, match="run again"):
                journal.append([play])
            remount(disk, "size=8m")
            journal.append([play])
        with Journal(disk / "a") as journal:
            assert_holds(journal, len(written) + 1)


@pytest.mark.parametrize("kind", ["offline", "stream"])
def test_a_fit_on_a_full_disk_goes_on_to_the_same_end(kind, tmp_path):
    if kind == "offline":
        data, make = make_data(), selector
        settings = dict(n_plays=150)
    else:
        data, make = make_stream(), stream_selector
        settings = dict(batch_size=10)
    with mounted(tmp_path / "disk", "120k") as disk:
        path = disk / "run.journal"
        with pytest.raises(JournalError, match=r"run\.journal' failed \(.*full\); .*run again"):
            make(journal=path, **settings).fit(*data)
        remount(disk, "size=8m")
        with Journal(path) as journal:
            assert 0 < journal.n_plays() < 150
        resumed = make(journal=path, **settings).fit(*data)
    assert_same(resumed, make(**settings).fit(*data))


def test_a_disk_that_cannot_be_written_to_is_named_and_left_as_it_is(tmp_path):
    with mounted(tmp_path / "disk", "1m") as disk:
        write(disk / "ended", 2)
        (disk / "empty").touch()
        leave_a_log(disk / "killed")
        before = {name: (disk / name).read_bytes() for name in os.listdir(disk)}
        remount(disk, "ro")
        for name in ("ended", "killed", "empty", "new"):
            with pytest.raises(JournalError, match=rf"{name}'.*read-only.*writable, or choose"):
                Journal(disk / name)
        with pytest.raises(JournalError, match=r"read-only.*writable, or choose"):
            selector(journal=disk / "fit").fit(*make_data())
        assert {name: (disk / name).read_bytes() for name in os.listdir(disk)} == before
        remount(disk, "rw")
        with Journal(disk / "killed") as journal:
            assert_holds(journal, 3)


def leave_a_log(path):
    """The files as a run leaves them that is killed."""
    with Journal(path) as journal:
        journal.begin(HEADER)
        for number in range(3):
            journal.append([make_play(number)])
        files = [path, path.with_name(f"{path.name}-wal")]
        contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
