"""How long it takes until there is a selector.

``make bench-imports`` prints the table and records it. Every line is a fresh interpreter; the
lines take turns, so that a busy machine slows down all of them alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.records import heading, record

N_TURNS = 15
MOST_MORE = 0.3
BASE, SELECTOR = "scikit-learn's base and numba", "tvselect and a selector"
LINES = {
    "an empty program": "pass",
    BASE: "import sklearn.base, numba",
    SELECTOR: "import tvselect; tvselect.ThompsonSelector()",
    "what `tvs select` plays with": "import tvselect.runs.play",
    "the report's room, no page made": "import tvselect.report",
    "the room of figures, none drawn": "import tvselect.plotting",
    "`tvs --help`": "import sys; from tvselect.cli import main; sys.exit(main(['--help']))",
}


def seconds_of(script: str) -> float:
    """Wall-clock seconds of a fresh interpreter."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def page(seconds: dict[str, Sequence[float]]) -> list[str]:
    """The table, and whether a selector is made as fast as it should be."""
    median = {line: statistics.median(values) for line, values in seconds.items()}
    pairs = zip(seconds[SELECTOR], seconds[BASE], strict=True)
    more = statistics.median(one - other for one, other in pairs)
    return [
        *heading("Import times", "make bench-imports"),
        f"Median and best of {N_TURNS} fresh interpreters each, in turns, wall-clock seconds.",
        "",
        "| | median s | best s | median, over that of the base |",
        "|---|---:|---:|---:|",
        *(
            f"| {line} | {median[line]:.2f} | {min(values):.2f} | "
            f"{median[line] / median[BASE]:.2f} |"
            for line, values in seconds.items()
        ),
        "",
        f"{SELECTOR.capitalize()} take {more:+.2f} s more than {BASE} (median of the differences "
        f"within a turn); at most {MOST_MORE:g} s: {'yes' if more <= MOST_MORE else 'NO'}.",
    ]


def main() -> None:
    seconds: dict[str, list[float]] = {line: [] for line in LINES}
    for script in LINES.values():
        seconds_of(script)  # the files are in the cache of the system then
    for _ in range(N_TURNS):
        for line, script in LINES.items():
            seconds[line].append(seconds_of(script))
    record("imports.md", page(seconds))


if __name__ == "__main__":
    main()
