"""Plays of the BART reward in the native core, which scores them, or also chooses and learns.

The fields of the structs are described in ``core/tvselect.h``, a play in ``core/plays.h``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np

from tvselect.bandit.arms import Posteriors
from tvselect.bandit.chain import Play, ThompsonChain
from tvselect.core import allocate, function, pack, struct
from tvselect.rewards.screening import MOST_PAIRS
from tvselect.trees import state
from tvselect.trees.state import Bools, Chain, Design, Floats, Ints, Small, Words

LOG_SIZE = 1 << 16
MOST_KEPT = 1 << 18
"""Words by column, in all, that a thread may keep."""
NO_PLAY = -1
# Why the core comes back: all is done, or what it asks for first.
DONE, NO_ARM_DRAWN, LOG_IS_FULL, TABLE_TOO_SMALL, ROOM_TOO_SMALL, FOREST_TOO_LARGE = range(6)
_mine = threading.local()


@struct("rules")
class Rules(NamedTuple):
    """How plays are run and scored; see :class:`tvselect.rewards.BartReward`."""

    n_candidates: int  # columns that take part in the selection
    n_seen: int  # rows that a play sees
    n_forests: int  # one, or one for every class, each of which sees them
    last_forest: bool  # whether the last forest decides, not the average
    n_trees: int
    n_iterations: int
    n_burn: int  # -1 for half of the iterations
    proposals_per_column: float
    penalty: float
    shadows: int
    min_splits: float


def _check_feedback(feedback: BartFeedback) -> None:
    table, rules = feedback.table, feedback.rules
    state.check_observed(feedback.observed, table.n_rows, feedback.prior)
    if not 1 <= rules.n_seen <= table.n_rows or min(rules.n_forests, rules.n_trees) < 1:
        raise ValueError(f"rules must be of 1 to {table.n_rows} rows, and of a tree at least")
    if feedback.evidence.size != table.widths.size:
        raise ValueError(f"evidence must be of the {table.widths.size} columns of the table")
    groups, by_group = feedback.groups, feedback.by_group
    if groups.size not in (0, table.n_rows):
        raise ValueError(f"groups must be of {table.n_rows} rows or of none, got {groups.size}")
    if not np.array_equal(np.argsort(groups, kind="stable"), by_group):
        raise ValueError("by_group must be the rows of the table in the order of their groups")


@struct("reward", _check_feedback)
@dataclass(frozen=True)
class BartFeedback:
    """The feedback on one table, for any number of threads; a play sets columns and weights."""

    table: Design
    observed: Annotated[Floats, "f8[sides=2, rows]"]
    prior: state.PriorParameters
    precision: float
    evidence: Annotated[Floats, "f8[columns]"]  # in nats: taken off the penalty of a column
    groups: Annotated[Small, "i4[grouped]"]  # of each row, or empty
    by_group: Annotated[Ints, "i8[grouped]"]  # the rows in the order of their groups
    rules: Rules

    def __reduce__(self) -> tuple[type[BartFeedback], tuple[object, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def packed(self) -> Any:
        """For the core."""
        return pack(self)

    def __call__(self, columns: Ints, rng: np.random.Generator) -> Floats:
        """Reward 1 or 0 for each of the columns."""
        if not columns.size or not 0 <= columns.min() <= columns.max() < self.evidence.size:
            raise ValueError(f"columns must be one or more from 0 to {self.evidence.size - 1}")
        room = self.room(columns.size)
        room.arrays.columns[: columns.size] = columns
        room.packed.n_columns = columns.size
        while _score(rng, self.packed, room.packed) != DONE:
            room.grow()
        return room.arrays.rewards[: columns.size].copy()

    @cached_property
    def n_groups(self) -> int:
        """Groups in a play, those of every class apart."""
        return self.rules.n_forests * min(np.unique(self.groups).size, self.rules.n_seen)

    def room(self, n_columns: int) -> Room:
        """Memory for a play of so many columns: what this thread has used before, or new."""
        needed = np.zeros(3, dtype=np.int64)
        _plan(self.packed, n_columns, needed)
        room: Room | None = getattr(_mine, "room", None)
        kind = self.rules, self.table.n_rows, self.n_groups
        if room is None or not room.fits(kind, needed):
            room = Room(kind, needed)
            _mine.room = room if room.is_small else None
        room.packed.play, room.packed.is_started = NO_PLAY, False
        return room


@struct("room")
class Arrays(NamedTuple):
    """The memory of a room; all of it is the core's."""

    chain: Chain
    trace: state.Trace
    sample: state.Sample
    draw: state.DrawnRows
    order: Annotated[Ints, "i8[table]!"]  # by row of the table
    columns: Annotated[Ints, "i8[columns]!"]  # of the play
    places: Annotated[Ints, "i8[columns]!"]  # 0, 1, 2, ...
    log_weights: Annotated[Floats, "f8[columns]!"]  # in the prior
    scores: Annotated[Floats, "f8[columns]!"]  # splits
    rewards: Annotated[Floats, "f8[columns]!"]
    pairs: Annotated[Ints, "i8[pairs, 2]!"]
    play: int = NO_PLAY  # in progress
    is_started: bool = False  # whether its chain has
    n_columns: int = 0  # that it plays


