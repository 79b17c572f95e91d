"""The native core next to version 0.2.0, whose kernels Numba compiled at their first use.

``make bench-core`` makes an environment with that version out of the result of this repository,
and measures both in the same run: two processes that take turns, each warmed up before. Every part
is a section of ``docs/results/core.md``, and writes that section only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import hatch_build
from benchmarks import before
from benchmarks.core_cases import RUNS, Job, Measured
from benchmarks.records import ROOT, heading, record

PAGE, TITLE = "core.md", "The native core next to version 0.2.0"
LEAST_FASTER, LEAST_OF_THREADS, MOST_OF_FIRST, MOST_OF_DEMO, LONGEST_DEMO = 1.3, 1.8, 1.05, 1.1, 45
ABOUT = (
    "Version 0.2.0 compiled its kernels by Numba when they were first used. Both versions are "
    "measured in the same run, in processes that take turns, each warmed up before. How long it "
    "takes to load is on the page of [imports](imports.md)."
)
VERSIONS = before.VERSION, "now"
LEVELS = "v2", "v3", "v4"
WHEEL = "x86_64-linux-gnu.2.17"
COMPILERS = "numba*", "llvmlite*"
SELECTIONS = {
    "default, 300 x 1,000": "default selection, 300 x 1,000",
    "default, 1,000 x 1,000": "default selection, 1,000 x 1,000",
    "paper's rule": "the paper's rule, M=1,000, 300 plays, 300 x 10,000",
    "two classes": "two classes (probit), 500 x 1,000, 200 plays",
    "three classes": "three classes, 500 x 1,000, 200 plays",
    "survival": "survival, 500 x 1,000, 200 plays",
    "genotypes": "codes of two bits (genotypes), 1,000 x 1,000, 200 plays",
}
CHAINS = {
    "(a)": "(a) n=300, p=5,000, 100 iterations, binned before",
    "(a) from the array": "(a) from the array",
    "(b)": "(b) n=300, p=50, 1,000 iterations, binned before",
    "(b) from the array": "(b) from the array",
    "(c)": "(c) n=1,000, p=1,000, sparse prior, 1,000 iterations, binned before",
    "(c) from the array": "(c) from the array",
    "100 columns": "sparse prior, n=300, p=100, 5,000 iterations",
    "100,000 columns": "sparse prior, n=300, p=100,000, 5,000 iterations",
    "1,000 rows": "sparse prior, n=1,000, p=100, 2,000 iterations",
    "10,000 rows": "sparse prior, n=10,000, p=100, 1,000 iterations",
    "100,000 rows": "sparse prior, n=100,000, p=100, 300 iterations",
    "binning": "binning 300 x 10,000",
    "DART": "DART, 50 trees, 20,000 iterations, n=1,000, p=1,000, from the array",
}
LONG_CHAINS = {
    "long (b)": "n=300, p=50, 500,000 iterations",
    "long (c)": "n=1,000, p=1,000, sparse prior, 200,000 iterations",
}
WORKERS = {  # the least that two of them should gain
    "default, 300 x 1,000": 1.7,
    "default, 300 x 10,000": 1.5,
    "default, 1,000 x 1,000": 1.7,
    "default, 2,000 x 500": 1.85,
}
IN_WINDOWS = {
    "in windows": "a number, windows of 8",
    "in windows, three classes": "three classes, windows of 8",
    "in windows, survival": "survival, windows of 8",
    "in windows, genotypes": "codes of two bits, windows of 8",
}
FIRST_FIT = """
import json, sys, time
import numpy as np
from tvselect import ThompsonSelector

