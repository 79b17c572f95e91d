"""Scoring plays offline: the reward's feedback on the columns of the played arms."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.chain import Chains, Payoffs, PendingPlay, Play, ThompsonChain
from tvselect.bandit.engine import Scorer, least
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs.columns import ChosenColumns, ColumnFile, FileColumns
from tvselect.inputs.errors import SourceError
from tvselect.rewards import Data, Reward
from tvselect.rewards.bart_play import BartFeedback, PlaysAhead, can_play_ahead
from tvselect.rewards.base import Feedback, start_reward
from tvselect.selectors.layout import ArmColumns, IntArray
from tvselect.workers import Runner, TaskMap

SECONDS_AHEAD = 0.1
"""How long plays may take that are made ahead: Ctrl-C and the time limit wait for them."""
_starting = Lock()


@dataclass
class Pace:
    """Lets chains make plays ahead, as many as take about a tenth of a second."""

    n_plays: int = 1

    def __call__(self, chains: Chains, run: TaskMap, at_most: int | None) -> Sequence[Play]:
        """The next plays of all chains."""
        n_plays = least(self.n_plays, at_most) or 1
        started = time.perf_counter()
        plays = chains.go_ahead(run, n_plays)
        seconds = time.perf_counter() - started
        self.n_plays = max(1, int(n_plays * SECONDS_AHEAD / max(seconds, SECONDS_AHEAD / 2)))
        return plays


@dataclass(frozen=True)
class TableWork:
    """What a worker that holds the data does."""

    feedback: Feedback
    columns: ArmColumns

    def __call__(
        self, task: PendingPlay | PlaysAhead | tuple[ThompsonChain, int]
    ) -> Play | list[Play] | None:
        """Score a play or a share of a window, or let a chain make its next plays."""
        if isinstance(task, PlaysAhead):
            task.score()
            return None
        return self.score(task) if isinstance(task, PendingPlay) else self.go_ahead(*task)

    def score(self, pending: PendingPlay) -> Play:
        """Score a play."""
        return pending.score(payoffs_of_arms(self.feedback, self.columns))

    def go_ahead(self, chain: ThompsonChain, n_plays: int) -> list[Play]:
        """The next plays of a chain, by the native core as far as possible."""
        plays: list[Play] = []
        while len(plays) < n_plays:
            n_left = min(n_plays - len(plays), chain.n_until_fresh() or n_plays)
            made = self.plays_ahead(chain, n_left).one_by_one()
            plays += made or chain.make_plays(self.score, 1)
        return plays

    def plays_ahead(self, chain: ThompsonChain, n_plays: int) -> PlaysAhead:
        """The next plays of a chain, yet to be made."""
        assert isinstance(self.feedback, BartFeedback)
        return PlaysAhead(self.feedback, self.columns, chain, n_plays)


@dataclass
class TableScorer(Scorer):
    """Scores plays by ``run``, which does ``work``."""

    run: TaskMap
    work: TableWork
    n_threads: int  #: Tasks at a time in threads of this process; 0 elsewhere
    pace: Pace = field(default_factory=Pace)

    def __call__(self, pending: Sequence[PendingPlay]) -> Sequence[Play]:
        """The plays, in their order."""
        return self.run(pending)

    def ahead(self, chains: Chains, at_most: int | None) -> Sequence[Play]:
        """Plays of the BART reward: one after the other, or a window of them side by side."""
        knows = self.n_threads > 0 and isinstance(self.work.feedback, BartFeedback)
        if not (knows and all(map(can_play_ahead, chains))):
            return ()
        if chains[0].window == 1:
            return self.pace(chains, self.run, at_most)
        n_plays = chains[0].width
        if not n_plays or (at_most is not None and at_most < n_plays):
            return ()
        windows = [self.work.plays_ahead(chain, n_plays) for chain in chains]
        if not all(window.choose() for window in windows):
            return ()  # Python has to choose.

        def make(_: object) -> list[list[Play]]:
            n_tasks = min(self.n_threads, n_plays)
            self.run([window for window in windows for _ in range(n_tasks)])
            return [window.learn() for window in windows]

        return chains.go_ahead(make, n_plays)


def payoffs_of_arms(feedback: Feedback, columns: ArmColumns) -> Payoffs:
    """Payoffs of arms from the feedback of columns: an arm gets that of its best column."""

    def payoffs(arms: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.float64]:
        if columns.is_plain:
            return feedback(columns.columns[arms], rng)
        mine, starts = columns.of(arms)
        values = feedback(np.concatenate([mine, columns.always]), rng)
        return np.maximum.reduceat(values[: mine.size], starts)

    return payoffs


def start_for(runner: Runner, reward: Reward, data: Data) -> Feedback:
    """The feedback of a reward: started here, or by workers that open the file of the data."""
    X = data.X.X if isinstance(data.X, ChosenColumns) else data.X
    # Decoys that are in memory have to be sent, and so have their columns.
    may_stay = runner.is_remote and isinstance(data.decoys, ShuffledColumns | None)
    if may_stay and isinstance(X, FileColumns):
        return FileFeedback(reward, data, X.file)
    return start_reward(reward, data)


class FileFeedback:
    """The feedback on columns of a file, which every worker opens by the path at its first call."""

    def __init__(self, reward: Reward, data: Data, file: ColumnFile) -> None:
        self._reward, self._data, self._file = reward, data, file
        self._wanted = file.sample_hash()
        self._started: Feedback | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_started": None}

    def __call__(self, columns: IntArray, rng: np.random.Generator) -> NDArray[np.float64]:
        """One payoff for each of the columns."""
        with _starting:
            if self._started is None:
                path = self._file.path
                try:
                    found = self._file.sample_hash()
                except OSError as error:
                    raise SourceError(
                        f"{path} cannot be opened by a worker: {error.strerror}",
                        "put the file where all workers find it under this path",
                    ) from None
                if found != self._wanted:
                    problem = f"{path} is another file for a worker"
                    raise SourceError(problem, "give all workers the same file")
                self._started = start_reward(self._reward, self._data)
        return self._started(columns, rng)
