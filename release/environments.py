"""Empty environments, away from the source tree, in which the wheel has to prove itself."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from packaging.version import Version

from release.commands import CommandError, run

Dependencies = Literal["newest", "lowest"]
Verdict = Literal["passed", "FAILED", "not installed"]
SMOKE = Path(__file__).with_name("smoke.py")
SIGNALS = {"x0", "x1", "x2", "x3", "x4"}
DEMO = ("demo", "--rows", "200", "--columns", "500", "--plays", "100", "--out")


@dataclass
class Trial:
    """What became of the wheel in one environment."""

    python: str
    dependencies: Dependencies
    demo: Verdict = "not installed"
    smoke: Verdict = "not installed"
    seconds: float = 0.0
    versions: dict[str, Version] = field(default_factory=dict)  #: of all that was installed
    error: str = ""  #: what was said where it failed

    @property
    def passed(self) -> bool:
        """Whether all went well."""
        return self.demo == self.smoke == "passed"

    def attempt(self, step: Callable[[], None]) -> Verdict:
        """Take a step; what is said when it fails is kept."""
        try:
            step()
        except CommandError as error:
            self.error += f"\n{error}"
            return "FAILED"
        return "passed"


def find_python(version: str) -> Path | None:
    """A Python of this version, on the path or by pyenv."""
    on_path = shutil.which(f"python{version}")
    by_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
    for python in [*([Path(on_path)] if on_path else []), *by_pyenv]:
        if _version_of(python) == version:
            return python
    return None


def _version_of(python: Path) -> str:
    """What it says itself; a command of pyenv may be there, but switched off."""
    script = "import sys; print(*sys.version_info[:2], sep='.')"
    return subprocess.run([python, "-c", script], capture_output=True, text=True).stdout.strip()


def try_out(
    wheel: Path, python: Path, version: str, dependencies: Dependencies, pins: Mapping[str, Version]
) -> Trial:
    """Install the wheel in an empty environment, and run the demo and the smoke suite there.

    Parameters
    ----------
    wheel : Path
    python : Path
        That makes the environment.
    version : str
        Of Python.
    dependencies : {"newest", "lowest"}
    pins : mapping
        The versions to take; of other packages the newest.
    """
    trial = Trial(version, dependencies)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tvselect-release-") as name:
        environment = Environment(Path(name), pins)
        if trial.attempt(lambda: environment.make(python, wheel)) == "passed":
            trial.demo = trial.attempt(environment.demo)
            trial.smoke = trial.attempt(environment.smoke)
            trial.versions = environment.versions()
    trial.seconds = time.monotonic() - started
    return trial


class Environment:
    """A virtual environment in a folder, and a place to work in beside it."""

    def __init__(self, folder: Path, pins: Mapping[str, Version]) -> None:
        self.bin = folder / "environment" / "bin"
        self.work = folder / "work"
        self.constraints = folder / "constraints.txt"
        self.work.mkdir()
        lines = [f"{name}=={version}\n" for name, version in pins.items()]
        self.constraints.write_text("".join(lines))

    def make(self, python: Path, wheel: Path) -> None:
        """Make it, with the wheel and what the command tvs needs."""
        run(python, "-m", "venv", self.bin.parent)
        self._install(f"{wheel}[cli]")

    def versions(self) -> dict[str, Version]:
        """What is installed, by name."""
        listed = json.loads(self._run("python", "-m", "pip", "list", "--format", "json"))
        return {package["name"].lower(): Version(package["version"]) for package in listed}

    def demo(self) -> None:
        """Run ``tvs demo``, which has to find the five columns that matter."""
        self._run("tvs", *DEMO, "demo", XDG_CACHE_HOME=str(self.work))
        with open(self.work / "demo" / "run" / "selected.csv", newline="") as file:
            found = {row["variable"] for row in csv.DictReader(file)}
        if not found >= SIGNALS:
            raise CommandError(f"the demo does not find {', '.join(sorted(SIGNALS - found))}")

    def smoke(self) -> None:
        """Run the smoke suite, which has to pass, with pandas: the demo has to do without."""
        self._install("pandas")
        self._run("python", "-I", SMOKE, XDG_CACHE_HOME=str(self.work))

    def _install(self, what: str) -> None:
        """Install from wheels alone, as on a machine without a compiler."""
        options = ("--quiet", "--only-binary", ":all:", "--constraint", self.constraints)
        self._run("python", "-m", "pip", "install", *options, what)

    def _run(self, command: str, *arguments: str | Path, **variables: str) -> str:
        """Run a command of the environment, without modules and kernels from elsewhere."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "NUMBA_"))
        }
        return run(self.bin / command, *arguments, cwd=self.work, environment=kept | variables)
