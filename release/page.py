"""The page of results of ``make release``."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

from packaging.version import Version

from benchmarks.records import heading
from release.artefacts import Wheel, project
from release.libraries import Library, libraries
from release.trials import Trial

UCRT = "Universal C Runtime"
SYSTEMS = {"linux": "glibc", "macos": "macOS", "windows": "Windows"}


def page(
    wheels: Sequence[Wheel],
    trials: Sequence[Trial],
    allowed: Mapping[str, Version],
    untried: Sequence[str],
) -> list[str]:
    """The page of results: what was built, what became of it, with which versions."""
    return [
        *heading(f"Release: version {project()['version']} where it is installed", "make release"),
        *of_trials(trials),
        "",
        *(f"{what}: not tried.\n" for what in untried),
        *of_wheels(wheels),
        "",
        *of_versions(trials, allowed),
    ]


def of_trials(trials: Sequence[Trial]) -> list[str]:
    """What became of wheels and sdist in empty environments."""
    return [
        "With the extra `cli`, in empty environments away from the sources, without a compiler on "
        f"the path ({platform.system()}, {platform.machine()}). The sdist is compiled by a Zig "
        "that its build asks for; all else is installed from wheels. Demo: `tvs demo` with "
        "200 rows and 500 columns finds the five that matter. Smoke: arrays, data frames, two "
        "classes, a stream from Parquet, a pipeline, the report, pickling (`release/smoke.py`, "
        "with pandas). Plays: how many runs of `make check-plays` are as on record, and which are "
        "not: other versions of NumPy may draw other numbers, and the last bits of SciPy's "
        "functions differ between versions and processors. Seconds are those of all of it, "
        "installation included.",
        "",
        "| Python | installed | demo | smoke | plays | seconds |",
        "|---|---|---|---|---|---:|",
        *(row_of_trial(trial) for trial in trials),
    ]


def row_of_trial(trial: Trial) -> str:
    """What became of wheel or sdist in one environment."""
    verdicts = (trial.demo, trial.smoke, trial.plays)
    return row(trial.python, trial.installed, *verdicts, f"{trial.seconds:.0f}")


def of_wheels(wheels: Sequence[Wheel]) -> list[str]:
    """What was built, and what was only looked through."""
    idle = [f"`{wheel.path.name}`" for wheel in wheels if not wheel.is_run]
    return [
        "## Wheels",
        "",
        "Compiled from the sdist by Zig, all on this machine. Every library was looked through: it "
        "is for the processor that the wheel's name says, exports the functions of "
        "`core/tvselect.h` and nothing else, needs no more than the C library of its system, in "
        "the version that the wheel's name says or an older one, and is signed where macOS asks "
        f"for it. **Looked through, but not run on their systems: {', '.join(idle)}.**",
        "",
        "| wheel | MB | built in | library | KiB | runs with | needs |",
        "|---|---:|---:|---|---:|---|---|",
        *(line for wheel in wheels for line in rows_of_wheel(wheel)),
    ]


def rows_of_wheel(wheel: Wheel) -> list[str]:
    """The libraries of a wheel, one line each; the wheel itself stands in the first."""
    size = f"{wheel.path.stat().st_size / 1e6:.2f}"
    first = (f"`{wheel.path.name}`", size, f"{wheel.seconds:.0f} s")
    return [
        row(*(first if number == 0 else ("", "", "")), *cells_of_library(library, wheel.system))
        for number, library in enumerate(libraries(wheel.path))
    ]


def cells_of_library(library: Library, system: str) -> tuple[str, ...]:
    """Name, size and needs of a library."""
    oldest = f"{SYSTEMS[system]} {library.oldest or ''}".strip()
    signed = ", signed" if library.signed else ""
    kib = f"{library.n_bytes / 1024:.0f}"
    needs = {UCRT if name.startswith("api-ms-win-crt-") else name for name in library.needs}
    return library.name, kib, oldest + signed, ", ".join(sorted(needs))


def of_versions(trials: Sequence[Trial], allowed: Mapping[str, Version]) -> list[str]:
    """The versions of the dependencies in every environment."""
    return [
        "## Versions",
        "",
        "Lowest is the lowest version that pyproject.toml allows; where that has no wheel for this "
        "Python and kind of machine, the first one after it that has (*). The versions that were "
        "installed:",
        "",
        row("package", "allowed", *(f"{trial.python}: {trial.installed}" for trial in trials)),
        "|---" * (2 + len(trials)) + "|",
        *(
            row(name, f">= {floor}", *(version_in(trial, name, floor) for trial in trials))
            for name, floor in allowed.items()
        ),
    ]


def version_in(trial: Trial, name: str, floor: Version) -> str:
    """The version of a package in an environment; with a mark where a lower one is allowed."""
    version = trial.versions.get(name)
    if version is None:
        return "-"
    return f"{version} (*)" if "lowest" in trial.installed and version > floor else str(version)


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"
