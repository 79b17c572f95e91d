"""What the columns of a table hold, and which of them say nothing about an outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.facts import LeftOut
from tvselect.inputs.text import TextColumn
from tvselect.inputs.written import SHARE_OF_NUMBERS, Writing, read_numbers

FEW_ROWS = 10
MOST_CATEGORIES = 100
LONG_TEXT = 25
ID_NAME = re.compile(
    r"(?i:|id|index|idx|uuid|guid|row_?(names?|id|number|num|nr|no)|unnamed: ?\d+"
    r"|__index_level_\d+__|(id|uuid)[ _.-].*|.*[ _.-](id|uuid|guid|idx))|.*[a-z](ID|Id)"
)


class Scan(NamedTuple):
    """Columns of numbers, one value per column.

    Attributes
    ----------
    low, high : float64 arrays
        Smallest and largest finite value; infinite the other way round where there is none.
    n_missing, n_infinite : int64 arrays
        Infinite values count as missing, too.
    digest : int64 array
        A hash of the values, of this process: alike where they are.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n_missing: NDArray[np.int64]
    n_infinite: NDArray[np.int64]
    digest: NDArray[np.int64]


def scan_block(block: NDArray[np.float64]) -> Scan:
    """Look at columns of numbers (columns, rows); infinite values become missing ones.

    Examples
    --------
    >>> found = scan_block(np.array([[1.0, 3.0, np.inf], [2.0, 2.0, np.nan]]))
    >>> found.low, found.high, found.n_missing, found.n_infinite
    (array([1., 2.]), array([3., 2.]), array([1, 1]), array([1, 0]))
    """
    n_missing, n_infinite = (np.zeros(len(block), np.int64) for _ in range(2))
    bad = ~np.isfinite(block)
    if bad.any():
        n_missing[:], n_infinite[:] = bad.sum(axis=1), np.isinf(block).sum(axis=1)
        block[bad] = np.nan  # also those of other bits
    return Scan(
        np.fmin.reduce(block, axis=1, initial=np.inf),
        np.fmax.reduce(block, axis=1, initial=-np.inf),
        n_missing,
        n_infinite,
        np.array([hash(values.tobytes()) for values in block], dtype=np.int64),
    )


def profile_numbers(
    names: Sequence[str], block: NDArray[np.float64], found: Scan, is_whole: NDArray[np.bool_]
) -> dict[str, LeftOut]:
    """Why columns of numbers (columns, rows) are of no use, by name.

    Infinite values are missing ones already; ``is_whole`` says which types are whole numbers.
    """
    n_rows = block.shape[1]
    left_out = {}
    for j in np.flatnonzero(found.low >= found.high).tolist():
        left_out[names[j]] = LeftOut("no value")
        if found.low[j] == found.high[j]:
            left_out[names[j]] = LeftOut("constant", f"{found.low[j]:g}")
    if n_rows < FEW_ROWS:
        return left_out
    counts_rows = np.isin(found.low, (0.0, 1.0)) & (found.high == found.low + (n_rows - 1))
    for j in np.flatnonzero(is_whole & (found.low < found.high)).tolist():
        named = is_id(names[j])
        if not counts_rows[j] and not named:
            continue
        n_distinct = np.unique(block[j]).size
        steps = np.diff(block[j])
        in_order = (steps == 1.0).all() or (steps == -1.0).all()
        if counts_rows[j] and in_order:
            low, high = float(found.low[j]), float(found.high[j])
            left_out[names[j]] = LeftOut("row numbers", low=low, high=high)
        elif named and _is_many(n_distinct, n_rows):
            left_out[names[j]] = LeftOut("identifier")
    return left_out


def profile_text(
    name: str, column: TextColumn, writing: Writing | None = None
) -> tuple[LeftOut | None, str | None]:
    """Why a column of text is of no use; and where nearly all are numbers, a text that is none."""
    texts = column.levels
    times = np.bincount(column.codes[column.codes >= 0], minlength=len(texts))
    n = int(times.sum())
    if n == 0:
        return LeftOut("no value"), None
    numbers = read_numbers(texts, writing)
    is_number = ~np.isnan(numbers)
    if times[is_number].sum() >= SHARE_OF_NUMBERS * n:
        odd = next((text for text, good in zip(texts, is_number, strict=True) if not good), "")
        return profile_days(name, np.where(np.isinf(numbers), np.nan, numbers)), odd
    if len(texts) == 1:
        return LeftOut("constant", _short(texts[0])), None
    if is_id(name) and _is_many(len(texts), n):
        return LeftOut("identifier"), None
    if n >= FEW_ROWS and len(texts) == n:
        is_long = sum(map(len, texts)) > LONG_TEXT * n
        return LeftOut("free text" if is_long else "all different"), None
    if len(texts) > MOST_CATEGORIES or (n >= FEW_ROWS and 2 * len(texts) > n):
        return LeftOut("many texts", n_distinct=len(texts), n_rows=n), None
    return None, None


def profile_days(name: str, values: NDArray[np.float64]) -> LeftOut | None:
    """Why a column of dates, or of numbers written as text, is of no use."""
    block = values[None, :]
    return profile_numbers([name], block, scan_block(block), np.zeros(1, np.bool_)).get(name)


def text_to_numbers(column: TextColumn, writing: Writing | None = None) -> NDArray[np.float64]:
    """Text as finite numbers, NaN where it is none."""
    numbers = np.append(read_numbers(column.levels, writing), np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers)[column.codes]


def is_id(name: str) -> bool:
    """Whether a column is an identifier by its name."""
    return ID_NAME.fullmatch(name) is not None


def _is_many(n_distinct: int, n_rows: int) -> bool:
    """Too many values for the codes of a few kinds."""
    return n_distinct > max(2 * FEW_ROWS, n_rows // 20) or n_distinct == n_rows


def _short(text: str) -> str:
    return repr(text if len(text) <= LONG_TEXT else text[: LONG_TEXT - 3] + "...")
