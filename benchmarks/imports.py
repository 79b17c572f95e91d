"""How long it takes until there is a selector, and how much memory it has then.

``make bench-imports`` prints the table and records it. Every line is a fresh interpreter; the
lines take turns, so that a busy machine slows down all of them alike. ``BEFORE=folder`` names an
environment with version 0.2.0 (see ``make bench-core``), to be shown beside this version.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import before
from benchmarks.records import heading, record

N_TURNS = 15
MOST_MORE = 0.15
BASE, SELECTOR = "scikit-learn's base, scipy.special and numpy", "tvselect and a selector"
LINES = {
    "an empty program": "pass",
    BASE: "import sklearn.base, scipy.special, numpy",
    SELECTOR: "from tvselect import ThompsonSelector; ThompsonSelector()",
    "what `tvs select` plays with": "import tvselect.runs.play",
    "the report's room, no page made": "import tvselect.report",
    "the room of figures, none drawn": "import tvselect.plotting",
    "`tvs --help`": "import sys; from tvselect.cli import main; sys.exit(main(['--help']))",
}
AT_END = """
import atexit, sys
atexit.register(lambda: print(open("/proc/self/statm").read().split()[1], file=sys.stderr))
"""


class Start(NamedTuple):
    """What a fresh interpreter takes: seconds of the processor, resident megabytes at its end."""

    seconds: float
    memory: float


def start(python: str, script: str) -> Start:
    """Run a script in a fresh interpreter."""
    earlier = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [python, "-W", "ignore", "-c", AT_END + script],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    later = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = later.ru_utime + later.ru_stime - earlier.ru_utime - earlier.ru_stime
    pages = int(done.stderr.splitlines()[-1])
    return Start(seconds, pages * resource.getpagesize() / 1e6)


def rows(name: str, starts: dict[str, list[Start]]) -> Iterator[str]:
    """Of the table, for a version."""
    base = median_seconds(starts[BASE])
    for line, made in starts.items():
        middle, least = median_seconds(made), min(one.seconds for one in made)
        memory = statistics.median(one.memory for one in made)
        yield (
            f"| {line} | {name} | {middle:.2f} | {least:.2f} | {middle / base:.2f} | {memory:.0f} |"
        )


def median_seconds(made: list[Start]) -> float:
    return statistics.median(one.seconds for one in made)


def verdict(starts: dict[str, list[Start]]) -> str:
    """Whether a selector is made as fast as it should be."""
    pairs = zip(starts[SELECTOR], starts[BASE], strict=True)
    more = statistics.median(one.seconds - other.seconds for one, other in pairs)
    return (
        f"{SELECTOR.capitalize()} take {more:+.2f} s more than {BASE} (median of the differences "
        f"within a turn); at most {MOST_MORE:g} s: {'yes' if more <= MOST_MORE else 'NO'}."
    )


def page(versions: dict[str, dict[str, list[Start]]], n_turns: int) -> list[str]:
    """The table, and what is to be said of this version."""
    return [
        *heading("Import times", "make bench-imports"),
        f"Fresh interpreters, {n_turns} of each in turns: seconds of the processor, and the "
        "resident memory at their end in MB (10^6 bytes, median).",
        "",
        "| | version | median s | best s | median, over that of the base | memory, MB |",
        "|---|---|---:|---:|---:|---:|",
        *(row for name, starts in versions.items() for row in rows(name, starts)),
        "",
        verdict(versions["now"]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="an environment with version 0.2.0")
    parser.add_argument("--turns", type=int, default=N_TURNS)
    options = parser.parse_args()
    pythons = {"now": sys.executable}
    if options.before:
        pythons[before.VERSION] = str(before.python_of(options.before.resolve()))
    starts: dict[str, dict[str, list[Start]]] = {
        name: {line: [] for line in LINES} for name in pythons
    }
    for turn in range(options.turns + 1):
        for line, script in LINES.items():
            for name, python in pythons.items():
                made = start(python, script)
                if turn:  # the files are in the cache of the system then
                    starts[name][line].append(made)
    record("imports.md", page(starts, options.turns))


if __name__ == "__main__":
    main()