class Room:
    """Room for one play after the other; what it holds is left over from the last one.

    It is for plays of a ``kind``: their rules, rows of the table, groups of rows. ``needed`` are
    the columns in play, shadows included, the copies of columns, and iterations.
    """

    def __init__(self, kind: tuple[Rules, int, int], needed: Ints) -> None:
        self._kind = kind
        rules, n_table, n_groups = kind
        # Powers of two: growing plays do not ask for new arrays each time.
        self._sizes = np.array([1 << max(n - 1, 0).bit_length() for n in needed.tolist()])
        n_columns, n_copies, n_iterations = self._sizes.tolist()
        n_rows = rules.n_forests * rules.n_seen
        draws_rows = rules.shadows > 0 or n_rows != n_table or n_groups > 0
        parts = {
            "chain": state.new_chain(rules.n_trees, n_rows, n_columns, n_groups),
            "trace": allocate(state.Trace, iterations=n_iterations),
            "sample": state.new_sample(n_copies, n_rows, n_rows if n_groups else 0),
            "draw": allocate(state.DrawnRows, rows=draws_rows * n_rows, shadows=rules.shadows),
            "places": np.arange(n_columns),
        }
        n_order = draws_rows * n_table
        self.arrays = allocate(Arrays, parts, table=n_order, columns=n_columns, pairs=MOST_PAIRS)
        self.packed = pack(self.arrays)

    @property
    def is_small(self) -> bool:
        """Whether a thread may keep it."""
        return int(self._sizes[0]) + self.arrays.sample.codes.size <= MOST_KEPT

    def fits(self, kind: tuple[Rules, int, int], needed: Ints) -> bool:
        """Whether there is room for a play."""
        return self._kind == kind and bool((needed <= self._sizes).all())

    def grow(self) -> None:
        """Make room for more leaves; the chain goes on where it was."""
        in_progress = {name: getattr(self.packed, name) for name in Arrays._field_defaults}
        larger = state.with_more_room(self.arrays.chain)
        self.arrays = self.arrays._replace(chain=larger, **in_progress)
        self.packed = pack(self.arrays)


@struct("arms")
class ArmsInPlay(NamedTuple):
    """Arms, those that are played together, and their columns; ``always`` is in every play."""

    posteriors: Posteriors
    pairs: Annotated[Small, "i4[pairs, two=2] < arms"]
    n_candidates: int
    starts: Annotated[Ints, "i8[arms+1] <= columns"]
    columns: Annotated[Ints, "i8[columns]"]
    always: Annotated[Ints, "i8[always]"]


@struct("log")
class Log(NamedTuple):
    """Plays one after the other: play ``k`` is ``arms[ends[k]:ends[k + 1]]``."""

    arms: Annotated[Small, "i4[room]!"]
    rewards: Annotated[Bools, "b1[room]!"]
    ends: Annotated[Ints, "i8[plays+1]!"]
    random: Annotated[Words, "u8[plays, words=5]!"]  # seeds in three words, later their state
    n_chosen: int = 0
    next: int = 0  # play that is scored next
    n_learned: int = 0
    n_unchanged: int = -1  # plays since the model changed; -1 before the first


