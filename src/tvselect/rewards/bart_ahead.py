"""Plays of the BART reward ahead of Python: choose, set up, run, score and learn, compiled."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.arms import Posteriors, count_rewards, draw_reaching
from tvselect.bandit.chain import ThompsonChain
from tvselect.bandit.numbers import WordArray, next_below, seed, shuffle, state_in_memory
from tvselect.bandit.oracle import join_partners
from tvselect.bandit.play import Play
from tvselect.jit import kernel, part
from tvselect.rewards.bart_play import BartFeedback, Rules, find_pairs, for_play, play, schedule
from tvselect.trees.start import Draw, Sample, design_of
from tvselect.trees.state import (
    N_DONE,
    Chain,
    Design,
    FloatArray,
    IntArray,
    PriorParameters,
    Trace,
)
from tvselect.trees.workspace import Workspace, workspace

LOG_SIZE = 1 << 16
# Why the kernel comes back: all plays are made, or what it asks for first.
DONE, NO_ARM_DRAWN, LOG_IS_FULL, TABLE_TOO_SMALL, ROOM_TOO_SMALL, FOREST_TOO_LARGE = range(6)
# Where it is: plays made, plays since the model has changed, and how far the next play is.
N_MADE, N_UNCHANGED, STAGE, N_COLUMNS = range(4)
TO_CHOOSE, TO_RUN, TO_LEARN = range(3)


class ColumnsOfArms(NamedTuple):
    """Arm ``i`` plays ``columns[starts[i]:starts[i + 1]]``; ``always`` is part of every play."""

    starts: IntArray
    columns: IntArray
    always: IntArray


class Scratch(NamedTuple):
    """Columns of the play and their rewards; its rows, and an order of all rows."""

    columns: IntArray
    payoffs: FloatArray
    draw: Draw
    order: IntArray


class Log(NamedTuple):
    """Plays one after the other: play ``k`` is ``arms[ends[k]:ends[k + 1]]``."""

    arms: NDArray[np.int32]
    rewards: NDArray[np.bool_]
    ends: IntArray


def can_play_ahead(chain: ThompsonChain) -> bool:
    """Whether kernels know how the chain chooses: one play after the other, arms alike."""
    return (
        chain.window == 1
        and chain.oracle.n_wanted is None
        and chain.arms.posteriors() is not None
        and state_in_memory(np.random.SFC64(0)) is not None
    )


def play_ahead(
    feedback: BartFeedback, columns: ColumnsOfArms, chain: ThompsonChain, n_plays: int
) -> list[Play]:
    """Make the next plays of a chain, which learns from each before the next is chosen.

    Their time is shared out evenly. Fewer plays than asked for come back when the next one is
    better chosen in Python.
    """
    n_arms, rules, started = len(chain.arms), feedback.rules, time.perf_counter()
    seeds = chain.seeds(n_plays)
    log = Log(
        np.empty(n_arms + LOG_SIZE, dtype=np.int32),
        np.empty(n_arms + LOG_SIZE, dtype=np.bool_),
        np.zeros(n_plays + 1, dtype=np.int64),
    )
    at = np.array([0, chain.n_unchanged if chain.n_plays else -1, TO_CHOOSE, 0])
    room, design, words, scratch = _room(feedback, 1)
    while True:
        posteriors = chain.arms.posteriors()
        assert posteriors is not None
        assert words is not None
        reason = make_plays(
            room.rng, words, seeds, posteriors, chain.oracle.n_candidates or n_arms,
            chain.oracle.pairs, columns, feedback.table, feedback.observed, room.sample, design,
            feedback.prior, feedback.precision, feedback.evidence, rules, room.rows, room.chain,
            room.trace, room.scores, room.log_weights, room.pairs, scratch, log, at,
        )  # fmt: skip
        n_made = int(at[N_MADE])
        if reason == TABLE_TOO_SMALL:
            last = slice(*log.ends[n_made : n_made + 2])
            chain.arms.extend_table(log.arms[last], log.rewards[last])
        elif reason == FOREST_TOO_LARGE:
            room.grow()
        elif reason == ROOM_TOO_SMALL:
            room, design, words, scratch = _room(feedback, int(at[N_COLUMNS]))
        else:
            break
    first = chain.n_plays
    chain.has_learned(n_made, int(at[N_UNCHANGED]))
    seconds = (time.perf_counter() - started) / max(1, n_made)
    return [
        Play(
            first + k,
            log.arms[log.ends[k] : log.ends[k + 1]].copy(),
            log.rewards[log.ends[k] : log.ends[k + 1]].copy(),
            seconds,
            chain.chain,
        )
        for k in range(n_made)
    ]


def _room(
    feedback: BartFeedback, n_columns: int
) -> tuple[Workspace, Design, WordArray | None, Scratch]:
    """Room for plays of so many columns, its copies as a design, and its generator's state."""
    rules, n_rows = feedback.rules, feedback.table.n_rows
    n_iterations, _, n_shadows, _ = schedule(rules, n_columns)
    n_in_play, n_in_chain = n_columns + n_shadows, rules.n_forests * rules.n_seen
    n_copies = n_in_play if needs_copies(rules, n_shadows, n_rows) else 0
    room = workspace(rules.n_trees, n_in_chain, n_in_play, n_copies, n_iterations)
    n_drawn = n_in_chain if needs_copies(rules, rules.shadows, n_rows) else 0
    draw = Draw(
        np.empty(n_drawn, dtype=np.int64),
        np.empty(rules.shadows, dtype=np.int64),
        np.empty((rules.shadows, n_drawn), dtype=np.int64),
    )
    size = room.scores.size
    order = np.empty(n_rows if n_drawn else 0, dtype=np.int64)
    scratch = Scratch(np.empty(size, dtype=np.int64), np.empty(size), draw, order)
    bits = room.rng.bit_generator
    assert isinstance(bits, np.random.SFC64)
    return room, design_of(room.sample, size, n_in_chain), state_in_memory(bits), scratch


