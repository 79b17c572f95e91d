"""Decoys of a table: which kind, how many copies, and the copies themselves."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from tvselect.decoys.knockoffs import Knockoffs, SwapTest, swap_test
from tvselect.decoys.shuffled import DrawnColumns, ShuffledColumns, common_factors
from tvselect.inputs.columns import ChosenColumns, Matrix, centred_ranks
from tvselect.inputs.outcome import Outcome
from tvselect.rewards import Data
from tvselect.rewards.screening import bulk_of, z_values
from tvselect.seeds import RandomStream
from tvselect.selectors.base import check_share
from tvselect.selectors.layout import ArmColumns, DecoyKind
from tvselect.selectors.marginal import marginal_scores
from tvselect.selectors.second_look import open_questions

FEWEST_COPIES = 10
MOST_ARMS = 2**13
MOST_KNOCKOFFS = 10_000
DOUBTFUL = 0.01
TINY = 1e-12


def kind_of_decoys(decoys: Any, max_fdr: float | None) -> DecoyKind | None:
    """The kind of decoys that the settings ask for.

    Raises
    ------
    ValueError
        For an unknown kind, a level that is none, or a level without decoys.
    """
    if max_fdr is not None:
        check_share(max_fdr, "max_fdr", "neither")
    if decoys == "auto":
        return None if max_fdr is None else "shuffled"
    if decoys is None and max_fdr is not None:
        raise ValueError(
            f"max_fdr={max_fdr!r} cannot be kept without decoys; use decoys='auto', or "
            "max_fdr=None for the median model"
        )
    if decoys not in ("shuffled", "plain", "knockoffs", None):
        raise ValueError(
            f"decoys must be 'auto', 'shuffled', 'plain', 'knockoffs' or None, got {decoys!r}"
        )
    return decoys


def copies_for(max_fdr: float | None) -> int:
    """Copies of every column: enough for a single column to be selected at the level."""
    return FEWEST_COPIES if max_fdr is None else max(FEWEST_COPIES, ceil(1.0 / max_fdr))


def draw_decoys(
    kind: DecoyKind,
    X: Matrix,
    n_copies: int,
    entropy: int,
    observations: NDArray[np.int64] | None = None,
) -> ShuffledColumns | DrawnColumns:
    """Copies of all columns of a table, from the seed of the run.

    Rows of the same observation (None: each is one) are copies of each other, and so are theirs:
    as independent rows, those of decoys would hold less evidence by chance than a column does.
    """
    rng = RandomStream.DECOYS.generator(entropy)
    if kind != "knockoffs":
        return ShuffledColumns.draw(
            X, n_copies, rng, keep_factors=kind == "shuffled", observations=observations
        )
    if X.shape[1] > MOST_KNOCKOFFS:
        raise ValueError(
            f"knockoffs can be made of {MOST_KNOCKOFFS:,} columns at the most, X has "
            f"{X.shape[1]:,}; use decoys='shuffled', or fewer columns"
        )
    factors = common_factors(X, rng)
    values = X[:, :]
    if observations is None:
        drawn = Knockoffs.estimate(values, n_copies).draw(values, rng)
    else:
        values = values[np.unique(observations, return_index=True)[1]]
        drawn = Knockoffs.estimate(values, n_copies).draw(values, rng)[:, observations]
    return DrawnColumns(drawn, [np.arange(X.shape[1])] * n_copies, factors)


def let_play(
    data: Data,
    columns: ArmColumns,
    decoys: ShuffledColumns | DrawnColumns,
    *,
    entropy: int = 0,
    n_threads: int = 1,
    verbose: int = 0,
) -> tuple[Data, ArmColumns]:
    """The columns that play with their decoys behind them, and the columns of all arms.

    Of very many arms, columns and decoys in one heap, those play that go best with the outcome by
    themselves (:func:`marginal_scores`), or with what the leaders of this first look leave of it
    (:func:`open_questions`): a search of hundreds of thousands of arms has not come to
    its point after some hundred plays. Where all columns of a copy go with the outcome, those
    count that stand out. The choice does not know which arms are decoys, so that the order
    among these and columns of noise is as open as before. Pairs of columns that stand out
    together play in any case: noise hardly ever does (:func:`screen_pairs`).
    """
    n_columns, n_copies = data.X.shape[1], len(decoys.held)
    own, bulks = np.arange(n_columns), []
    n_arms = columns.starts.size - 1
    if n_arms * (1 + n_copies) > MOST_ARMS:
        terms = np.array([term.values for term in data.outcome.in_simple_terms()])
        arm_of_column = columns.arm_of(own)
        look = partial(marginal_scores, decoys, data.X, n_threads=n_threads, verbose=verbose)
        found = look(terms)
        bulks = [bulk_of(z_values(found[:, 0, k], data.n_rows)) for k in range(1 + n_copies)]
        firsts = explained_shares(found)
        firsts[:, :, arm_of_column < 0] = -1.0
        rng = RandomStream.SECOND_LOOK.generator(entropy)
        ask = partial(open_questions, decoys, data.X, always=columns.always, rng=rng)
        left = [ask(term, scores=first) for term, first in zip(terms, firsts, strict=True)]
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
    return (data, columns) if isinstance(decoys, DrawnColumns) else without_rest(data, columns)


def explained_shares(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each target's variance (targets, 1 + copies, columns), from its slopes and bends.

    Slopes count by their distance from the median of their copy. What is handed in is overwritten.
    """
    slopes, bends = found[:, 0], found[:, 1]
    for copies in slopes:
        for one in copies:  # all at once would take as much memory again
            one -= np.median(one)
    np.square(found, out=found)
    slopes += bends
    return slopes


