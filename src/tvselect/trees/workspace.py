"""Room for short chains, used for one after the other: every thread keeps its own."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from tvselect.core import pack, struct
from tvselect.trees.start import Draw, Sample, new_sample
from tvselect.trees.state import (
    Chain,
    FloatArray,
    IntArray,
    Trace,
    allocate,
    new_trace,
    with_more_room,
)

MOST_KEPT = 1 << 18
"""Words by column, in all, that a thread may keep."""
MOST_PAIRS = 32
NO_PLAY = -1


class Size(NamedTuple):
    """What a room is for.

    Attributes
    ----------
    n_trees : int
    n_rows : int
        That a chain sees.
    n_drawn : int
        As many, where rows may be drawn and columns copied, else 0.
    n_shadows : int
        At most.
    n_table : int
        Rows of the table.
    """

    n_trees: int
    n_rows: int
    n_drawn: int
    n_shadows: int
    n_table: int


class Plan(NamedTuple):
    """What a play needs: columns, their copies and shadows, and iterations."""

    n_in_play: int
    n_copies: int
    n_iterations: int


@struct(
    "room",
    """
    chain: chain
    trace: trace
    sample: sample
    draw: draw
    order: i8[table]!
    columns: i8[columns]!
    places: i8[columns]!
    log_weights: f8[columns]!
    scores: f8[columns]!
    rewards: f8[columns]!
    pairs: i8[pairs, 2]!
    play: int
    is_started: bool
    n_columns: int
    """,
)
class Arrays(NamedTuple):
    """The memory of a room; all of it is the core's.

    Attributes
    ----------
    order : int64 array
        By row of the table.
    columns, places : int64 arrays
        Of the play, and 0, 1, 2, ...
    log_weights, scores, rewards : float64 arrays
        By column: its weight in the prior, its splits, what it gets.
    pairs : int64 array
        Room for pairs of columns.
    play, is_started, n_columns : int
        The play in progress, whether its chain has started, and how many columns it has.
    """

    chain: Chain
    trace: Trace
    sample: Sample
    draw: Draw
    order: IntArray
    columns: IntArray
    places: IntArray
    log_weights: FloatArray
    scores: FloatArray
    rewards: FloatArray
    pairs: IntArray
    play: int = NO_PLAY
    is_started: bool = False
    n_columns: int = 0


class Workspace:
    """Room for plays of one size.

    Attributes
    ----------
    size : Size
    arrays : Arrays
    packed : struct
        The arrays for the core, and what it says of the play in progress.
    """

    def __init__(self, size: Size, plan: Plan) -> None:
        self.size = size
        self.arrays = _new_arrays(size, Plan(*map(_rounded, plan)))
        self.packed: Any = pack(self.arrays)

    def fits(self, size: Size, plan: Plan) -> bool:
        """Whether there is room for a play."""
        arrays = self.arrays
        return (
            size == self.size
            and plan.n_in_play <= arrays.columns.size
            and plan.n_copies <= arrays.sample.starts.size
            and plan.n_iterations <= arrays.trace.theta.size
        )

    def forget_play(self) -> None:
        """Be ready for another play, whatever was in progress."""
        self.packed.play, self.packed.is_started = NO_PLAY, False

    def grow(self) -> None:
        """Make room for more leaves; the chain goes on where it was."""
        now = self.packed
        self.arrays = self.arrays._replace(
            chain=with_more_room(self.arrays.chain),
            play=now.play,
            is_started=now.is_started,
            n_columns=now.n_columns,
        )
        self.packed = pack(self.arrays)


def _new_arrays(size: Size, plan: Plan) -> Arrays:
    n_columns = plan.n_in_play
    return Arrays(
        chain=allocate(size.n_trees, size.n_rows, n_columns),
        trace=new_trace(plan.n_iterations),
        sample=new_sample(plan.n_copies, size.n_rows),
        draw=Draw(
            np.zeros(size.n_drawn, dtype=np.int64),
            np.zeros(size.n_shadows, dtype=np.int64),
            np.zeros((size.n_shadows, size.n_drawn), dtype=np.int64),
        ),
        order=np.zeros(size.n_table if size.n_drawn else 0, dtype=np.int64),
        columns=np.zeros(n_columns, dtype=np.int64),
        places=np.arange(n_columns),
        log_weights=np.zeros(n_columns),
        scores=np.zeros(n_columns),
        rewards=np.zeros(n_columns),
        pairs=np.zeros((MOST_PAIRS, 2), dtype=np.int64),
    )


_mine = threading.local()


def workspace(size: Size, plan: Plan) -> Workspace:
    """Room for a play: what this thread has used before, or new arrays.

    What they hold is left over; only the thread that asks may use them.
    """
    kept: Workspace | None = getattr(_mine, "workspace", None)
    if kept is not None and kept.fits(size, plan):
        return kept
    made = Workspace(size, plan)
    arrays = made.arrays
    is_small = arrays.chain.tally.columns.size + arrays.sample.codes.size <= MOST_KEPT
    _mine.workspace = made if is_small else None
    return made


def _rounded(size: int) -> int:
    """The next power of two: growing plays do not ask for new arrays each time."""
    return 1 << (size - 1).bit_length() if size > 1 else size
