"""Every instruction set and every number of threads gives the same bits.

Law: chains of all families, small selections and the random numbers of the core are the same to
the last bit with each library that this processor can run; and a fit in windows of one size is
the same with one thread and with two.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.exactness.patched import ROOT
from tvselect import core

BEST = int(core.library.tvs_level())
LEVELS = [f"v{level}" for level in range(2, BEST + 1)]

CHAINS = """
import hashlib, json
import numpy as np
from tvselect.inputs.outcome import survival_array
from tvselect.trees import Prior, run_bart
from tests.recorded_plays import RUNS, digest

rng = np.random.default_rng(0)

def table(n_rows):
    X = rng.standard_normal((n_rows, 12))
    X[:, 1] = X[:, 1] > 0.3
    X[:, 2] = rng.integers(3, size=n_rows)
    X[:, 3] = rng.integers(40, size=n_rows)
    X[rng.random(n_rows) < 0.2, 4] = np.nan
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    return X, 2 * X[:, 0] + np.where(X[:, 1] > 0, X[:, 3] / 20, 0) + rng.standard_normal(n_rows)

def bits(run, X):
    total = hashlib.sha256()
    for part in (run.sigma, run.n_splits, run.mean_splits, run.inclusion, run.predict(X)):
        total.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return total.hexdigest()[:16]

found = {}
for n_rows in (40, 200, 601):
    X, y = table(n_rows)
    time = np.exp(0.3 * y)
    outcomes = {
        "gaussian": y,
        "survival": survival_array(np.minimum(time, 1.2), time <= 1.2),
        "probit": y > 0,
        "grades": np.digitize(y, [-1.0, 0.0, 1.5]),
        "classes": np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.7])],
    }
    for name, outcome in outcomes.items():
        family = {"family": "ordinal"} if name == "grades" else {}
        for prior in (Prior(), Prior(n_trees=7, sparse=True, pair_share=0.3)):
            run = run_bart(X, outcome, prior=prior, n_iterations=120, n_burn=40, random_state=3,
                           **family)
            found[f"{name}, {n_rows} rows, {prior}"] = bits(run, X)
for name in ("offline", "offline, shuffled decoys", "offline, some of the rows",
             "offline, two classes", "offline, LASSO", "stream"):
    found[name] = digest(RUNS[name]())
print(json.dumps(found))
"""

THREADS = """
import json
from tests.recorded_plays import digest, offline

print(json.dumps([
    digest(offline(n_chains=n_chains, window=8, n_plays=120, n_jobs=n_jobs))
    for n_chains in (1, 2) for n_jobs in (1, 2)
]))
"""


def run_with_level(level, *arguments):
    """What a process says that takes this library, or the best one."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if level is not None:
        environment["TVSELECT_SIMD"] = level
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(len(LEVELS) < 2, reason="this processor runs one library only")
def test_every_instruction_set_gives_the_same_bits():
    """And the parts that are written by hand for each of them are right with each."""
    found = {level: json.loads(run_with_level(level, "-c", CHAINS)) for level in LEVELS}
    for level in LEVELS[1:]:
        assert found[level] == found["v2"], level
    assert len(set(found["v2"].values())) == len(found["v2"])
    for level in LEVELS[:-1]:  # the best is tested by itself
        command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/trees/test_bits.py")
        run_with_level(level, *command)


@pytest.mark.parametrize("level", LEVELS or [None])
def test_one_thread_and_two_give_the_same_plays(level):
    one, two, alone, together = json.loads(run_with_level(level, "-c", THREADS))
    assert one == two != alone == together