rng = np.random.default_rng(0)
X = rng.random((300, 200))
y = 4 * X[:, 3] + rng.standard_normal(300)
ThompsonSelector(n_plays=200, random_state=1).fit(X, y)
first = time.process_time()
modules = list(sys.modules)
started = time.process_time()
ThompsonSelector(n_plays=200, random_state=1).fit(X, y)
print(json.dumps([first, time.process_time() - started, modules]))
"""
IMPORTS = """
import importlib, json, sys, time
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
print(time.process_time())
"""


class Options(NamedTuple):
    """How a part is run, and the Python that has the version before."""

    python: Path
    rounds: int
    is_quick: bool


class Worker:
    """A process with one of the versions, which runs one job after the other."""

    def __init__(self, python: Path | str, *, is_quick: bool, **environment: str) -> None:
        command = [str(python), "-W", "ignore", "-m", "benchmarks.core_cases"]
        self._process = subprocess.Popen(
            [*command, *(["--quick"] if is_quick else [])],
            cwd=ROOT,
            env=environment_with(**environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *reason: object) -> None:
        self._process.communicate()

    def do(self, job: Job) -> Measured:
        """Run a job and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(job), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that was to run {job.case!r} has ended")
        return Measured(*json.loads(answer))


class Workers(NamedTuple):
    """A process with the version before, and one with this version."""

    before: Worker
    after: Worker


class Compared(NamedTuple):
    """The same job in both versions, round by round."""

    before: list[Measured]
    after: list[Measured]

    @property
    def is_same(self) -> bool:
        """Whether both give the same numbers."""
        return len({made.digest for made in self.before + self.after}) == 1


def environment_with(**more: str) -> dict[str, str]:
    """The environment of a process: one thread of linear algebra, instructions by choice."""
    kept = {name: value for name, value in os.environ.items() if name != "TVSELECT_SIMD"}
    return {**kept, "OPENBLAS_NUM_THREADS": "1", **more}


def both(options: Options, stack: ExitStack) -> Workers:
    """Both versions, until the stack is left."""
    pythons = options.python, sys.executable
    started = (Worker(python, is_quick=options.is_quick) for python in pythons)
    return Workers(*map(stack.enter_context, started))


def in_turns(workers: Workers, jobs: Sequence[Job], rounds: int) -> list[Compared]:
    """Measure jobs once a round in both versions; who is first changes."""
    compared = [Compared([], []) for _ in jobs]
    for turn in range(rounds):
        for job, made in zip(jobs, compared, strict=True):
            sides = list(zip(made, workers, strict=True))
            for side, worker in sides if turn % 2 == 0 else reversed(sides):
                side.append(worker.do(job))
    return compared


def least_and_median(seconds: Sequence[float]) -> str:
    """In a cell: the least of them, and their median in brackets."""
    least, middle = min(seconds), median(seconds)
    if least < 0.1:
        return f"{1e3 * least:.2f} ({1e3 * middle:.2f}) ms"
    return f"{least:.2f} ({middle:.2f}) s"


def yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "NO"


def shown(rows: Iterable[str]) -> list[str]:
    """Rows of a table, printed as they are made."""
    made = []
    for row in rows:
        print(row, flush=True)
        made.append(row)
    return made


def speed(options: Options) -> list[str]:
    """Seconds of the processor, both versions in turns."""
    ratios = []

    def rows() -> Iterator[str]:
        with ExitStack() as stack:
            workers = both(options, stack)
            for name, label in {**SELECTIONS, **CHAINS}.items():
                (made,) = in_turns(workers, [Job(name)], options.rounds)
                old, new = ([one.cpu for one in side] for side in made)
                ratios.append(min(old) / min(new))
                yield (
                    f"| {label} | {least_and_median(old)} | {least_and_median(new)} | "
                    f"{ratios[-1]:.2f} | {yes_or_no(round(ratios[-1], 2) >= 1)} | "
                    f"{yes_or_no(made.is_same)} |"
                )

    table = shown(rows())
    mean = geometric_mean(ratios)
    return [
        f"Seconds of the processor that a call takes, the least of {options.rounds} and their "
        "median; how many times faster, by the least. One worker. Friedman's function, but for "
        "the genotypes. Same: the plays, or what the chain counts, are the same to the bit.",
        "",
        "| | 0.2.0 | now | times faster | not slower | same |",
        "|---|---:|---:|---:|---|---|",
        *table,
        "",
        f"Geometric mean: {mean:.2f} times faster; at least {LEAST_FASTER:g}: "
        f"{yes_or_no(mean >= LEAST_FASTER)}.",
    ]


