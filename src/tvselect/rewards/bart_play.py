"""A play of the BART reward: set up, run and scored in one compiled call."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from tvselect.jit import kernel, part
from tvselect.trees.dirichlet import mean_splits
from tvselect.trees.gibbs import run
from tvselect.trees.start import (
    NO_DRAW,
    Draw,
    Sample,
    begin,
    copy_sample,
    design_of,
    draw_with,
    once_for_every_forest,
)
from tvselect.trees.state import (
    COUNT,
    N_DONE,
    Chain,
    Design,
    FloatArray,
    IntArray,
    PriorParameters,
    Tally,
    Trace,
    WordArray,
    locked,
    read_only,
)
from tvselect.trees.workspace import workspace

SHADOWS_BEATEN = 0.9


class Rules(NamedTuple):
    """How plays are run and scored, as kernels read it; see :class:`tvselect.rewards.BartReward`.

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

    def __post_init__(self) -> None:
        for name, lock in {
            "table": read_only, "observed": locked, "prior": read_only, "evidence": locked
        }.items():  # fmt: skip
            object.__setattr__(self, name, lock(getattr(self, name)))

    def __reduce__(self) -> tuple[type[BartFeedback], tuple[object, ...]]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def draw(self, columns: IntArray, n_shadows: int, rng: np.random.Generator) -> Draw:
        """The rows and the shadows of a play."""
        n_rows = self.table.n_rows
        shadows, rows = NO_DRAW.shadows, None
        if n_shadows:
            shadows = rng.choice(columns, n_shadows)
        if self.rules.n_seen < n_rows:
            rows = rng.choice(n_rows, self.rules.n_seen, replace=False, shuffle=False)
        elif n_shadows or self.rules.n_forests > 1:
            rows = np.arange(n_rows)
        if rows is None:
            return NO_DRAW
        return once_for_every_forest(draw_with(rng, rows, shadows), self.rules.n_forests)

    def __call__(self, columns: IntArray, rng: np.random.Generator) -> FloatArray:
        """Reward 1 or 0 for each of the columns."""
        n_columns, n_seen = columns.size, self.rules.n_forests * self.rules.n_seen
        n_iterations, burn, n_shadows, log_penalty = schedule(self.rules, n_columns)
        draw = self.draw(columns, n_shadows, rng)
        n_in_play = n_columns + n_shadows
        n_copies = n_in_play if draw.rows.size else 0
        room = workspace(self.rules.n_trees, n_seen, n_in_play, n_copies, n_iterations)
        table = self.table._replace(columns=columns)
        design = design_of(room.sample, n_in_play, n_seen) if n_copies else table
        pairs = room.pairs[: find_pairs(columns, self.prior.pairs, room.pairs)]
        prior = for_play(self.prior, burn, room.log_weights, pairs)
        rewards = np.empty(n_columns)
        room.chain.tally.whole[N_DONE] = 0
        with room.generator(rng) as numbers:
            while not play(
                numbers, table, self.observed, draw, room.sample, design, prior, self.precision,
                self.evidence, log_penalty, room.rows, room.chain, room.trace, n_iterations,
                self.rules, room.scores, rewards,
            ):  # fmt: skip
                room.grow()
        return rewards


@kernel
def schedule(rules: Rules, n_columns: int) -> tuple[int, int, int, float]:
    """How a play of so many columns is run.

    Returns
    -------
    n_iterations, n_burn : int
    n_shadows : int
        Shuffled copies of columns that fill a small play up.
    log_penalty : float
        Taken from the log prior of a forest for every column that it uses.
    """
    proposed = math.ceil(2.0 * rules.proposals_per_column * n_columns / rules.n_trees)
    n_iterations = max(rules.n_iterations, proposed)
    n_burn = n_iterations // 2 if rules.n_burn < 0 else rules.n_burn
    n_shadows = max(0, rules.shadows - n_columns)
    rarity = rules.n_candidates / (n_columns + n_shadows)
    return n_iterations, n_burn, n_shadows, rules.penalty * math.log(max(1.0, rarity))


