"""The game on a stream: one play of every chain per batch of rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.journal import Header, Journal, MemoryJournal
from tvselect.bandit.play import Play
from tvselect.inputs import Outcome, OutcomeReader
from tvselect.rewards import Data, Reward
from tvselect.rewards.base import Feedback
from tvselect.selectors.encoding import Encoding
from tvselect.selectors.features import Deal, Features, Groups, deal, refuse_nonfinite
from tvselect.selectors.game import payoffs_of_arms, play_each
from tvselect.selectors.head import Head
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


def with_decoys(dealt: Deal, encoding: Encoding) -> Deal:
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
    head : Head
    outcomes : OutcomeReader
    memory : MemoryJournal
    groups, always_include
        As the user gave them.
    """

    header: Header
    reward: Reward
    chains: list[ThompsonChain]
    head: Head
    outcomes: OutcomeReader
    memory: MemoryJournal
    groups: Groups
    always_include: Sequence[Any] | None
    _dealt: tuple[Encoding, Deal] | None = field(default=None, init=False)

    @property
    def n_batches(self) -> int:
        """Batches that were played or skipped."""
        return self.chains[0].n_plays

    def restore(self, disk: Journal | None) -> None:
        """Go on from what the journals hold."""
        if disk is not None and (blob := disk.kept("head")) is not None:
            self.head = Head.from_bytes(blob)
        if disk is not None and (blob := disk.kept("outcome")) is not None:
            family, classes = json.loads(blob)
            self.outcomes = OutcomeReader(family, None if classes is None else np.array(classes))
        self.recall()

    def recall(self) -> None:
        """Bring the chains to what is written down, also after an interrupted play."""
        for chain in self.chains:
            chain.replay(self.memory.plays(chain.chain))

    def hear(
        self, batch: Batch, pool: ThreadPoolExecutor, disk: Journal | None
    ) -> list[tuple[int, Play]]:
        """Let every chain play on a batch, and write the plays down.

        A batch that fails leaves everything as it was.
        """
        head, outcomes = copy(self.head), copy(self.outcomes)
        try:
            plays = self._plays(batch, pool)
            if disk is not None:
                self._keep(disk, head, outcomes)
                disk.append_all(plays)
            self.memory.append_all(plays)
        except BaseException:
            self.head, self.outcomes = head, outcomes
            self.recall()
            raise
        return plays

    def _plays(self, batch: Batch, pool: ThreadPoolExecutor) -> list[tuple[int, Play]]:
        outcome = self._outcome(batch)
        encoding = self._encoding(batch)
        if outcome is None or batch.n_rows < self.reward.min_rows:
            return [(chain.chain, chain.skip()) for chain in self.chains]
        feedback = batch_feedback(self.reward, encoding, batch, outcome, self._decoy_key)
        return play_each(self.chains, payoffs_of_arms(feedback, self._deal(encoding)), pool)

    def _deal(self, encoding: Encoding) -> Deal:
        """The arms' columns, dealt out anew only when the encoding is another one."""
        if self._dealt is None or self._dealt[0] is not encoding:
            feature_of = encoding.feature_of
            dealt = deal_stream(encoding.names, feature_of, self.groups, self.always_include)
            self._dealt = encoding, with_decoys(dealt, encoding)
        return self._dealt[1]

    def _keep(self, disk: Journal, head: Head, outcomes: OutcomeReader) -> None:
        """Keep the head and the family where the batch has changed them."""
        if self.head.n_batches > head.n_batches:
            disk.keep("head", self.head.to_bytes())
        if self.outcomes.family != outcomes.family or self.outcomes.classes is not outcomes.classes:
            classes = None if self.outcomes.classes is None else self.outcomes.classes.tolist()
            disk.keep("outcome", json.dumps([self.outcomes.family, classes]).encode())

    def _encoding(self, batch: Batch) -> Encoding:
        """The encoding of a batch; the head takes the batch in while it has room."""
        # A run that was killed may have kept the head but not the plays of this batch.
        if not self.head.is_full and self.head.n_batches <= self.n_batches:
            self.head.see(batch, self._decoy_key)
        assert self.head.encoding is not None
        return self.head.encoding

    @property
    def _decoy_key(self) -> int:
        seeds = np.random.SeedSequence(self.chains[0].entropy, spawn_key=(HEAD_KEY,))
        return int(seeds.generate_state(1, np.uint64)[0])

    def _outcome(self, batch: Batch) -> Outcome | None:
        try:
            return self.outcomes.read(batch.target(), batch.n_rows)
        except (TypeError, ValueError) as error:
            raise type(error)(f"batch {self.n_batches}: {error}") from None


def batch_feedback(
    reward: Reward, encoding: Encoding, batch: Batch, outcome: Outcome, decoy_key: int
) -> Feedback:
    """The feedback of one batch: only the played columns are read."""

    def feedback(columns: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        X = encoding.values(batch, columns, decoy_key, np.nan if reward.takes_missing else 0.0)
        names = encoding.column_names(columns)
        features = Features(X, names, np.arange(columns.size))
        refuse_nonfinite(features, reward.takes_missing, takes_empty=True)
        data = Data(X, outcome, names, None, encoding.cuts.take(columns), len(encoding.cuts.names))
        return reward.start(data)(np.arange(columns.size), rng)

    return feedback
