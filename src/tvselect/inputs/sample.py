"""Some rows of a table, with the columns that a selector was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.outcome import AskedFamily, one_column
from tvselect.inputs.survival import is_survival
from tvselect.inputs.table import Table, open_table, read_table


def even_rows(n_rows: int, most: int) -> NDArray[np.intp]:
    """At most so many rows, evenly spread; all where there are no more.

    Examples
    --------
    >>> even_rows(10, 4)
    array([0, 3, 6, 9])
    """
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most), dtype=np.intp))


def sample_rows(
    X: Any,
    y: Any,
    names: Sequence[str],
    *,
    named: bool,
    most: int,
    rng: np.random.Generator,
    family: AskedFamily = "auto",
) -> tuple[Table, NDArray[Any] | None]:
    """At most so many rows of a table and of an outcome, drawn at random, in their order.

    Parameters
    ----------
    X : array-like, data frame or Table
    y : array-like or None
    names : sequence of str
        Of the columns of the fit, which are those of the sample.
    named : bool
        Whether the fit knew columns by name; else they are taken by their place.
    most : int
    rng : numpy.random.Generator
    family : str
        Of the outcome, as the fit was told.

    Raises
    ------
    ValueError
        When X has other columns than the fit, or y another length.

    Examples
    --------
    >>> X = np.arange(12.0).reshape(4, 3)
    >>> rng = np.random.default_rng(0)
    >>> sample, _ = sample_rows(X, None, ("x0", "x1", "x2"), named=False, most=3, rng=rng)
    >>> sample.numbers(np.array([2])).shape
    (3, 1)
    """
    table, _ = open_table(X, "X")
    if named and table.named and tuple(names) != table.names:
        place_of = {name: place for place, name in enumerate(table.names)}
        for name in names:
            if name not in place_of:
                raise ValueError(f"X lacks column {name!r}, which the selector was fitted on")
        X = table.take(np.array([place_of[name] for name in names], dtype=np.int64))
    table = read_table(X)
    if table.n_columns != len(names):
        raise ValueError(
            f"X has {table.n_columns} columns, the selector was fitted on {len(names)}; pass the "
            "same table"
        )
    is_time = family == "survival" or is_survival(y)  # of one column, or two
    target = None if y is None else np.asarray(y) if is_time else one_column(y)
    if target is not None and len(target) != table.n_rows:
        raise ValueError(f"y has {len(target)} values but X has {table.n_rows} rows")
    rows = np.sort(rng.choice(table.n_rows, min(most, table.n_rows), replace=False))
    if rows.size == table.n_rows:
        return table, target
    return table.rows(rows), None if target is None else target[rows]
