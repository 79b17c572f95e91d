"""What the native core is timed with, by a process that does as it is told.

``python -m benchmarks.core_cases`` reads a job from each line of its input and answers with a line:
seconds and a hash of the numbers. It runs with every version of tvselect that there is a Python
for, and imports nothing that only one of them has.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.nested import nested
from tests.recorded_plays import RUNS, digest
from tvselect import BartReward, ThompsonSelector, run_bart
from tvselect.inputs import read_outcome
from tvselect.inputs.outcome import survival_array
from tvselect.seeds import as_generator
from tvselect.trees import BartRun, BinnedTable, Prior, bin_table, start_chain, working_response

N_TREES = 10
FloatArray = NDArray[np.float64]
Table = tuple[NDArray[Any], NDArray[Any]]


class Case(NamedTuple):
    """Something to be timed: made once for a number of workers, then run."""

    make: Callable[[int], Callable[[], Any]]
    n_calls: int = 1


class Job(NamedTuple):
    """What to run, and how."""

    case: str
    n_jobs: int = 1
    n_threads: int = 1


class Measured(NamedTuple):
    """Seconds of the processor and on the clock of one call, and a hash of what came out."""

    cpu: float
    clock: float
    digest: str


def friedman(n_rows: int, n_columns: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(1)
    X = rng.random((n_rows, n_columns))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, f + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n_rows)


def in_classes(n_classes: int, n_rows: int, n_columns: int) -> Table:
    X, y = friedman(n_rows, n_columns)
    shares = np.arange(1, n_classes) / n_classes
    return X, np.digitize(y, np.quantile(y, shares)).astype(str)


def lifetimes(n_rows: int, n_columns: int) -> Table:
    """About a third are censored."""
    X, y = friedman(n_rows, n_columns)
    rng = np.random.default_rng(2)
    time_of_event, until = np.exp(y / y.std()), rng.exponential(4.0, n_rows) * np.exp(y.mean() / 5)
    return X, survival_array(np.minimum(time_of_event, until), time_of_event <= until)


def genotypes(n_rows: int, n_columns: int) -> Table:
    rng = np.random.default_rng(3)
    X = rng.binomial(2, 0.3, (n_rows, n_columns)).astype(np.uint8)
    return X, X[:, :5] @ np.array([1.0, -1.0, 1.0, -1.0, 0.7]) + rng.standard_normal(n_rows)


def one_chain(X: FloatArray, y: FloatArray, *, sparse: bool) -> Callable[[int, int], Any]:
    """A run of the sampler on a table that is binned beforehand, as in a play."""
    table, response = bin_table(X), working_response(read_outcome(y, len(y)))
    prior = Prior(n_trees=N_TREES, sparse=sparse)

    def run(n_iterations: int, seed: int) -> Any:
        chain = start_chain(
            table, response, prior, n_iterations=n_iterations, n_burn=0, rng=as_generator(seed)
        )
        chain.advance()
        return chain.averages()

    return run


def selection(
    data: Callable[[int, int], Table], n_rows: int, n_columns: int, **settings: Any
) -> Case:
    """A fit from the table to the columns that are selected."""

    def make(n_jobs: int) -> Callable[[], Any]:
        X, y = data(n_rows, n_columns)
        return lambda: ThompsonSelector(random_state=0, n_jobs=n_jobs, **settings).fit(X, y)

    return Case(make)


def bare(n_rows: int, n_columns: int, n_iterations: int, sparse: bool, n_calls: int = 1) -> Case:
    """A chain, on a table that is binned before."""

    def make(n_jobs: int) -> Callable[[], Any]:
        run = one_chain(*friedman(n_rows, n_columns), sparse=sparse)
        return lambda: run(n_iterations, 1)

    return Case(make, n_calls)


def from_array(
    n_rows: int,
    n_columns: int,
    n_iterations: int,
    sparse: bool,
    n_calls: int = 1,
    n_trees: int = 10,
) -> Case:
    """A chain, from the array."""

    def make(n_jobs: int) -> Callable[[], Any]:
        X, y = friedman(n_rows, n_columns)
        settings: dict[str, Any] = dict(n_iterations=n_iterations, n_trees=n_trees, sparse=sparse)
        return lambda: run_bart(X, y, n_burn=0, n_keep=1, random_state=1, **settings)

    return Case(make, n_calls)


def binning(n_rows: int, n_columns: int) -> Case:
    def make(n_jobs: int) -> Callable[[], Any]:
        X, _ = friedman(n_rows, n_columns)
        return lambda: bin_table(X)

    return Case(make, 3)


def recorded(run: Callable[[], Any]) -> Case:
    """One of the runs whose plays are on record."""
    return Case(lambda n_jobs: run)


def cases(is_quick: bool) -> dict[str, Case]:
    """All of them by name; in quick ones everything is a tenth as large."""
    tenth = 10 if is_quick else 1
    some: dict[str, Any] = dict(n_plays=20 if is_quick else 200)
    all_plays: dict[str, Any] = dict(n_plays=50) if is_quick else {}
    reward = BartReward.paper(1_000 // tenth)
    paper: dict[str, Any] = dict(reward=reward, n_plays=300 // tenth, max_fdr=None)
    windows = nested(window=8, n_plays=50)
    return {
        **{
            f"default, {n:,} x {p:,}": selection(friedman, n, p // tenth, **all_plays)
            for n, p in ((300, 1_000), (1_000, 1_000), (300, 10_000), (2_000, 500))
        },
        "paper's rule": selection(friedman, 300, 10_000 // tenth, **paper),
        "two classes": selection(partial(in_classes, 2), 500, 1_000 // tenth, **some),
        "three classes": selection(partial(in_classes, 3), 500, 1_000 // tenth, **some),
        "survival": selection(lifetimes, 500, 1_000 // tenth, **some),
        "genotypes": selection(genotypes, 1_000, 1_000 // tenth, **some),
        "(a)": bare(300, 5_000, 100, False, 200),
        "(a) from the array": from_array(300, 5_000, 100, False, 5),
        "(b)": bare(300, 50, 1_000, False, 50),
        "(b) from the array": from_array(300, 50, 1_000, False, 30),
        "(c)": bare(1_000, 1_000, 1_000, True, 20),
        "(c) from the array": from_array(1_000, 1_000, 1_000, True, 5),
        "100 columns": bare(300, 100, 5_000, True, 5),
        "100,000 columns": bare(300, 100_000 // tenth, 5_000, True, 5),
        "1,000 rows": bare(1_000, 100, 2_000, True, 5),
        "10,000 rows": bare(10_000, 100, 1_000 // tenth, True, 3),
        "100,000 rows": bare(100_000 // tenth, 100, 300, True),
        "binning": binning(300, 10_000 // tenth),
        "DART": from_array(1_000, 1_000 // tenth, 20_000 // tenth, True, n_trees=50),
        "long (b)": bare(300, 50, 500_000 // tenth, False),
        "long (c)": bare(1_000, 1_000 // tenth, 200_000 // tenth, True),
        "in windows": selection(friedman, 200, 100, **windows),
        "in windows, three classes": selection(partial(in_classes, 3), 200, 50, **windows),
        "in windows, survival": selection(lifetimes, 200, 50, **windows),
        "in windows, genotypes": selection(genotypes, 200, 100, **windows),
        **{name: recorded(run) for name, run in RUNS.items()},
    }


class Bench:
    """Runs jobs; what the last case needed is kept."""

    def __init__(self, is_quick: bool) -> None:
        self._cases = cases(is_quick)
        self._name = ""
        self._runs: dict[int, Callable[[], Any]] = {}

    def do(self, job: Job) -> Measured:
        """Seconds of a call; the first one, which may compile, is left out."""
        case = self._cases[job.case]
        run = self._ready(job)
        with ThreadPoolExecutor(job.n_threads) as pool:
            clock, cpu = time.perf_counter(), time.process_time()
            for _ in range(case.n_calls):
                made = [pool.submit(run) for _ in range(job.n_threads)]
                found = [one.result() for one in made]
            cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
        hashes = sorted({hash_of(one) for one in found})
        return Measured(cpu / case.n_calls, clock / case.n_calls, "/".join(hashes))

    def _ready(self, job: Job) -> Callable[[], Any]:
        if self._name != job.case:
            self._name, self._runs = job.case, {}
        if job.n_jobs not in self._runs:
            self._runs[job.n_jobs] = self._cases[job.case].make(job.n_jobs)
            self._runs[job.n_jobs]()
        return self._runs[job.n_jobs]


def hash_of(found: Any) -> str:
    """Of the plays of a selection, of what a chain has counted, or of the cut points of a table."""
    if hasattr(found, "result_"):
        return digest(found)
    if isinstance(found, BinnedTable):
        found = found.widths, found.cuts.n_cuts, found.cuts.low, found.cuts.step, found.cuts.halfway
    elif isinstance(found, BartRun):
        found = found.inclusion, found.sigma
    total = hashlib.sha256()
    for array in found:
        total.update(array.tobytes())
    return total.hexdigest()[:16]


@contextmanager
def only_answers() -> Iterator[Any]:
    """The output, for answers; what else is printed goes to the errors."""
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        yield answers
    finally:
        sys.stdout = answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    bench = Bench(parser.parse_args().quick)
    with only_answers() as answers:
        for line in sys.stdin:
            measured = bench.do(Job(*json.loads(line)))
            print(json.dumps(measured), file=answers, flush=True)


if __name__ == "__main__":
    main()
