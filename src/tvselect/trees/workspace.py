"""Arrays that short chains use one after the other: every thread keeps its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numba
import numpy as np

from tvselect.trees.start import Sample, new_sample
from tvselect.trees.state import (
    Chain,
    FloatArray,
    IntArray,
    Trace,
    WordArray,
    allocate,
    new_trace,
    row_mask,
    with_more_room,
)

MOST_KEPT = 1 << 18
"""Words by column, in all, that a thread may keep."""
MOST_PAIRS = 32


class KernelGenerator(np.random.Generator):
    """A generator whose type Numba need not find out at every call."""

    _numba_type_ = numba.typeof(np.random.Generator(np.random.SFC64(0)))  # type: ignore[no-untyped-call]


@dataclass
class Workspace:
    """Room for chains of one number of trees and rows.

    Attributes
    ----------
    n_rows : int
    rows : uint64 array
        All rows as bits.
    chain : Chain
    trace : Trace
    log_weights, scores : float64 arrays
        By column: its weight in the prior, and its splits.
    pairs : int64 array
        Room for pairs of columns.
    sample : Sample
        Room for copies of the columns; none where they are read from the table.
    rng : KernelGenerator
        For whoever uses the room.
    """

    n_rows: int
    rows: WordArray
    chain: Chain
    trace: Trace
    log_weights: FloatArray
    scores: FloatArray
    pairs: IntArray
    sample: Sample
    rng: KernelGenerator = field(default_factory=lambda: KernelGenerator(np.random.SFC64()))

    @contextmanager
    def generator(self, rng: np.random.Generator) -> Iterator[np.random.Generator]:
        """The random numbers of a generator, for kernels.

        The first kernel that a generator is handed to pays for its way there, 80
        microseconds: one that stays here goes in its place.
        """
        if type(rng.bit_generator) is not np.random.SFC64:
            yield rng
            return
        self.rng.bit_generator.state = rng.bit_generator.state
        yield self.rng
        rng.bit_generator.state = self.rng.bit_generator.state

    def fits(
        self, n_trees: int, n_rows: int, n_columns: int, n_copies: int, n_iterations: int
    ) -> bool:
        """Whether there is room for a chain of this size."""
        return (
            n_trees == self.chain.trees.splits.size
            and n_rows == self.n_rows
            and n_columns <= self.scores.size
            and n_copies <= self.sample.starts.size
            and n_iterations <= self.trace.theta.size
        )

    def grow(self) -> None:
        """Make room for more leaves; the chain goes on where it was."""
        self.chain = with_more_room(self.chain)


_mine = threading.local()


def workspace(
    n_trees: int, n_rows: int, n_columns: int, n_copies: int, n_iterations: int
) -> Workspace:
    """Room for a chain: what this thread has used before, or new arrays.

    What they hold is left over; only the thread that asks may use them.
    """
    kept: Workspace | None = getattr(_mine, "workspace", None)
    if kept is not None and kept.fits(n_trees, n_rows, n_columns, n_copies, n_iterations):
        return kept
    n_columns, n_copies, n_iterations = map(_rounded, (n_columns, n_copies, n_iterations))
    made = Workspace(
        n_rows=n_rows,
        rows=row_mask(n_rows),
        chain=allocate(n_trees, n_rows, n_columns),
        trace=new_trace(n_iterations),
        log_weights=np.zeros(n_columns),
        scores=np.zeros(n_columns),
        pairs=np.zeros((MOST_PAIRS, 2), dtype=np.int64),
        sample=new_sample(n_copies, n_rows),
    )
    is_small = made.chain.tally.columns.size + made.sample.codes.size <= MOST_KEPT
    _mine.workspace = made if is_small else None
    return made


def _rounded(size: int) -> int:
    """The next power of two: growing plays do not ask for new arrays each time."""
    return 1 << (size - 1).bit_length() if size > 1 else size
