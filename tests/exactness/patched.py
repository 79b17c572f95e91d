"""Copies of the package with a line changed, to run in another process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# How R's package BART counts the prunable nodes after a birth below the root: its test
# for "my parent is prunable" never holds for the root, so that the reverse move looks
# half as likely as it is when a tree of two leaves grows a third.
AS_R_COUNTS = (
    "trees/moves.py",
    "replaces = node != 0 and is_prunable(trees, tree, trees.nodes[tree, node, PARENT])",
    "replaces = trees.nodes[tree, node, PARENT] != 0 and is_prunable(\n"
    "        trees, tree, trees.nodes[tree, node, PARENT]\n"
    "    )",
)


def patched_copy(folder: Path, *changes: tuple[str, str, str]) -> Path:
    """Copy the package into a folder and replace text in it; each text must be there."""
    target = folder / "tvselect"
    shutil.copytree(ROOT / "src" / "tvselect", target, ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in changes:
        source = (target / name).read_text()
        if old not in source:
            raise AssertionError(f"{name} does not hold {old!r} any more")
        (target / name).write_text(source.replace(old, new))
    return folder


def run_with(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package of a folder in place of the installed one."""
    env = {
        **os.environ,
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
    }
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True
    )
