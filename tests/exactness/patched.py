"""Copies of the package and its core with a line changed, to run in another process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import hatch_build

ROOT = Path(__file__).parents[2]
LEVEL = hatch_build.levels()[0]
Change = tuple[str, str, str]

# How R's package BART counts the prunable nodes after a birth below the root: its test
# for "my parent is prunable" never holds for the root, so that the reverse move looks
# half as likely as it is when a tree of two leaves grows a third.
AS_R_COUNTS = (
    "core/moves.h",
    "bool replaces = node != 0 && is_prunable(tree, tree[node].parent);",
    "int64_t parent = tree[node].parent;\n"
    "        bool replaces = parent != 0 && is_prunable(tree, parent);",
)


def patched_copy(folder: Path, *changes: Change, flags: tuple[str, ...] = ()) -> Path:
    """Copy package and core into a folder, replace text that must be there, and compile.

    Files are called ``core/...`` and ``tvselect/...``. Only the library for the lowest
    instruction set is made: all of them give the same bits.
    """
    ignored = shutil.ignore_patterns("__pycache__", "libtvselect_*", ".build-*")
    shutil.copytree(ROOT / "src" / "tvselect", folder / "tvselect", ignore=ignored)
    shutil.copytree(ROOT / "core", folder / "core")
    for name, old, new in changes:
        source = (folder / name).read_text()
        if old not in source:
            raise AssertionError(f"{name} does not hold {old!r} any more")
        (folder / name).write_text(source.replace(old, new))
    hatch_build.build_core(folder / "tvselect", core=folder / "core", only=[LEVEL], extra=flags)
    return folder


def run_with(
    folder: Path, *arguments: str, flags: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with the package and the core of a folder in place of the installed ones."""
    env = {
        **os.environ,
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TVSELECT_CORE": str(folder / "core"),
        "TVSELECT_CORE_FLAGS": " ".join(flags),
        **({"TVSELECT_SIMD": LEVEL} if LEVEL == "v2" else {}),
        **variables,
    }
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True
    )
