"""Plays of the BART reward, made by the native core: scored, or chosen and learned from, too."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import Posteriors
from tvselect.bandit.chain import Play, ThompsonChain
from tvselect.core import function, pack, struct
from tvselect.trees.bits import n_words
from tvselect.trees.state import Design, FloatArray, IntArray, PriorParameters, check_levels
from tvselect.trees.workspace import Plan, Size, Workspace, workspace

LOG_SIZE = 1 << 16
# Why the core comes back: all is done, or what it asks for first.
DONE, NO_ARM_DRAWN, LOG_IS_FULL, TABLE_TOO_SMALL, ROOM_TOO_SMALL, FOREST_TOO_LARGE = range(6)


@struct(
    "rules",
    """
    n_candidates: int
    n_seen: int
    n_forests: int
    last_forest: bool
    n_trees: int
    n_iterations: int
    n_burn: int
    proposals_per_column: float
    penalty: float
    shadows: int
    min_splits: float
    """,
)
class Rules(NamedTuple):
    """How plays are run and scored; see :class:`tvselect.rewards.BartReward`.

    Attributes
    ----------
    n_candidates : int
        Columns that take part in the selection.
    n_seen : int
        Rows that a play sees.
    n_forests : int
        One, or one for every class, each of which sees them.
    last_forest : bool
        Whether the last forest decides, not the average.
    n_burn : int
        -1 for half of the iterations.
    """

    n_candidates: int
    n_seen: int
    n_forests: int
    last_forest: bool
    n_trees: int
    n_iterations: int
    n_burn: int
    proposals_per_column: float
    penalty: float
    shadows: int
    min_splits: float


def _check_rows(feedback: BartFeedback) -> None:
    table, rules = feedback.table, feedback.rules
    if feedback.observed.shape[1] != 64 * n_words(table.n_rows):
        raise ValueError(f"observed must be of the {table.n_rows} rows of the table")
    if not 1 <= rules.n_seen <= table.n_rows or min(rules.n_forests, rules.n_trees) < 1:
        raise ValueError(f"rules must be of 1 to {table.n_rows} rows, and of a tree at least")
    if feedback.evidence.size != table.widths.size:
        raise ValueError(f"evidence must be of the {table.widths.size} columns of the table")
    check_levels(feedback.observed, table.n_rows, feedback.prior)


@struct(
    "reward",
    """
    table: design
    observed: f8[sides=2, rows]
    prior: prior
    precision: float
    evidence: f8[columns]
    rules: rules
    """,
    _check_rows,
)
@dataclass(frozen=True)
class BartFeedback:
    """The feedback on one table; safe to be called by several threads at once.

    Attributes
    ----------
    table : Design
        All columns; those of a play come with it.
    observed : float64 array (2, rows)
        What is known of the response, see :class:`tvselect.trees.Response`.
    prior : PriorParameters
        But for what a play settles: burn-in, the weights of the columns and which of the
        pairs, of all columns here, are in play.
    precision : float
        ``1 / sigma^2`` to start from.
    evidence : float64 array
        By column, in nats: what marginal screening takes off its penalty.
    rules : Rules
    """

    table: Design
    observed: FloatArray
    prior: PriorParameters
    precision: float
    evidence: FloatArray
    rules: Rules

    def __reduce__(self) -> tuple[type[BartFeedback], tuple[object, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def packed(self) -> Any:
        """For the core."""
        return pack(self)

    def __call__(self, columns: IntArray, rng: np.random.Generator) -> FloatArray:
        """Reward 1 or 0 for each of the columns."""
        if not columns.size or not 0 <= columns.min() <= columns.max() < self.evidence.size:
            raise ValueError(f"columns must be one or more from 0 to {self.evidence.size - 1}")
        room = self.room(columns.size)
        room.arrays.columns[: columns.size] = columns
        room.packed.n_columns = columns.size
        while _score(rng, self.packed, room.packed) != DONE:
            room.grow()
        return room.arrays.rewards[: columns.size].copy()

    def room(self, n_columns: int) -> Workspace:
        """Room for a play of so many columns."""
        rules, n_rows, sizes = self.rules, self.table.n_rows, np.zeros(3, dtype=np.int64)
        n_in_chain = rules.n_forests * rules.n_seen
        draws = rules.shadows > 0 or n_in_chain != n_rows
        _plan(self.packed, n_columns, sizes)
        room = workspace(
            Size(rules.n_trees, n_in_chain, n_in_chain if draws else 0, rules.shadows, n_rows),
            Plan(*sizes.tolist()),
        )
        room.forget_play()
        return room


@struct(
    "arms",
    """
    posteriors: posteriors
    pairs: i4[pairs, two=2] < arms
    n_candidates: int
    starts: i8[arms+1] <= columns
    columns: i8[columns]
    always: i8[always]
    """,
)
class ArmsInPlay(NamedTuple):
    """Arms, those that are played together, and their columns."""

    posteriors: Posteriors
    pairs: NDArray[np.int32]
    n_candidates: int
    starts: IntArray
    columns: IntArray
    always: IntArray


@struct(
    "log",
    """
    arms: i4[room]!
    rewards: b1[room]!
    ends: i8[plays+1]!
    random: u8[plays, words=5]!
    n_chosen: int
    next: int
    n_learned: int
    n_unchanged: int
    """,
)
class Log(NamedTuple):
    """Plays one after the other: play ``k`` is ``arms[ends[k]:ends[k + 1]]``.

    Attributes
    ----------
    random : uint64 array (plays, 5)
        The random numbers of every play: seeds in three words, later their state.
    n_chosen, next, n_learned : int
        How many plays are chosen, taken by those who score, and learned from.
    n_unchanged : int
        For how many plays the model has not changed.
    """

    arms: NDArray[np.int32]
    rewards: NDArray[np.bool_]
    ends: IntArray
    random: NDArray[np.uint64]
    n_chosen: int
    next: int
    n_learned: int
    n_unchanged: int


_plan = function("plan", "reward: reward\nn_columns: int\nsizes: i8[3]!")
_score = function("score", "rng: generator\nreward: reward\nroom: room", int)
_choose = function("choose", "arms: arms\nlog: log\nn: int", int)
_score_chosen = function("score_chosen", "reward: reward\narms: arms\nlog: log\nroom: room", int)
_learn = function("learn", "arms: arms\nlog: log", int)
_play = function("play", "reward: reward\narms: arms\nlog: log\nroom: room\nn: int", int)


def can_play_ahead(chain: ThompsonChain) -> bool:
    """Whether the core knows how the chain chooses: arms alike, a model of any size."""
    return chain.oracle.n_wanted is None and chain.arms.posteriors() is not None


class PlaysAhead:
    """The next plays of a chain, which the core chooses, scores and learns from.

    Parameters
    ----------
    feedback : BartFeedback
    columns : named tuple
        Arm ``i`` plays ``columns[starts[i]:starts[i + 1]]``; ``always`` is part of every play.
    chain : ThompsonChain
        Between two windows.
    n_plays : int
    """

    def __init__(
        self,
        feedback: BartFeedback,
        columns: tuple[IntArray, IntArray, IntArray],
        chain: ThompsonChain,
        n_plays: int,
    ) -> None:
        self._started = time.perf_counter()
        self._feedback, self._columns, self._chain = feedback, columns, chain
        self._n_plays, n_arms = n_plays, len(chain.arms)
        random = np.zeros((n_plays, 5), dtype=np.uint64)
        random[:, :3] = chain.seeds(n_plays)
        self._log = Log(
            np.zeros(n_arms + LOG_SIZE, dtype=np.int32),
            np.zeros(n_arms + LOG_SIZE, dtype=np.bool_),
            np.zeros(n_plays + 1, dtype=np.int64),
            random,
            n_chosen=0,
            next=0,
            n_learned=0,
            n_unchanged=chain.n_unchanged if chain.n_plays else -1,
        )
        self._state: Any = pack(self._log)
        self._arms = self._packed_arms()

    def one_by_one(self) -> list[Play]:
        """Each chosen after the one before is learned from.

        Fewer than asked for come back when the next one is better chosen in Python.
        """
        room = self._feedback.room(1)
        while True:
            status = _play(
                self._feedback.packed, self._arms, self._state, room.packed, self._n_plays
            )
            if status == TABLE_TOO_SMALL:
                self._extend_table()
            elif status in (ROOM_TOO_SMALL, FOREST_TOO_LARGE):
                room = self._larger(room, status)
            else:
                return self._made()

    def choose(self) -> bool:
        """Choose all of them now; whether that can be done."""
        return _choose(self._arms, self._state, self._n_plays) == DONE

    def score(self) -> None:
        """Score those that are chosen; several threads may do so at the same time."""
        room = self._feedback.room(1)
        while (
            status := _score_chosen(self._feedback.packed, self._arms, self._state, room.packed)
        ) != DONE:
            room = self._larger(room, status)

    def learn(self) -> list[Play]:
        """Learn from them in their order."""
        while _learn(self._arms, self._state) != DONE:
            self._extend_table()
        return self._made()

    def _larger(self, room: Workspace, status: int) -> Workspace:
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
        """The plays that were learned from; their time is shared out evenly."""
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
