"""Runs cases of one target in a process of its own; the driver watches it.

``python -m fuzz.worker TARGET SEED FIRST LAST ARTEFACTS`` prints two lines of JSON per case: its
number, so that the driver knows which one a crash or hang belongs to, and what came of it.
``python -m fuzz.worker quick ARTEFACTS`` runs a few cases of every target.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz.targets import TARGETS, Target
from fuzz.verdict import HOMES, fault_in, own_name

SECONDS_TO_START, SECONDS_TO_HANG = 300.0, 60.0  # in which others have the processor, too
MEGABYTES = 200
ROOM = 2 << 30
"""Address space on top of what the libraries take: pyarrow reserves more than it uses."""

TRIES = 4


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


def run(target: Target, numbers: Sequence[int], seed: int, artefacts: Path) -> None:
    """Run cases in this process, which ends if one of them holds it up."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS_TO_START)
    bench, guard, peak = Bench(target), _NoPickle(), 0.0
    try:
        for number in numbers:
            print(number, flush=True)
            signal.setitimer(signal.ITIMER_REAL, SECONDS_TO_HANG)
            guard.is_on = True
            said = _one(bench, seed, number, peak, artefacts)
            guard.is_on = False
            peak = said["peak"]
            print(json.dumps(said), flush=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        bench.close()


def _one(bench: Bench, seed: int, number: int, before: float, artefacts: Path) -> dict[str, Any]:
    """What comes of a case; ``before`` it the process took so many megabytes at most."""
    target = bench.target
    data = target.case(seed, number)
    error, seconds = bench.timed(data)
    for _ in range(TRIES):
        if seconds > target.seconds:
            seconds = min(seconds, bench.timed(data)[1])
    peak, outcome, fault = bench.megabytes(), "read", None
    if error is not None:
        fault = fault_in(error)
        outcome = own_name(error) or f"foreign {type(error).__name__}"
    if seconds > target.seconds:
        fault = f"took {seconds:.1f} s"
    elif peak > MEGABYTES and peak > before + 1:
        fault = f"took {peak:.0f} MB"
    found = dict(target=target.name, case=number, outcome=outcome, seconds=seconds, peak=peak)
    kept = {} if fault is None else keep(target, seed, number, data, fault, error, artefacts)
    return found | kept


def keep(
    target: Target, seed: int, number: int, data: bytes, fault: str,
    error: BaseException | None, artefacts: Path,
) -> dict[str, Any]:  # fmt: skip
    """Keep the file of a fault and say how it came about."""
    path = artefacts / f"{target.name}-{seed}-{number}"
    path.write_bytes(data)
    said: dict[str, Any] = {"seed": seed, "fault": fault}
    if error is not None:
        trace = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in trace if frame.filename.startswith(HOMES)] or list(trace)
        said["where"] = f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}"
        full = "".join(traceback.format_exception(error))
        path.with_suffix(".txt").write_text(full, errors="backslashreplace")
    return said


def resident_megabytes(*, peak: bool = False) -> float:
    """Memory in use by this process, or the most it ever was."""
    word = b"VmHWM:" if peak else b"VmRSS:"
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            text = file.read()
        return int(text.split(word, 1)[1].split(None, 1)[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds_in_queue() -> float:
    """How long this thread was ready to work while others did."""
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
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
