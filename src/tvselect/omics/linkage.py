"""Linkage: neighbouring columns of the same signal make one arm, and are told apart after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Outcome
from tvselect.inputs.columns import Matrix, centred_ranks, evenly
from tvselect.rewards.bart import outcome_for
from tvselect.trees import Prior, bin_table, run_to_end

Ints = NDArray[np.int64]

LINKED, WINDOW = 0.5, 100
MOST_ROWS, COLUMNS_AT_ONCE = 2000, 1024
N_TREES, N_ITERATIONS, N_RUNS = 20, 400, 10
MOST_COLUMNS, FEWEST_ROWS = 500, 20


def find_clumps(X: Matrix, columns: Ints) -> Ints:
    """Clumps of linked columns: for each of some ``columns`` the place of its clump's head.

    Two columns are linked when they are at most 100 columns apart and the square of their rank
    correlation is at least 0.5, on 2,000 rows at most. The column with most links takes those that
    are linked with it, then the one with most links among the rest, and so on, whatever the
    outcome.
    """
    n_columns = columns.size
    firsts, seconds = _links(X, columns)
    both = np.concatenate([firsts, seconds]), np.concatenate([seconds, firsts])
    order = np.argsort(both[0], kind="stable")
    neighbours = both[1][order]
    n_links = np.bincount(both[0], minlength=n_columns)
    ends = np.cumsum(n_links)
    head_of = np.full(n_columns, -1)
    for j in np.argsort(-n_links, kind="stable").tolist():
        if head_of[j] < 0:
            head_of[j] = j
            linked = neighbours[ends[j] - n_links[j] : ends[j]]
            head_of[linked[head_of[linked] < 0]] = j
    return head_of


def _links(X: Matrix, columns: Ints) -> tuple[Ints, Ints]:
    """All pairs of linked columns, the earlier one first."""
    rows = evenly(len(X), MOST_ROWS)
    firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, columns.size, COLUMNS_AT_ONCE):
        near = columns[start : start + COLUMNS_AT_ONCE + WINDOW]
        ranks = centred_ranks(np.ascontiguousarray(X[rows[:, None], near].T, dtype=np.float64))
        alike = (ranks[:COLUMNS_AT_ONCE] @ ranks.T) ** 2
        i, j = np.nonzero(np.triu(alike >= LINKED, 1) & ~np.triu(alike >= 0.0, WINDOW + 1))
        firsts.append(start + i)
        seconds.append(start + j)
    return np.concatenate(firsts), np.concatenate(seconds)


def clump_labels(X: Matrix, feature_of: Ints, names: Sequence[str]) -> list[str]:
    """A label for every feature, the same for those of one clump; text features stay alone."""
    n_columns = np.bincount(feature_of, minlength=len(names))
    single = np.flatnonzero(n_columns[feature_of] == 1)
    labels = list(map(str, names))
    for column, head in zip(single.tolist(), find_clumps(X, single).tolist(), strict=True):
        labels[feature_of[column]] = f"clump of {names[feature_of[single[head]]]}"
    return labels


def fine_map(
    claims: Sequence[Sequence[int]],
    X: Matrix,
    column_of: Ints,
    outcome: Outcome,
    rng: np.random.Generator,
) -> list[NDArray[np.float64]]:
    """The share of each column of a claim in its evidence; nothing where it cannot be told.

    ``claims`` are features; ``column_of`` has the column of each. In ten short runs of sparse
    forests on all their columns, each settles on the linked columns that explain the outcome best;
    a share is that of the splits of a claim, on average. Nothing is said of more than 500 columns.
    """
    features = np.unique([j for claim in claims for j in claim]).astype(np.int64)
    if not 1 < features.size <= MOST_COLUMNS:
        return []
    rows = evenly(len(X), MOST_ROWS)
    values = X[rows[:, None], column_of[features]]
    shown = outcome_for("auto", outcome.rows(rows))
    is_there = ~np.isnan(values).all(axis=0)
    if is_there.sum() < 2 or np.ptp(shown.values) == 0.0 or rows.size < FEWEST_ROWS:
        return []
    table = bin_table(values[:, is_there])
    prior = Prior(n_trees=N_TREES, sparse=True)
    splits = np.zeros((N_RUNS, features.size))
    for of_run, one in zip(splits, rng.spawn(N_RUNS), strict=True):
        of_run[is_there] = run_to_end(
            table, shown, prior=prior, n_iterations=N_ITERATIONS, n_keep=1, random_state=one
        ).mean_splits
    found = []
    for claim in claims:
        of_claim = splits[:, np.searchsorted(features, claim)]
        sums = of_claim.sum(axis=1, keepdims=True)
        shares = np.divide(of_claim, sums, where=sums > 0, out=np.zeros_like(of_claim))
        found.append(shares.mean(axis=0))
    return found