def beside_two(
    options: Options, pairs: Iterable[tuple[str, Job, Job, int, float]]
) -> Iterator[str]:
    """Rows: a label, one job and two next to it, how much more work two are, the least gain."""
    with ExitStack() as stack:
        workers = both(options, stack)
        for label, one_job, two_jobs, times, wanted in pairs:
            alone, together = in_turns(workers, [one_job, two_jobs], options.rounds)
            for version, one, two in zip(VERSIONS, alone, together, strict=True):
                first, second = ([made.clock for made in side] for side in (one, two))
                gain = times * min(first) / min(second)
                yield (
                    f"| {label} | {version} | {least_and_median(first)} | "
                    f"{least_and_median(second)} | {gain:.2f} | {wanted:g} | "
                    f"{yes_or_no(gain >= wanted)} |"
                )


def two_threads(options: Options) -> list[str]:
    """Two chains at once, in two threads, next to one."""
    pairs = (
        (label, Job(name), Job(name, n_threads=2), 2, LEAST_OF_THREADS)
        for name, label in LONG_CHAINS.items()
    )
    return [
        "The bare sampler: a chain, and two of them at once in two threads of a process, on the "
        f"clock; the least of {options.rounds} and their median.",
        "",
        "| | version | one | two at once | times as many, by the least | at least | |",
        "|---|---|---:|---:|---:|---:|---|",
        *shown(beside_two(options, pairs)),
    ]


def two_workers(options: Options) -> list[str]:
    """Whole selections with ``n_jobs=1`` and ``n_jobs=2``."""
    pairs = ((name, Job(name), Job(name, n_jobs=2), 1, wanted) for name, wanted in WORKERS.items())
    return [
        "The default selection with `n_jobs=1` and `n_jobs=2`, on the clock; the least of "
        f"{options.rounds} and their median.",
        "",
        "| | version | one worker | two | times as fast, by the least | at least | |",
        "|---|---|---:|---:|---:|---:|---|",
        *shown(beside_two(options, pairs)),
    ]


def same(options: Options) -> list[str]:
    """Plays of small runs: before, now with every instruction set, with one worker and two."""

    def rows() -> Iterator[str]:
        with ExitStack() as stack:
            levels = [{"TVSELECT_SIMD": level} for level in known_levels()] or [{}]
            kinds = [(options.python, {}), *((sys.executable, level) for level in levels)]
            found = [
                stack.enter_context(Worker(python, is_quick=False, **level))
                for python, level in kinds
            ]
            names = {name: name for name in RUNS} | IN_WINDOWS
            for name, label in names.items():
                jobs = [Job(name), *([Job(name, n_jobs=2)] if name in IN_WINDOWS else [])]
                made = [worker.do(job).digest for worker in found for job in jobs]
                yield (
                    f"| {label} | {', '.join(sorted(set(made)))} | {len(made)} | "
                    f"{yes_or_no(len(set(made)) == 1)} |"
                )

    return [
        "A hash of the plays, and of what was selected, in version 0.2.0 and now, with each of "
        f"the instruction sets {', '.join(known_levels())} of this processor; runs in windows "
        "with one worker and with two.",
        "",
        "| | hash | runs | same |",
        "|---|---|---:|---|",
        *shown(rows()),
    ]


def known_levels() -> list[str]:
    """The instruction sets that this processor can be told to use."""
    script = "import tvselect.core"
    return [
        level
        for level in LEVELS
        if subprocess.run(
            [sys.executable, "-c", script],
            env=environment_with(TVSELECT_SIMD=level),
            stderr=subprocess.DEVNULL,
        ).returncode
        == 0
    ]