@kernel
def needs_copies(rules: Rules, n_shadows: int, n_rows: int) -> bool:
    """Whether the columns of a play have to be copied, not read from the table."""
    return n_shadows > 0 or rules.n_seen < n_rows or rules.n_forests > 1


@kernel
def make_plays(
    rng: np.random.Generator,
    words: WordArray,
    seeds: WordArray,
    posteriors: Posteriors,
    n_candidates: int,
    arm_pairs: NDArray[np.int32],
    columns_of_arms: ColumnsOfArms,
    table: Design,
    observed: FloatArray,
    sample: Sample,
    copies: Design,
    prior: PriorParameters,
    precision: float,
    evidence: FloatArray,
    rules: Rules,
    rows: WordArray,
    chain: Chain,
    trace: Trace,
    scores: FloatArray,
    log_weights: FloatArray,
    pairs: IntArray,
    scratch: Scratch,
    log: Log,
    at: IntArray,
) -> int:
    """Make a play for each of the seeds; returns why it comes back, and goes on from ``at``."""
    n_arms = posteriors.successes.shape[0]
    while at[N_MADE] < seeds.shape[0]:
        made = at[N_MADE]
        first = log.ends[made]
        if at[STAGE] == TO_CHOOSE:
            if first + n_arms > log.arms.shape[0]:
                return LOG_IS_FULL
            seed(words, seeds[made])
            n_chosen = draw_reaching(words, posteriors.chance_below, log.arms[first:])
            if n_chosen == 0:
                return NO_ARM_DRAWN
            n_chosen = join_partners(arm_pairs, log.arms[first:], n_chosen)
            log.ends[made + 1] = first + n_chosen
            at[N_COLUMNS] = list_columns(
                columns_of_arms, log.arms[first : first + n_chosen], scratch.columns
            )
        arms = log.arms[first : log.ends[made + 1]]
        rewards = log.rewards[first : log.ends[made + 1]]
        n_columns = at[N_COLUMNS]
        n_iterations, burn, n_shadows, log_penalty = schedule(rules, n_columns)
        n_in_play = n_columns + n_shadows
        has_sample = needs_copies(rules, n_shadows, table.n_rows)
        if at[STAGE] == TO_CHOOSE:
            if (
                n_in_play > scores.shape[0]
                or n_iterations > trace.theta.shape[0]
                or (has_sample and n_in_play > sample.starts.shape[0])
            ):
                return ROOM_TOO_SMALL
            if has_sample:
                draw_sample(words, scratch, n_columns, n_shadows, table.n_rows, rules.n_seen)
            chain.tally.whole[N_DONE] = 0
            at[STAGE] = TO_RUN
        if at[STAGE] == TO_RUN:
            of_play = Design(*table[:5], scratch.columns[:n_columns], table.n_rows)
            n_drawn = rules.n_forests * rules.n_seen if has_sample else 0
            draw = Draw(
                scratch.draw.rows[:n_drawn],
                scratch.draw.shadows[:n_shadows],
                scratch.draw.shuffled[:n_shadows],
            )
            design = of_play
            if has_sample:
                design = Design(*copies[:5], copies.columns[:n_in_play], copies.n_rows)
            payoffs = scratch.payoffs[:n_columns]
            n_pairs = find_pairs(of_play.columns, prior.pairs, pairs)
            if not play(
                rng, of_play, observed, draw, sample, design,
                for_play(prior, burn, log_weights, pairs[:n_pairs]), precision,
                evidence, log_penalty, rows, chain, trace, n_iterations, rules, scores,
                payoffs,
            ):  # fmt: skip
                return FOREST_TOO_LARGE
            reward_arms(columns_of_arms, arms, payoffs, rewards)
            at[STAGE] = TO_LEARN
        n_changed = count_rewards(arms, rewards, posteriors, n_candidates)
        if n_changed < 0:
            return TABLE_TOO_SMALL
        at[N_UNCHANGED] = 0 if n_changed > 0 else at[N_UNCHANGED] + 1
        at[N_MADE] += 1
        at[STAGE] = TO_CHOOSE
    return DONE


