"""The random numbers of a play inside kernels: what NumPy draws from SFC64, bit for bit.

Kernels work on the state of a generator where it lies in memory: four words and, in a fifth,
whether half a word is left over (low half) and which (high half). A compiled generator on
the same state goes on from there.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from tvselect.jit import part

WordArray = NDArray[np.uint64]

ZERO, ONE, S3, S8, S11, S24, S32, S40 = (np.uint64(k) for k in (0, 1, 3, 8, 11, 24, 32, 40))
LOW_HALF, HALF = np.uint64(2**32 - 1), np.uint64(2**32)
FLOAT_STEP = np.float32(2.0**-24)


def state_in_memory(bits: np.random.SFC64) -> WordArray | None:
    """The state of a generator, not a copy; None where NumPy keeps it in another form.

    The array must not outlive the generator.
    """
    address = bits.ctypes.state_address
    words = np.ctypeslib.as_array((ctypes.c_uint64 * 5).from_address(address))
    state = bits.state
    left_over = state["has_uint32"] + (state["uinteger"] << 32)
    return words if [*state["state"]["state"], left_over] == [*words] else None


@part
def seed(words: WordArray, seeds: WordArray) -> None:
    """Start from three words of a seed sequence, as ``SFC64(sequence)`` does."""
    for k in range(3):
        words[k] = seeds[k]
    words[3] = ONE
    words[4] = ZERO
    for _ in range(12):
        next_word(words)


@part
def next_word(words: WordArray) -> np.uint64:
    """The next 64 bits."""
    words[0], words[1], words[2], value = step(words[0], words[1], words[2], words[3])
    words[3] += ONE
    return value


@part
def step(
    a: np.uint64, b: np.uint64, c: np.uint64, count: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Three words of the state after a step, and the 64 bits that it gives."""
    value = a + b + count
    return b ^ (b >> S11), c + (c << S3), ((c << S24) | (c >> S40)) + value, value


@part
def next_half(words: WordArray) -> np.uint64:
    """The next 32 bits: a word is used low half first."""
    if words[4] & LOW_HALF:
        words[4] &= ~LOW_HALF
        return words[4] >> S32
    value = next_word(words)
    words[4] = (value & ~LOW_HALF) | ONE
    return value & LOW_HALF


@part
def floats_reaching(words: WordArray, bounds: NDArray[np.float32], found: NDArray[np.int32]) -> int:
    """Places of ``Generator.random(bounds.size, dtype=np.float32) >= bounds``; how many.

    The state is kept apart in the loop: stored at every step, it would take four times as long.
    """
    a, b, c, count, left = words[0], words[1], words[2], words[3], words[4]
    n_found = 0
    for i in range(bounds.shape[0]):
        if left & LOW_HALF:
            half, left = left >> S32, left & ~LOW_HALF
        else:
            a, b, c, value = step(a, b, c, count)
            count += ONE
            half, left = value & LOW_HALF, (value & ~LOW_HALF) | ONE
        found[n_found] = i
        n_found += np.float32(half >> S8) * FLOAT_STEP >= bounds[i]
    words[0], words[1], words[2], words[3], words[4] = a, b, c, count, left
    return n_found


@part
def next_below(words: WordArray, n: int) -> np.int64:
    """``Generator.integers(n)`` for ``n < 2**32``, without bias (Lemire 2019)."""
    if n == 1:
        return np.int64(0)
    bound = np.uint64(n)
    product = next_half(words) * bound
    if product & LOW_HALF < bound:
        least = (HALF - bound) % bound
        while product & LOW_HALF < least:
            product = next_half(words) * bound
    return np.int64(product >> S32)


@part
def shuffle(words: WordArray, values: NDArray[np.int64]) -> None:
    """``Generator.permuted``: places are drawn by rejection."""
    mask = ONE
    while np.int64(mask) < values.shape[0] - 1:
        mask = (mask << ONE) | ONE
    for i in range(values.shape[0] - 1, 0, -1):
        if np.int64(mask >> ONE) >= i:
            mask >>= ONE
        j = np.int64(next_half(words) & mask)
        while j > i:
            j = np.int64(next_half(words) & mask)
        values[i], values[j] = values[j], values[i]
