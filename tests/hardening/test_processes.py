"""Forks, threads and Ctrl-C: the same numbers, and a journal that can be continued."""

from __future__ import annotations

import json
import sys

import pytest

from tests.hardening.scripts import DEADLINE, python

posix = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

BART = """
from tvselect import BartReward

def fit_bart(seed):
    made = ThompsonSelector(
        BartReward(n_trees=5, n_iterations=20), n_plays=4, search=Search(n_chains=2), n_jobs=2,
        random_state=seed,
    )
    return bits(made.fit(X[:60], y[:60]))
"""

FORK = (
    BART
    + """
import multiprocessing, threading
import pyarrow as pa, pyarrow.parquet as pq

path = sys.argv[1] + "/t.parquet"
pq.write_table(pa.table({**{f"x{j}": X[:, j] for j in range(20)}, "y": y}), path)

def work(seed):
    made = StreamingThompsonSelector(Marginal(), batch_size=50, n_jobs=2, random_state=seed,
        search=Search(n_chains=2, journal=f"{path}-{os.getpid()}-{seed}"))
    return [fit_bart(seed), bits(made.fit_source(path, "y"))]

here = [work(seed) for seed in (1, 2)]
ours, theirs = os.pipe()
child = os.fork()
if child == 0:
    with os.fdopen(theirs, "w") as file:
        json.dump(work(1), file)
    os._exit(0)
os.close(theirs)
with os.fdopen(ours) as file:
    forked = json.load(file)
assert os.waitpid(child, 0)[1] == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    pooled = pool.map(work, (1, 2))
print(json.dumps([json.loads(json.dumps(here)), forked, pooled]))
"""
)


@posix
def test_a_process_that_is_forked_after_a_fit_finds_the_same(tmp_path):
    here, forked, pooled = json.loads(python(FORK, tmp_path).stdout)
    assert forked == here[0]
    assert pooled == here
    assert here[0] != here[1]


THREADS = (
    BART
    + """
import threading

seeds = [0, 1, 2, 3] * 2
found, start = [None] * len(seeds), threading.Barrier(len(seeds))

def work(place):
    start.wait()
    journal = f"{sys.argv[1]}/{place}.journal"
    found[place] = [fit_bart(seeds[place]), bits(fit(journal, n_chains=2, n_jobs=2))]

threads = [threading.Thread(target=work, args=(place,)) for place in range(len(seeds))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
alone = [[fit_bart(seed), bits(fit(n_chains=2, n_jobs=2))] for seed in seeds[:4]]
print(json.dumps([found, alone * 2]))
"""
)


def test_fits_in_many_threads_find_what_each_finds_alone(tmp_path):
    """From the first use on: the native core is called by all threads at once."""
    found, alone = json.loads(python(THREADS, tmp_path).stdout)
    assert found == alone
    assert found[0] != found[1]


INTERRUPTED = """
import time, warnings

warnings.filterwarnings("ignore", "interrupted", RuntimeWarning)
signal.signal(signal.SIGALRM, signal.default_int_handler)  # KeyboardInterrupt, as by Ctrl-C

def written(journal, n_chains):
    if not os.path.exists(journal):
        return []
    with Journal(journal) as opened:
        return listed(opened, n_chains)

def interrupt(play, journal, n_interrupts, n_chains, **settings):
    settings["n_chains"] = n_chains
    whole = bits(play(**settings))
    started = time.perf_counter()
    play(journal + "-timed", **settings)
    longest = time.perf_counter() - started
    rng = np.random.default_rng(5)
    before, counts = [], {"returned": 0, "raised": 0, "ended": 0}
    while counts["returned"] + counts["raised"] < n_interrupts:
        fitted = None
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0, longest) * rng.random() + 1e-6)
            try:
                fitted = play(journal, **settings)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            pass
        now = written(journal, n_chains)
        assert all(play in whole[0] for play in now)
        assert all(play in now for play in before), "a committed play was lost"
        if fitted is None:
            counts["raised"] += 1
        elif fitted.stop_reason_ == "interrupted":
            counts["returned"] += 1
            plays = bits(fitted)[0]
            assert len(now) - n_chains <= len(plays) <= len(now) + n_chains
            assert all(play in whole[0] for play in plays)
        else:
            counts["ended"] += 1
            assert bits(fitted) == whole
            os.remove(journal)
            now = []
        before = now
    assert bits(play(journal, **settings)) == whole
    return counts

n_interrupts = int(sys.argv[2])
print(json.dumps([
    interrupt(globals()[play], f"{sys.argv[1]}/{case}.journal", n_interrupts, **settings)
    for case, (play, settings) in enumerate(json.loads(sys.argv[3]))
]))
"""


def check_interrupts(folder, n_interrupts, *cases):
    """Interrupt runs at random moments, one case after the other; returns what came of each."""
    done = python(
        INTERRUPTED, folder, n_interrupts, json.dumps(cases),
        deadline=DEADLINE + 3.0 * n_interrupts * len(cases),
    )  # fmt: skip
    return json.loads(done.stdout)


OFFLINE = ("fit", dict(n_chains=3, n_jobs=2))
STREAM = ("fit_stream", dict(n_chains=2, n_jobs=2, decoys="knockoffs"))


@posix
def test_an_interrupt_at_any_moment_loses_no_play(tmp_path):
    one_chain = ("fit", dict(n_chains=1))
    for counts in check_interrupts(tmp_path, 15, one_chain, OFFLINE, STREAM):
        assert counts["returned"] > 0


@posix
@pytest.mark.long
@pytest.mark.parametrize("case", [OFFLINE, STREAM], ids=["offline", "stream"])
def test_five_hundred_interrupts_lose_no_play(case, tmp_path, record_result):
    [counts] = check_interrupts(tmp_path, 500, case)
    assert counts["returned"] > 100
    found = ", ".join(f"{name} {number}" for name, number in counts.items())
    name = "offline" if case is OFFLINE else "stream"
    record_result("Interrupted and resumed", name, f"500 interrupts ({found}): no play lost")
