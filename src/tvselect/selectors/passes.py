"""Passes over a source: batch after batch, round after round, until a rule says stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
from tqdm.auto import tqdm

from tvselect.bandit.journal import Journal
from tvselect.selectors.game import INTERRUPTED, show
from tvselect.selectors.stream import Stream
from tvselect.sources import Batch, Source

ROUND_KEY = 2**32 - 1


def hear_all(
    stream: Stream,
    source: Source,
    disk: Journal | None,
    *,
    batch_size: int,
    n_rounds: int | None,
    time_limit: float | None,
    n_threads: int,
    verbose: int,
) -> str:
    """Let the stream hear the batches that it has not heard yet; returns why it stopped."""
    started = time.perf_counter()
    total = None
    if source.n_rows is not None and n_rounds is not None:
        total = -(-source.n_rows // batch_size) * n_rounds
    with (
        ThreadPoolExecutor(n_threads) as threads,
        tqdm(
            total=total, initial=stream.n_batches, desc="TVS", unit=" batches", disable=verbose < 1
        ) as bar,
    ):
        try:
            for batch in unread_batches(stream, source, disk, batch_size, n_rounds):
                reasons = {chain.stop_reason() for chain in stream.chains}
                if None not in reasons:
                    return "; ".join(sorted(map(str, reasons)))
                if time_limit is not None and time.perf_counter() - started >= time_limit:
                    return f"the time limit of {time_limit:g} s is reached"
                plays = stream.hear(batch, threads, disk)
                show(bar, stream.chains, plays[:1])
        except KeyboardInterrupt:
            stream.recall()
            warnings.warn(
                "interrupted; the result covers the plays so far", RuntimeWarning, stacklevel=4
            )
            return INTERRUPTED
    if n_rounds is None:
        return "every batch is skipped"
    return f"the stream has ended after {n_rounds} round(s)"


def unread_batches(
    stream: Stream, source: Source, disk: Journal | None, size: int, n_rounds: int | None
) -> Iterator[Batch]:
    """Batches that were not played yet, round after round."""
    n_done = stream.n_batches
    n_batches = None if source.n_rows is None else -(-source.n_rows // size)
    if n_batches is None and disk is not None and (blob := disk.kept("batches")) is not None:
        n_batches = int(blob)
    for round in count() if n_rounds is None else range(n_rounds):
        if n_batches is not None and n_done >= n_batches:
            n_done -= n_batches
            continue
        seeds = np.random.SeedSequence(stream.chains[0].entropy, spawn_key=(ROUND_KEY, round))
        yield from source.batches(size, round, np.random.default_rng(seeds), skip=n_done)
        n_done = 0
        if n_batches is None:
            n_batches = stream.n_batches
            if disk is not None:
                disk.keep("batches", str(n_batches).encode())
        if n_rounds is None and round > 0 and not stream.chains[0].arms.played().any():
            return  # patience counts no skipped batch: this would never end
