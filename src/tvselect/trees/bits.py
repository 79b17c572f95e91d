"""Sets of rows as bits: 64 rows to a word, and codes of columns in 1, 2 or 8 bits.

A column takes as many words for 64 rows as its codes have bits. Of eight, a word holds the
codes of eight rows. Of two (codes 0, 1, 2 and missing, as genotypes have), the first word says,
in the order of the sets, which rows have at least 1 and the second which have 2; a missing
one is in the second alone. Of one, the word says which rows have 1.

Order of the bits: row ``64 w + 8 b + i`` is bit ``8 i + b`` of word ``w``. Byte
``i`` of the ``b``-th word of codes then only has to be shifted into its place.
:func:`in_bit_order` and :func:`in_row_order` translate at the border; inside the
sampler everything by row is in bit order. Rows past the end of the table are
never in any set.

All constants are ``uint64`` because Numba turns a mix of signed and unsigned
integers into floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.jit import part

ONE = np.uint64(1)
BYTE_ONES = np.uint64(0x0101010101010101)
BYTE_HIGH = np.uint64(0x8080808080808080)
BYTE_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
NIBBLE = np.uint64(15)
PAIRS = np.uint64(0x5555555555555555)
QUADS = np.uint64(0x3333333333333333)
OCTETS = np.uint64(0x0F0F0F0F0F0F0F0F)
S1, S2, S4, S56 = (np.uint64(k) for k in (1, 2, 4, 56))
SEVEN, EIGHT = np.uint64(7), np.uint64(8)
SHIFTS = np.arange(8, dtype=np.uint64)
SEVEN_BITS, EIGHTH_BIT, NONE = np.uint64(127), np.uint64(128), np.uint64(0)
OTHER_SIX_BITS = np.uint64(252)
WIDE = 8
"""Bits of a code that may be any."""


def in_bit_order(values: NDArray[Any]) -> NDArray[Any]:
    """Values by row, padded with zeros to whole words and put in the order of the bits."""
    padded = np.zeros(64 * n_words(values.size), dtype=values.dtype)
    padded[: values.size] = values
    return np.ascontiguousarray(padded.reshape(-1, 8, 8).swapaxes(1, 2)).ravel()


def in_row_order(values: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Undo :func:`in_bit_order`."""
    return np.ascontiguousarray(values.reshape(-1, 8, 8).swapaxes(1, 2)).ravel()[:n_rows]