def first(options: Options) -> list[str]:
    """The first fit of a process next to the second one and all imports."""

    def rows() -> Iterator[str]:
        with tempfile.TemporaryDirectory() as cache:
            unused, _, _ = first_fit(options.python, cache)
        yield f"| 0.2.0, never used before | {unused:.2f} s | | | | |"
        with tempfile.TemporaryDirectory() as cache:
            first_fit(options.python, cache)
            taken: dict[str, list[tuple[float, float, int]]] = {name: [] for name in VERSIONS}
            for _ in range(options.rounds):
                for name, python in zip(VERSIONS, (options.python, sys.executable), strict=True):
                    taken[name].append(first_fit(python, cache))
        for name, made in taken.items():
            one, other, n_files = zip(*made, strict=True)
            ratio = min(one) / min(other)
            yield (
                f"| {name} | {least_and_median(one)} | {least_and_median(other)} | {ratio:.2f} | "
                f"{yes_or_no(ratio <= MOST_OF_FIRST)} | {max(n_files)} |"
            )

    return [
        "A selection of 300 x 200 with 200 plays, in fresh processes: seconds of the processor "
        "until the first fit is done, and of a second fit in that process with the imports of "
        f"all that is loaded then; the least of {options.rounds} and their median. Files: left "
        "behind in an empty home folder, by a first fit.",
        "",
        f"| | first fit | second fit and imports | ratio | at most {MOST_OF_FIRST:g} | files |",
        "|---|---:|---:|---:|---|---:|",
        *shown(rows()),
    ]


def first_fit(python: Path | str, cache: str) -> tuple[float, float, int]:
    """Seconds of the first fit, of the second with all imports, and files that are left.

    ``cache`` is where version 0.2.0 keeps what it compiles.
    """
    with tempfile.TemporaryDirectory() as home:
        folders = dict(HOME=home, XDG_CACHE_HOME=home, TMPDIR=home)
        more = dict(NUMBA_CACHE_DIR=cache, PYTHONDONTWRITEBYTECODE="1", **folders)

        def run(script: str, given: str = "") -> Any:
            done = subprocess.run(
                [str(python), "-W", "ignore", "-c", script],
                input=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment_with(**more),
                cwd=home,
                check=True,
                text=True,
            )
            return json.loads(done.stdout.splitlines()[-1])

        until_done, second, modules = run(FIRST_FIT)
        n_files = sum(path.is_file() for path in Path(home).rglob("*"))
        return until_done, second + run(IMPORTS, json.dumps(modules)), n_files


def install(options: Options) -> list[str]:
    """What ``pip install`` brings, and the first ``tvs demo`` in a fresh environment."""

    def rows() -> Iterator[str]:
        with tempfile.TemporaryDirectory() as folder:
            sources = Path(folder) / "sources"
            sources.mkdir()
            before.unpack(sources)
            for version, source in zip(VERSIONS, (sources, ROOT), strict=True):
                yield installed(version, source, Path(folder) / version)

    return [
        "An empty environment: megabytes (10^6 bytes) of the wheel and of all that `pip install` "
        "brings with it, bytecode included; then `tvs demo` for the first time and again, "
        "seconds on the clock.",
        "",
        "| | wheel, MB | installed, MB | of these numba and llvmlite | first demo, s | second | "
        f"ratio | at most {MOST_OF_DEMO:g} |",
        "|---|---:|---:|---:|---:|---:|---:|---|",
        *shown(rows()),
    ]


