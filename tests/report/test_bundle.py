"""The chart library is made once and kept; what is kept is not believed unless it is whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.makers import write
from tvselect.report import bundle as module
from tvselect.report.bundle import ChartError, bundle, prepare


@pytest.fixture
def made(monkeypatch, tmp_path):
    """How often the library was made, with an empty cache."""
    calls = []

    def make():
        calls.append(1)
        return "var vega = 1;\nvar lite = 2;"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "_ask_engine", make)
    monkeypatch.setattr(module, "_making", None)
    bundle.cache_clear()
    yield calls
    bundle.cache_clear()


def again():
    bundle.cache_clear()
    return bundle()


def test_it_is_made_once(made):
    first = bundle()
    assert again() == first == "var vega = 1;\nvar lite = 2;"
    assert len(made) == 1


@pytest.mark.parametrize("damage", [b"", b"x", b"\xff\xfe", b"0" * 64 + b"\nalert(1)"])
def test_a_damaged_copy_is_made_again(made, damage):
    first = bundle()
    module._path().write_bytes(damage)
    assert again() == first
    assert len(made) == 2
    assert again() == first
    assert len(made) == 2


def test_without_room_it_is_made_every_time(made, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert again() == again()
    assert len(made) == 2


def test_what_cannot_be_put_into_a_page_is_refused(made, monkeypatch):
    monkeypatch.setattr(module, "_ask_engine", lambda: "a </SCRIPT> b")
    with pytest.raises(ValueError, match="cannot be put into a page"):
        bundle()
    assert module._kept() is None


def test_another_process_makes_it_only_if_it_is_not_kept(made, monkeypatch):
    started = []

    def start(*arguments, **settings):
        started.append(arguments)
        return SimpleNamespace(wait=lambda: 0)

    monkeypatch.setattr(module.subprocess, "Popen", start)
    prepare()
    prepare()
    assert len(started) == 1
    bundle()
    monkeypatch.setattr(module, "_making", None)
    prepare()
    assert len(started) == 1


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
from tests.cli.makers import QUICK
from tvselect.cli import main
sys.exit(main(["select", sys.argv[2], "-t", "y", *QUICK, "--out", sys.argv[3]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_limit_of_the_address_space_costs_the_charts_only(tmp_path):
    """The engine reserves many gigabytes at its start, and aborts its process without them."""
    arguments = [6 * 2**30, write(tmp_path / "t.csv"), tmp_path / "run"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, arguments)],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("variable\t")
    assert "tvs: warning: the report has no charts" in done.stderr
    assert done.stderr.count("warning") == 1
    page = (tmp_path / "run" / "report.html").read_text()
    assert "The pictures could not be made where this page was written" in page
    assert "variables were selected" in page


@pytest.mark.parametrize(
    "code", ["import os; os.abort()", "raise SystemExit(1)", "print(chr(233))"]
)
def test_an_engine_that_fails_is_one_error(code, monkeypatch):
    monkeypatch.setattr(module, "ENGINE", code)
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    with pytest.raises(ChartError, match="could not run here"):
        module._ask_engine()