def highest(scores: NDArray[np.float64], n: int) -> NDArray[np.bool_]:
    """Where the ``n`` highest scores are; of equal ones the first.

    Examples
    --------
    >>> highest(np.array([[0.3, 0.1], [0.5, 0.3]]), 2)
    array([[ True, False],
           [ True, False]])
    """
    last = np.partition(scores, scores.size - n, axis=None)[scores.size - n]
    is_high = scores > last
    ties = np.flatnonzero(scores == last)
    is_high.flat[ties[: n - np.count_nonzero(is_high)]] = True
    return is_high


def without_rest(data: Data, columns: ArmColumns) -> tuple[Data, ArmColumns]:
    """The same search without columns that do not play, and of which no shuffled copy does."""
    X, decoys, n_columns = data.X, data.decoys, data.X.shape[1]
    assert isinstance(decoys, ShuffledColumns)
    assert not isinstance(X, ChosenColumns)
    playing = columns.columns[columns.columns < n_columns]
    needed = np.unique(np.concatenate([playing, columns.always, *decoys.held]))
    if needed.size == n_columns:
        return data, columns
    n_decoys = sum(held.size for held in decoys.held)
    place = np.full(n_columns + n_decoys, -1)
    place[needed] = np.arange(needed.size)
    place[n_columns:] = needed.size + np.arange(n_decoys)
    data = replace(
        data,
        X=ChosenColumns(X, needed),
        names=[data.names[j] for j in needed],
        decoys=replace(decoys, held=[place[held] for held in decoys.held]),
        pairs=place[data.pairs],
    )
    return data, replace(columns, columns=place[columns.columns], always=place[columns.always])


def check_decoys(
    decoys: ShuffledColumns | DrawnColumns, X: Matrix, entropy: int
) -> SwapTest | None:
    """Whether knockoffs can be told from the columns; None for shuffled decoys, which can be."""
    if not isinstance(decoys, DrawnColumns):
        return None
    found = swap_test(X[:, :], decoys.copies, RandomStream.SWAP_TEST.generator(entropy))
    if found.p_value < DOUBTFUL:
        warnings.warn(
            f"the knockoffs can be told from the columns (a classifier is right for "
            f"{found.accuracy:.0%} of the rows, p = {found.p_value:.1g}): the false discovery "
            "rate may be higher than asked for; read the claims, or use shuffled decoys",
            UserWarning,
            stacklevel=3,
        )
    return found


def warn_of_factors(
    decoys: ShuffledColumns | DrawnColumns, outcome: Outcome, stacklevel: int
) -> None:
    """Say where nothing was selected that common factors of the columns go with the outcome.

    Decoys keep these factors, so that no column is selected for them alone.
    """
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
            UserWarning,
            stacklevel=stacklevel + 1,
        )