@kernel
def find_pairs(columns: IntArray, known: IntArray, found: IntArray) -> int:
    """Write down the pairs of a play as places among its columns, while there is room; how many."""
    n_found = 0
    for k in range(known.shape[0]):
        if n_found == found.shape[0]:
            break
        first = second = -1
        for place in range(columns.shape[0]):
            if columns[place] == known[k, 0]:
                first = place
            elif columns[place] == known[k, 1]:
                second = place
        if first >= 0 and second >= 0:
            found[n_found, 0] = first
            found[n_found, 1] = second
            n_found += 1
    return n_found


@kernel
def for_play(
    prior: PriorParameters, burn: int, log_weights: FloatArray, pairs: IntArray
) -> PriorParameters:
    """The prior with what a play settles; two splits at once are proposed for its pairs."""
    since = max(prior.sparse_from, burn // 2)
    pair_share = prior.pair_share if pairs.shape[0] > 0 else 0.0
    return PriorParameters(
        *prior[:8], burn, since, *prior[10:12], log_weights, pair_share, pairs, *prior[15:]
    )


@kernel
def play(
    rng: np.random.Generator,
    table: Design,
    observed: FloatArray,
    draw: Draw,
    sample: Sample,
    design: Design,
    prior: PriorParameters,
    precision: float,
    evidence: FloatArray,
    log_penalty: float,
    rows: WordArray,
    chain: Chain,
    trace: Trace,
    n_iterations: int,
    rules: Rules,
    scores: FloatArray,
    rewards: FloatArray,
) -> bool:
    """Start the chain, run it to its end and score it; False when it needs room to go on."""
    if chain.tally.whole[N_DONE] == 0:
        weigh_columns(table.columns, evidence, log_penalty, prior.column_log_weights)
        for k in range(table.columns.shape[0], design.columns.shape[0]):
            prior.column_log_weights[k] = -log_penalty
        if draw.rows.shape[0] > 0:
            copy_sample(table, observed, draw, sample)
            observed = sample.observed
        begin(chain, design, prior, rows, observed, precision)
    run(rng, design, prior, chain, trace, n_iterations)
    if chain.tally.whole[N_DONE] < n_iterations:
        return False
    if rules.last_forest:
        for k in range(rewards.shape[0]):
            rewards[k] = chain.tally.columns[k, COUNT] > 0
    else:
        n_in_play = design.columns.shape[0]
        score_average(chain.tally, n_in_play, prior.burn, rules.min_splits, scores, rewards)
    return True


@part
def weigh_columns(
    columns: IntArray, evidence: FloatArray, log_penalty: float, log_weights: FloatArray
) -> None:
    """Log weight of every column in the prior: the penalty, less the evidence for the column."""
    for k in range(columns.shape[0]):
        log_weights[k] = min(0.0, evidence[columns[k]] - log_penalty)


@part
def score_average(
    tally: Tally, n_in_play: int, burn: int, min_splits: float, scores: FloatArray,
    rewards: FloatArray,
) -> None:  # fmt: skip
    """Reward columns of enough splits per forest, more than nine in ten shadows have."""
    n_columns = rewards.shape[0]
    for k in range(n_in_play):
        scores[k] = mean_splits(tally, k, burn)
    for k in range(n_columns):
        rewards[k] = scores[k] >= min_splits
    if n_in_play > n_columns:
        bar = quantile_of(scores, n_columns, n_in_play, SHADOWS_BEATEN)
        for k in range(n_columns):
            if not scores[k] > bar:
                rewards[k] = 0.0


@part
def quantile_of(values: FloatArray, first: int, last: int, share: float) -> float:
    """Quantile of ``values[first:last]``, as NumPy interpolates it; sorts them."""
    for i in range(first + 1, last):
        value = values[i]
        k = i
        while k > first and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value
    place = share * (last - first - 1)
    low = first + int(place)
    weight = place - int(place)
    if low + 1 >= last:
        return values[low]
    step = values[low + 1] - values[low]
    if weight >= 0.5:
        return values[low + 1] - step * (1.0 - weight)
    return values[low] + step * weight
