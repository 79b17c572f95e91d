"""The version before this one, in an environment of its own, to be measured in the same run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.records import ROOT

VERSION, COMMIT = "0.2.0", "9126b06"
"""The last commit whose kernels were compiled at their first use."""
FOLDER = ROOT / f".before-{VERSION}"
OURS = ("tvselect", "tvstudy")


def python_of(folder: Path = FOLDER) -> Path:
    """Its interpreter; the environment is made where there is none yet."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"Installing version {VERSION} into {folder}", flush=True)
        with tempfile.TemporaryDirectory() as sources:
            unpack(Path(sources))
            make_environment(folder, sources)
    return python


def unpack(folder: Path) -> None:
    """Its sources, out of the result of this repository."""
    archive = subprocess.run(
        ["git", "archive", COMMIT], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)


def make_environment(folder: Path, *packages: str | Path) -> Path:
    """A fresh virtual environment with packages; all else in the versions that are in use here."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    if packages:
        pip_install(python, *packages)
    return python


def pip_install(python: Path, *packages: str | Path) -> None:
    """Install packages, what they need in the versions that are in use here."""
    used = {found.name: found.version for found in distributions()}
    pins = [f"{name}=={version}" for name, version in used.items() if name not in OURS]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(pins))
        file.flush()
        options = ["--quiet", "--disable-pip-version-check", "--constraint", file.name]
        words = [str(python), "-m", "pip", "install", *options, *map(str, packages)]
        subprocess.run(words, check=True)