def n_words(n_rows: int) -> int:
    """Words that a set of rows takes."""
    return -(-n_rows // 64)


def pack(codes: NDArray[np.uint8], width: int) -> NDArray[np.uint64]:
    """Codes (columns, rows padded to a multiple of 64) in words, of ``width`` bits each."""
    words = codes.view(np.uint64)
    if width == WIDE:
        return words
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
        return words.view(np.uint8)
    planes = words.reshape(len(words), -1, width, 1)
    spread = (planes >> SHIFTS) & BYTE_ONES
    if width == 1:
        return spread.reshape(len(words), -1).view(np.uint8)
    at_least_1, at_least_2 = spread[:, :, 0], spread[:, :, 1]
    low = at_least_1 ^ at_least_2
    both = low | (at_least_2 << S1) | ((low & at_least_2) * OTHER_SIX_BITS)
    return both.reshape(len(words), -1).view(np.uint8)


@part
def bit_place(row: int) -> int:
    """Place of a row in the order of the bits."""
    return (row & ~63) + 8 * (row & 7) + ((row >> 3) & 7)


@part
def popcount(word: np.uint64) -> np.uint64:
    """Number of ones (LLVM knows this form and emits the machine's instruction)."""
    word = word - ((word >> S1) & PAIRS)
    word = (word & QUADS) + ((word >> S2) & QUADS)
    word = (word + (word >> S4)) & OCTETS
    return np.uint64(word * BYTE_ONES) >> S56


@part
def rows_at_most(
    codes: NDArray[np.uint64],
    start: int,
    width: int,
    masks: NDArray[np.uint64],
    leaf: int,
    cut: int,
    missing_left: int,
    out: NDArray[np.uint64],
) -> int:
    """Rows of the set ``masks[:, leaf]`` that a split sends left; returns how many.

    The codes of the column, ``width`` bits each, begin at the word ``start``. A row goes left
    when its code is at most ``cut``, or is 255 (missing) and ``missing_left`` is 1: both are
    ``(code + m) mod 256 <= cut + m``, computed here for eight rows at once in the bytes of a word.
    Codes of one and two bits take a word or two for 64 rows.
    """
    n_left = NONE
    if width < WIDE:
        for w in range(masks.shape[0]):
            at_least_1 = codes[start + width * w]
            at_least_2 = codes[start + width * w + width - 1]  # of one bit: the same
            if cut == 0:
                right = at_least_1 if missing_left == 1 else at_least_1 | at_least_2
            else:
                right = at_least_1 & at_least_2 if missing_left == 1 else at_least_2
            out[w] = masks[w, leaf] & ~right
            n_left += popcount(out[w])
        return int(n_left)
    shift = np.uint64(missing_left) * BYTE_ONES
    bound = np.uint64(cut + missing_left)
    low = ((bound & SEVEN_BITS) * BYTE_ONES) | BYTE_HIGH
    wide = BYTE_HIGH if bound >= EIGHTH_BIT else NONE
    plain = missing_left == 0 and wide == NONE
    for w in range(masks.shape[0]):
        rows = masks[w, leaf]
        picked = NONE
        if rows != NONE:
            for b in range(8):
                x = codes[start + 8 * w + b]
                if plain:
                    at_most = (low - (x & BYTE_LOW)) & ~x
                else:
                    x = ((x & BYTE_LOW) + shift) ^ (x & BYTE_HIGH)
                    below = low - (x & BYTE_LOW)
                    at_most = (below & ~x) | (wide & (below | ~x))
                picked |= (at_most & BYTE_HIGH) >> (SEVEN - np.uint64(b))
            picked &= rows
            n_left += popcount(picked)
        out[w] = picked
    return int(n_left)


@part
def whole_fours(size: int) -> int:
    """The next multiple of four: loops to there need no code for a rest."""
    return 4 * ((size + 3) // 4)


@part
def overlaps(
    masks: NDArray[np.uint64], n_sets: int, rows: NDArray[np.uint64], out: NDArray[np.int64]
) -> None:
    """How many of ``rows`` lie in each of the first ``n_sets`` sets.

    Four words at a time, so that the counts are read and written less often; there must
    be room for a multiple of four sets.
    """
    n_words, n_counts = masks.shape[0], whole_fours(n_sets)
    for k in range(n_counts):
        out[k] = 0
    for w in range(0, n_words - 3, 4):
        r0, r1, r2, r3 = rows[w], rows[w + 1], rows[w + 2], rows[w + 3]
        if (r0 | r1 | r2 | r3) != NONE:
            for k in range(n_counts):
                out[k] += np.int64(
                    popcount(masks[w, k] & r0)
                    + popcount(masks[w + 1, k] & r1)
                    + popcount(masks[w + 2, k] & r2)
                    + popcount(masks[w + 3, k] & r3)
                )
    for w in range(n_words - n_words % 4, n_words):
        word = rows[w]
        if word != NONE:
            for k in range(n_counts):
                out[k] += np.int64(popcount(masks[w, k] & word))


@part
def tabulate_sums(values: NDArray[np.float64], table: NDArray[np.float64]) -> None:
    """Sums of every subset of each four neighbouring values: ``table[i, subset]``."""
    for i in range(table.shape[0]):
        table[i, 0] = 0.0
        for b in range(4):
            size = 1 << b
            for subset in range(size):
                table[i, size + subset] = table[i, subset] + values[4 * i + b]


@part
def sum_over(table: NDArray[np.float64], rows: NDArray[np.uint64]) -> float:
    """Sum of the tabulated values over a set of rows."""
    s0 = s1 = s2 = s3 = 0.0
    for w in range(rows.shape[0]):
        word = rows[w]
        if word != NONE:
            for i in range(16 * w, 16 * w + 16, 4):
                s0 += table[i, np.int64(word & NIBBLE)]
                s1 += table[i + 1, np.int64((word >> np.uint64(4)) & NIBBLE)]
                s2 += table[i + 2, np.int64((word >> np.uint64(8)) & NIBBLE)]
                s3 += table[i + 3, np.int64((word >> np.uint64(12)) & NIBBLE)]
                word >>= np.uint64(16)
    return (s0 + s1) + (s2 + s3)


@part
def weighted_sum(counts: NDArray[np.int64], weights: NDArray[np.float64], size: int) -> float:
    """Sum of ``counts[k] * weights[k]`` over the first ``size`` entries."""
    s0 = s1 = s2 = s3 = 0.0
    whole = size - size % 4
    for k in range(0, whole, 4):
        s0 += counts[k] * weights[k]
        s1 += counts[k + 1] * weights[k + 1]
        s2 += counts[k + 2] * weights[k + 2]
        s3 += counts[k + 3] * weights[k + 3]
    for k in range(whole, size):
        s0 += counts[k] * weights[k]
    return (s0 + s1) + (s2 + s3)
