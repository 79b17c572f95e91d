"""The game on a stream: one play of every chain per batch of rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.chain import Payoffs, ThompsonChain, Turn
from tvselect.bandit.journal import Header, Journal, MemoryJournal
from tvselect.bandit.play import Play
from tvselect.inputs import Outcome, OutcomeReader
from tvselect.inputs.errors import located
from tvselect.inputs.finite import refuse_nonfinite
from tvselect.rewards import Data, Reward
from tvselect.rewards.base import Feedback
from tvselect.runners import Run
from tvselect.selectors.encoding import (
    ColumnEncoding,
    StreamEncoder,
    restore_encoder,
    store_encoder,
)
from tvselect.selectors.features import Deal, Features, Groups, deal
from tvselect.selectors.game import learn_all, pay, payoffs_of_arms
from tvselect.sources import Batch

HEAD_KEY = 2**32 - 2


def deal_stream(
    names: tuple[str, ...],
    feature_of: NDArray[np.int64],
    groups: Groups,
    always_include: Sequence[Any] | None,
) -> Deal:
    """Deal the columns of a stream out to arms."""
    return deal(Features(np.empty((0, 0)), names, feature_of), groups, always_include)


def with_decoys(dealt: Deal, encoding: ColumnEncoding) -> Deal:
    """The deal with one more arm for every decoy."""
    decoys = encoding.n_columns + np.flatnonzero(dealt.arm_of_feature[encoding.decoy_of] >= 0)
    return Deal(
        arm_of_feature=dealt.arm_of_feature,
        starts=np.concatenate([dealt.starts, dealt.starts[-1] + 1 + np.arange(decoys.size)]),
        columns=np.concatenate([dealt.columns, decoys]),
        always=dealt.always,
    )


@dataclass
class Stream:
    """A game that goes on with every batch.

    Attributes
    ----------
    header : Header
        What the journals are written for.
    reward : Reward
    chains : list of ThompsonChain
    head : StreamEncoder
    outcomes : OutcomeReader
    memory : MemoryJournal
    groups, always_include
        As the user gave them.
    """

    header: Header
    reward: Reward
    chains: list[ThompsonChain]
    head: StreamEncoder
    outcomes: OutcomeReader
    memory: MemoryJournal
    groups: Groups
    always_include: Sequence[Any] | None
    _dealt: tuple[ColumnEncoding, Deal] | None = field(default=None, init=False)

    @property
    def n_batches(self) -> int:
        """Batches that were played or skipped."""
        return self.chains[0].n_plays

    def restore(self, disk: Journal | None) -> None:
        """Go on from what the journals hold.

        Raises
        ------
        JournalError
            When that is damaged, or of another stream.
        """
        if disk is not None and (blob := disk.kept("head")) is not None:
            self.head = self._stored_head(disk, blob)
        if disk is not None and (blob := disk.kept("outcome")) is not None:
            try:
                self.outcomes = OutcomeReader.from_bytes(blob)
            except ValueError as error:
                raise disk.damaged_at("outcome") from error
        self.recall()

    def _stored_head(self, disk: Journal, blob: bytes) -> StreamEncoder:
        try:
            head = restore_encoder(blob)
        except ValueError as error:
            raise disk.damaged_at("head") from error
        settings = ((h.names, h.decoys, h.max_cuts) for h in (head, self.head))
        if next(settings) != next(settings):
            raise disk.damaged_at("head")
        return head

    def recall(self) -> None:
        """Bring the chains to what is written down, also after an interrupted play."""
        for chain in self.chains:
            chain.replay(self.memory.plays(chain.chain))

    def hear(self, batch: Batch, run: Run, disk: Journal | None) -> list[tuple[int, Play]]:
        """Let every chain play on a batch, and write the plays down.

        A batch that fails leaves everything as it was.

        Parameters
        ----------
        batch : Batch
        run : callable
            Calls the functions it is given, in this process.
        disk : Journal or None
        """
        head, outcomes = copy(self.head), copy(self.outcomes)
        try:
            plays = self._plays(batch, run)
            if disk is not None:
                disk.append_all(plays, self._news(head, outcomes))
            self.memory.append_all(plays)
        except BaseException:
            self.head, self.outcomes = head, outcomes
            self.recall()
            raise
        return plays

    @property
    def is_settled(self) -> bool:
        """Whether no batch to come can change how batches are read."""
        return self.head.is_full and self.outcomes.is_settled

    def settled_reading(self) -> Reading:
        """How batches are read from now on."""
        assert self.head.encoding is not None
        encoding = self.head.encoding
        return Reading(
            self.reward, encoding, self._deal(encoding), self._decoy_key, copy(self.outcomes)
        )

    def learn(
        self,
        turns: Sequence[Turn],
        payments: Sequence[tuple[NDArray[np.bool_], float] | None],
        disk: Journal | None,
    ) -> list[tuple[int, Play]]:
        """Learn from turns that workers have played, and write them down."""
        try:
            plays = learn_all(self.chains, turns, payments)
            if disk is not None:
                disk.append_all(plays)
            self.memory.append_all(plays)
        except BaseException:
            self.recall()
            raise
        return plays

    def _plays(self, batch: Batch, run: Run) -> list[tuple[int, Play]]:
        outcome = read_target(self.outcomes, batch, self.n_batches)
        encoding = self._encoding(batch)
        if outcome is None or batch.n_rows < self.reward.min_rows:
            return [(chain.chain, chain.skip()) for chain in self.chains]
        reading = Reading(
            self.reward, encoding, self._deal(encoding), self._decoy_key, self.outcomes
        )
        payoffs = reading.payoffs(batch, outcome)
        turns = [chain.turns()[0] for chain in self.chains]
        return learn_all(self.chains, turns, run([partial(pay, payoffs, turn) for turn in turns]))

    def _deal(self, encoding: ColumnEncoding) -> Deal:
        """The arms' columns, dealt out anew only when the encoding is another one."""
        if self._dealt is None or self._dealt[0] is not encoding:
            feature_of = encoding.feature_of
            dealt = deal_stream(encoding.names, feature_of, self.groups, self.always_include)
            self._dealt = encoding, with_decoys(dealt, encoding)
        return self._dealt[1]

    def _news(self, head: StreamEncoder, outcomes: OutcomeReader) -> dict[str, bytes]:
        """The head and the family, where the batch has changed them."""
        news = {}
        if self.head.n_batches > head.n_batches:
            news["head"] = store_encoder(self.head)
        if self.outcomes.family != outcomes.family or self.outcomes.classes is not outcomes.classes:
            news["outcome"] = self.outcomes.to_bytes()
        return news

    def _encoding(self, batch: Batch) -> ColumnEncoding:
        """The encoding of a batch; the head takes the batch in while it has room."""
        # Early journals may keep the head of a batch whose plays they do not hold.
        if not self.head.is_full and self.head.n_batches <= self.n_batches:
            self.head.see(batch, self._decoy_key)
        assert self.head.encoding is not None
        return self.head.encoding

    @property
    def _decoy_key(self) -> int:
        seeds = np.random.SeedSequence(self.chains[0].entropy, spawn_key=(HEAD_KEY,))
        return int(seeds.generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class Reading:
    """How the batches of a stream are read and paid, here or by a worker elsewhere.

    Attributes
    ----------
    reward : Reward
    encoding : ColumnEncoding
    dealt : Deal
    decoy_key : int
    outcomes : OutcomeReader
    """

    reward: Reward
    encoding: ColumnEncoding
    dealt: Deal
    decoy_key: int
    outcomes: OutcomeReader

    def payoffs(self, batch: Batch, outcome: Outcome) -> Payoffs:
        """What arms are paid on a batch."""
        feedback = batch_feedback(self.reward, self.encoding, batch, outcome, self.decoy_key)
        return payoffs_of_arms(feedback, self.dealt)

    def pay(self, batch: Batch, turn: Turn) -> tuple[NDArray[np.bool_], float] | None:
        """What a turn pays on a batch; None for a batch that is skipped."""
        outcome = read_target(self.outcomes, batch, turn.number)
        if outcome is None or batch.n_rows < self.reward.min_rows:
            return None
        return pay(self.payoffs(batch, outcome), turn)


def read_target(outcomes: OutcomeReader, batch: Batch, number: int) -> Outcome | None:
    """The outcome of a batch; an error names the batch."""
    try:
        return outcomes.read(batch.target(), batch.n_rows)
    except (TypeError, ValueError) as error:
        raise located(error, f"batch {number}") from None


def batch_feedback(
    reward: Reward, encoding: ColumnEncoding, batch: Batch, outcome: Outcome, decoy_key: int
) -> Feedback:
    """The feedback of one batch: only the played columns are read."""

    def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        X = encoding.values(batch, columns, decoy_key, np.nan if reward.takes_missing else 0.0)
        names = encoding.column_names(columns)
        refuse_nonfinite(X, names, reward.takes_missing, takes_empty=True)
        data = Data(X, outcome, names, None, encoding.cuts.take(columns), len(encoding.cuts.names))
        return reward.start(data)(np.arange(columns.size), rng)

    return feedback
