"""Scoring plays on a stream: play ``k`` of every chain sees the rows of batch ``k`` alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.chain import Chains, Payoffs, PendingPlay, Play, Score
from tvselect.bandit.engine import NoMoreData, Scorer, StopReason
from tvselect.bandit.journal import Journal
from tvselect.inputs import OutcomeReader
from tvselect.inputs.columns import refuse_nonfinite
from tvselect.inputs.errors import located
from tvselect.rewards import Data, Reward
from tvselect.rewards.base import start_reward
from tvselect.seeds import RandomStream
from tvselect.selectors.encoding import (
    ColumnEncoding,
    StreamEncoder,
    restore_encoder,
    store_encoder,
)
from tvselect.selectors.layout import ArmColumns, ArmLayout
from tvselect.selectors.scoring import Pace, Stretch, payoffs_of_arms
from tvselect.sources import Batch, Source, SourceError
from tvselect.workers import Runner, TaskMap, in_threads

MOST_DIGITS = 18


@dataclass(frozen=True)
class BatchScorer:
    """How a batch is read and scored, here or by a worker elsewhere."""

    reward: Reward
    encoding: ColumnEncoding
    columns: ArmColumns
    decoy_key: int
    outcomes: OutcomeReader

    def payoffs(self, batch: Batch, number: int) -> Payoffs | None:
        """What arms are worth on a batch; None for one that must be skipped.

        These are batches of a single class or value, or of fewer rows than the reward needs.
        """
        try:
            outcome = self.outcomes.read(batch.target(), batch.n_rows)
        except (TypeError, ValueError) as error:
            raise located(error, f"batch {number}") from None
        if outcome is None or batch.n_rows < self.reward.min_rows:
            return None
        reward, encoding = self.reward, self.encoding

        def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
            unknown = np.nan if reward.takes_missing else 0.0
            has_decoys = bool(columns.max(initial=0) >= encoding.n_columns)
            # A column must not be told from its decoy by its place.
            order = rng.permutation(columns.size) if has_decoys else np.arange(columns.size)
            played = columns[order]
            X = encoding.values(
                batch, played, np.random.default_rng([self.decoy_key, number]), unknown
            )
            names = encoding.column_names(played)
            refuse_nonfinite(X, names, reward.takes_missing, takes_empty=True)
            cuts = encoding.cuts_of(played, X, reward.max_cuts)
            n_columns = encoding.n_columns * (2 if has_decoys else 1)
            payoffs = np.empty(columns.size)
            payoffs[order] = start_reward(reward, Data(X, outcome, names, None, cuts, n_columns))(
                np.arange(columns.size), rng
            )
            return payoffs

        return payoffs_of_arms(feedback, self.columns)


class BatchCursor:
    """The batches of a source by number, round after round; neighbours are read in one go.

    Round 0 reads the rows in order, later ones resample them: a function of the source and the
    seed alone, so that every worker can find its batches by itself.

    Parameters
    ----------
    entropy : int
        Seed of the run.
    n_batches : int or None
        Of a round; None where it is not known before the first has ended.
    """

    def __init__(
        self, source: Source, batch_size: int, entropy: int, n_batches: int | None
    ) -> None:
        self.source, self.batch_size, self.entropy = source, batch_size, entropy
        self.n_batches = n_batches
        self._mine = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_mine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._mine = threading.local()

    def __call__(self, number: int) -> Batch | None:
        """A batch; None if its round has ended before it."""
        mine = self._mine
        round, place = (0, number) if self.n_batches is None else divmod(number, self.n_batches)
        at = getattr(mine, "at", None)
        if at is None or at[0] != round or at[1] > place:
            rng = RandomStream.LATER_ROUNDS.generator(self.entropy, round)
            mine.batches = self.source.batches(self.batch_size, round, rng, skip=place)
            at = (round, place - 1)
        for _ in range(place - at[1]):
            mine.at = None  # Should reading fail, the next one starts from scratch.
            mine.batch = next(mine.batches, None)
        batch: Batch | None = mine.batch
        if batch is not None:
            mine.at = (round, place)
        return batch


@dataclass(frozen=True)
class WorkerScorer:
    """What a worker does: find the batch of a play and score the play on it.

    Every thread reads the source on its own. Only the source's description travels, never
    its rows (unless they are in memory to begin with).
    """

    batches: BatchCursor
    scorer: BatchScorer

    def __call__(self, task: PendingPlay | Stretch) -> Score | list[Play] | None:
        """Score a play, or let a chain make some."""
        if isinstance(task, PendingPlay):
            return self.score(task)
        chain, n_plays = task
        return chain.make_plays(self.score, n_plays)

    def score(self, pending: PendingPlay) -> Score | None:
        """Score a play."""
        batch = self.batches(pending.number)
        if batch is None:
            raise SourceError(
                f"the stream ends before batch {pending.number}: it has changed while it was "
                "read; start again"
            )
        payoffs = self.scorer.payoffs(batch, pending.number)
        return None if payoffs is None else pending.score(payoffs)


class StreamState:
    """What the batches so far have settled: the encoding of columns, the family of the outcome."""

    def __init__(
        self,
        reward: Reward,
        layout: ArmLayout,
        encoder: StreamEncoder,
        outcomes: OutcomeReader,
        entropy: int,
    ) -> None:
        self.reward, self.layout = reward, layout
        self.encoder, self.outcomes = encoder, outcomes
        seeds = RandomStream.STREAM_DECOYS.seeds(entropy)
        self.decoy_key = int(seeds.generate_state(1, np.uint64)[0])
        self._columns: tuple[ColumnEncoding, ArmColumns] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether no batch to come can change how batches are read."""
        return self.encoder.is_full and self.outcomes.is_settled

    def restore(self, journal: Journal) -> None:
        """Go on from what a journal keeps.

        Raises
        ------
        JournalError
            When that is damaged, or of another stream.
        """
        if (blob := journal.kept("encoder")) is not None:
            try:
                encoder = restore_encoder(blob)
            except ValueError as error:
                raise journal.damaged_at("encoder") from error
            settings = ((e.names, e.decoys, e.max_cuts) for e in (encoder, self.encoder))
            if next(settings) != next(settings):
                raise journal.damaged_at("encoder")
            self.encoder = encoder
        if (blob := journal.kept("outcome")) is not None:
            try:
                self.outcomes = OutcomeReader.from_bytes(blob)
            except ValueError as error:
                raise journal.damaged_at("outcome") from error

    def refuse_other_kinds(self, source: Source) -> None:
        """Refuse text where numbers were, and numbers where text was."""
        was_text = self.encoder.categorical
        for j in np.flatnonzero(source.categorical != was_text):
            now, before = ("numbers", "text") if was_text[j] else ("text", "numbers")
            raise SourceError(
                f"column {source.names[j]!r} holds {now}, in the batches before {before}; make "
                "them alike"
            )

    def payoffs(self, batch: Batch, number: int, *, is_new: bool = True) -> Payoffs | None:
        """What arms are worth on the next batch, which may still settle how batches are read."""
        encoder, outcomes = self.encoder, copy(self.outcomes)
        if not encoder.is_full:
            encoder = copy(encoder)
            encoder.see(batch, is_new=is_new)
        assert encoder.encoding is not None
        found = self._scorer(encoder.encoding, outcomes).payoffs(batch, number)
        self.encoder, self.outcomes = encoder, outcomes
        return found

    def scorer(self) -> BatchScorer:
        """How batches are read from now on."""
        assert self.encoder.encoding is not None
        return self._scorer(self.encoder.encoding, self.outcomes)

    def _scorer(self, encoding: ColumnEncoding, outcomes: OutcomeReader) -> BatchScorer:
        if self._columns is None or self._columns[0] is not encoding:
            columns = self.layout.columns(encoding.feature_of)
            if self.layout.n_copies:
                every = np.arange(encoding.feature_of.size)
                columns = columns.with_copies(every.size, every, [every])
            self._columns = encoding, columns
        return BatchScorer(self.reward, encoding, self._columns[1], self.decoy_key, outcomes)


