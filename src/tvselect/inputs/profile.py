"""What the columns of a table hold, and which of them say nothing about an outcome."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.facts import LeftOut
from tvselect.inputs.text import TextColumn
from tvselect.jit import kernel

FEW_ROWS = 10
MOST_CATEGORIES = 100
SHARE_OF_NUMBERS = 0.9
LONG_TEXT = 25
ID_NAME = re.compile(
    r"(|id|index|idx|uuid|guid|row_?(names?|id|number|num|nr|no)|unnamed: ?\d+)"
    r"|(id|uuid)[ _.-].*|.*[ _.-](id|uuid|guid|idx)",
    re.IGNORECASE,
)
CAMEL_ID = re.compile(r".*[a-z](ID|Id)")
MAYBE_ID = re.compile(r"^$|id|idx|index|row|unnamed", re.IGNORECASE)
NAN_BITS = np.uint64(0x7FF8000000000000)
MIX = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(29)


class Scan(NamedTuple):
    """Columns of numbers, one value per column.

    Attributes
    ----------
    low, high : float64 arrays
        Smallest and largest finite value; infinite the other way round where there is none.
    n_missing, n_infinite : int64 arrays
        Infinite values count as missing, too.
    digest : uint64 array
        A hash of the values: alike where they are.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n_missing: NDArray[np.int64]
    n_infinite: NDArray[np.int64]
    digest: NDArray[np.uint64]


@dataclass(frozen=True)
class TextProfile:
    """A column of text.

    Attributes
    ----------
    left_out : LeftOut or None
    is_numbers : bool
        Whether nearly all texts are numbers.
    odd_cell : str
        A text that is none, where nearly all are.
    """

    left_out: LeftOut | None
    is_numbers: bool = False
    odd_cell: str = ""


def scan_block(block: NDArray[np.float64]) -> Scan:
    """Look at columns of numbers (columns, rows); infinite values become missing ones.

    Examples
    --------
    >>> found = scan_block(np.array([[1.0, 3.0, np.inf], [2.0, 2.0, np.nan]]))
    >>> found.low, found.high, found.n_missing, found.n_infinite
    (array([1., 2.]), array([3., 2.]), array([1, 1]), array([1, 0]))
    """
    n = len(block)
    found = Scan(
        np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty(n, np.uint64),
    )  # fmt: skip
    scan_columns(block, block.view(np.uint64), *found)
    return found


@kernel
def scan_columns(
    block: NDArray[np.float64],
    bits: NDArray[np.uint64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    n_missing: NDArray[np.int64],
    n_infinite: NDArray[np.int64],
    digest: NDArray[np.uint64],
) -> None:
    """Scan a block; ``bits`` are its bytes."""
    for j in range(block.shape[0]):
        low[j], high[j] = np.inf, -np.inf
        n_missing[j] = n_infinite[j] = 0
        hashed = MIX
        for i in range(block.shape[1]):
            value = block[j, i]
            word = bits[j, i]
            if value - value != 0.0:
                if value == value:
                    n_infinite[j] += 1
                    block[j, i] = np.nan
                n_missing[j] += 1
                word = NAN_BITS
            else:
                low[j] = min(low[j], value)
                high[j] = max(high[j], value)
            hashed = (hashed ^ word) * MIX
            hashed ^= hashed >> SHIFT
        digest[j] = hashed


def profile_numbers(
    name: str, values: NDArray[np.float64], low: float, high: float, *, is_whole: bool
) -> LeftOut | None:
    """Why a column of numbers is of no use; its infinite values are missing ones already."""
    if low > high:
        return LeftOut("no value")
    if low == high:
        return LeftOut("constant", f"{low:g}")
    if not is_whole or values.size < FEW_ROWS:
        return None
    counts_rows = low in (0.0, 1.0) and high - low == values.size - 1
    if not counts_rows and not is_id(name):
        return None
    n_distinct = np.unique(values).size
    if counts_rows and n_distinct == values.size:
        return LeftOut("row numbers", low=low, high=high)
    return LeftOut("identifier") if is_id(name) and _is_many(n_distinct, values.size) else None


def worth_a_look(
    names: Sequence[str], found: Scan, n_rows: int, is_whole: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Columns of numbers that :func:`profile_numbers` may have something to say about."""
    flat = found.low >= found.high
    counting = is_whole & np.isin(found.low, (0.0, 1.0)) & (found.high - found.low == n_rows - 1)
    named = np.zeros(len(names), dtype=np.bool_)
    for place in np.flatnonzero(is_whole):
        named[place] = MAYBE_ID.search(names[int(place)]) is not None
    return np.flatnonzero(flat | counting | named)


def profile_text(name: str, column: TextColumn) -> TextProfile:
    """What a column of text is taken for."""
    texts = column.levels
    times = np.bincount(column.codes[column.codes >= 0], minlength=len(texts))
    n = int(times.sum())
    if n == 0:
        return TextProfile(LeftOut("no value"))
    numbers = numbers_of_levels(texts)
    is_number = ~np.isnan(numbers)
    if times[is_number].sum() >= SHARE_OF_NUMBERS * n:
        finite = numbers[np.isfinite(numbers)]
        low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
        odd = next((text for text, good in zip(texts, is_number, strict=True) if not good), "")
        left_out = profile_numbers(name, numbers, low, high, is_whole=False)
        return TextProfile(left_out, True, odd)
    if len(texts) == 1:
        return TextProfile(LeftOut("constant", _short(texts[0])))
    if is_id(name) and _is_many(len(texts), n):
        return TextProfile(LeftOut("identifier"))
    if n >= FEW_ROWS and len(texts) == n:
        is_long = sum(map(len, texts)) > LONG_TEXT * n
        return TextProfile(LeftOut("free text" if is_long else "all different"))
    if len(texts) > MOST_CATEGORIES or (n >= FEW_ROWS and 2 * len(texts) > n):
        return TextProfile(LeftOut("many texts", n_distinct=len(texts), n_rows=n))
    return TextProfile(None)


def text_to_numbers(column: TextColumn) -> NDArray[np.float64]:
    """Text as finite numbers, NaN where it is none."""
    numbers = np.append(numbers_of_levels(column.levels), np.nan)
    return np.where(np.isinf(numbers), np.nan, numbers)[column.codes]


def numbers_of_levels(levels: Sequence[str]) -> NDArray[np.float64]:
    """Texts as numbers, NaN where they are none."""
    return np.array([_number(text) for text in levels], dtype=np.float64)


def is_id(name: str) -> bool:
    """Whether a column is an identifier by its name."""
    return bool(ID_NAME.fullmatch(name) or CAMEL_ID.fullmatch(name))


def _is_many(n_distinct: int, n_rows: int) -> bool:
    """Too many values for the codes of a few kinds."""
    return n_distinct > max(2 * FEW_ROWS, n_rows // 20) or n_distinct == n_rows


def _number(text: str) -> float:
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        return float("nan")


def _short(text: str) -> str:
    return repr(text if len(text) <= LONG_TEXT else text[: LONG_TEXT - 3] + "...")
