"""The loop of Thompson Variable Selection: ask, score, tell, write down, until a rule says stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from tvselect.bandit.chain import Chains
from tvselect.bandit.journal import Journal
from tvselect.bandit.play import PendingPlay, Play, Score
from tvselect.bandit.stopping import StoppingRule, StopReason

Watcher = Callable[[Sequence[Play]], None]
"""``watcher(plays)``: is shown the plays that were just made."""


class Scorer(ABC):
    """How plays are scored: offline on the table, on a stream by the next batches."""

    @abstractmethod
    def __call__(self, pending: Sequence[PendingPlay]) -> Sequence[Score | None]:
        """One score per play, in their order; None for a play that must be skipped.

        Raises
        ------
        NoMoreData
            When there is nothing left to score with.
        """

    def capacity(self, n_done: int) -> int | None:
        """Plays of a chain that can be scored together after so many; None: as many as you like."""
        return None

    def ahead(self, chains: Chains, at_most: int | None) -> Sequence[Play]:
        """The next plays of all chains, chosen, scored and learned from in one go.

        None for rewards that cannot do so; every chain makes as many plays as the others.
        """
        return ()

    def state(self) -> Mapping[str, bytes]:
        """What a resumed run needs to score on, where the last call has changed it."""
        return {}

    def follow(self, journal: Journal) -> None:  # noqa: B027
        """Stand where the journal does, also after plays that did not get into it."""


def play(
    chains: Chains, score: Scorer, journal: Journal, rule: StoppingRule, watch: Watcher
) -> StopReason | None:
    """Algorithm 1 of Liu and Rockova (2021), for one or more chains.

    A play is told to its chain before it is written down: what is in the journal has been
    learned from, and a write that fails or is interrupted is undone by going back to the
    journal, so that at most the plays in flight are lost.
    """
    try:
        with rule.running():
            while not rule.reason(chains):
                at_most = least(rule.n_left(chains), score.capacity(chains.n_plays))
                plays = score.ahead(chains, at_most)
                if not plays:
                    pending = chains.ask(at_most)
                    plays = chains.tell(pending, score(pending))
                journal.append(plays, score.state())
                watch(plays)
    finally:
        chains.follow(journal)
        score.follow(journal)
    return rule.reason(chains)


def least(*limits: int | None) -> int | None:
    """The smallest of the limits that there are."""
    return min((limit for limit in limits if limit is not None), default=None)
