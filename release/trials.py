"""What wheel and sdist have to do where they are installed, away from the source tree."""

from __future__ import annotations

import csv
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from packaging.version import Version

from benchmarks.records import ROOT
from release.commands import CommandError

Verdict = Literal["passed", "FAILED", "not installed"]
SMOKE = Path(__file__).with_name("smoke.py")
PLAYS = ("recorded_plays.py", "recorded_plays.json", "nested.py")
SIGNALS = {"x0", "x1", "x2", "x3", "x4"}
DEMO = ("demo", "--rows", "200", "--columns", "500", "--plays", "100", "--out")


class Python(Protocol):
    """An empty Python to install packages into."""

    scripts: Path  #: the folder of commands as ``tvs``
    work: Path  #: a folder to work in

    def install(self, *packages: str) -> None:
        """Install packages, by name or by file."""

    def run(self, *arguments: str | Path) -> str:
        """Run it in its folder, and return what it prints."""

    def versions(self) -> dict[str, Version]:
        """What is installed, by name."""


@dataclass
class Trial:
    """What became of wheel or sdist where it was installed."""

    python: str
    installed: str  #: wheel or sdist, and on what it depends
    demo: Verdict = "not installed"
    smoke: Verdict = "not installed"
    plays: str = "-"  #: how many of the recorded runs are as on record
    seconds: float = 0.0
    versions: dict[str, Version] = field(default_factory=dict)  #: of all that was installed
    error: str = ""  #: what was said where it failed

    @property
    def passed(self) -> bool:
        """Whether all went well; plays may be others, but have to run."""
        return self.demo == self.smoke == "passed" and self.plays != "FAILED"

    def attempt(self, step: Callable[[], None]) -> Verdict:
        """Take a step; what is said when it fails is kept."""
        try:
            step()
        except CommandError as error:
            self.error += f"\n{error}"
            return "FAILED"
        return "passed"

    def take(self, python: Python, package: Path) -> None:
        """Install wheel or sdist with its extra ``cli``; run demo, smoke suite and plays."""
        started = time.monotonic()
        if self.attempt(lambda: python.install(f"{package}[cli]")) == "passed":
            self.demo = self.attempt(lambda: demo(python))
            self.smoke = self.attempt(lambda: smoke(python))
            self.plays = plays(python)
            self.versions = python.versions()
        self.seconds = time.monotonic() - started


def demo(python: Python) -> None:
    """Run ``tvs demo``, which has to find the five columns that matter."""
    python.run(python.scripts / "tvs", *DEMO, "demo")
    with open(python.work / "demo" / "run" / "selected.csv", newline="") as file:
        found = {row["variable"] for row in csv.DictReader(file)}
    if not found >= SIGNALS:
        raise CommandError(f"the demo does not find {', '.join(sorted(SIGNALS - found))}")


def smoke(python: Python) -> None:
    """Run the smoke suite, which has to pass, with pandas: the demo has to do without."""
    python.install("pandas")
    python.run("-I", SMOKE)


def plays(python: Python) -> str:
    """How many of the recorded runs play as on record: that depends on NumPy, too."""
    (python.work / "tests").mkdir()
    for name in PLAYS:
        shutil.copy(ROOT / "tests" / name, python.work / "tests")
    try:
        return same_plays(python.run("-s", "-m", "tests.recorded_plays"))
    except CommandError as error:
        return same_plays(str(error))


def same_plays(said: str) -> str:
    r"""How many runs are as on record, by what ``tests.recorded_plays`` says, and which are not.

    Examples
    --------
    >>> same_plays("same    d41d8cd9  stream\nCHANGED 8f00b204  offline, LASSO\n")
    '1 of 2 (not: offline, LASSO)'
    """
    verdicts = re.findall(r"^(same|CHANGED) +\w+ +(.*)$", said, re.MULTILINE)
    changed = [name for verdict, name in verdicts if verdict == "CHANGED"]
    count = f"{len(verdicts) - len(changed)} of {len(verdicts)}" if verdicts else "FAILED"
    return f"{count} (not: {'; '.join(changed)})" if changed else count
