"""Rows: their weights, those that are copies of each other, and samples of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.inputs.blocks import RowBlocks, take_blocks
from tvselect.inputs.columns import Floats, Ints, Matrix, evenly, is_sparse, refuse_outside
from tvselect.inputs.table import Table, as_array, as_given, holds_text, open_table, read_table

MOST_REPEATS = 20  # the largest whole weight that is taken as a number of repeats
MOST_COLUMNS, MOST_VALUES = 64, 2**26
TELLING = 3  # how many columns a chance match is judged by: those with the most values
FEWEST_COPIES, SMALLEST_SHARE = 5, 0.01  # fewer copies, or a smaller share, do not matter
BEYOND_CHANCE, TINIEST = 10.0, 1e-290
FEWEST_ROWS = 10  # for two leaves of five rows


def check_weights(sample_weight: ArrayLike, n_rows: int) -> Floats:
    """Weights as floats, one for each row; refuses negative, missing and infinite ones."""
    try:
        given = as_array(sample_weight, "sample_weight")
        if holds_text(given):
            raise TypeError
        weights = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold numbers, one for each row") from None
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, X has {n_rows} rows")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("sample_weight must be finite, not negative and not all zero")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if weights.max() < TINIEST or not np.isfinite(total):
        raise ValueError("sample_weight is too close to zero, or too large; scale it to about 1")
    return weights


def effective_rows(weights: Floats) -> int:
    """Kish's effective number of rows: how many of equal weight tell as much as these.

    >>> effective_rows(np.array([3.0, 3.0, 3.0])), effective_rows(np.array([1.0, 1.0, 20.0]))
    (3, 1)
    """
    shares = weights / weights.max()
    return round(float(shares.sum()) ** 2 / float(shares @ shares))


def repeated_rows(weights: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """The rows that weights stand for, each as often as its weight says.

    Whole numbers up to 20 are repeats, once their common divisor is taken out. Others are scaled to
    as many rows as have weight, and rounded at random, such that each is right on average.
    """
    if weights.max() > MOST_REPEATS or not np.array_equal(weights, np.floor(weights)):
        scaled = weights * (np.count_nonzero(weights) / weights.sum())
        order = rng.permutation(weights.size)
        ends = np.floor(np.cumsum(scaled[order]) + rng.random())
        repeats = np.empty(weights.size, dtype=np.int64)
        repeats[order] = np.diff(ends, prepend=0.0)
    else:
        repeats = weights.astype(np.int64)
        repeats //= np.gcd.reduce(repeats)
    return np.repeat(np.arange(weights.size), repeats)


def thinned_rows(weights: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """A sample of rows in which each has the chance that its weight says, none twice."""
    return np.flatnonzero(rng.random(weights.size) * weights.max() < weights)


def rows_to_use(
    copies: Ints | None, weights: Floats | None, repeat: bool, rng: np.random.Generator
) -> tuple[NDArray[np.intp] | None, Floats | None, int | None]:
    """Which rows of a table are used, the weights of these, and their effective number.

    Of an observation (:func:`copied_rows`) the first row has the weight of all. Rows that are
    repeated by their weights have none, and are worth so many, ten at least. None is all rows, or
    no weights.
    """
    rows = None
    if copies is not None:
        rows = np.unique(copies, return_index=True)[1]
        weights = np.bincount(copies, weights).astype(np.float64)
    if weights is None or not repeat:
        return rows, weights, None
    repeated = repeated_rows(weights, rng)
    if (n := effective_rows(weights)) < 2:
        raise ValueError(
            "sample_weight leaves fewer than two rows: a few weigh so much more than the others "
            "that all together tell as much as one"
        )
    rows = repeated if rows is None else rows[repeated]
    return rows, None, n if (n := max(n, FEWEST_ROWS)) < rows.size else None


def warn_of_index(X: Any, y: Any, stacklevel: int) -> None:
    """Warn of rows of pandas whose labels say that X and y are in different orders."""
    rows: Any = getattr(X, "index", None)
    others: Any = getattr(y, "index", None)
    if not (hasattr(rows, "isin") and hasattr(others, "isin")) or rows.equals(others):
        return
    if len(rows) == len(others) and rows.is_unique and rows.isin(others).all():
        warnings.warn(
            "the index of y has the labels of X in another order; rows are taken as they stand. If "
            "that is wrong, hand in y.loc[X.index]",
            stacklevel=stacklevel + 1,
        )


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a table or outcome of any kind."""
    if isinstance(X, Table):
        return X.rows(rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if is_sparse(X):
        refuse_outside(X)
    if hasattr(X, "take") and type(X).__module__.startswith("pyarrow"):
        return X.take(rows)
    if hasattr(X, "shape") or type(X).__module__.startswith("polars"):
        return X[rows]
    if hasattr(X, "__array__"):
        return np.asarray(X)[rows]
    return [X[row] for row in rows.tolist()]


def numbered(labels: NDArray[np.integer]) -> Ints:
    """Labels as numbers from 0, in the order in which they appear first."""
    _, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(firsts))[inverse]


