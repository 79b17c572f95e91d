"""Empty virtual environments, with no compiler on their path.

A wheel needs none, and the sdist has to find itself one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from release.commands import run


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


class Environment:
    """A virtual environment in a folder, and a place to work in beside it.

    Parameters
    ----------
    folder : Path
    python : Path
        That makes the environment.
    pins : mapping
        The versions to take; of other packages the newest.
    """

    def __init__(self, folder: Path, python: Path, pins: Mapping[str, Version]) -> None:
        self.scripts = folder / "environment" / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        self._constraints = folder / "constraints.txt"
        lines = [f"{name}=={version}\n" for name, version in pins.items()]
        self._constraints.write_text("".join(lines))
        run(python, "-m", "venv", self.scripts.parent)

    def install(self, *packages: str) -> None:
        """Install packages, all that they depend on from wheels."""
        options = ("--quiet", "--only-binary", ":all:", "--constraint", self._constraints)
        self._run("-m", "pip", "install", *options, *packages)

    def run(self, *arguments: str | Path) -> str:
        """Run its Python, without caches from elsewhere."""
        return self._run(*arguments, XDG_CACHE_HOME=str(self.work))

    def versions(self) -> dict[str, Version]:
        """What is installed, by name."""
        return versions_in(self._run("-m", "pip", "list", "--format", "json"))

    def _run(self, *arguments: str | Path, **variables: str) -> str:
        """Run its Python, without modules and compilers from elsewhere."""
        own = {"PATH": str(self.scripts), "ZIG_GLOBAL_CACHE_DIR": str(self.work / "zig")}
        environment = without_ours() | own | variables
        return run(self.scripts / "python", *arguments, cwd=self.work, environment=environment)


def versions_in(listed: str) -> dict[str, Version]:
    """What pip lists as JSON, by name.

    Examples
    --------
    >>> versions_in('[{"name": "lazy_loader", "version": "0.4"}]')
    {'lazy-loader': <Version('0.4')>}
    """
    return {canonicalize_name(one["name"]): Version(one["version"]) for one in json.loads(listed)}


def without_ours() -> dict[str, str]:
    """The variables of the environment, but for those that are about Python and compilers."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "TVSELECT_")) and name != "CXX"
    }
