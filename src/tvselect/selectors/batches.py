"""Plays on a stream: play ``k`` of every chain sees the rows of batch ``k`` alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import Any

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
from tvselect.selectors.encoding import StreamEncoder, restore_encoder, store_encoder
from tvselect.selectors.layout import ArmColumns, ArmLayout
from tvselect.selectors.scoring import Pace, Stretch, payoffs_of_arms
from tvselect.sources import Batch, Source, SourceError
from tvselect.workers import Runner, TaskMap, in_threads

MOST_DIGITS = 18


class BatchCursor:
    """The batches of a source by number, round after round; neighbours are read in one go.

    Round 0 reads the rows in order, later ones resample them: a function of the source and the
    seed alone, so that every worker can find its batches by itself. Every thread reads the source
    on its own. Only the source's description travels, never its rows (unless they are in memory
    to begin with).

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
        return {name: value for name, value in vars(self).items() if name != "_mine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _mine=threading.local())

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


def known_batches(source: Source, batch_size: int, journal: Journal) -> int | None:
    """Batches of a round, where that is known: from the source, or from an earlier run."""
    if source.n_rows is not None:
        return -(-source.n_rows // batch_size)
    if (blob := journal.kept("batches")) is None:
        return None
    if not blob.isdigit() or len(blob) > MOST_DIGITS:
        raise journal.damaged_at("batches")
    return int(blob)


@dataclass(frozen=True)
class BatchReader:
    """How batches are read and scored, here or by a worker elsewhere.

    The first batches settle it: the encoding of the columns and the family of the outcome.
    """

    reward: Reward
    layout: ArmLayout
    encoder: StreamEncoder
    outcomes: OutcomeReader
    decoy_key: int

    @property
    def is_settled(self) -> bool:
        """Whether no batch to come can change how batches are read."""
        return self.encoder.is_full and self.outcomes.is_settled

    @cached_property
    def columns(self) -> ArmColumns:
        """The columns of every arm, decoys included."""
        assert self.encoder.encoding is not None
        feature_of = self.encoder.encoding.feature_of
        columns = self.layout.columns(feature_of)
        if self.layout.n_copies:
            every = np.arange(feature_of.size)
            columns = columns.with_copies(every.size, every, [every])
        return columns

    def restored(self, journal: Journal) -> BatchReader:
        """The reader that goes on from what a journal keeps.

        Raises
        ------
        JournalError
            When that is damaged, or of another stream.
        """
        encoder, outcomes = self.encoder, self.outcomes
        if (blob := journal.kept("encoder")) is not None:
            try:
                encoder = restore_encoder(blob)
            except ValueError as error:
                raise journal.damaged_at("encoder") from error
            settings = [(e.names, e.decoys, e.max_cuts) for e in (encoder, self.encoder)]
            if settings[0] != settings[1]:
                raise journal.damaged_at("encoder")
        if (blob := journal.kept("outcome")) is not None:
            try:
                outcomes = OutcomeReader.from_bytes(blob)
            except ValueError as error:
                raise journal.damaged_at("outcome") from error
        return replace(self, encoder=encoder, outcomes=outcomes)

    def refuse_other_kinds(self, source: Source) -> None:
        """Refuse text where numbers were, and numbers where text was."""
        was_text = self.encoder.categorical
        for j in np.flatnonzero(source.categorical != was_text):
            now, before = ("numbers", "text") if was_text[j] else ("text", "numbers")
            raise SourceError(
                f"column {source.names[j]!r} holds {now}, in the batches before {before}; make "
                "them alike"
            )

    def having_seen(self, batch: Batch, *, is_new: bool) -> BatchReader:
        """The reader that the next batch, of new rows or of some that come again, settles."""
        if self.is_settled:
            return self
        encoder = self.encoder
        if not encoder.is_full:
            encoder = copy(encoder)
            encoder.see(batch, is_new=is_new)
        return replace(self, encoder=encoder, outcomes=copy(self.outcomes))

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
        reward, encoding = self.reward, self.encoder.encoding
        assert encoding is not None

        def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
            unknown = np.nan if reward.takes_missing else 0.0
            has_decoys = bool(columns.max(initial=0) >= encoding.n_columns)
            # A column must not be told from its decoy by its place.
            order = rng.permutation(columns.size) if has_decoys else np.arange(columns.size)
            played = columns[order]
            of_decoys = np.random.default_rng([self.decoy_key, number])
            X = encoding.values(batch, played, of_decoys, unknown)
            names = encoding.column_names(played)
            refuse_nonfinite(X, names, reward.takes_missing, takes_empty=True)
            cuts = encoding.cuts_of(played, X, reward.max_cuts)
            n_columns = encoding.n_columns * (2 if has_decoys else 1)
            started = start_reward(reward, Data(X, outcome, names, None, cuts, n_columns))
            payoffs = np.empty(columns.size)
            payoffs[order] = started(np.arange(columns.size), rng)
            return payoffs

        return payoffs_of_arms(feedback, self.columns)


class StreamScorer(Scorer):
    """Scores plays batch after batch.

    Batches are read here until it is settled how they are read and how many there are, from
    then on by the workers, as many at a time as a window has plays.

    Parameters
    ----------
    reader : BatchReader
    batches : callable
        ``batches(number)``: a batch, or None where the data ends; a :class:`BatchCursor` if
        workers may read, too.
    journal : Journal
        Where the number of batches is kept, once it is known.
    stack : ExitStack
        At whose end the workers are let go.
    """

    def __init__(
        self,
        reader: BatchReader,
        batches: Callable[[int], Batch | None],
        journal: Journal,
        *,
        runner: Runner,
        n_chains: int,
        n_rounds: int | None,
        stack: ExitStack,
    ) -> None:
        self.reader, self.batches, self.journal = reader, batches, journal
        self.runner, self.n_rounds = runner, n_rounds
        self._stack = stack
        threads = in_threads(min(runner.n_workers, n_chains), methodcaller("__call__"))
        self._here: TaskMap = stack.enter_context(threads)
        self._elsewhere: TaskMap | None = None
        self._pace = Pace()
        self._before = 0, reader

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
        others_may_read = cursor.source.can_repeat and self.reader.is_settled
        if self._elsewhere is None and self.runner.n_workers > 1 and others_may_read:
            work = partial(play_on, cursor, self.reader)
            self._elsewhere = self._stack.enter_context(self.runner.bind(work))
        return 1 if self._elsewhere is None else n_left

    def __call__(self, pending: Sequence[PendingPlay]) -> Sequence[Score | None]:
        """One score per play, in their order."""
        self._before = pending[0].number, self.reader
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
        self._before = chains.n_plays, self.reader
        return self._pace(chains, self._elsewhere, at_most)

    def state(self) -> Mapping[str, bytes]:
        """The encoder and the family of the outcome, where the last batch has changed them."""
        before, now, changed = self._before[1], self.reader, {}
        if self.journal.is_durable and now.encoder is not before.encoder:
            changed["encoder"] = store_encoder(now.encoder)
        if self.journal.is_durable and now.outcomes.is_settled != before.outcomes.is_settled:
            changed["outcome"] = now.outcomes.to_bytes()
        return changed

    def follow(self, journal: Journal) -> None:
        """Forget what a batch has settled whose plays did not get into the journal."""
        number, reader = self._before
        if journal.n_plays() <= number:
            self.reader = reader

    def _score_here(self, pending: Sequence[PendingPlay]) -> Sequence[Score | None]:
        number, cursor = pending[0].number, self.batches
        batch = cursor(number)
        if batch is None and isinstance(cursor, BatchCursor) and cursor.n_batches is None:
            cursor.n_batches = number
            self.journal.keep("batches", str(number).encode())
            self.capacity(number)
            batch = cursor(number)
        batch = found(batch, number)
        n_batches = cursor.n_batches if isinstance(cursor, BatchCursor) else None
        is_new = n_batches is None or number < n_batches
        reader = self.reader.having_seen(batch, is_new=is_new)
        payoffs = reader.payoffs(batch, number)
        self.reader = reader
        if payoffs is None:
            return [None] * len(pending)
        return self._here([partial(play.score, payoffs) for play in pending])

    def _any_played(self) -> bool:
        return any(play.arms.size for play in self.journal.plays(0))


def play_on(
    batches: BatchCursor, reader: BatchReader, task: PendingPlay | Stretch
) -> Score | list[Play] | None:
    """The work of a worker: find the batch of a play and score it, or let a chain make some."""

    def score(pending: PendingPlay) -> Score | None:
        number = pending.number
        payoffs = reader.payoffs(found(batches(number), number), number)
        return None if payoffs is None else pending.score(payoffs)

    if isinstance(task, PendingPlay):
        return score(task)
    chain, n_plays = task
    return chain.make_plays(score, n_plays)


def found(batch: Batch | None, number: int) -> Batch:
    """A batch that must be there, as its stream has not come to its end."""
    if batch is None:
        raise SourceError(
            f"the stream ends before batch {number}: it has changed while it was read; start again"
        )
    return batch