def copied_rows(X: Matrix, y: Floats) -> Ints | None:
    """The observation of every row, where many rows are copies of others; else None.

    Copies agree in the outcome and in up to 64 columns. There must be ten times as many pairs of
    them as the three most varied columns give by chance: a table of few classes has none.
    """
    n_rows, n_columns = X.shape
    places = evenly(n_columns, min(MOST_COLUMNS, max(1, MOST_VALUES // n_rows)))
    return copies_among(y, (np.asarray(X[:, [j]], dtype=np.float64)[:, 0] for j in places))


def copies_among(y: NDArray[Any], columns: Iterable[NDArray[Any]]) -> Ints | None:
    """:func:`copied_rows` of columns that are read one by one, as far as they are needed."""
    n_rows, found = y.size, _codes(y)
    chances = [_share_of_pairs(found)]
    for values in columns:
        if found.max() == n_rows - 1:
            return None
        column = _codes(values)
        chances.append(_share_of_pairs(column))
        found = _codes(found * n_rows + column)
    n_copies = n_rows - (int(found.max()) + 1)
    by_chance = np.prod(sorted(chances)[:TELLING])
    is_few = n_copies < max(FEWEST_COPIES, SMALLEST_SHARE * n_rows)
    if is_few or _share_of_pairs(found) < BEYOND_CHANCE * by_chance:
        return None
    return numbered(found)


def _codes(values: NDArray[np.generic]) -> Ints:
    """Values as numbers from 0; missing ones are the same."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _share_of_pairs(codes: Ints) -> float:
    """Of all pairs of rows, those that agree."""
    counts = np.bincount(codes).astype(np.float64)
    return float((counts * (counts - 1.0)).sum() / max(codes.size * (codes.size - 1), 1))


def orders_of(
    observations: Ints | RowBlocks | None, n_rows: int, n: int, rng: np.random.Generator
) -> Ints:
    """Random orders (n, rows) of rows, in which the rows of an observation stay together.

    Observations of equally many rows change places, so that these orders are permutations and
    keep any dependence of weights on columns. Rows that depend on each other are moved as blocks.
    """
    if isinstance(observations, RowBlocks):
        return observations.orders(n, rng)
    orders = np.tile(np.arange(n_rows), (n, 1))
    if observations is None:
        return rng.permuted(orders, axis=1)
    by_observation = np.argsort(observations, kind="stable")
    n_rows_of = np.bincount(observations)
    starts = np.cumsum(n_rows_of) - n_rows_of
    for size in np.unique(n_rows_of):
        rows = by_observation[starts[n_rows_of == size][:, None] + np.arange(size)]
        for order in orders:
            order[rows] = rng.permutation(rows)
    return orders


def sample_rows(
    X: Any,
    y: Any,
    names: Sequence[str],
    *,
    named: bool,
    most: int,
    rng: np.random.Generator,
    groups: Any = None,
) -> tuple[Table, Any, NDArray[np.int32] | None]:
    """Up to ``most`` rows drawn at random, in order; columns found by name if ``named``."""
    blocks = None
    if groups is not None:
        X, blocks = take_blocks(as_given(X), groups, None)
    table, _ = open_table(X, "X")
    if named and table.named and tuple(names) != table.names:
        place_of = {name: place for place, name in enumerate(table.names)}
        if missing := [name for name in names if name not in place_of]:
            raise ValueError(f"X lacks column {missing[0]!r}, which the selector was fitted on")
        X = table.take(np.array([place_of[name] for name in names], dtype=np.int64))
    table = read_table(X)
    if table.n_columns != len(names):
        raise ValueError(
            f"X has {table.n_columns} columns, the selector was fitted on {len(names)}; pass the "
            "same table"
        )
    if y is not None and len(y) != table.n_rows:
        raise ValueError(f"y has {len(y)} values but X has {table.n_rows} rows")
    rows = np.sort(rng.choice(table.n_rows, min(most, table.n_rows), replace=False))
    codes = None if blocks is None else blocks.codes[rows]
    if rows.size == table.n_rows:
        return table, y, codes
    return table.rows(rows), None if y is None else take_rows(y, rows), codes
