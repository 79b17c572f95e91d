"""Runs cases of one target in a process of its own; the driver watches it.

``python -m fuzz.worker TARGET SEED FIRST LAST ARTEFACTS`` prints one line of JSON per thousand
cases. The number of the case at hand stands in the file ``ARTEFACTS/at-PID``, so that the driver
knows which one a crash or hang belongs to. ``python -m fuzz.worker quick ARTEFACTS`` runs a few
cases of every target.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.targets import TARGETS, Target
from fuzz.verdict import HOMES, fault_in, own_name

SECONDS = 3.0
MEGABYTES = 200
ROOM = 2 << 30
"""Address space on top of what the libraries take: pyarrow reserves more than it uses."""

CASES_AT_ONCE = 1000
TRIES = 4


@dataclass
class Tally:
    """What some cases came to."""

    target: str
    first: int
    n: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_case: int = 0
    peak: float = 0.0
    seconds: float = 0.0
    faults: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(self.__dict__)


class Bench:
    """A folder to put files into, and clocks."""

    def __init__(self, target: Target) -> None:
        self.target = target
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=shared))
        os.chdir(self.folder)
        limit_memory(None)
        if target.prepare is not None:
            target.prepare(self.folder)
        # What is loaded at first use is not the fault of a case.
        for seed in target.seeds:
            self.outcome(seed)
        gc.collect()
        forget_peak()
        self._start = resident_megabytes()
        limit_memory(ROOM)

    def close(self) -> None:
        """Remove the folder."""
        os.chdir("/")
        shutil.rmtree(self.folder, ignore_errors=True)

    def outcome(self, data: bytes) -> BaseException | None:
        """Read a case: what it raised."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                self.target.read(data, self.folder)
            except Exception as error:
                return error
        return None

    def timed(self, data: bytes) -> tuple[BaseException | None, float]:
        """Read a case: what it raised, and how long it worked or waited.

        Time of the processor, in which other programs have no part; that of the clock where the
        case hardly worked but waited, and not for the processor.
        """
        clock, processor, queued = time.perf_counter(), time.process_time(), seconds_in_queue()
        error = self.outcome(data)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        clock -= seconds_in_queue() - queued
        return error, processor if processor > clock / 10 else clock

    def megabytes(self) -> float:
        """The peak of this process, above what it took before the first case."""
        return max(0.0, resident_megabytes(peak=True) - self._start)


def run(target: Target, numbers: Sequence[int], seed: int, artefacts: Path) -> list[Tally]:
    """Run cases in this process."""
    with _Marker(artefacts) as marker:
        bench = Bench(target)
        guard = _NoPickle()
        tallies = []
        try:
            for start in range(0, len(numbers), CASES_AT_ONCE):
                some = numbers[start : start + CASES_AT_ONCE]
                tally = Tally(target.name, some[0])
                for number in some:
                    marker.put(number)
                    guard.is_on = True
                    _one(bench, tally, seed, number, artefacts)
                    guard.is_on = False
                print(tally.to_json(), flush=True)
                tallies.append(tally)
        finally:
            bench.close()
    return tallies


def _one(bench: Bench, tally: Tally, seed: int, number: int, artefacts: Path) -> None:
    data = bench.target.case(seed, number)
    before = tally.peak
    error, seconds = bench.timed(data)
    for _ in range(TRIES):
        if seconds > bench.target.seconds:
            seconds = min(seconds, bench.timed(data)[1])
    peak = bench.megabytes()
    fault = None
    if error is None:
        tally.outcomes["read"] += 1
    else:
        fault = fault_in(error)
        tally.outcomes[own_name(error) or f"foreign {type(error).__name__}"] += 1
    if seconds > bench.target.seconds:
        fault = f"took {seconds:.1f} s"
    elif peak > MEGABYTES and peak > before + 1:
        fault = f"took {peak:.0f} MB"
    if fault is not None:
        tally.faults.append(keep(bench.target, seed, number, data, fault, error, artefacts))
    tally.n += 1
    tally.seconds += seconds
    if seconds > tally.slowest:
        tally.slowest, tally.slowest_case = seconds, number
    tally.peak = max(tally.peak, peak)


def keep(
    target: Target, seed: int, number: int, data: bytes, fault: str,
    error: BaseException | None, artefacts: Path,
) -> dict[str, Any]:  # fmt: skip
    """Keep the file of a fault and say how it came about."""
    path = artefacts / f"{target.name}-{seed}-{number}"
    path.write_bytes(data)
    said = {"target": target.name, "seed": seed, "case": number, "fault": fault}
    if error is not None:
        trace = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in trace if frame.filename.startswith(HOMES)] or list(trace)
        said["where"] = f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}"
        full = "".join(traceback.format_exception(error))
        path.with_suffix(".txt").write_text(full, errors="backslashreplace")
    return said


class _Marker:
    """The number of the case at hand, where it outlives the process."""

    def __init__(self, artefacts: Path) -> None:
        self.path = artefacts / f"at-{os.getpid()}"

    def __enter__(self) -> _Marker:
        self.path.write_bytes(struct.pack("<q", -1))
        with self.path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)
        return self

    def __exit__(self, *_: object) -> None:
        self._map.close()
        self.path.unlink(missing_ok=True)

    def put(self, number: int) -> None:
        self._map[:8] = struct.pack("<q", number)


def resident_megabytes(*, peak: bool = False) -> float:
    """Memory in use by this process, or the most it ever was."""
    word = b"VmHWM:" if peak else b"VmRSS:"
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            text = file.read()
        return int(text.split(word, 1)[1].split(None, 1)[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_in_queue(process: str = "thread-self") -> float:
    """How long this thread, or that of a process, was ready to work while others did."""
    try:
        with open(f"/proc/{process}/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def forget_peak() -> None:
    """Begin to count the peak anew, where the system can."""
    with suppress(OSError), open("/proc/self/clear_refs", "wb", buffering=0) as file:
        file.write(b"5")


def limit_memory(room: int | None) -> None:
    """Let allocations beyond all reason fail instead of taking the machine down."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if room is None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return
    with suppress(OSError, ValueError):  # not on Linux, or limited already
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + room, most))


class _NoPickle:
    """Makes a pickle that a case reads a fault."""

    def __init__(self) -> None:
        self.is_on = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: Any) -> None:
        if self.is_on and event == "pickle.find_class":
            raise SystemError(f"a pickle was read: {arguments}")


def main() -> None:
    """Run the cases that the driver asks for, or a few of every target."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1] == "quick":
        for target in TARGETS.values():
            run(target, range(target.quick), 0, Path(sys.argv[2]))
        return
    name, seed, first, last, artefacts = sys.argv[1:]
    run(TARGETS[name], range(int(first), int(last)), int(seed), Path(artefacts))


if __name__ == "__main__":
    main()
