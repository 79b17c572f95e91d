"""Kernels that are compiled ahead, by two processes at a time."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest

from tvselect.jit import was_compiled
from tvselect.rewards.bart_ahead import make_plays
from tvselect.runs import warming

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@pytest.fixture
def started(monkeypatch):
    """The processes that are started."""
    made = []

    class Watched(subprocess.Popen):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            made.append(self)

    monkeypatch.setattr(warming.subprocess, "Popen", Watched)
    monkeypatch.setattr(warming.os, "cpu_count", lambda: 2)
    return made


def test_what_was_compiled_before_needs_no_process(started):
    warming.compile_plays()
    assert was_compiled(make_plays)
    warming.compile_in_parallel()
    assert started == []


def test_kernels_of_other_sources_do_not_count(monkeypatch):
    monkeypatch.setattr(make_plays._cache._cache_file, "_source_stamp", "of another version")
    assert not was_compiled(make_plays)


def test_damaged_kernels_do_not_count(monkeypatch, tmp_path):
    (tmp_path / "cut_off.nbi").write_bytes(b"\x80")
    monkeypatch.setattr(make_plays._cache._cache_file, "_index_path", str(tmp_path / "cut_off.nbi"))
    assert not was_compiled(make_plays)


def test_the_plays_are_compiled_by_a_second_process(started, monkeypatch):
    monkeypatch.setattr(warming, "was_compiled", lambda _: False)
    warming.compile_in_parallel()
    assert [process.returncode for process in started] == [0]


def test_an_interrupt_ends_the_second_process(started, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(warming, "was_compiled", lambda _: False)
    monkeypatch.setattr(warming, "compile_chains", interrupted)
    monkeypatch.setattr(warming, "COMPILE_PLAYS", "import time; time.sleep(600)")
    with pytest.raises(KeyboardInterrupt):
        warming.compile_in_parallel()
    assert [process.returncode for process in started] == [-9 if sys.platform != "win32" else 1]
