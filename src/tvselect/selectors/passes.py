"""Passes over a source: batch after batch, round after round, until a rule says stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from tvselect.bandit.journal import Journal
from tvselect.bandit.stopping import InterruptWarning, StopReason
from tvselect.runners import HereRunner, Run, Runner, ThreadRunner
from tvselect.runners.base import call
from tvselect.selectors.game import show
from tvselect.selectors.shards import ShardWork, one_pass
from tvselect.selectors.stream import Stream
from tvselect.sources import Batch, Source

if TYPE_CHECKING:
    from tqdm.auto import tqdm

MOST_DIGITS = 18


@dataclass
class Passes:
    """A stream and the source it hears.

    Attributes
    ----------
    stream : Stream
    source : Source
    disk : Journal or None
    batch_size : int
    n_rounds : int or None
    time_limit : float or None
    """

    stream: Stream
    source: Source
    disk: Journal | None
    batch_size: int
    n_rounds: int | None
    time_limit: float | None
    _deadline: float | None = field(default=None, init=False)

    def hear_all(self, runner: Runner, verbose: int) -> StopReason:
        """Let the stream hear the batches it has not heard yet; returns why it stopped.

        Batches are heard one by one, here, until it is settled how they are read and how many
        there are; from then on by the workers, as many at a time as a window has turns.
        """
        from tqdm.auto import tqdm

        if self.time_limit is not None:
            self._deadline = time.perf_counter() + self.time_limit
        n_batches = self.n_batches()
        total = None if n_batches is None or self.n_rounds is None else n_batches * self.n_rounds
        here = self._threads(runner)
        with tqdm(
            total=total,
            initial=self.stream.n_batches,
            desc="TVS",
            unit=" batches",
            disable=verbose < 1,
        ) as bar:
            try:
                with here.hand_out(call) as run:
                    reason = self._hear_here(run, runner, bar)
                if reason is None:
                    n_batches = self.n_batches()
                    assert n_batches is not None
                    work = ShardWork(
                        self.source,
                        self.batch_size,
                        n_batches,
                        self.stream.chains[0].entropy,
                        self.stream.settled_reading(),
                    )
                    with runner.hand_out(work) as run:
                        reason = self._hear_elsewhere(run, n_batches, bar)
            except KeyboardInterrupt:
                self.stream.recall()
                warnings.warn(
                    "interrupted; the result covers the plays so far",
                    InterruptWarning,
                    stacklevel=5,
                )
                return StopReason.INTERRUPTED
        return reason

    def _hear_here(self, run: Run, runner: Runner, bar: tqdm) -> StopReason | None:
        """Hear batch after batch; None when others may take over."""
        for batch in self.unread():
            if self._others_may_read(runner):
                return None
            reason = self._stop_reason()
            if reason is not None:
                return reason
            plays = self.stream.hear(batch, run, self.disk)
            show(bar, self.stream.chains, plays[:1])
        return self._end()

    def _hear_elsewhere(self, run: Run, n_batches: int, bar: tqdm) -> StopReason:
        """Hear a window of batches at a time."""
        stream = self.stream
        while self.n_rounds is None or stream.n_batches < n_batches * self.n_rounds:
            reason = self._stop_reason()
            if reason is not None:
                return reason
            if self.n_rounds is None and self._all_skipped(n_batches):
                break
            n_left = None
            if self.n_rounds is not None:
                n_left = n_batches * self.n_rounds - stream.n_batches
            windows = [chain.turns()[:n_left] for chain in stream.chains]
            # A batch's turns side by side: a worker reads it once for all of them.
            turns = [turn for together in zip(*windows, strict=True) for turn in together]
            plays = stream.learn(turns, run(turns), self.disk)
            show(bar, stream.chains, plays[:: len(stream.chains)])
        return self._end()

    def n_batches(self) -> int | None:
        """Batches of a round, where that is known."""
        if self.source.n_rows is not None:
            return -(-self.source.n_rows // self.batch_size)
        if self.disk is None or (blob := self.disk.kept("batches")) is None:
            return None
        if not blob.isdigit() or len(blob) > MOST_DIGITS:
            raise self.disk.damaged_at("batches")
        return int(blob)

    def unread(self) -> Iterator[Batch]:
        """Batches that were not played yet, round after round."""
        stream = self.stream
        n_done = stream.n_batches
        n_batches = self.n_batches()
        for round in count() if self.n_rounds is None else range(self.n_rounds):
            if n_batches is not None and n_done >= n_batches > 0:
                n_done -= n_batches
                continue
            entropy = stream.chains[0].entropy
            yield from one_pass(self.source, self.batch_size, round, entropy, n_done)
            n_done = 0
            if n_batches is None:
                n_batches = stream.n_batches
                if self.disk is not None:
                    self.disk.keep("batches", str(n_batches).encode())
            if self.n_rounds is None and self._all_skipped(n_batches):
                return

    def _all_skipped(self, n_batches: int) -> bool:
        """Whether two rounds taught nothing: patience counts no skipped batch and would wait."""
        stream = self.stream
        return stream.n_batches >= 2 * n_batches and not stream.chains[0].arms.played().any()

    def _others_may_read(self, runner: Runner) -> bool:
        return (
            runner.n_workers > 1
            and self.source.can_repeat
            and self.n_batches() is not None
            and self.stream.is_settled
        )

    def _threads(self, runner: Runner) -> Runner:
        """Chains play on the same batch at the same time."""
        n_threads = min(runner.n_workers, len(self.stream.chains))
        return HereRunner() if n_threads == 1 else ThreadRunner(n_threads)

    def _stop_reason(self) -> StopReason | None:
        if all(chain.is_between_windows for chain in self.stream.chains):
            reasons = [chain.stop_reason() for chain in self.stream.chains]
            if None not in reasons:
                return reasons[0]
        if self._deadline is not None and time.perf_counter() >= self._deadline:
            return StopReason.TIME_LIMIT
        return None

    def _end(self) -> StopReason:
        return StopReason.ALL_SKIPPED if self.n_rounds is None else StopReason.ROUNDS
