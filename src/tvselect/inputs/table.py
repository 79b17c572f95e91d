"""Tables of numbers with names: arrays and data frames alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.names import Numbered
from tvselect.inputs.values import as_array, is_null, is_text

Block = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """A table that hands out blocks of columns as floats.

    Attributes
    ----------
    n_rows, n_columns : int
    names : sequence of str
        Column names; ``x0``, ``x1``, ... where the input has none.
    named : bool
        Whether the names came with the input.
    block : callable
        ``block(first, last)``: the columns ``first`` to ``last`` as a C-contiguous
        float64 array (columns, rows), missing values as NaN.
    """

    n_rows: int
    n_columns: int
    names: Sequence[str]
    named: bool
    block: Callable[[int, int], Block]


def read_table(X: Any, *, what: str = "X") -> Table:
    """Check a table and wrap it; no copy of the whole is made.

    Parameters
    ----------
    X : array-like (rows, columns), or a pandas, polars or Arrow data frame
        Numbers or booleans. Missing values may be NaN, None or null.
    what : str
        Its name in error messages.

    Raises
    ------
    TypeError
        For columns that hold no numbers, sparse matrices and the like.
    ValueError
        For empty tables, wrong dimensions and repeated names.
    """
    frame = _as_frame(X, what)
    table = _from_array(X, what) if frame is None else _from_frame(frame, what)
    if table.n_rows == 0 or table.n_columns == 0:
        raise ValueError(f"{what} is empty: {table.n_rows} rows, {table.n_columns} columns")
    return table


def _as_frame(X: Any, what: str) -> nw.DataFrame[Any] | None:
    if nw.dependencies.is_into_series(X):
        raise ValueError(f"{what} is a single column; pass a table with rows and columns")
    try:
        native = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = X.column_names if hasattr(X, "column_names") else X.columns
        _refuse_repeated(names, what)
        raise
    if isinstance(native, nw.LazyFrame):
        raise TypeError(f"{what} is a lazy frame; collect it first")
    return native if isinstance(native, nw.DataFrame) else None


def _from_frame(frame: nw.DataFrame[Any], what: str) -> Table:
    schema = frame.schema
    names = list(schema)
    _refuse_repeated(names, what)
    for name, dtype in schema.items():
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object, nw.Unknown)):
            raise TypeError(_not_numbers(what, name, str(dtype)))

    def column(name: str) -> Block:
        try:
            return _as_floats(frame.get_column(name).to_numpy())
        except (TypeError, ValueError):
            raise TypeError(_not_numbers(what, name, "mixed or text")) from None

    def block(first: int, last: int) -> Block:
        return np.stack([column(name) for name in names[first:last]])

    return Table(frame.shape[0], len(names), tuple(map(str, names)), True, block)


def _from_array(X: Any, what: str) -> Table:
    if hasattr(X, "toarray"):
        raise TypeError(f"{what} is a sparse matrix; pass a dense one ({what}.toarray())")
    array = as_array(X, what)
    if array.ndim != 2:
        raise ValueError(
            f"{what} must have two dimensions (rows, columns), got shape {array.shape}"
            + ("; use reshape(-1, 1) for a single column" if array.ndim == 1 else "")
        )
    if np.iscomplexobj(array):
        raise TypeError(f"{what} holds complex numbers")
    names = Numbered(array.shape[1])

    def block(first: int, last: int) -> Block:
        part = array[:, first:last].T
        if array.dtype.kind in "biuf":
            return np.ascontiguousarray(part, dtype=np.float64)
        out = np.empty(part.shape)
        for offset, values in enumerate(part):
            try:
                out[offset] = _as_floats(values)
            except (TypeError, ValueError):
                raise TypeError(
                    _not_numbers(what, names[first + offset], "mixed or text")
                ) from None
        return out

    return Table(array.shape[0], array.shape[1], names, False, block)


def _as_floats(values: NDArray[Any]) -> Block:
    if values.dtype.kind in "USmMc":
        raise TypeError
    if values.dtype.kind == "O":
        if any(is_text(v) for v in values):
            raise TypeError
        values = np.array([np.nan if is_null(v) else v for v in values], dtype=np.float64)
    return values.astype(np.float64, copy=False)


def _refuse_repeated(names: Iterable[Any], what: str) -> None:
    for name, times in Counter(map(str, names)).most_common(1):
        if times > 1:
            raise ValueError(f"{what} has {times} columns named {name!r}; rename them")


def _not_numbers(what: str, name: str, kind: str) -> str:
    return (
        f"column {name!r} of {what} holds no numbers ({kind}); "
        "encode it as numbers (for instance one column per category) or leave it out"
    )
