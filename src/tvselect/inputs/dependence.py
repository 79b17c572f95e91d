"""Whether rows depend on each other though nothing was said: neighbours, and repeated labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.columns import TINY, Floats, Ints, centred_ranks, evenly
from tvselect.inputs.facts import ID_NAME, Doubt
from tvselect.inputs.outcome import Outcome

FEWEST_ROWS, MOST_ROWS, ROWS_TOGETHER, MOST_COLUMNS, MOST_TERMS = 20, 4000, 50, 60, 3
N_WAVES, N_WAVES_OF_LABELS, N_BINS, NEIGHBOURS = 4, 2, 10, 5
MOST_KEYS, MOST_TRIED, FEWEST_LABELS, MOST_LABELS, MOST_SINGLE = 8, 40, 6, 0.7, 0.05
OUTCOME_ALIKE, COLUMN_ALIKE, SHARE_ALIKE, FEWEST_ALIKE = 1.5, 3.0, 0.2, 3
WALK, STEADY = 0.9, 0.3
OWNER = re.compile(
    rf"{ID_NAME.pattern}|(?i:(subject|patient|participant|respondent|person|donor|individual|animal"
    r"|mouse|plant|customer|client|user|member|household|family|cluster|site|clinic|hospital"
    r"|school|store|shop|company|firm|batch|plate|series)s?[ _.-]*(code|key|nr|no|number)?[.#]?)"
)
ZValues = Callable[[Floats], Floats]


def find_dependence(
    names: Sequence[str],
    X: NDArray[np.floating],
    outcome: Outcome,
    keys: Mapping[str, Ints] | None = None,
) -> Doubt | None:
    """The first sign that rows depend on each other.

    It is that neighbours, or rows with the same value of a column whose values repeat (or of
    ``keys``), are alike in the outcome and in a fifth of the columns at least, by rank
    correlations. Smooth trends are taken out first, and what columns owe to the outcome, so that a
    sorted table gives no such sign. Some 60 columns and 4,000 rows are looked at.
    """
    n_rows, n_columns = X.shape
    if n_rows < FEWEST_ROWS or n_columns < FEWEST_ALIKE:
        return None
    columns = evenly(n_columns, MOST_COLUMNS)
    terms = np.array([term.values for term in outcome.in_simple_terms()[:MOST_TERMS]])

    def are_alike(labels: Ints | None) -> str:
        """What shows that rows next to each other, or of the same label, are alike."""
        order = np.arange(n_rows) if labels is None else np.argsort(labels, kind="stable")
        if n_rows > MOST_ROWS:
            starts = np.linspace(0, n_rows - ROWS_TOGETHER, MOST_ROWS // ROWS_TOGETHER).astype(int)
            places = np.unique(starts[:, None] + np.arange(ROWS_TOGETHER))
            order, are_near = order[places], np.diff(places) == 1
        else:
            are_near = np.ones(n_rows - 1, dtype=np.bool_)
        if labels is not None:
            are_near &= np.diff(labels[order]) == 0
        y, block = terms[:, order], X[np.ix_(order, columns)].T.astype(np.float64)
        ranks = centred_ranks(y), centred_ranks(block)
        if labels is not None:
            return _alike(*ranks, _inside(are_near), N_WAVES_OF_LABELS)
        near, around = (_of_neighbours(are_near, reach) for reach in (1, NEIGHBOURS))
        return _alike(*ranks, near, N_WAVES) or _alike(*ranks, around, N_WAVES)

    # Labels that are called like those of owners, then neighbours, then other labels.
    labelled: list[tuple[str, Ints | None]] = [*(keys or {}).items(), *_labels(names, X)]
    owners = [pair for pair in labelled if OWNER.fullmatch(pair[0])]
    others = [pair for pair in labelled if not OWNER.fullmatch(pair[0])]
    for name, labels in (*owners, ("", None), *others):
        if how := are_alike(labels):
            if labels is not None:
                return Doubt("repeats", (name,))
            return Doubt("walks" if how == "walks" else "neighbours", ())
    return None


def _of_neighbours(are_near: NDArray[np.bool_], reach: int) -> ZValues:
    """How alike rows are that are up to so many rows apart, as z-values of ranks."""
    pairs, near = [], are_near
    for apart in range(1, reach + 1):
        pairs.append((apart, np.flatnonzero(near)))
        near = near[:-1] & are_near[apart:]

    def z_values(ranks: Floats) -> Floats:
        products = sum(
            np.einsum("ij,ij->i", ranks[:, first], ranks[:, first + apart])
            for apart, first in pairs
        )
        return products * _per_pair(ranks, sum(first.size for _, first in pairs))

    return z_values


def _inside(are_near: NDArray[np.bool_]) -> ZValues:
    """How alike rows are that no border parts, as z-values of ranks."""
    starts = np.append(0, np.flatnonzero(~are_near) + 1)
    sizes = np.diff(starts, append=are_near.size + 1)

    def z_values(ranks: Floats) -> Floats:
        products = np.add.reduceat(ranks, starts, axis=1) ** 2
        products = (products.sum(axis=1) - np.einsum("ij,ij->i", ranks, ranks)) / 2.0
        return products * _per_pair(ranks, int((sizes * (sizes - 1)).sum()) // 2)

    return z_values


def _per_pair(ranks: Floats, n_pairs: int) -> Floats:
    squares = np.maximum(np.einsum("ij,ij->i", ranks, ranks), TINY)
    return ranks.shape[1] / squares / np.sqrt(max(n_pairs, 1))


def _alike(y: Floats, columns: Floats, z_values: ZValues, n_waves: int) -> str:
    """Whether rows are alike by the ranks (columns, rows) of outcome and columns."""
    n_rows = y.shape[1]
    columns = columns[np.einsum("ij,ij->i", columns, columns) > TINY]
    if len(columns) < FEWEST_ALIKE:
        return ""
    waves = np.cos(np.pi * np.outer(np.arange(n_waves + 1), np.arange(n_rows) + 0.5) / n_rows)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    z = z_values(y - (y @ waves.T) @ waves)
    best = int(z.argmax())
    if z[best] < OUTCOME_ALIKE:
        return ""
    levels, bins = np.unique(y[best], return_inverse=True)
    if levels.size > N_BINS:
        bins = np.searchsorted(np.quantile(y[best], np.arange(1, N_BINS) / N_BINS), y[best])
    is_in = (bins == np.unique(bins)[:, None]).astype(np.float64)
    means = (columns @ is_in.T) / is_in.sum(axis=1)
    left = columns - means @ is_in
    n_alike = np.count_nonzero(z_values(left - (left @ waves.T) @ waves) > COLUMN_ALIKE)
    if n_alike < max(FEWEST_ALIKE, SHARE_ALIKE * len(columns)):
        return ""
    following = _of_neighbours(np.ones(n_rows - 1, dtype=np.bool_), 1)
    far = WALK * np.sqrt(n_rows)
    is_walk = following(y).max() > far and np.median(following(columns)) > far
    return "walks" if is_walk else "alike"


def _measures(values: NDArray[np.floating], X: NDArray[np.floating]) -> bool:
    """Whether numbers measure something: the means of other columns change little along them."""
    rows = slice(None, None, max(1, len(X) // MOST_ROWS))
    _, codes, counts = np.unique(values[rows], return_inverse=True, return_counts=True)
    ranks = centred_ranks(X[rows, evenly(X.shape[1], MOST_COLUMNS)].T.astype(np.float64))
    means = np.array([np.bincount(codes, some) for some in ranks]) / counts
    n_pairs = np.sqrt(counts[1:] * counts[:-1])
    steady = (means[:, 1:] * means[:, :-1]) @ n_pairs / n_pairs.sum()
    alike = means**2 @ counts / codes.size - counts.size / codes.size**2  # without chance
    return bool(steady.sum() > STEADY * alike.sum())


def _labels(names: Sequence[str], X: NDArray[np.floating]) -> Iterator[tuple[str, Ints]]:
    """Columns whose values repeat, as codes: texts (columns of one name), identifiers, others."""
    n_rows, n_found = len(X), 0
    head = X[:ROWS_TOGETHER]
    repeats = (head == np.floor(head)).all(axis=0)
    repeats |= [np.unique(some).size < some.size for some in head.T]
    if len(set(names)) < len(names):
        place = 0
        for name, same in groupby(names):
            width = len(list(same))
            if width >= FEWEST_LABELS:
                yield name, X[:, place : place + width].argmax(axis=1)
            repeats[place : place + width] &= width == 1
            place += width
    tried = sorted(np.flatnonzero(repeats).tolist(), key=lambda j: not OWNER.fullmatch(names[j]))
    for j in tried[:MOST_TRIED]:
        _, codes, counts = np.unique(X[:, j], return_inverse=True, return_counts=True)
        is_many = FEWEST_LABELS <= counts.size <= MOST_LABELS * n_rows
        is_many &= np.count_nonzero(counts == 1) <= MOST_SINGLE * n_rows
        if is_many and (OWNER.fullmatch(names[j]) or not _measures(X[:, j], X)):
            yield names[j], codes
            n_found += 1
        if n_found == MOST_KEYS:
            return
