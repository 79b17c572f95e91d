"""Whether this version can be released: built, checked, and tried out where it is installed.

``make release`` builds the sdist and the wheel into dist/ and looks through them. Then it installs
the wheel in empty environments: of every Python on this machine that Numba supports, with the
newest dependencies and with the lowest that are allowed. There the demo and a smoke suite run, from
a folder away from the sources. The table is printed and recorded; the exit code is 1 if anything
failed.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Mapping, Sequence

from packaging.version import Version

from benchmarks.records import heading, record
from release.artefacts import build, project
from release.commands import CommandError
from release.dependencies import floors, lowest, supported_pythons
from release.environments import Dependencies, Trial, find_python, try_out


def page(
    trials: Sequence[Trial], allowed: Mapping[str, Version], missing: Sequence[str]
) -> list[str]:
    """The page of results."""
    return [
        *heading(f"Release: version {project()['version']} where it is installed", "make release"),
        "The wheel with its extra `cli`, in empty environments away from the sources, installed "
        f"from wheels alone ({platform.system()}, {platform.machine()}). Demo: `tvs demo` with "
        "200 rows and 500 columns finds the five that matter. Smoke: arrays, data frames, two "
        "classes, a stream from Parquet, a pipeline, the report, pickling (`release/smoke.py`, "
        "with pandas). Seconds are those of all of it, installation and compilation included.",
        "",
        "| Python | dependencies | demo | smoke | seconds |",
        "|---|---|---|---|---:|",
        *(
            row(trial.python, trial.dependencies, trial.demo, trial.smoke, f"{trial.seconds:.0f}")
            for trial in trials
        ),
        "",
        *(f"Python {version} is not on this machine: not tried.\n" for version in missing),
        "Lowest is the lowest version that pyproject.toml allows; where that has no wheel for this "
        "Python and kind of machine, the first one after it that has (*). The versions that were "
        "installed:",
        "",
        row("package", "allowed", *(f"{trial.python} {trial.dependencies}" for trial in trials)),
        "|---" * (2 + len(trials)) + "|",
        *(
            row(name, f">= {floor}", *(installed(trial, name, floor) for trial in trials))
            for name, floor in allowed.items()
        ),
    ]


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def installed(trial: Trial, name: str, floor: Version) -> str:
    """The version of a package in an environment; with a mark where a lower one is allowed."""
    version = trial.versions.get(name)
    if version is None:
        return "-"
    return f"{version} (*)" if trial.dependencies == "lowest" and version > floor else str(version)


def main() -> int:
    """Build, check, try out, record; returns 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m release.build", description=__doc__)
    parser.add_argument(
        "--python", action="append", metavar="3.N", help="try these only; all by default"
    )
    options = parser.parse_args()
    try:
        wheel = build()
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{wheel.name} and the sdist are built and checked.", flush=True)
    allowed = floors(project(), "cli") | {"pandas": floors(project(), "test")["pandas"]}
    trials, missing = [], []
    for version in options.python or supported_pythons():
        python = find_python(version)
        if python is None:
            missing.append(version)
            continue
        pins: dict[Dependencies, dict[str, Version]]
        pins = {"newest": {}, "lowest": lowest(allowed, version)}
        for dependencies, pinned in pins.items():
            trial = try_out(wheel, python, version, dependencies, pinned)
            trials.append(trial)
            said = f"demo {trial.demo}, smoke {trial.smoke}{trial.error}"
            print(f"Python {version}, {dependencies} dependencies: {said}", flush=True)
    record("release.md", page(trials, allowed, missing))
    return int(not trials or not all(trial.passed for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
