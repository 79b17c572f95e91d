"""The driver: deals cases out to targets, counts what comes of them, writes the page of results."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.records import ROOT, commit, heading, record
from fuzz.targets import TARGETS, Target
from fuzz.targets.base import SECONDS
from fuzz.worker import MEGABYTES, SECONDS_TO_HANG, keep

RESULTS = ROOT / "docs" / "results" / "fuzz.md"
WORKER, ENDED = "fuzz.worker", "ended"
MOST_CRASHES = 20


def deal(n_cases: int, targets: Sequence[Target]) -> dict[str, int]:
    """Cases of each target, by its share; at least ``n_cases`` in all."""
    total = sum(target.share for target in targets)
    return {target.name: -(-n_cases * target.share // total) for target in targets}


@dataclass
class Tally:
    """What the cases of a target came to."""

    target: str
    n: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_case: int = 0
    peak: float = 0.0
    faults: list[dict[str, Any]] = field(default_factory=list)

    def add(self, said: dict[str, Any]) -> None:
        """Add what came of a case."""
        self.n += 1
        self.outcomes[said["outcome"]] += 1
        self.peak = max(self.peak, said["peak"])
        if said["seconds"] > self.slowest:
            self.slowest, self.slowest_case = said["seconds"], said["case"]
        if "fault" in said:
            self.faults.append(said)


def fuzz(target: Target, n_cases: int, seed: int, artefacts: Path) -> Tally:
    """Run all cases of a target; a case that ends or holds up its worker is a fault."""
    tally, first = Tally(target.name), 0
    while first < n_cases and tally.outcomes[ENDED] < MOST_CRASHES:
        for said in run(target, seed, first, min(n_cases, first + target.per_process), artefacts):
            tally.add(said)
            first = said["case"] + 1
    return tally


def run(
    target: Target, seed: int, first: int, last: int, artefacts: Path
) -> Iterator[dict[str, Any]]:
    """What comes of cases in a process of their own, up to one that ends it."""
    command = [
        sys.executable, "-m", WORKER, target.name, str(seed), str(first), str(last), str(artefacts),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    at = None
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said = json.loads(line)
            if isinstance(said, dict):
                yield said
            else:
                at = said
    if process.returncode == 0:
        return
    fault = f"the process ended with code {process.returncode}"
    if process.returncode == -signal.SIGALRM:
        fault = f"hangs: ended after {SECONDS_TO_HANG:.0f} s"
    if at is None:
        raise RuntimeError(f"{' '.join(command)}: {fault}, before any case")
    kept = keep(target, seed, at, target.case(seed, at), fault, None, artefacts)
    yield dict(target=target.name, case=at, outcome=ENDED, seconds=0.0, peak=0.0) | kept


def row(tally: Tally, seed: int) -> str:
    """What became of a target, as a row of the page."""
    said = ", ".join(f"{name} {n:,}" for name, n in sorted(tally.outcomes.items()))
    cells = [
        tally.target, TARGETS[tally.target].about, f"{tally.n:,}", str(seed),
        str(len(tally.faults)), f"{tally.slowest:.3f} ({tally.slowest_case:,})",
        f"{tally.peak:.0f}", said, commit(),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def rows_of(text: str) -> dict[str, str]:
    """The rows of a page, by target."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return {name: line for line in lines if (name := line.split(" | ")[0][2:]) in TARGETS}


def page(rows: dict[str, str], command: str) -> list[str]:
    """The page of results."""
    cells = [row.split(" | ") for row in rows.values()]
    n_cases, n_faults = (sum(int(c[at].replace(",", "")) for c in cells) for at in (2, 4))
    n_older = sum(int(c[2].replace(",", "")) for c in cells if c[-1] != f"{commit()} |")
    older = f"; {n_older:,} of the cases ran at earlier commits, see there" if n_older else ""
    return [
        *heading("Fuzzing: damaged files, and what the readers make of them", command),
        f"{n_cases:,} cases, {n_faults} faults{older}. A fault is a crash, an exception "
        f"that is not ours, a warning, more than {SECONDS:g} s or more than {MEGABYTES} MB on top "
        "of the process; of AnnData files more than 15 s, as damaged ones may have no end, and "
        "their reader is given up on. "
        "Case k of a reader is made from its name, the seed and k alone; "
        "`python -m fuzz --target NAME --seed SEED --case K` runs it again. No case made a reader "
        "load a pickle: that would be a fault, too. A reader that is run again alone, after a "
        "change of its code, has a row of that commit.",
        "",
        "Our own errors are `InputError` (`SourceError` is one of its kind), `RunError`, "
        "`RecordError` and `JournalError`; and `ValueError`, `TypeError` and `OSError` where "
        "tvselect or tvstudy itself raises them.",
        "",
        "| reader | what is read | cases | seed | faults | slowest (case), s | peak, MB | outcomes "
        "| commit |",
        "|---|---|---|---|---|---|---|---|---|",
        *(rows[name] for name in TARGETS if name in rows),
    ]


def summary(tally: Tally) -> str:
    """What became of a target, in a line."""
    return (
        f"{tally.target}: {tally.n:,} cases, {len(tally.faults)} faults, "
        f"slowest {tally.slowest:.3f} s, {tally.peak:.0f} MB, {dict(tally.outcomes)}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, record; returns the number of faults, at most 1."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="all by default")
    parser.add_argument("--case", type=int, help="run this case only, of one target")
    parser.add_argument("--artefacts", type=Path, help="where the files of faults are kept")
    parser.add_argument("--record", metavar="COMMAND", help="write docs/results/fuzz.md")
    options = parser.parse_args(arguments)
    artefacts = options.artefacts or Path(tempfile.gettempdir()) / "tvselect-fuzz"
    artefacts.mkdir(parents=True, exist_ok=True)
    targets = [TARGETS[name] for name in options.target or TARGETS]
    if options.case is not None:
        case = options.case
        (said,) = run(targets[0], options.seed, case, case + 1, artefacts)
        print(json.dumps(said))
        return int("fault" in said)
    tallies = []
    try:
        for name, n_cases in deal(options.cases, targets).items():
            started = time.monotonic()
            tally = fuzz(TARGETS[name], n_cases, options.seed, artefacts)
            tallies.append(tally)
            for fault in tally.faults:
                print(f"FAULT {json.dumps(fault)}", file=sys.stderr, flush=True)
            seconds = time.monotonic() - started
            print(f"{summary(tally)}, {seconds:.0f} s", file=sys.stderr, flush=True)
    finally:
        if options.record and tallies:
            before = RESULTS.read_text() if RESULTS.exists() else ""
            rows = rows_of(before) | {tally.target: row(tally, options.seed) for tally in tallies}
            record("fuzz.md", page(rows, options.record))
    n_faults = sum(len(tally.faults) for tally in tallies)
    if n_faults:
        print(f"{n_faults} faults; their files are in {artefacts}", file=sys.stderr)
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
