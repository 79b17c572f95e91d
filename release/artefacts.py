"""The sdist and the wheel: built, and looked through."""

from __future__ import annotations

import sys
import tarfile
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

from benchmarks.records import ROOT
from release.commands import CommandError, run

NOT_SHIPPED = {".pyc", ".nbi", ".nbc"}


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def build() -> Path:
    """Build sdist and wheel into dist/, check both, and return the wheel.

    Raises
    ------
    CommandError
        When they cannot be built, or hold what they should not.
    """
    folder = ROOT / "dist"
    # Without -P, a folder named build would be taken for the tool.
    run(sys.executable, "-P", "-m", "build", "--outdir", folder, ROOT)
    name = f"{project()['name']}-{project()['version']}"
    sdist, wheel = folder / f"{name}.tar.gz", folder / f"{name}-py3-none-any.whl"
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    with ZipFile(wheel) as archive:
        problems = problems_of_wheel(archive.namelist())
    with tarfile.open(sdist) as archive:
        problems += compiled(archive.getnames())
    if problems:
        raise CommandError("\n".join(problems))
    return wheel


def problems_of_wheel(names: Iterable[str]) -> list[str]:
    """What is wrong with the files of a wheel, one line each.

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
    return [*missing, *others, *compiled(names)]


def compiled(names: Iterable[str]) -> list[str]:
    """Files that belong to one machine, one line each."""
    return [f"{name} is compiled" for name in names if PurePosixPath(name).suffix in NOT_SHIPPED]
