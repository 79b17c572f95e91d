"""Decoys of a table, and the preselection of arms where there are very many."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from tvselect.core import function
from tvselect.decoys.knockoffs import Knockoffs, SwapTest, swap_test
from tvselect.decoys.shuffled import DrawnColumns, ShuffledColumns, common_factors
from tvselect.inputs.blocks import RowBlocks
from tvselect.inputs.columns import (
    ChosenColumns,
    Columns,
    Matrix,
    SparseColumns,
    centred_ranks,
    evenly,
    in_blocks,
    normal_scores,
    ranks_beside_zeros,
)
from tvselect.inputs.errors import check_share
from tvselect.inputs.outcome import Outcome
from tvselect.rewards import Data, Reward
from tvselect.rewards.screening import bulk_of, z_values
from tvselect.seeds import RandomStream
from tvselect.selectors.layout import ArmColumns, DecoyKind, IntArray
from tvselect.trees import bin_table, run_to_end

Decoys = ShuffledColumns | DrawnColumns
Floats = NDArray[np.float64]

NO_KNOCKOFFS = (
    "decoys='knockoffs' (the only ones for rewards other than trees) are drawn row by row, for "
    "independent rows; with groups or order use decoys='shuffled', with the default reward, or "
    "max_fdr=None"
)
FEWEST_COPIES, MOST_KNOCKOFFS = 10, 10_000
LOWEST_LEVEL = 0.001
DOUBTFUL, TINY = 0.01, 1e-12
MOST_ARMS = 2**13
"""Of more arms than that, some are preselected."""
VALUES_OF_A_THREAD, ROWS_TO_TRY = 2**20, 100
TWO_VALUED = 0.01
SECONDS_WITHOUT_BAR = 2.0
N_LEADERS = 50
FEWEST_ROWS, MOST_ROWS, MOST_VALUES = 20, 5_000, 2**31

add_by_value = function(
    "add_by_value",
    """
    small: u1[columns, rows]
    outcomes: f8[rows, outcomes]
    counts: i8[columns, values=4]!
    sums: f8[columns, 4, outcomes]!
    others: i8[rows]!
    """,
)
"""Count the values 0, 1, 2 and missing of columns, and add up outcomes by the last three."""


def kind_of_decoys(decoys: Any, max_fdr: float | None, reward: Reward) -> DecoyKind | None:
    """The kind of decoys that the settings ask for; a ValueError where they are inconsistent.

    Rewards that stand-ins of signals may have, too, are compared with knockoffs alone.
    """
    if max_fdr is not None:
        check_share(max_fdr, "max_fdr")
        if max_fdr < LOWEST_LEVEL:
            raise ValueError(
                f"max_fdr must be at least {LOWEST_LEVEL:g}, got {max_fdr!r}: a level takes "
                "1 / max_fdr decoys of every column"
            )
    if decoys == "auto":
        auto: DecoyKind = "knockoffs" if reward.rewards_stand_ins else "shuffled"
        return None if max_fdr is None else auto
    if decoys is None and max_fdr is not None:
        raise ValueError(
            f"max_fdr={max_fdr!r} cannot be kept without decoys; use decoys='auto', or "
            "max_fdr=None for the median model"
        )
    if decoys not in ("shuffled", "plain", "knockoffs", None):
        raise ValueError(
            f"decoys must be 'auto', 'shuffled', 'plain', 'knockoffs' or None, got {decoys!r}"
        )
    if reward.rewards_stand_ins and decoys in ("shuffled", "plain"):
        raise ValueError(
            f"decoys={decoys!r} can promise nothing with {type(reward).__name__}, which rewards "
            "columns that only go with others, as these decoys never do: use decoys='knockoffs', "
            "the default reward, or decoys=None and max_fdr=None for selection rates alone"
        )
    return decoys


def draw_decoys(
    kind: DecoyKind,
    X: Matrix,
    n_copies: int,
    entropy: int,
    observations: IntArray | RowBlocks | None = None,
    n_units: int | None = None,
) -> Decoys:
    """Copies of all columns of a table, from the seed of the run.

    Rows of one observation (None: each is one) are copies of each other in decoys, too; else decoys
    would hold less evidence by chance than columns. Blocks and repeated rows are worth ``n_units``.
    """
    rng = RandomStream.DECOYS.generator(entropy)
    if kind != "knockoffs":
        draw = partial(ShuffledColumns.draw, keep_factors=kind == "shuffled")
        return draw(X, n_copies, rng, observations=observations, n_units=n_units)
    if isinstance(observations, RowBlocks):
        raise ValueError(NO_KNOCKOFFS)
    if X.shape[1] > MOST_KNOCKOFFS:
        raise ValueError(
            f"knockoffs (the only decoys for rewards other than trees) can be made of "
            f"{MOST_KNOCKOFFS:,} columns at the most, X has {X.shape[1]:,}; use fewer columns, "
            "decoys='shuffled' with the default reward, or max_fdr=None"
        )
    factors, values = common_factors(X, rng, n_units), X[:, :]
    if observations is not None:
        values = values[np.unique(observations, return_index=True)[1]]
    drawn = Knockoffs.estimate(values, n_copies).draw(values, rng)
    if observations is not None:
        drawn = drawn[:, observations]
    return DrawnColumns(drawn, [np.arange(X.shape[1])] * n_copies, factors)


def check_decoys(decoys: Decoys, X: Matrix, entropy: int) -> SwapTest | None:
    """Whether knockoffs can be told from the columns; None for shuffled decoys, which can be."""
    if not isinstance(decoys, DrawnColumns):
        return None
    found = swap_test(X[:, :], decoys.copies, RandomStream.SWAP_TEST.generator(entropy))
    if found.p_value < DOUBTFUL:
        warnings.warn(
            f"the knockoffs can be told from the columns (a classifier is right for "
            f"{found.accuracy:.0%} of the rows, p = {found.p_value:.1g}): the false discovery "
            "rate may be higher than asked for; read the claims, or use shuffled decoys",
            stacklevel=3,
        )
    return found


def warn_of_factors(decoys: Decoys, outcome: Outcome, stacklevel: int) -> None:
    """Warn where nothing is found but factors, which decoys keep, explain the outcome."""
    n_rows, n_factors = decoys.factors.shape
    if n_factors == 0 or n_rows <= n_factors + 1:
        return
    terms = outcome.in_simple_terms()
    ranks = centred_ranks(np.array([term.values for term in terms]))
    shares = ((ranks @ decoys.factors) ** 2).sum(axis=1) / np.maximum((ranks**2).sum(axis=1), TINY)
    share = min(float(shares.max()), 1.0 - TINY)
    n_left = n_rows - n_factors - 1
    by_chance = float(betainc(n_left / 2.0, n_factors / 2.0, 1.0 - share)) * len(terms)
    if by_chance < DOUBTFUL:
        one = "a common factor of the columns explains"
        what = one if n_factors == 1 else f"{n_factors} common factors of the columns explain"
        warnings.warn(
            f"nothing was selected, but {what} {share:.0%} of the outcome: decoys keep what "
            "columns owe to common factors, so that a column has to add something to these. "
            "Decoys of the kind 'plain' ask whether columns go with it, for whatever reason",
            stacklevel=stacklevel + 1,
        )


def preselect_arms(
    data: Data,
    columns: ArmColumns,
    decoys: Decoys,
    *,
    entropy: int = 0,
    n_threads: int = 1,
    verbose: int = 0,
) -> tuple[Data, ArmColumns]:
    """The data with its decoys, and the columns of all arms, of which some may take no part.

    A search among very many arms does not settle. Of so many those take part, columns and decoys
    ranked together, that are most associated with the outcome (:func:`marginal_scores`), or with
    the residuals of the leaders of this first look (:func:`residual_targets`), measured from the
    median of each copy. The choice does not know which are decoys, so that these stay exchangeable
    with noise. Pairs that stand out together (:func:`screen_pairs`) take part in any case.
    """
    n_columns, n_copies = data.X.shape[1], len(decoys.held)
    own, bulks = np.arange(n_columns), []
    if (columns.starts.size - 1) * (1 + n_copies) > MOST_ARMS:
        terms = np.array([term.values for term in data.outcome.in_simple_terms()])
        arm_of_column = columns.arm_of(own)
        look = partial(marginal_scores, decoys, data.X, n_threads=n_threads, verbose=verbose)
        found = look(terms)
        bulks = [bulk_of(z_values(found[:, 0, k], data.n_rows)) for k in range(1 + n_copies)]
        firsts = explained_shares(found)
        firsts[:, :, arm_of_column < 0] = -1.0
        rng = RandomStream.SECOND_LOOK.generator(entropy)
        left = [
            residual_targets(decoys, data.X, term, first, columns.always, rng)
            for term, first in zip(terms, firsts, strict=True)
        ]
        scores = firsts.max(axis=0)
        del found, firsts
        if (targets := np.concatenate(left)).size:
            np.maximum(scores, explained_shares(look(targets)).max(axis=0), out=scores)
        if not (columns.is_plain and np.array_equal(columns.columns, own)):
            scores = np.maximum.reduceat(scores[:, columns.columns], columns.starts[:-1], axis=1)
        plays = highest(scores, MOST_ARMS)[:, arm_of_column] & (arm_of_column >= 0)
        plays[0] |= (arm_of_column >= 0) & np.isin(arm_of_column, arm_of_column[data.pairs])
        own, *held = (np.flatnonzero(block) for block in plays)
        decoys = replace(decoys, held=held)
    data = replace(data, decoys=decoys, n_candidates=n_columns * (1 + n_copies), bulks=bulks)
    columns = columns.with_copies(n_columns, own, decoys.held)
    needed = np.unique(np.concatenate([own, columns.always, *decoys.held]))
    if isinstance(decoys, DrawnColumns) or needed.size == n_columns:
        return data, columns
    # Columns that do not take part, and of which no shuffled copy does, are left out.
    n_decoys = sum(some.size for some in decoys.held)
    place = np.full(n_columns + n_decoys, -1)
    place[needed] = np.arange(needed.size)
    place[n_columns:] = needed.size + np.arange(n_decoys)
    data = replace(
        data,
        X=ChosenColumns(data.X, needed),
        names=[data.names[j] for j in needed],
        decoys=replace(decoys, held=[place[some] for some in decoys.held]),
        pairs=place[data.pairs],
    )
    return data, columns._replace(columns=place[columns.columns], always=place[columns.always])


def explained_shares(found: Floats) -> Floats:
    """Shares of variance by slopes (from their median) and bends; overwrites ``found``."""
    slopes, bends = found[:, 0], found[:, 1]
    for target, copy in np.ndindex(slopes.shape[:2]):  # all at once take as much memory again
        slopes[target, copy] -= np.median(slopes[target, copy])
    np.square(found, out=found)
    slopes += bends
    return slopes


def highest(scores: Floats, n: int) -> NDArray[np.bool_]:
    """Where the ``n`` highest scores are; of equal ones the first."""
    last = np.partition(scores, scores.size - n, axis=None)[scores.size - n]
    is_high = scores > last
    ties = np.flatnonzero(scores == last)
    is_high.flat[ties[: n - np.count_nonzero(is_high)]] = True
    return is_high


def marginal_scores(
    decoys: Decoys, X: Matrix, targets: Floats, *, n_threads: int = 1, verbose: int = 0
) -> Floats:
    """The association of columns, and of each copy of them, with ``targets`` (targets, rows).

    In ranks (targets, 2, 1 + copies, columns): slopes, the correlation with the column, and bends,
    that with what its square adds (0 for columns of three values that factors drive). One pass over
    all columns by ``n_threads`` threads, with a progress bar if ``verbose``.
    """
    from tqdm.auto import tqdm

    targets = centred_ranks(targets)
    by_value: list[ScoresByValue] = []
    if isinstance(decoys, ShuffledColumns):
        by_value = [ScoresByValue(one, decoys.orders, decoys.factors) for one in targets]
    if isinstance(X, SparseColumns) and by_value and by_value[0].n_factors == 0:
        return np.stack([_of_stored_values(X, one.outcomes) for one in by_value])
    n_columns = X.shape[1]
    scores = np.zeros((len(targets), 2, 1 + len(decoys.held), n_columns))

    def score(block: slice) -> int:
        here = np.arange(block.start, block.stop)
        small = read_small(X, here) if by_value else None
        if small is not None:
            for t, one in enumerate(by_value):
                scores[t, :, :, here] = one(small).transpose(2, 0, 1)
        else:
            for k, ranks in enumerate(decoys.ranks(X, here)):
                scores[:, :, k, here] = of_ranks(ranks, targets)
        return here.size

    with (
        ThreadPoolExecutor(n_threads) as pool,
        tqdm(
            total=n_columns, desc="TVS, a pass over all columns", unit=" columns",
            disable=verbose < 1, delay=SECONDS_WITHOUT_BAR,
        ) as bar,
    ):  # fmt: skip
        for n_done in pool.map(score, in_blocks(n_columns, targets.shape[1], VALUES_OF_A_THREAD)):
            bar.update(n_done)
    return scores


def of_ranks(ranks: Floats, targets: Floats) -> Floats:
    """Slopes and bends (targets, 2, columns) of columns by their ranks (columns, rows)."""
    length = np.maximum(np.einsum("ij,ij->i", ranks, ranks), TINY)
    bends = ranks**2
    bends -= bends.mean(axis=1, keepdims=True)
    bends -= (np.einsum("ij,ij->i", bends, ranks) / length)[:, None] * ranks
    bent = np.einsum("ij,ij->i", bends, bends)
    has_bend = bent * ranks.shape[1] > TWO_VALUED
    scores = np.zeros((len(targets), 2, len(ranks)))
    scores[:, 0] = targets @ ranks.T / np.sqrt(length)
    scores[:, 1, has_bend] = targets @ bends[has_bend].T / np.sqrt(bent[has_bend])
    return scores


def _of_stored_values(X: SparseColumns, outcomes: Floats) -> Floats:
    """Slopes and bends of sparse columns and copies; zeros drop out, as target ranks sum to 0."""
    n_rows, n_columns = X.shape
    scores = np.zeros((2, outcomes.shape[1], n_columns))
    for j in range(n_columns):
        rows, values = X.column(j)
        ranks, of_zero = ranks_beside_zeros(values, n_rows)
        n_zeros = n_rows - rows.size
        square, cube, fourth = (float(np.sum(ranks**k) + n_zeros * of_zero**k) for k in (2, 3, 4))
        both = np.stack([ranks - of_zero, ranks**2 - of_zero**2]) @ outcomes[rows]
        scores[0, :, j] = both[0]
        bent = fourth - square**2 / n_rows - cube**2
        if bent * n_rows > TWO_VALUED:
            scores[1, :, j] = (both[1] - cube * both[0]) / np.sqrt(bent)
    return scores


def read_small(X: Matrix, columns: IntArray) -> NDArray[np.uint8] | None:
    """Columns (columns, rows) as bytes, if all their values are 0, 1, 2 or missing (3)."""
    if isinstance(X, Columns) and (known := X.read_small(columns)) is not None:
        return known
    block = X[:, columns].T
    for some in (block[:1, :ROWS_TO_TRY], block):
        is_missing = np.isnan(some)
        small = np.where(is_missing, 3, np.clip(some, 0, 2)).astype(np.uint8)
        if not np.all((small == some) | is_missing):
            return None
    return np.ascontiguousarray(small)


class ScoresByValue:
    """Slopes and bends (2, 1 + copies, columns) of columns of few values and their shuffled copies.

    Sums of the outcome (centred ranks) by value are all it needs: one pass over a column for all
    copies. A shuffled column goes with the outcome as the column does with ``outcomes`` (rows, 1 +
    copies), which are shuffled back. With common factors (rows, factors; orthonormal, of mean 0) a
    copy is what the column owes to them and the shuffled rest, and has no bend.
    """

    def __init__(self, outcome: Floats, orders: IntArray, factors: Floats) -> None:
        self.n_factors = factors.shape[1]
        together = np.column_stack([outcome, factors])
        back = np.zeros((outcome.size, 1 + len(orders), 1 + self.n_factors))
        back[:, 0] = together
        for k, order in enumerate(orders):
            np.add.at(back[:, k + 1], order, together)  # a row may come several times
        self.outcomes = np.ascontiguousarray(back[:, :, 0])
        self._back = back.reshape(outcome.size, -1)
        self._with_factors = np.einsum("nf,nkt->ktf", factors, back)

    def __call__(self, small: NDArray[np.uint8]) -> Floats:
        """Of columns (columns, rows) as :func:`read_small` has them."""
        n_columns, n_rows = small.shape
        counts = np.zeros((n_columns, 4), dtype=np.int64)
        sums = np.zeros((n_columns, 4, self._back.shape[1]))
        add_by_value(small, self._back, counts, sums, np.empty(n_rows, dtype=np.int64))
        sums[:, 0] = -sums[:, 1:].sum(axis=1)  # ranks sum to zero
        counts, sums = counts[:, :3], sums[:, :3]
        ranks = np.cumsum(counts, axis=1) - 0.5 * counts - 0.5 * counts.sum(axis=1, keepdims=True)
        ranks[counts == 0] = 0.0
        ranks /= np.sqrt(np.maximum((counts * ranks**2).sum(axis=1, keepdims=True), TINY))
        slopes = np.einsum("jg,jgk->kj", ranks, sums)
        if self.n_factors:
            slopes = self._of_copies_with_factors(slopes)
            return np.stack([slopes, np.zeros_like(slopes)])
        square, cube, fourth = ((counts * ranks**k).sum(axis=1) for k in (2, 3, 4))
        squares = np.einsum("jg,jgk->kj", ranks**2, sums)
        bent = fourth - square**2 / n_rows - cube**2
        has_bend = bent * n_rows > TWO_VALUED
        bends = np.where(has_bend, squares - cube * slopes, 0.0)
        return np.stack([slopes, bends / np.sqrt(np.where(has_bend, bent, 1.0))])

    def _of_copies_with_factors(self, products: Floats) -> Floats:
        """Slopes (1 + copies, columns) from products of the ranks with all that is shuffled back.

        A copy of ranks r is c + P (r - c), where c = F F'r and P shuffles. Its product with the
        outcome y is c'y + (r - c)'P'y, its squared length 1 + 2 c'P(r - c).
        """
        products = products.reshape(-1, 1 + self.n_factors, products.shape[1])
        with_outcome, with_factors = products[:, 0], products[:, 1:]
        owed = with_factors[0]
        outcome_owed, factors_owed = self._with_factors[:, 0], self._with_factors[:, 1:]
        slopes = with_outcome + (outcome_owed[:1] - outcome_owed) @ owed
        rest = with_factors - factors_owed @ owed
        lengths = 1.0 + 2.0 * np.einsum("fj,kfj->kj", owed, rest)
        return slopes / np.sqrt(np.maximum(lengths, TINY))


def residual_targets(
    decoys: Decoys, X: Matrix, y: Floats, scores: Floats, always: IntArray, rng: np.random.Generator
) -> Floats:
    """What is left of an outcome beside the leaders of a first look (targets, rows).

    Leaders are the columns and decoys with the highest ``scores`` (1 + copies, columns; none below
    0), and those ``always`` included. The first target, the residuals of a forest of them, shows
    what was hidden behind them; the second, these times the leader that is split on most, what
    changes its effect. There is none for fewer than 20 rows, and for more than 2^31 values, where a
    second pass would take most of the time.
    """
    if len(y) < FEWEST_ROWS or X.shape[0] * X.shape[1] > MOST_VALUES:
        return np.empty((0, len(y)))
    best = [np.argpartition(one, max(0, one.size - N_LEADERS))[-N_LEADERS:] for one in scores]
    copies, columns = np.repeat(np.arange(len(best)), best[0].size), np.concatenate(best)
    top = np.argsort(scores[copies, columns], kind="stable")[-N_LEADERS:]
    top = top[scores[copies[top], columns[top]] >= 0.0]
    top = top[np.lexsort([columns[top], copies[top]])]
    chosen = [(0, column) for column in always.tolist()]
    chosen += zip(copies[top].tolist(), columns[top].tolist(), strict=True)
    leaders = np.empty((len(y), len(chosen)))
    for k, (copy, column) in enumerate(chosen):
        (leaders[:, k],) = next(islice(decoys.ranks(X, np.array([column])), copy, None))
    y, rows = normal_scores(y), evenly(len(y), MOST_ROWS)
    size = dict(n_trees=20, sparse=True, n_burn=500, n_iterations=1000)
    table = bin_table(leaders[rows])
    run = run_to_end(table, y[rows], family="gaussian", **size, random_state=rng)
    left = y - run.predict(leaders)
    return np.stack([left, left * leaders[:, run.mean_splits.argmax()]])
