"""The driver: deals cases out to targets, watches the workers, writes the page of results."""

from __future__ import annotations

import argparse
import json
import os
import selectors
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import ROOT, commit, heading, record
from fuzz.targets import TARGETS, Target
from fuzz.worker import MEGABYTES, SECONDS, Tally, keep, seconds_in_queue

RESULTS = ROOT / "docs" / "results" / "fuzz.md"
WORKER = "fuzz.worker"
SECONDS_TO_START = 300.0
SECONDS_TO_HANG = 20.0
MOST_CRASHES = 20


def deal(n_cases: int, targets: Sequence[Target]) -> dict[str, int]:
    """Cases of each target, by its share; at least ``n_cases`` in all."""
    total = sum(target.share for target in targets)
    return {target.name: -(-n_cases * target.share // total) for target in targets}


def fuzz(target: Target, n_cases: int, seed: int, artefacts: Path) -> Tally:
    """Run all cases of a target; a case that ends or holds up its worker is a fault."""
    whole = Tally(target.name, 0)
    first, n_crashes = 0, 0
    while first < n_cases and n_crashes < MOST_CRASHES:
        last = min(n_cases, first + target.per_process)
        for tally in (ended := _Worker(target, seed, first, last, artefacts)).tallies():
            add(whole, tally)
            first = tally.first + tally.n
        if ended.fault is not None:
            n_crashes += 1
            data = target.case(seed, ended.case)
            said = keep(target, seed, ended.case, data, ended.fault, None, artefacts)
            # What came before it in its thousand is run again, without it.
            for tally in _Worker(target, seed, first, ended.case, artefacts).tallies():
                add(whole, tally)
            whole.faults.append(said)
            whole.n += 1
            first = ended.case + 1
    return whole


def add(whole: Tally, part: Tally) -> None:
    """Add what some cases came to."""
    whole.n += part.n
    whole.outcomes.update(part.outcomes)
    whole.seconds += part.seconds
    whole.faults += part.faults
    whole.peak = max(whole.peak, part.peak)
    if part.slowest > whole.slowest:
        whole.slowest, whole.slowest_case = part.slowest, part.slowest_case


class _Worker:
    """A process that runs cases, and what became of it."""

    def __init__(self, target: Target, seed: int, first: int, last: int, artefacts: Path) -> None:
        self.fault: str | None = None
        self.case = first
        self._artefacts = artefacts
        self._command = [
            sys.executable, "-m", WORKER, target.name, str(seed), str(first), str(last),
            str(artefacts),
        ]  # fmt: skip
        self._is_empty = first >= last

    def tallies(self) -> Iterable[Tally]:
        """What the worker reports, as it comes."""
        if self._is_empty:
            return
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        with subprocess.Popen(
            self._command, cwd=ROOT, stdout=subprocess.PIPE, env=environment
        ) as process:
            assert process.stdout is not None
            marker = self._artefacts / f"at-{process.pid}"
            with selectors.DefaultSelector() as waiting:
                waiting.register(process.stdout, selectors.EVENT_READ)
                at, since = -1, _seconds(process.pid)
                while True:
                    if waiting.select(timeout=1.0):
                        line = process.stdout.readline()
                        if not line:
                            break
                        yield _tally(line)
                    now = _read_marker(marker)
                    if now != at:
                        at, since = now, _seconds(process.pid)
                    limit = SECONDS_TO_START if at < 0 else SECONDS_TO_HANG
                    if _seconds(process.pid) - since > limit:
                        process.kill()
                        self.fault = f"hangs: ended after {limit:.0f} s"
                        break
            code = process.wait()
            if self.fault is None and code != 0:
                self.fault = f"the process ended with code {code}"
            self.case = max(at, _read_marker(marker))
            marker.unlink(missing_ok=True)
            if self.fault is not None and self.case < 0:
                raise RuntimeError(f"{' '.join(self._command)}: {self.fault}, before any case")


def _seconds(pid: int) -> float:
    """The clock without the time that a process has waited for the processor."""
    return time.monotonic() - seconds_in_queue(str(pid))


def _tally(line: bytes) -> Tally:
    tally = Tally(**json.loads(line))
    tally.outcomes = Counter(tally.outcomes)
    return tally


def _read_marker(path: Path) -> int:
    try:
        return int(struct.unpack("<q", path.read_bytes())[0])
    except (OSError, struct.error):
        return -1


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


def show(fault: dict[str, Any]) -> None:
    """One line about a fault."""
    print(f"FAULT {json.dumps(fault)}", file=sys.stderr, flush=True)


def summary(tally: Tally) -> str:
    """What became of a target, in a line."""
    return (
        f"{tally.target}: {tally.n:,} cases, {len(tally.faults)} faults, "
        f"slowest {tally.slowest:.3f} s, {tally.peak:.0f} MB, {dict(tally.outcomes)}"
    )


def run_one(target: Target, seed: int, number: int, artefacts: Path) -> int:
    """Run one case again and say what comes of it."""
    worker = _Worker(target, seed, number, number + 1, artefacts)
    for tally in worker.tallies():
        print(tally.to_json())
        return len(tally.faults)
    print(worker.fault)
    return 1


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
        return run_one(targets[0], options.seed, options.case, artefacts)
    tallies = []
    try:
        for name, n_cases in deal(options.cases, targets).items():
            started = time.monotonic()
            tally = fuzz(TARGETS[name], n_cases, options.seed, artefacts)
            tallies.append(tally)
            for fault in tally.faults:
                show(fault)
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
