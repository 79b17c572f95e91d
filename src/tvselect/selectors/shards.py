"""Batches of a stream by number, for workers that each open the source themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.chain import Turn
from tvselect.selectors.stream import Reading
from tvselect.sources import Batch, Source, SourceError

ROUND_KEY = 2**32 - 1


def one_pass(source: Source, size: int, round: int, entropy: int, skip: int) -> Iterator[Batch]:
    """The batches of a round: a function of the source, the seed of the run and the round."""
    seeds = np.random.SeedSequence(entropy, spawn_key=(ROUND_KEY, round))
    return source.batches(size, round, np.random.default_rng(seeds), skip=skip)


@dataclass
class ShardWork:
    """What a worker does: find the batch of a turn and pay the turn on it.

    Every thread reads the source on its own; neighbouring turns go on where the last one
    stopped. Only the source's description travels, never its rows (unless they are in
    memory to begin with).

    Attributes
    ----------
    source : Source
    batch_size : int
    n_batches : int
        Of one round.
    entropy : int
    reading : Reading
    """

    source: Source
    batch_size: int
    n_batches: int
    entropy: int
    reading: Reading

    def __post_init__(self) -> None:
        self._mine = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_mine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __call__(self, turn: Turn) -> tuple[NDArray[np.bool_], float] | None:
        """Pay a turn."""
        return self.reading.pay(self._batch(turn.number), turn)

    def _batch(self, number: int) -> Batch:
        mine = self._mine
        round, place = divmod(number, self.n_batches)
        at = getattr(mine, "at", None)
        if at is None or at[0] != round or at[1] > place:
            mine.batches = one_pass(self.source, self.batch_size, round, self.entropy, place)
            at = (round, place - 1)
        for _ in range(place - at[1]):
            mine.at = None  # Should reading fail, the next turn starts from scratch.
            mine.batch = next(mine.batches, None)
        batch: Batch | None = mine.batch
        if batch is None:
            raise SourceError(
                f"the stream ends before batch {number}: it has changed while it was read; "
                "start again"
            )
        mine.at = (round, place)
        return batch