def installed(version: str, source: Path, folder: Path) -> str:
    """A row: a version's wheel, installed and tried out."""
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*words, "--wheel-dir", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    python = before.make_environment(folder / "environment")
    (packages,) = (folder / "environment").glob("lib/python*/site-packages")
    empty = megabytes(packages)
    before.pip_install(python, wheel)
    everything = megabytes(packages) - empty
    compilers = sum(megabytes(part) for name in COMPILERS for part in packages.glob(name))
    before.pip_install(python, f"{wheel}[cli]")
    demos = [seconds_of([str(python.with_name("tvs")), "demo"], folder) for _ in range(2)]
    ratio = demos[0] / demos[1]
    return (
        f"| {version} | {wheel.stat().st_size / 1e6:.1f} | {everything:.0f} | {compilers:.0f} | "
        f"{demos[0]:.1f} | {demos[1]:.1f} | {ratio:.2f} | {yes_or_no(ratio <= MOST_OF_DEMO)} |"
    )


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def seconds_of(command: Sequence[str], folder: Path) -> float:
    """On the clock, of a command in a folder."""
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return seconds


def clone(options: Options) -> list[str]:
    """``make demo`` in a fresh clone."""

    def rows() -> Iterator[str]:
        for version, commit in zip(VERSIONS, (before.COMMIT, "HEAD"), strict=True):
            with tempfile.TemporaryDirectory() as folder:
                quiet = ["git", "-c", "advice.detachedHead=false"]
                subprocess.run([*quiet, "clone", "--quiet", str(ROOT), folder], check=True)
                subprocess.run([*quiet, "checkout", "--quiet", commit_of(commit)], cwd=folder)
                command = ["make", "demo", f"PYTHON={sys.executable}"]
                seconds = seconds_of(command, Path(folder))
            yield f"| {version} | {seconds:.0f} | {yes_or_no(seconds <= LONGEST_DEMO)} |"

    return [
        "`make demo` in a fresh clone, with packages that pip has downloaded before; seconds on "
        "the clock.",
        "",
        f"| | s | at most {LONGEST_DEMO} |",
        "|---|---:|---|",
        *shown(rows()),
    ]


def commit_of(name: str) -> str:
    words = ["git", "rev-parse", name]
    return subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


PARTS: dict[str, tuple[str, Callable[[Options], list[str]]]] = {
    "speed": ("Speed", speed),
    "threads": ("Two threads", two_threads),
    "workers": ("Two workers", two_workers),
    "first": ("The first fit", first),
    "same": ("The same numbers", same),
    "install": ("Installed", install),
    "clone": ("A fresh clone", clone),
}


def page_with(part: str, lines: Sequence[str]) -> list[str]:
    """The page, with a new section in place of that of a part."""
    path = ROOT / "docs" / "results" / PAGE
    text = path.read_text() if path.exists() else ""
    old = {section.splitlines()[0]: section.strip() for section in text.split("\n## ")[1:]}
    origin = heading(TITLE, f"make bench-core PART={part}")[2]
    old[PARTS[part][0]] = "\n".join([PARTS[part][0], "", origin, "", *lines])
    sections = [f"\n## {old[title]}" for title, _ in PARTS.values() if title in old]
    return [f"# {TITLE}", "", ABOUT, *sections]


def made_by(compiler: hatch_build.Compiler | None) -> str:
    """Which compiler has made the library of the present version."""
    assert compiler is not None
    if compiler.is_zig:
        return "The native library is that of the wheel, compiled by Zig."
    return f"The native library was compiled here, by {Path(compiler.command[0]).name}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, default=before.FOLDER, help="its environment")
    parser.add_argument("--part", action="append", choices=PARTS, help="all but install and clone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, not recorded")
    parser.add_argument("--wheel", action="store_true", help="the library of the wheel, by Zig")
    options = parser.parse_args()
    compiler = hatch_build.find_compiler(WHEEL if options.wheel else None)
    if options.wheel:
        hatch_build.build_core(hatch_build.PACKAGE, target=WHEEL)
    python = before.python_of(options.before.resolve())
    for part in options.part or list(PARTS)[:5]:
        lines = PARTS[part][1](Options(python, options.rounds, options.quick))
        if options.quick:
            print("\n".join(lines))
        else:
            record(PAGE, page_with(part, [*lines, "", made_by(compiler)]))


if __name__ == "__main__":
    main()
