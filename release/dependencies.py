"""The lowest versions that pyproject.toml allows, and those that there are wheels of."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

OLDEST_MINOR = 11


def floors(project: Mapping[str, Any], *extras: str) -> dict[str, Version]:
    """The lowest allowed versions, by package: of the core and of some extras.

    Examples
    --------
    >>> floors({"name": "own", "dependencies": ["numpy>=1.26"], "optional-dependencies": {
    ...     "all": ["own[few]", "jinja2>=3.1"], "few": ["pyarrow>=16"]}}, "all")
    {'numpy': <Version('1.26')>, 'pyarrow': <Version('16')>, 'jinja2': <Version('3.1')>}
    """
    requirements = [*project["dependencies"], *_of_extras(project, extras)]
    return {
        requirement.name: Version(bound.version)
        for requirement in map(Requirement, requirements)
        for bound in requirement.specifier
        if bound.operator == ">="
    }


def _of_extras(project: Mapping[str, Any], extras: Iterable[str]) -> Iterator[str]:
    for extra in extras:
        for line in project["optional-dependencies"][extra]:
            requirement = Requirement(line)
            if requirement.name == project["name"]:
                yield from _of_extras(project, sorted(requirement.extras))
            else:
                yield line


def lowest(allowed: Mapping[str, Version], python: str) -> dict[str, Version]:
    """The lowest versions that are allowed and have a wheel for a Python.

    A package without any is left out.
    """
    wheels = {
        name: [version for version in versions_with_wheel(name, python) if version >= floor]
        for name, floor in allowed.items()
    }
    return {name: min(versions) for name, versions in wheels.items() if versions}


def supported_pythons() -> list[str]:
    """The Pythons that scikit-learn has wheels for, from the oldest one that tvselect takes."""
    found: list[str] = []
    while versions_with_wheel("scikit-learn", python := f"3.{OLDEST_MINOR + len(found)}"):
        found.append(python)
    return found


def versions_with_wheel(name: str, python: str) -> list[Version]:
    """The released versions of a package with a wheel for a Python, on this kind of machine."""
    # Asked for a version that cannot be, pip lists those that it could have taken.
    options = ["--no-deps", "--only-binary", ":all:", "--python-version", python]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, f"{name}<0"],
        capture_output=True,
        text=True,
    )
    listed = re.search(r"\(from versions: (.*)\)", done.stderr)
    if listed is None:
        raise RuntimeError(f"pip does not list the versions of {name}:\n{done.stderr}")
    versions = map(Version, re.findall(r"\d[^,\s]*", listed[1]))
    return [version for version in versions if not version.is_prerelease]