_plan = function("plan", "reward: reward; n_columns: int; sizes: i8[3]!")
_score = function("score", "rng: generator; reward: reward; room: room", int)
_choose = function("choose", "arms: arms; log: log; n: int", int)
_score_chosen = function("score_chosen", "reward: reward; arms: arms; log: log; room: room", int)
_learn = function("learn", "arms: arms; log: log", int)
_play = function("play", "reward: reward; arms: arms; log: log; room: room; n: int", int)


def can_play_ahead(chain: ThompsonChain) -> bool:
    """Whether the core can choose the plays: arms with one threshold, a model of any size."""
    return chain.oracle.n_wanted is None and chain.arms.posteriors() is not None


class PlaysAhead:
    """The next plays of a chain, in the core: arm i is ``columns[starts[i]:starts[i + 1]]``."""

    def __init__(
        self,
        feedback: BartFeedback,
        columns: tuple[Ints, Ints, Ints],
        chain: ThompsonChain,
        n_plays: int,
    ) -> None:
        self._started = time.perf_counter()
        self._feedback, self._columns, self._chain = feedback, columns, chain
        self._n_plays = n_plays
        n_unchanged = {"n_unchanged": chain.n_unchanged if chain.n_plays else -1}
        n_items = len(chain.arms) + LOG_SIZE
        self._log = allocate(Log, n_unchanged, room=n_items, plays=n_plays)
        self._log.random[:, :3] = chain.seeds(n_plays)
        self._state = pack(self._log)
        self._arms = self._packed_arms()

    def one_by_one(self) -> list[Play]:
        """Make plays one after the other; fewer than asked for where Python has to choose one."""
        feedback, room = self._feedback, self._feedback.room(1)
        while True:
            status = _play(feedback.packed, self._arms, self._state, room.packed, self._n_plays)
            if status == TABLE_TOO_SMALL:
                self._extend_table()
            elif status in (ROOM_TOO_SMALL, FOREST_TOO_LARGE):
                room = self._larger(room, status)
            else:
                return self._made()

    def choose(self) -> bool:
        """Choose all of them now; False if the core cannot."""
        return _choose(self._arms, self._state, self._n_plays) == DONE

    def score(self) -> None:
        """Score the chosen plays; several threads may do so at the same time."""
        feedback, room = self._feedback, self._feedback.room(1)
        while status := _score_chosen(feedback.packed, self._arms, self._state, room.packed):
            room = self._larger(room, status)

    def learn(self) -> list[Play]:
        """Learn from the plays in their order."""
        while _learn(self._arms, self._state) != DONE:
            self._extend_table()
        return self._made()

    def _larger(self, room: Room, status: int) -> Room:
        if status == FOREST_TOO_LARGE:
            room.grow()
            return room
        play = room.packed.play
        room = self._feedback.room(room.packed.n_columns)
        room.packed.play = play
        return room

    def _packed_arms(self) -> Any:
        posteriors = self._chain.arms.posteriors()
        assert posteriors is not None
        oracle = self._chain.oracle
        n_candidates = oracle.n_candidates or len(self._chain.arms)
        return pack(ArmsInPlay(posteriors, oracle.pairs, n_candidates, *self._columns))

    def _extend_table(self) -> None:
        last = slice(*self._log.ends[self._state.n_learned : self._state.n_learned + 2])
        self._chain.arms.extend_table(self._log.arms[last], self._log.rewards[last])
        self._arms = self._packed_arms()

    def _made(self) -> list[Play]:
        """The plays that were learned from, each with an equal share of the time."""
        n_made, first = self._state.n_learned, self._chain.n_plays
        self._chain.has_learned(n_made, self._state.n_unchanged)
        seconds = (time.perf_counter() - self._started) / max(1, n_made)
        ends: Sequence[int] = self._log.ends.tolist()
        plays = []
        for k in range(n_made):
            here = slice(ends[k], ends[k + 1])
            arms, rewards = self._log.arms[here].copy(), self._log.rewards[here].copy()
            plays.append(Play(first + k, arms, rewards, seconds, self._chain.chain))
        return plays
