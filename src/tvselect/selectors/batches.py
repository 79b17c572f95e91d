"""Plays on a stream: play ``k`` of every chain sees the rows of batch ``k`` alone."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tvselect.bandit.chain import Chains, Payoffs, PendingPlay, Play, ThompsonChain
from tvselect.bandit.engine import NoMoreData, Scorer, StopReason
from tvselect.bandit.journal import Journal
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs import OutcomeReader
from tvselect.inputs.blocks import RowBlocks
from tvselect.inputs.columns import centred_ranks, evenly, ranks_of, refuse_nonfinite
from tvselect.inputs.errors import located
from tvselect.inputs.rows import MOST_COLUMNS, copies_among
from tvselect.rewards import Data, Reward
from tvselect.rewards.base import start_reward
from tvselect.seeds import RandomStream
from tvselect.selectors.copies import explained_shares, of_ranks, residual_targets
from tvselect.selectors.encoding import StreamEncoder
from tvselect.selectors.layout import ArmColumns, ArmLayout, IntArray
from tvselect.selectors.scoring import Pace, payoffs_of_arms
from tvselect.selectors.search import SearchRun
from tvselect.sources import Batch, Source, SourceError
from tvselect.workers import Runner, TaskMap, in_threads

FloatArray = NDArray[np.float64]
MOST_DIGITS = 18
HEAD_BATCHES = 10
"""Most batches whose rows say which arms lead, three at least until the encoder has its rows;
a window has one play for as long."""


@dataclass(eq=False)
class BatchCursor:
    """The batches of a source by number, round after round; neighbours are read in one go.

    Round 0 reads the rows in order, later ones resample them, or have the same batches ``again``:
    a function of the source and the seed alone, so that every worker, and every thread, finds its
    batches by itself. ``n_batches`` of a round is None until it is known. Where a row may count
    only ``once``, batches of rows in order are :func:`without_copies`.
    """

    source: Source
    batch_size: int
    entropy: int
    n_batches: int | None
    once: bool
    again: bool

    def __post_init__(self) -> None:
        self._mine = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    def rows_of(self, number: int) -> int:
        """The first batch that has the rows of this one."""
        return number % self.n_batches if self.again and self.n_batches else number

    def __call__(self, number: int) -> Batch | None:
        """A batch; None if the first round has ended before it."""
        mine = self._mine
        round, place = (0, number) if self.n_batches is None else divmod(number, self.n_batches)
        reads = 0 if self.again else round
        if getattr(mine, "round", None) != round or mine.place > place:
            rng = RandomStream.LATER_ROUNDS.generator(self.entropy, reads)
            mine.batches = self.source.batches(self.batch_size, reads, rng, skip=place)
            mine.place = place - 1
        for _ in range(place - mine.place):
            mine.round = None  # should reading fail, the next one starts from scratch
            mine.batch, mine.is_fresh = next(mine.batches, None), True
        if self.once and reads == 0 and mine.batch is not None and mine.is_fresh:
            kept = without_copies(mine.batch, self.source, place, is_told=number > 0)
            mine.batch, mine.is_fresh = kept, False
        batch: Batch | None = mine.batch
        if batch is not None:
            mine.round, mine.place = round, place
        elif self.n_batches is not None:
            raise SourceError(
                f"the stream ends before batch {number}: it has changed while it was read; start "
                "again"
            )
        return batch


@dataclass(frozen=True)
class GivenBatch:
    """The batch that ``partial_fit`` is given, whatever its number."""

    batch: Batch
    n_batches: None = None

    def __call__(self, number: int) -> Batch:
        """The batch."""
        return self.batch

    def rows_of(self, number: int) -> int:
        """Every batch has rows of its own."""
        return number


def without_copies(batch: Batch, source: Source, number: int, *, is_told: bool) -> Batch:
    """A batch with the first row of every observation alone, where many rows are copies of others.

    Such a batch may begin with copies of the last row of the one before: where there is one, the
    observation of the first row is left out. See :func:`copied_rows`, by whose rules copies are
    told from rows that are the same by chance.
    """
    if batch.n_rows < 2:
        return batch

    def column(j: int) -> NDArray[Any]:
        if source.categorical[j]:
            return batch.labels(j).astype(str)
        return batch.numbers(np.array([j]))[:, 0]

    target = batch.target()
    target = target if target.ndim == 1 else target[:, 0]
    target = target.astype(str) if target.dtype.kind == "O" else target
    some = evenly(len(source.names), MOST_COLUMNS).tolist()
    copies = copies_among(target, map(column, some))
    if copies is None:
        return batch
    firsts = np.unique(copies, return_index=True)[1]
    if not is_told:
        warnings.warn(
            f"{batch.n_rows - firsts.size} of the first {batch.n_rows} rows are copies of others, "
            "in the outcome, too: in a batch a row and its copies count once",
            UserWarning,
            stacklevel=2,
        )
    return batch.rows(firsts[1:] if number else firsts)


def known_batches(source: Source, batch_size: int, journal: Journal) -> int | None:
    """Batches of a round, where that is known: from the source, or from an earlier run."""
    if source.n_rows is not None:
        return -(-source.n_rows // batch_size)

    def read(blob: bytes) -> int:
        if not blob.isdigit() or len(blob) > MOST_DIGITS:
            raise ValueError("no number of batches")
        return int(blob)

    return journal.kept("batches", read)


@dataclass(frozen=True)
class BatchRows:
    """Which rows of the batches of a stream belong together.

    A group is evidence once: its rows stand together, and of one that goes over the border of
    two batches the rows in the first one are played.
    """

    has_groups: bool
    is_ordered: bool
    column: int | None = None  #: Of the source, with the groups; None where they come beside it
    is_text: bool = False
    is_cut: bool = True  #: Whether a group may go on in the next batch
    before: frozenset[Any] | None = None  #: Groups of the first batch that was seen
    first: int = 0  #: Its number
    n_units: int | None = None  #: Stretches of time in that batch

    def having_seen(
        self, batch: Batch, number: int, numbers: IntArray, outcomes: OutcomeReader
    ) -> BatchRows:
        """The same after the first batch."""
        if self.has_groups:
            return replace(self, before=frozenset(self._labels(batch).tolist()), first=number)
        outcome = copy(outcomes).read(batch.target(), batch.n_rows)
        if outcome is None or not numbers.size:
            return self
        X = np.nan_to_num(np.asarray(batch.numbers(numbers), dtype=np.float64))
        n_units = RowBlocks.of(batch.n_rows, None, "rows").n_units(X, outcome.values)
        return replace(self, before=frozenset(), n_units=n_units)

    def of(self, batch: Batch, number: int) -> tuple[RowBlocks, IntArray]:
        """The blocks of the rows of a batch that are played, and which rows these are."""
        order = "rows" if self.is_ordered else None
        if not self.has_groups:
            return RowBlocks.of(batch.n_rows, None, order), np.arange(batch.n_rows)
        labels = self._labels(batch)
        begins = np.append(True, labels[1:] != labels[:-1])
        kept = np.arange(batch.n_rows)
        if self.is_cut and number:
            kept = kept[np.cumsum(begins) > 1]
        blocks = RowBlocks.of(kept.size, labels[kept], order)
        is_again = number > self.first and self.before and self.before & {*labels[kept].tolist()}
        if self.is_cut and (np.count_nonzero(begins[kept]) > blocks.n_groups or is_again):
            raise SourceError(
                f"batch {number} has rows of a group that other rows stand between: a group is "
                "evidence once",
                "sort the rows by their group, or take a table into memory",
            )
        return blocks, kept

    def _labels(self, batch: Batch) -> NDArray[Any]:
        return batch.groups(self.column, self.is_text)


@dataclass(frozen=True)
class BatchReader:
    """How batches are read and scored, here or by a worker elsewhere.

    The first batches settle how columns are encoded and the family of the outcome.
    """

    reward: Reward
    layout: ArmLayout
    encoder: StreamEncoder
    outcomes: OutcomeReader
    decoy_key: int
    rows: BatchRows | None = None
    lead: FloatArray | None = None  #: By arm what the first rows show of it

    @property
    def is_settled(self) -> bool:
        """Whether no batch to come can change how batches are read."""
        is_seen = self.rows is None or self.rows.before is not None
        return self.encoder.is_full and self.outcomes.is_settled and is_seen

    @cached_property
    def columns(self) -> ArmColumns:
        """The columns of every arm, decoys included."""
        columns = self.layout.columns(self.encoder.feature_of)
        if not self.layout.n_copies:
            return columns
        every = np.arange(self.encoder.n_columns)
        return columns.with_copies(every.size, every, [every] * self.layout.n_copies)

    def restored(self, journal: Journal) -> BatchReader:
        """The reader as a journal keeps it; a JournalError for one damaged or of another stream."""

        def encoder(blob: bytes) -> StreamEncoder:
            now, before = StreamEncoder.from_bytes(blob), self.encoder
            for name in ("names", "decoys", "n_copies", "max_cuts"):
                if getattr(now, name) != getattr(before, name):
                    raise ValueError(f"other {name}")
            return now

        def lead(blob: bytes) -> FloatArray:
            found = np.frombuffer(blob)
            if found.size != self.layout.n_arms or not np.isfinite(found).all():
                raise ValueError("no number for every arm")
            return found

        return replace(
            self,
            encoder=journal.kept("encoder", encoder) or self.encoder,
            outcomes=journal.kept("outcome", OutcomeReader.from_bytes) or self.outcomes,
            lead=journal.kept("lead", lead),
        )

    def refuse_other_kinds(self, source: Source) -> None:
        """Refuse columns that change between numbers and text."""
        was_text = self.encoder.categorical
        for j in np.flatnonzero(source.categorical[: was_text.size] != was_text):
            now, before = ("numbers", "text") if was_text[j] else ("text", "numbers")
            raise SourceError(
                f"column {source.names[j]!r} holds {now}, in the batches before {before}; make "
                "them alike"
            )

    def having_seen(self, batch: Batch, number: int, *, is_new: bool) -> BatchReader:
        """The reader after the next batch, of new rows or of rows that were seen before."""
        if self.is_settled:
            return self
        encoder, rows = self.encoder.having_seen(batch, is_new=is_new), self.rows
        if rows is not None and rows.before is None:
            numbers = np.flatnonzero(~encoder.categorical)
            rows = rows.having_seen(batch, number, numbers, self.outcomes)
        return replace(self, encoder=encoder, outcomes=copy(self.outcomes), rows=rows)

    def with_lead(self, batch: Batch, number: int) -> BatchReader:
        """The reader that knows as well which arms lead in this batch.

        Looked at as :func:`preselect_arms` looks at tables: ranks of columns with those of the
        outcome and, in the first batch, with what a forest of the leading columns leaves of it.
        """
        encoder, rng = self.encoder, np.random.default_rng([self.decoy_key, number, 1])
        outcome = copy(self.outcomes).read(batch.target(), batch.n_rows)
        assert outcome is not None
        columns, every = self.layout.columns(encoder.feature_of), np.arange(encoder.n_columns)
        X = encoder.values(batch, every, rng)
        ranks, none = ranks_of(X, every), np.empty((batch.n_rows, 0))
        alone = ShuffledColumns(np.empty((0, batch.n_rows), dtype=np.int64), [], none)

        def shares(targets: FloatArray) -> FloatArray:
            found = explained_shares(of_ranks(ranks, centred_ranks(targets))[:, :, np.newaxis])
            found[:, :, columns.always] = -1.0
            return found.max(axis=0)

        scores = np.zeros((1, encoder.n_columns))
        for term in outcome.in_simple_terms():
            first = shares(term.values[np.newaxis])
            np.maximum(scores, first, out=scores)
            if self.lead is None:
                left = residual_targets(alone, X, term.values, first, columns.always, rng)
                if left.size:
                    np.maximum(scores, shares(left), out=scores)
        lead = np.zeros(self.layout.n_arms)
        np.maximum.at(lead, columns.arms, batch.n_rows * scores[0, columns.columns])
        return replace(self, lead=lead if self.lead is None else self.lead + lead)

    def payoffs(self, batch: Batch, number: int) -> Payoffs | None:
        """Payoffs of arms on a batch; None for one of a single class or value, or too few rows."""
        try:
            outcome = self.outcomes.read(batch.target(), batch.n_rows)
        except (TypeError, ValueError) as error:
            raise located(error, f"batch {number}") from None
        blocks, kept = None, np.arange(batch.n_rows)
        if outcome is not None and self.rows is not None:
            blocks, kept = self.rows.of(batch, number)
            outcome = outcome.rows(kept) if kept.size and kept.size < batch.n_rows else outcome
            if np.ptp(outcome.values) == 0.0:
                return None
        if outcome is None or kept.size < self.reward.min_rows:
            return None
        reward, encoder = self.reward, self.encoder

        def feedback(columns: IntArray, rng: Generator) -> FloatArray:
            has_decoys = bool(columns.max(initial=0) >= encoder.n_columns)
            # The place of a column must not tell it from its decoy.
            order = rng.permutation(columns.size) if has_decoys else np.arange(columns.size)
            played, names = columns[order], encoder.column_names(columns[order])
            of_decoys = np.random.default_rng([self.decoy_key, number])
            swapped = None
            if blocks is not None:
                swapped = np.arange(batch.n_rows)
                swapped[kept] = kept[blocks.swap(of_decoys)]
            unknown = np.nan if reward.takes_missing else 0.0
            X = encoder.values(batch, played, of_decoys, unknown, swapped)
            X = X if kept.size == batch.n_rows else np.asfortranarray(X[kept])
            refuse_nonfinite(X, names, reward.takes_missing, takes_empty=True)
            cuts = encoder.cuts_of(played, X, reward.max_cuts)
            n_candidates = encoder.n_columns * (1 + has_decoys)
            groups = None if blocks is None else blocks.groups
            data = Data(X, outcome, names, cuts=cuts, n_candidates=n_candidates, groups=groups)
            payoffs = np.empty(columns.size)
            payoffs[order] = start_reward(reward, data)(np.arange(columns.size), rng)
            return payoffs

        return payoffs_of_arms(feedback, self.columns)


class StreamScorer(ExitStack, Scorer):
    """Scores plays batch after batch; a context that releases the workers at its end.

    Batches are read here until it is settled how they are read and how many there are, from
    then on by the workers. The journal of the run keeps the number of batches once it is known.
    """

    def __init__(
        self,
        reader: BatchReader,
        batches: BatchCursor | GivenBatch,
        run: SearchRun,
        runner: Runner,
        n_rounds: int | None,
    ) -> None:
        super().__init__()
        self.reader, self.batches, self.journal = reader, batches, run.journal
        self.chains, self.runner, self.n_rounds = run.chains, runner, n_rounds
        self._tell_lead()
        self._tell_rounds()
        threads = in_threads(min(runner.n_workers, len(run.chains)), methodcaller("__call__"))
        self._here: TaskMap = self.enter_context(threads)
        self._elsewhere: TaskMap | None = None
        self._pace = Pace()
        self._before = 0, reader

    def capacity(self, n_done: int) -> int | None:
        """One batch at a time here; elsewhere what is left of the rounds."""
        cursor, n_left = self.batches, None
        if isinstance(cursor, GivenBatch):
            return 1
        if cursor.n_batches is None:
            if cursor(n_done) is not None:
                return 1
            cursor.n_batches = n_done
            self.journal.keep("batches", str(n_done).encode())
            self._tell_rounds()
        if self.n_rounds is not None:
            n_left = cursor.n_batches * self.n_rounds - n_done
            if n_left <= 0:
                raise NoMoreData(StopReason.ROUNDS)
        elif n_done >= 2 * cursor.n_batches and not any(p.arms.size for p in self.journal.plays(0)):
            # Patience counts no skipped batches: the run would never end.
            raise NoMoreData(StopReason.ALL_SKIPPED)
        others_may_read = cursor.source.can_repeat and self.reader.is_settled
        if self._elsewhere is None and self.runner.n_workers > 1 and others_may_read:
            work = partial(play_on, cursor, self.reader)
            self._elsewhere = self.enter_context(self.runner.bind(work))
        return 1 if self._elsewhere is None else n_left

    def __call__(self, pending: Sequence[PendingPlay]) -> Sequence[Play]:
        """The plays, batch by batch: a worker reads one once for all chains."""
        self._before = pending[0].number, self.reader
        if self._elsewhere is None:
            return self._score_here(pending)
        return self._elsewhere(sorted(pending, key=attrgetter("number")))

    def ahead(self, chains: Chains, at_most: int | None) -> Sequence[Play]:
        """Plays of several chains, each of which reads without waiting for the others."""
        is_apart = self.runner.shares_memory and 1 < len(chains) <= self.runner.n_workers
        if self._elsewhere is None or not is_apart or chains[0].window > 1:
            return ()
        self._before = chains.n_plays, self.reader
        return self._pace(chains, self._elsewhere, at_most)

    def state(self) -> Mapping[str, bytes]:
        """The encoder and the family of the outcome, where the last batch has changed them."""
        before, now, changed = self._before[1], self.reader, {}
        if not self.journal.is_durable:
            return {}
        if now.encoder is not before.encoder:
            changed["encoder"] = now.encoder.to_bytes()
        if now.outcomes.is_settled != before.outcomes.is_settled:
            changed["outcome"] = now.outcomes.to_bytes()
        if now.lead is not None and now.lead is not before.lead:
            changed["lead"] = now.lead.tobytes()
        return changed

    def follow(self, journal: Journal) -> None:
        """Forget what was settled by a batch whose plays are not in the journal."""
        number, reader = self._before
        if journal.n_plays() <= number:
            self.reader = reader
        self._tell_lead()

    def _tell_lead(self) -> None:
        for chain in self.chains:
            chain.arms.lead = self.reader.lead

    def _tell_rounds(self) -> None:
        """Say who plays in the rounds after the first, where these have its batches again."""
        cursor = self.batches
        if isinstance(cursor, GivenBatch) or not (cursor.again and cursor.n_batches):
            return
        for chain in self.chains:
            chain.rounds = range(cursor.n_batches, cursor.n_batches * (self.n_rounds or 1))
            if chain.n_plays >= cursor.n_batches:
                chain.replay(self.journal.plays(chain.chain))

    def _score_here(self, pending: Sequence[PendingPlay]) -> Sequence[Play]:
        number, cursor = pending[0].number, self.batches
        batch = cursor(number)
        assert batch is not None
        is_new = cursor.n_batches is None or number < cursor.n_batches
        reader = self.reader.having_seen(batch, number, is_new=is_new)
        payoffs = reader.payoffs(batch, cursor.rows_of(number))
        is_head = number < (3 if self.reader.encoder.is_full else HEAD_BATCHES) and is_new
        if payoffs is not None and is_head and self.chains[0].oracle.crowd is not None:
            reader = reader.with_lead(batch, number)
        self.reader = reader
        self._tell_lead()
        return self._here([partial(play.score, payoffs) for play in pending])


def play_on(
    batches: BatchCursor, reader: BatchReader, task: PendingPlay | tuple[ThompsonChain, int]
) -> Play | list[Play]:
    """The work of a worker: find the batch of a play and score it, or let a chain make some."""

    def score(pending: PendingPlay) -> Play:
        batch = batches(pending.number)
        assert batch is not None
        return pending.score(reader.payoffs(batch, batches.rows_of(pending.number)))

    return score(task) if isinstance(task, PendingPlay) else task[0].make_plays(score, task[1])
