"""Whether this version can be released: built, checked, and tried out where it is installed.

``make release`` builds the sdist and a wheel for every kind of machine into dist/, all of them by
Zig on this one, and looks through them. Then it installs the wheel for this machine in empty
environments: of every Python here that the dependencies support, with the newest of them and with
the lowest that are allowed. The sdist follows, which has to be compiled where there is no compiler,
and the wheel for Linux on ARM, which QEMU runs. There the demo and a smoke suite run, from a folder
away from the sources. The table is printed and recorded; the exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from benchmarks.records import record
from release.artefacts import Wheel, build, project
from release.commands import CommandError
from release.dependencies import floors, lowest, supported_pythons
from release.emulated import ArmPython
from release.environments import Environment, find_python
from release.page import page
from release.trials import Trial


def try_out(
    package: Path, python: Path, version: str, installed: str, pins: Mapping[str, Version]
) -> Trial:
    """Try wheel or sdist with a Python of this machine, in an empty environment."""
    trial = Trial(version, installed)
    with tempfile.TemporaryDirectory(prefix="tvselect-release-") as folder:
        trial.take(Environment(Path(folder), python, pins), package)
    return said(trial)


def try_on_arm(wheel: Path) -> Trial:
    """Try a wheel on an emulated ARM processor.

    Raises
    ------
    CommandError
        Where that cannot be had; what the wheel does wrong is in the trial.
    """
    with tempfile.TemporaryDirectory(prefix="tvselect-arm-") as folder:
        python = ArmPython(Path(folder))
        trial = Trial(f"{python.version}, ARM under QEMU", "wheel, newest")
        trial.take(python, wheel)
    return said(trial)


def said(trial: Trial) -> Trial:
    """Print what became of a trial, and return it."""
    verdicts = f"demo {trial.demo}, smoke {trial.smoke}, plays {trial.plays}{trial.error}"
    print(f"Python {trial.python}, {trial.installed}: {verdicts}", flush=True)
    return trial


def try_here(
    wheel: Path, sdist: Path, pythons: Mapping[str, Path], allowed: Mapping[str, Version]
) -> list[Trial]:
    """The wheel with every Python, with the newest and the lowest dependencies, then the sdist."""
    trials = []
    for version, python in pythons.items():
        pins = lowest(allowed, version)
        trials.append(try_out(wheel, python, version, "wheel, newest", {}))
        trials.append(try_out(wheel, python, version, "wheel, lowest", pins))
    for version, python in list(pythons.items())[-1:]:
        trials.append(try_out(sdist, python, version, "sdist, newest", {}))
    return trials


def try_all(
    sdist: Path, wheels: Sequence[Wheel], versions: Sequence[str], allowed: Mapping[str, Version]
) -> tuple[list[Trial], list[str]]:
    """All trials, and what could not be tried."""
    found = {version: find_python(version) for version in versions}
    pythons = {version: python for version, python in found.items() if python is not None}
    untried = [f"Python {version}, not on this machine" for version in found.keys() - pythons]
    here = next(wheel.path for wheel in wheels if wheel.installs_here)
    trials = try_here(here, sdist, pythons, allowed)
    for wheel in wheels:
        if wheel.is_emulated:
            try:
                trials.append(try_on_arm(wheel.path))
            except CommandError as error:
                print(error, file=sys.stderr)
                untried.append(f"The wheel for Linux on ARM, {str(error).splitlines()[-1]}")
    return trials, sorted(untried)


def main() -> int:
    """Build, check, try out, record; returns 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m release.build", description=__doc__)
    parser.add_argument(
        "--python", action="append", metavar="3.N", help="try these only; all by default"
    )
    options = parser.parse_args()
    try:
        sdist, wheels = build()
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{sdist.name} and {len(wheels)} wheels are built and checked.", flush=True)
    allowed = floors(project(), "cli") | {"pandas": floors(project(), "test")["pandas"]}
    versions = options.python or supported_pythons()
    trials, untried = try_all(sdist, wheels, versions, allowed)
    record("release.md", page(wheels, trials, allowed, untried))
    return int(not trials or not all(trial.passed for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
