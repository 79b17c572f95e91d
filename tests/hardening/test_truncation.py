"""A journal that is cut off: in its log, as a killed writer leaves it, and in the file itself.

The log of a run that was killed is cut at every byte of its last record: the journal opens,
that play alone is lost, and the run goes on to the same end. A file without a log holds the
plays of a run that ended; cut off anywhere it is refused, as a part of it is lost.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.bandit.plays import listed
from tests.decoyed import Marginal
from tests.selectors.runs import assert_same, plays_of
from tvselect import Search, ThompsonSelector
from tvselect.bandit.journal import Journal, JournalError

PAGE, FRAME, FRAME_HEADER = 4096, 4120, 24
N_PLAYS, N_CHAINS = 6, 2


def fit(journal=None, n_plays=N_PLAYS):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    made = ThompsonSelector(
        Marginal(),
        n_plays=n_plays,
        search=Search(n_chains=N_CHAINS, journal=journal),
        random_state=1,
    )
    return made.fit(X, X[:, 3] + rng.standard_normal(40))


@pytest.fixture
def folder():
    """In memory where there is such a folder: journals are opened thousands of times."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture
def left(folder):
    """The file and the log as a writer leaves them that is killed after the last play."""
    path, log = folder / "left", folder / "left-wal"
    whole = fit()
    plays = [list(whole.result_.journal.plays(chain)) for chain in range(N_CHAINS)]
    fit(path, 1)
    with Journal(path) as journal:
        for number in range(1, N_PLAYS):
            start = log.stat().st_size if log.exists() else 0
            journal.append([plays[chain][number] for chain in range(N_CHAINS)])
        content, written = path.read_bytes(), log.read_bytes()
    assert len(written) % FRAME == 32
    assert 0 < start < len(written)
    return content, written, start


def lay(folder, content, log):
    path = folder / "run.journal"
    path.write_bytes(content)
    (folder / "run.journal-wal").write_bytes(log)
    (folder / "run.journal-shm").unlink(missing_ok=True)
    return path


def check_cuts(folder, left, cuts):
    content, log, _ = left
    wanted = plays_of(fit(None, N_PLAYS - 1))
    for cut in cuts:
        path = lay(folder, content, log[:cut])
        with Journal(path) as journal:
            assert listed(journal, N_CHAINS) == wanted, cut


def test_without_its_last_record_a_log_holds_the_plays_before(folder, left):
    """Every byte around the frames of the record and every 61st inside."""
    _, log, start = left
    edges = range(start, len(log), FRAME)
    cuts = {cut for edge in edges for cut in range(edge, edge + FRAME_HEADER + 3)}
    cuts |= {*range(start, len(log), 61), *range(len(log) - 8, len(log))}
    check_cuts(folder, left, sorted(cuts))


@pytest.mark.long
def test_without_its_last_record_a_log_holds_the_plays_before_at_every_byte(
    folder, left, record_result
):
    _, log, start = left
    check_cuts(folder, left, range(start, len(log)))
    record_result("Truncated", "log", f"{len(log) - start} cuts: one play lost, each time")


def test_a_run_that_lost_its_last_record_goes_on_to_the_same_end(folder, left):
    content, log, start = left
    whole = fit(None, 2 * N_PLAYS)
    for cut in np.linspace(start, len(log), 15, dtype=int):
        path = lay(folder, content, log[:cut])
        assert_same(fit(path, 2 * N_PLAYS), whole)


def test_a_file_that_is_cut_off_is_refused_and_left_as_it_is(folder):
    """At every byte around its pages, and here and there inside."""
    path = folder / "run.journal"
    fit(path)
    content = path.read_bytes()
    pages = range(PAGE, len(content) + 1, PAGE)
    cuts = {cut for page in pages for cut in range(page - 50, page + 50)}
    cuts |= {*range(1, 150), *range(1, len(content), 331)}
    for cut in sorted(cut for cut in cuts if cut < len(content)):
        path.write_bytes(content[:cut])
        with pytest.raises(JournalError, match=r"run\.journal' is .*; \w+"):
            Journal(path)
        assert path.read_bytes() == content[:cut]
        assert os.listdir(folder) == [path.name]
