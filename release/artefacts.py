"""The sdist and the wheels, one for every kind of machine: built, and looked through."""

from __future__ import annotations

import os
import sys
import tarfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from benchmarks.records import ROOT
from hatch_build import WHEELS
from release.commands import CommandError, run
from release.libraries import problems_of_libraries

DIST = ROOT / "dist"
COMPILED = {".pyc", ".so", ".dylib", ".dll"}


@dataclass(frozen=True)
class Wheel:
    """A wheel, and how long it took to build."""

    target: str
    path: Path
    seconds: float

    @property
    def system(self) -> str:
        """linux, macos or windows."""
        return self.target.split("-")[1].split(".")[0]

    @property
    def installs_here(self) -> bool:
        """Whether it is for machines like this one."""
        return not parse_wheel_filename(self.path.name)[3].isdisjoint(sys_tags())

    @property
    def is_emulated(self) -> bool:
        """Whether this machine has to play another one to run it."""
        return self.target.startswith("aarch64-linux") and not self.installs_here

    @property
    def is_run(self) -> bool:
        """Whether it is run, and not only looked through."""
        return self.installs_here or self.is_emulated


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def build() -> tuple[Path, list[Wheel]]:
    """Build the sdist and, from it, all wheels into dist/; check them, and return them.

    Raises
    ------
    CommandError
        When they cannot be built, or hold what they should not.
    """
    sdist = DIST / f"{_name()}.tar.gz"
    _build("--sdist", ROOT)
    with TemporaryDirectory(prefix="tvselect-sdist-") as folder:
        with tarfile.open(sdist) as archive:
            problems = compiled(archive.getnames())
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # from 3.11.4 on
            archive.extractall(folder)
        wheels = [_wheel(target, Path(folder) / _name()) for target in WHEELS]
    files = [sdist, *(wheel.path for wheel in wheels)]
    run(sys.executable, "-m", "twine", "check", "--strict", *files)
    problems += [problem for wheel in wheels for problem in _problems(wheel)]
    if problems:
        raise CommandError("\n".join(problems))
    return sdist, wheels


def _name() -> str:
    return f"{project()['name']}-{project()['version']}"


def _build(what: str, sources: Path, **variables: str) -> None:
    # Without -P, a folder named build would be taken for the tool. Zig is that of this environment,
    # since what it compiles of Windows' C library is kept for one place of Zig only.
    command = (sys.executable, "-P", "-m", "build", "--no-isolation", what, "--outdir", DIST)
    run(*command, sources, environment=os.environ | variables)


def _wheel(target: str, sources: Path) -> Wheel:
    started = time.monotonic()
    _build("--wheel", sources, TVSELECT_TARGET=target)
    path = DIST / f"{_name()}-py3-none-{WHEELS[target]}.whl"
    print(f"{path.name} is built.", flush=True)
    return Wheel(target, path, time.monotonic() - started)


def _problems(wheel: Wheel) -> Iterator[str]:
    with ZipFile(wheel.path) as archive:
        yield from problems_of_wheel(archive.namelist())
    yield from problems_of_libraries(wheel.path, wheel.target)


def problems_of_wheel(names: Iterable[str]) -> list[str]:
    """What is wrong with the files of a wheel, but for the libraries, one line each.

    Examples
    --------
    >>> problems_of_wheel(["tvselect/py.typed", "tvselect-1.dist-info/METADATA", "tests/a.py"])
    ['tests/a.py is no part of the package']
    """
    names = list(names)
    others = [
        f"{name} is no part of the package"
        for name in names
        if name.split("/")[0].partition("-")[0] != "tvselect" or "tests" in name.split("/")
    ]
    missing = [] if "tvselect/py.typed" in names else ["the wheel has no tvselect/py.typed"]
    return [*missing, *others, *(f"{name} is compiled" for name in names if name.endswith(".pyc"))]


def compiled(names: Iterable[str]) -> list[str]:
    """Files that belong to one machine, one line each."""
    return [f"{name} is compiled" for name in names if PurePosixPath(name).suffix in COMPILED]
