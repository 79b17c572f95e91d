"""The loop of Thompson Variable Selection: ask, score, tell, write down, until a rule says stop."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

# The command line knows why a run has ended before it imports what runs it.
if TYPE_CHECKING:
    from tvselect.bandit.chain import Chains, PendingPlay, Play
    from tvselect.bandit.journal import Journal

Watcher = Callable[[Sequence["Play"]], bool | None]
"""``watcher(plays)``: is shown the plays that were just made; says whether to stop."""


class Scorer(ABC):
    """How plays are scored: offline on the table, on a stream by the next batches."""

    @abstractmethod
    def __call__(self, pending: Sequence[PendingPlay]) -> Sequence[Play]:
        """The plays, those of a chain in their order; NoMoreData where there is nothing left."""

    def capacity(self, n_done: int) -> int | None:
        """How many plays of a chain can be scored together after ``n_done``; None: any number."""
        return None

    def ahead(self, chains: Chains, at_most: int | None) -> Sequence[Play]:
        """The next plays of all chains, as many of each, made in one go; empty if it cannot."""
        return ()

    def state(self) -> Mapping[str, bytes]:
        """What a resumed run needs to score on, where the last call has changed it."""
        return {}

    def follow(self, journal: Journal) -> None:  # noqa: B027
        """Go back to where the journal stands, where plays did not get into it."""


def play(
    chains: Chains, score: Scorer, journal: Journal, rule: StoppingRule, watch: Watcher
) -> StopReason | None:
    """Algorithm 1 of Liu and Rockova (2021), for one or more chains.

    Chains learn from a play before it is written down; where writing fails or is interrupted, they
    go back to the journal, so that at most the plays in flight are lost.
    """
    try:
        with rule.running():
            while not rule.reason(chains):
                at_most = least(rule.n_left(chains), score.capacity(chains.n_plays))
                plays = score.ahead(chains, at_most)
                if not plays:
                    plays = chains.tell(score(chains.ask(at_most)))
                journal.append(plays, score.state())
                if watch(plays):
                    return StopReason.CALLBACK
    finally:
        chains.follow(journal)
        score.follow(journal)
    return rule.reason(chains)


def least(*limits: int | None) -> int | None:
    """The smallest of the limits that there are."""
    return min((limit for limit in limits if limit is not None), default=None)


class StopReason(StrEnum):
    """Why a run ended."""

    PLAYS = "plays"  #: All plays that were asked for are done
    PATIENCE = "patience"  #: No chain's selected set has changed for ``patience`` plays
    TIME_LIMIT = "time limit"
    ROUNDS = "rounds"  #: A stream has ended after the rounds that were asked for
    BATCHES = "batches"  #: Every batch that was handed to ``partial_fit`` is played
    ALL_SKIPPED = "all skipped"
    """No batch of a stream could be played: too few rows, or a constant outcome."""
    CALLBACK = "callback"  #: One of the callbacks has asked for it
    INTERRUPTED = "interrupted"
    ERROR = "error"
    """A stream could not be read to its end; the result covers the plays before."""


class NoMoreData(Exception):  # noqa: N818
    """There is nothing left to score plays with."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class StoppingRule:
    """Ends a run between windows, by whichever limit comes first; None switches one off."""

    n_plays: int | None = None  #: Plays of every chain, those of earlier runs included
    patience: int | None = None  #: Plays in a row after which the model of no chain has changed
    time_limit: float | None = None  #: Seconds
    _deadline: float = field(default=float("inf"), init=False)
    _ended: StopReason | None = field(default=None, init=False)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the clock; Ctrl-C and the end of the data stop what runs inside, without error."""
        if self.time_limit is not None:
            self._deadline = time.perf_counter() + self.time_limit
        try:
            yield
        except NoMoreData as end:
            self._ended = end.reason
        except (Exception, KeyboardInterrupt) as error:
            if not _comes_of_interrupt(error):
                raise
            self._ended = StopReason.INTERRUPTED

    def reason(self, chains: Chains) -> StopReason | None:
        """Why to stop ``chains`` now, or None."""
        if self._ended is not None:
            return self._ended
        if self.patience is not None and chains.n_unchanged >= self.patience:
            return StopReason.PATIENCE
        if self.n_plays is not None and chains.n_plays >= self.n_plays:
            return StopReason.PLAYS
        if time.perf_counter() >= self._deadline:
            return StopReason.TIME_LIMIT
        return None

    def n_left(self, chains: Chains) -> int | None:
        """Plays of ``chains`` after which the rule has to be asked again; none ends it before."""
        limits = (self.n_plays, chains.n_plays), (self.patience, chains.n_unchanged)
        return least(*(limit - n_done for limit, n_done in limits if limit is not None))


def _comes_of_interrupt(error: BaseException | None) -> bool:
    """Whether it is Ctrl-C, or what a library made of Ctrl-C amid its locks and files."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
