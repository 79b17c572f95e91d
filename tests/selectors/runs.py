"""What the tests of runs that stop and go on share: comparisons, interrupts, kills."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
from numpy.testing import assert_array_equal

from tests.bandit.plays import listed

RESULTS = ("support_", "selection_rates_", "selection_rate_intervals_", "n_plays_")


P, SIGNALS = 12, [3, 7]


def make_data(n=100, p=P, seed=1):
    """A table, and an outcome that two columns explain."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 3 * X[:, 3] - 2 * X[:, 7] + rng.standard_normal(n)


def plays_of(fitted):
    return listed(fitted.result_.journal, fitted.result_.n_chains)


def assert_same(one, other):
    assert plays_of(one) == plays_of(other)
    for name in RESULTS:
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


class Interrupted:
    """A reward that is interrupted in one play, as by Ctrl-C."""

    def __init__(self, at, by=KeyboardInterrupt):
        self.at, self.by, self.n = at, by, 0

    def __call__(self, X, y, rng):
        self.n += 1
        if self.n == self.at:
            raise self.by("no luck")
        return rng.random(X.shape[1])

    def __dask_tokenize__(self):
        """What is paid is always the same."""


def Undisturbed():  # noqa: N802
    """The same reward, without the interrupt."""
    return Interrupted(at=0)


KILLER = """
import os, signal, sys
import numpy as np
from tvselect.bandit.journal import Journal

def slow_coin(X, y, rng):
    print("play", flush=True)
    np.linalg.svd(rng.standard_normal((120, 120)))
    return rng.random(X.shape[1])

{run}

def run_in_a_process(journal, n_plays):
    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        os.dup2(theirs, 1)
        print("rates", run(journal, n_plays), flush=True)
        os._exit(0)
    os.close(theirs)
    return process, os.fdopen(ours)

def committed(journal):
    if not os.path.exists(journal):
        return 0
    with Journal(journal) as opened:
        n_plays = opened.n_plays(0)
        assert n_plays == opened.n_plays(1) == sum(1 for _ in opened.plays(1))
        return n_plays

journal, n_kills, n_plays = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(n_kills)
n_killed = n_due = 0
for _ in range(n_kills):
    process, lines = run_in_a_process(journal, n_plays)
    # Somewhere between the start of the fit and a few plays later, mid-write included.
    seen = [lines.readline() for _ in range(1 + rng.integers(2 * n_plays // n_kills))]
    for _ in range(rng.integers(20_000)):
        pass
    os.kill(process, signal.SIGKILL)
    n_killed += os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
    n_begun = [*seen, *lines].count("play\\n")
    lines.close()
    # Each of the two chains says when it begins to play: all rounds but the last are written.
    n_due += max(0, -(-n_begun // 2) - 1)
    if rng.random() < 0.5:  # else the next run finds the journal as it was left
        n_plays_now = committed(journal)
        assert n_plays_now >= n_due, (n_plays_now, n_due)
        n_due = n_plays_now
print(n_killed)
for where in (journal, None):
    process, lines = run_in_a_process(where, n_plays)
    content = lines.read().splitlines()
    print(content.count("play"), content[-1])
    os.waitpid(process, 0)
"""


def check_kills(run, n_kills, n_plays, tmp_path):
    """Kill -9 a run again and again, let it end, and compare it with one left alone.

    After every kill the journal opens, and at most the round in flight is lost.
    ``run`` is the text of a function ``run(journal, n_plays)``: it says "ready", lets two
    chains play with the reward ``slow_coin``, and returns a text that holds what they found.
    Returns what to put on record.
    """
    script = tmp_path / "run.py"
    script.write_text(KILLER.format(run=textwrap.dedent(run)))
    done = subprocess.run(
        [sys.executable, script, tmp_path / "run.journal", str(n_kills), str(n_plays)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    n_killed, resumed, undisturbed = done.stdout.splitlines()
    assert int(n_killed) >= n_kills // 2
    (n_left, _, found), (n_all, _, wanted) = resumed.split(), undisturbed.split()
    assert found == wanted
    assert int(n_left) < int(n_all) <= 2 * n_plays, (n_left, n_all)
    return (
        f"{n_killed} kills of {n_kills} hit the run and lost at most the play in flight; "
        "same numbers to the bit at the end"
    )