@part
def list_columns(source: ColumnsOfArms, arms: NDArray[np.int32], found: IntArray) -> int:
    """Write down the columns of some arms, as far as there is room; how many there are."""
    n_found = 0
    for i in arms:
        for k in range(source.starts[i], source.starts[i + 1]):
            if n_found < found.shape[0]:
                found[n_found] = source.columns[k]
            n_found += 1
    for column in source.always:
        if n_found < found.shape[0]:
            found[n_found] = column
        n_found += 1
    return n_found


@part
def reward_arms(
    source: ColumnsOfArms, arms: NDArray[np.int32], payoffs: FloatArray, rewards: NDArray[np.bool_]
) -> None:
    """An arm gets what its best column gets."""
    place = 0
    for k in range(arms.shape[0]):
        rewards[k] = False
        for _ in range(source.starts[arms[k]], source.starts[arms[k] + 1]):
            rewards[k] |= payoffs[place] > 0.0
            place += 1


@part
def draw_sample(
    words: WordArray, scratch: Scratch, n_columns: int, n_shadows: int, n_rows: int, n_seen: int
) -> None:
    """The rows and the shadows of a play, as :meth:`BartFeedback.draw` draws them."""
    rows, shadows, shuffled = scratch.draw
    for k in range(n_shadows):
        shadows[k] = scratch.columns[next_below(words, n_columns)]
    draw_rows(words, n_rows, rows[:n_seen], scratch.order)
    for k in range(n_shadows):
        for i in range(n_seen):
            shuffled[k, i] = rows[i]
        shuffle(words, shuffled[k, :n_seen])
    for i in range(n_seen, rows.shape[0]):
        rows[i] = rows[i - n_seen]
        for k in range(n_shadows):
            shuffled[k, i] = shuffled[k, i - n_seen]


@part
def draw_rows(words: WordArray, n_rows: int, rows: IntArray, order: IntArray) -> None:
    """``Generator.choice(n_rows, rows.size, replace=False, shuffle=False)``, or all rows."""
    n_left = n_rows - rows.shape[0]
    if n_left > 0 and n_rows > 10_000 and rows.shape[0] > n_rows // 20:
        for i in range(n_rows):
            order[i] = i
        for i in range(n_rows - 1, n_left - 1, -1):
            j = next_below(words, i + 1)
            order[i], order[j] = order[j], order[i]
            rows[i - n_left] = order[i]
        return
    order[:] = 0
    for k in range(rows.shape[0]):
        row = int(next_below(words, n_left + k + 1)) if n_left > 0 else k
        if order[row]:
            row = n_left + k
        rows[k] = row
        order[row] = 1
