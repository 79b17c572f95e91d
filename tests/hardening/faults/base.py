"""How a fault is tried: in an empty folder, with commands and a listener."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.records import ROOT
from tests.cli.makers import QUICK, write

DEADLINE = 300
STREAM = ("--reward", "pvalue", "--seed", "1", "--batch-size", "40", "--max-fdr", "none")
TVS = (sys.executable, "-m", "tvselect.cli")
MEASURED = (
    sys.executable,
    "-c",
    """
import resource, sys
from tvselect.cli import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
""",
)
INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"
FAULTS: list[tuple[str, str, str, Callable[[Path], str]]] = []


class StillThereError(Exception):
    """What happens, where something else should."""


def fault(number: str, what: str, before: str) -> Callable[..., Callable[[Path], str]]:
    """Enter a check into the list; it gets an empty folder and says what happens now."""

    def enter(check: Callable[[Path], str]) -> Callable[[Path], str]:
        FAULTS.append((number, what, before, check))
        return check

    return enter


def expect(is_so: bool, otherwise: object) -> None:
    """Raise unless a fault is gone."""
    if not is_so:
        raise StillThereError(" ".join(str(otherwise).split())[:300])


def tvs(folder, *arguments, command=TVS, env=None, **settings):
    """Run a command in a folder."""
    return subprocess.run(
        [*command, *map(str, arguments)], cwd=folder, timeout=DEADLINE, check=False,
        env={**os.environ, "PYTHONPATH": ":".join([str(ROOT), *sys.path]), **(env or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **settings},
    )  # fmt: skip


def select(folder, *options, table="t.csv", out="run", **settings):
    if table == "t.csv":
        write(folder / table)
    return tvs(folder, "select", table, "-t", "y", *(options or QUICK), "--out", out, **settings)


def said(done) -> str:
    """The line with which a command has refused."""
    expect(done.returncode == 1 and done.stderr.count("\n") == 1, (done.returncode, done.stderr))
    return f"refused: `{done.stderr.removeprefix('tvs: error: ').strip()}`"


def change(folder, edit):
    path = folder / "run" / "run.json"
    values = json.loads(path.read_text())
    edit(values)
    path.write_text(json.dumps(values))


def python(folder, script, *arguments, **settings):
    script = f"import os, signal, sys\n{script}"
    return tvs(folder, *arguments, command=(sys.executable, "-c", script), **settings)


class Listener:
    """Somebody who waits for calls and never answers."""

    def __enter__(self):
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen()
        self._socket.settimeout(0.2)
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        return self

    def __exit__(self, *_):
        self._socket.close()

    @property
    def was_called(self):
        try:
            self._socket.accept()[0].close()
        except TimeoutError:
            return False
        return True


def wait_for(path, process):
    """Wait until a log has plays."""
    ends = time.monotonic() + DEADLINE
    while not (path.exists() and path.stat().st_size > 50_000):
        expect(process.poll() is None and time.monotonic() < ends, "no plays")
        time.sleep(0.002)