class StreamScorer(Scorer):
    """Scores plays batch after batch.

    Batches are read here until it is settled how they are read and how many there are, from
    then on by the workers, as many at a time as a window has plays. A context manager; the
    workers are let go at its end.

    Parameters
    ----------
    batches : callable
        ``batches(number)``: a batch, or None where the data ends; a :class:`BatchCursor` if
        workers may read, too.
    journal : Journal
        Where the number of batches is kept, once it is known.
    """

    def __init__(
        self,
        stream: StreamState,
        batches: Callable[[int], Batch | None],
        *,
        runner: Runner,
        n_chains: int,
        n_rounds: int | None,
        journal: Journal,
    ) -> None:
        self.stream, self.batches, self.runner = stream, batches, runner
        self.n_rounds, self.journal = n_rounds, journal
        self._n_threads = min(runner.n_workers, n_chains)
        self._stack = ExitStack()
        self._here: TaskMap | None = None
        self._elsewhere: TaskMap | None = None
        self._pace = Pace()
        self._before = 0, stream.encoder, stream.outcomes

    def __enter__(self) -> Self:
        self._here = self._stack.enter_context(
            in_threads(self._n_threads, methodcaller("__call__"))
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def capacity(self, n_done: int) -> int | None:
        """One batch at a time here; elsewhere what is left of the rounds."""
        cursor = self.batches
        if not isinstance(cursor, BatchCursor) or cursor.n_batches is None:
            return 1
        n_left = None
        if self.n_rounds is not None:
            n_left = cursor.n_batches * self.n_rounds - n_done
            if n_left <= 0:
                raise NoMoreData(StopReason.ROUNDS)
        elif n_done >= 2 * cursor.n_batches and not self._any_played():
            # Patience counts no skipped batch and would wait for ever.
            raise NoMoreData(StopReason.ALL_SKIPPED)
        if self._elsewhere is None and self._others_may_read(cursor):
            work = WorkerScorer(cursor, self.stream.scorer())
            self._elsewhere = self._stack.enter_context(self.runner.bind(work))
        return 1 if self._elsewhere is None else n_left

    def __call__(self, pending: Sequence[PendingPlay]) -> Sequence[Score | None]:
        """One score per play, in their order."""
        self._before = pending[0].number, self.stream.encoder, self.stream.outcomes
        if self._elsewhere is None:
            return self._score_here(pending)
        # A batch's plays side by side: a worker reads it once for all chains.
        order = sorted(range(len(pending)), key=lambda k: pending[k].number)
        scores = self._elsewhere([pending[k] for k in order])
        by_place = dict(zip(order, scores, strict=True))
        return [by_place[k] for k in range(len(pending))]

    def ahead(self, chains: Chains, at_most: int | None) -> Sequence[Play]:
        """Plays of several chains, each of which reads on without waiting for the others."""
        is_apart = self.runner.shares_memory and 1 < len(chains) <= self.runner.n_workers
        if self._elsewhere is None or not is_apart or chains[0].window > 1:
            return ()
        self._before = chains.n_plays, self.stream.encoder, self.stream.outcomes
        return self._pace(chains, self._elsewhere, at_most)

    def state(self) -> Mapping[str, bytes]:
        """The encoder and the family of the outcome, where the last batch has changed them."""
        if not self.journal.is_durable:
            return {}
        _, encoder, outcomes = self._before
        now, changed = self.stream, {}
        if now.encoder is not encoder:
            changed["encoder"] = store_encoder(now.encoder)
        if now.outcomes.is_settled != outcomes.is_settled:
            changed["outcome"] = now.outcomes.to_bytes()
        return changed

    def follow(self, journal: Journal) -> None:
        """Forget what a batch has settled whose plays did not get into the journal."""
        number, encoder, outcomes = self._before
        if journal.n_plays() <= number:
            self.stream.encoder, self.stream.outcomes = encoder, outcomes

    def _score_here(self, pending: Sequence[PendingPlay]) -> Sequence[Score | None]:
        number = pending[0].number
        batch = self._next_batch(number)
        n_batches = getattr(self.batches, "n_batches", None)
        is_new = n_batches is None or number < n_batches
        payoffs = self.stream.payoffs(batch, number, is_new=is_new)
        if payoffs is None:
            return [None] * len(pending)
        assert self._here is not None
        return self._here([partial(play.score, payoffs) for play in pending])

    def _next_batch(self, number: int) -> Batch:
        batch, cursor = self.batches(number), self.batches
        if batch is None and isinstance(cursor, BatchCursor) and cursor.n_batches is None:
            cursor.n_batches = number
            self.journal.keep("batches", str(number).encode())
            self.capacity(number)
            batch = cursor(number)
        if batch is None:
            raise SourceError(
                f"the stream ends before batch {number}: it has changed while it was read; "
                "start again"
            )
        return batch

    def _any_played(self) -> bool:
        return any(play.arms.size for play in self.journal.plays(0))

    def _others_may_read(self, cursor: BatchCursor) -> bool:
        return self.runner.n_workers > 1 and cursor.source.can_repeat and self.stream.is_settled


def known_batches(source: Source, batch_size: int, journal: Journal) -> int | None:
    """Batches of a round, where that is known: from the source, or from an earlier run."""
    if source.n_rows is not None:
        return -(-source.n_rows // batch_size)
    if (blob := journal.kept("batches")) is None:
        return None
    if not blob.isdigit() or len(blob) > MOST_DIGITS:
        raise journal.damaged_at("batches")
    return int(blob)
