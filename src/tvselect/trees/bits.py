"""Sets of rows as bits: 64 rows to a word, and codes of columns in 1, 2 or 8 bits.

A column takes as many words for 64 rows as its codes have bits. Of eight, the bytes of eight
words are the codes. Of two (codes 0, 1, 2 and missing, as genotypes have), the first word says
which rows have at least 1 and the second which have 2; a missing one is in the second alone. Of
one, the word says which rows have 1.

Order of the bits: row ``64 w + 8 b + i`` is bit ``8 i + b`` of word ``w``, and byte ``8 i + b`` of
a column of eight bits. :func:`in_bit_order` and :func:`in_row_order` translate at the border;
inside the sampler everything by row is in bit order. Rows past the end of the table are never in
any set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.core import function

ONE = np.uint64(1)
BYTE_ONES = np.uint64(0x0101010101010101)
SHIFTS = np.arange(8, dtype=np.uint64)
OTHER_SIX_BITS = np.uint64(252)
WIDE = 8
"""Bits of a code that may be any."""
MISSING = 255
_transpose_codes = function("transpose_codes", "codes: u1[codes]\nout: u1[codes]!")


def in_bit_order(values: NDArray[Any]) -> NDArray[Any]:
    """Values by row, padded with zeros to whole words and put in the order of the bits."""
    padded = np.zeros(64 * n_words(values.size), dtype=values.dtype)
    padded[: values.size] = values
    return _transposed(padded)


def in_row_order(values: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Undo :func:`in_bit_order`."""
    return _transposed(values)[:n_rows]


def _transposed_codes(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    out = np.empty(codes.shape, dtype=np.uint8)
    _transpose_codes(np.ascontiguousarray(codes).ravel(), out.reshape(-1))
    return out


def _transposed(values: NDArray[Any]) -> NDArray[Any]:
    """Every 64 values as a square of eight by eight, transposed."""
    squares = values.reshape(-1, 8, 8).swapaxes(1, 2)
    return np.ascontiguousarray(squares).reshape(values.shape)


def n_words(n_rows: int) -> int:
    """Words that a set of rows takes."""
    return -(-n_rows // 64)


def pack(codes: NDArray[np.uint8], width: int) -> NDArray[np.uint64]:
    """Codes (columns, rows padded to a multiple of 64) in words, of ``width`` bits each."""
    if width == WIDE:
        return _transposed_codes(codes).view(np.uint64)
    words = codes.view(np.uint64)
    words = words.reshape(len(codes), -1, 8)
    low, high = (
        np.bitwise_or.reduce(((words >> np.uint64(bit)) & BYTE_ONES) << SHIFTS, axis=2)
        for bit in range(2)
    )
    if width == 1:
        return low
    return np.stack([low ^ high, high], axis=2).reshape(len(codes), -1)


def unpack(words: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Undo :func:`pack`."""
    if width == WIDE:
        return _transposed_codes(words.view(np.uint8))
    planes = words.reshape(len(words), -1, width, 1)
    spread = (planes >> SHIFTS) & BYTE_ONES
    if width == 1:
        return spread.reshape(len(words), -1).view(np.uint8)
    at_least_1, at_least_2 = spread[:, :, 0], spread[:, :, 1]
    low = at_least_1 ^ at_least_2
    both = low | (at_least_2 << ONE) | ((low & at_least_2) * OTHER_SIX_BITS)
    return both.reshape(len(words), -1).view(np.uint8)
