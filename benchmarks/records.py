"""Where results go: docs/results, with date, commit and machine."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tvselect.records import write_text

ROOT = Path(__file__).parents[1]


def heading(title: str, command: str) -> list[str]:
    """Title and origin of a page of results."""
    return [
        f"# {title}",
        "",
        f"Written by `{command}` on {datetime.date.today()}, commit {commit()}: {machine()}.",
        "",
    ]


def record(name: str, lines: list[str]) -> None:
    """Print a page of results and write it into docs/results."""
    print("\n".join([*lines, ""]))
    write(name, lines)


def record_as_made(name: str, lines: Iterable[str]) -> None:
    """Print a page line by line and write it; interrupted, what is there by then."""
    made = []
    try:
        for line in lines:
            print(line, flush=True)
            made.append(line)
    finally:
        write(name, made)


def write(name: str, lines: list[str]) -> None:
    """Write a page of results into docs/results."""
    results = ROOT / "docs" / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / name).write_text("\n".join([*lines, ""]))


def kept(path: Path, make: Callable[[], Any]) -> Any:
    """A piece of work as JSON: read if it is finished, else made and kept."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(make()))
    return json.loads(path.read_text())


def machine() -> str:
    """Processor and Python."""
    done = subprocess.run(
        ["lscpu"], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    lines = done.stdout.splitlines()
    names = {line.split(":")[1].strip() for line in lines if line.startswith("Model name")}
    return ", ".join([*names, platform.machine(), f"Python {platform.python_version()}"])


def in_fresh_process(module: str, *arguments: object) -> dict[str, Any]:
    """What a module of this folder prints last, as JSON, in a process of its own."""
    words = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def commit() -> str:
    """The commit that is checked out."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"
