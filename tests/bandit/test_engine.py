"""The loop that is run, and that the documentation quotes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.bandit.plays import listed
from tvselect.bandit import engine
from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import Chains, ThompsonChain
from tvselect.bandit.engine import NoMoreData, Scorer, StoppingRule, StopReason
from tvselect.bandit.journal import Header, Journal, JournalError
from tvselect.bandit.oracle import Oracle

THETA = np.array([0.9, 0.8, 0.5, 0.2, 0.1])


class Known(Scorer):
    """Arms of known means; ``at`` and ``error`` say when a call fails, and how."""

    def __init__(self, at=None, error=None):
        self.at, self.error, self.n_calls = at, error, 0

    def __call__(self, pending):
        self.n_calls += 1
        if self.n_calls == self.at:
            raise self.error
        return [play.score(lambda arms, rng: THETA[arms]) for play in pending]


def game(n_chains=2, window=1, disk=None):
    journal, header = Journal(), Header("fp", 1, 5, n_chains, window, "1")
    if disk is None:
        journal.begin(header)
    else:
        journal.attach(disk, header)
    chains = Chains(
        ThompsonChain(Arms(5), Oracle(), entropy=1, chain=k, window=window) for k in range(n_chains)
    )
    chains.follow(journal)
    return chains, journal


def run(chains, journal, scorer=None, **rules):
    shown = []
    reason = engine.play(chains, scorer or Known(), journal, StoppingRule(**rules), shown.extend)
    return reason, shown


@pytest.mark.parametrize(
    ("rules", "scorer", "reason", "n_plays"),
    [
        (dict(n_plays=30), Known(), StopReason.PLAYS, 30),
        (dict(n_plays=1000, patience=15), Known(), StopReason.PATIENCE, None),
        (dict(time_limit=12.5), Known(), StopReason.TIME_LIMIT, 12),
        (dict(), Known(8, NoMoreData(StopReason.ROUNDS)), StopReason.ROUNDS, 7),
    ],
)
def test_a_run_ends_by_a_rule_and_all_plays_are_shown_and_written(
    rules, scorer, reason, n_plays, monkeypatch
):
    ticks = map(float, range(10**6))
    monkeypatch.setattr(engine, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    chains, journal = game()
    found, shown = run(chains, journal, scorer, **rules)
    assert found is reason
    assert [journal.n_plays(k) for k in (0, 1)] == [chains.n_plays, len(shown) / 2]
    assert chains.n_plays == n_plays or min(chain.n_unchanged for chain in chains) == 15
    scorer = Known()  # a resumed run has nothing left to do
    if reason in ("plays", "patience"):
        assert run(chains, journal, scorer, **rules)[0] is reason
        assert scorer.n_calls == 0


@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("at", [1, 2, 20, 30])
def test_an_interrupt_ends_a_run_and_the_next_one_makes_the_same_plays(window, at):
    chains, journal = game(window=window)
    reason, _ = run(chains, journal, Known(at, KeyboardInterrupt()), n_plays=80)
    assert reason is StopReason.INTERRUPTED
    assert run(chains, journal, n_plays=80)[0] is StopReason.PLAYS
    undisturbed = game(window=window)
    run(*undisturbed, n_plays=80)
    assert listed(journal, 2) == listed(undisturbed[1], 2)


@pytest.mark.parametrize("error", [KeyboardInterrupt, JournalError])
@pytest.mark.parametrize("after", [False, True])
def test_what_stops_a_play_from_being_written_loses_no_other(tmp_path, monkeypatch, after, error):
    """Ctrl-C, or a disk that fails, before an append is done, or right after it."""
    chains, journal = game(disk=tmp_path / "a")
    append, n_calls = journal.append, iter(range(100))

    def fail(plays, blobs):
        is_last = next(n_calls) == 6
        if after or not is_last:
            append(plays, blobs)
        if is_last:
            raise error("no luck")

    monkeypatch.setattr(journal, "append", fail)
    if error is KeyboardInterrupt:
        assert run(chains, journal, n_plays=20)[0] is StopReason.INTERRUPTED
    else:
        with pytest.raises(error, match="no luck"):
            run(chains, journal, n_plays=20)
    assert chains.n_plays == journal.n_plays() == 6 + after
    assert run(chains, journal, n_plays=20)[0] is StopReason.PLAYS
    journal.close()
    undisturbed = game()
    run(*undisturbed, n_plays=20)
    with Journal(tmp_path / "a") as disk:
        assert listed(disk, 2) == listed(journal, 2) == listed(undisturbed[1], 2)


def test_the_documentation_quotes_the_loop_that_is_run():
    page = (Path(__file__).parents[2] / "docs" / "method.md").read_text()
    quoted = re.search(r"```python\n(def play\(.*?)```", page, re.DOTALL)
    assert quoted is not None
    source = re.sub(r'    """.*?"""\n', "", inspect.getsource(engine.play), flags=re.DOTALL)
    assert quoted[1].strip() == source.strip()


def after(n_plays, n_unchanged=0):
    return SimpleNamespace(n_plays=n_plays, n_unchanged=n_unchanged)


@pytest.mark.parametrize(
    ("rule", "n_done", "n_unchanged", "reason", "n_left"),
    [
        *((StoppingRule(10), n, 1000, None, 10 - n) for n in (0, 1, 9)),
        (StoppingRule(10, patience=5), 8, 4, None, 1),
        (StoppingRule(10, time_limit=1e9), 9, 0, None, 1),
        (StoppingRule(), 9, 0, None, None),
        *((StoppingRule(10), n, 0, StopReason.PLAYS, 10 - n) for n in (10, 11)),
        *((StoppingRule(10, 3), 4, n, StopReason.PATIENCE, 3 - n) for n in (3, 7)),
    ],
)
def test_a_run_stops_after_its_plays_or_with_a_steady_model(
    rule, n_done, n_unchanged, reason, n_left
):
    assert rule.reason(after(n_done, n_unchanged)) is reason
    assert rule.n_left(after(n_done, n_unchanged)) == n_left


def test_what_a_library_makes_of_an_interrupt_is_one():
    rule = StoppingRule(10)
    with rule.running():
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("cannot close the file")
    assert rule.reason(after(0)) is StopReason.INTERRUPTED
