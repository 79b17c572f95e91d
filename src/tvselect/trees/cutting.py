"""Kernels that find the cut points of columns and put values between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tvselect.jit import kernel, part

MISSING = 255
FEW_CUTS = 4
LARGEST = float(np.finfo(np.float64).max)
HASH_SIZE = 1024
HASH_SHIFT = np.uint64(54)
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@part
def is_new(seen: NDArray[np.int64], column: int, bits: int) -> bool:
    """Enter a value, by its bits, into a column's set of values seen; whether it is new.

    ``seen`` is an open hash table of (column, bits): entries of other columns are
    free, so that nothing is cleared between two columns.
    """
    place = np.int64((np.uint64(bits) * HASH_FACTOR) >> HASH_SHIFT)
    while seen[place, 0] == column:
        if seen[place, 1] == bits:
            return False
        place = (place + 1) & (HASH_SIZE - 1)
    seen[place, 0] = column
    seen[place, 1] = bits
    return True


@part
def sort_in_place(values: NDArray[np.float64], column: int, size: int) -> None:
    """Insertion sort of the first values of a row."""
    for i in range(1, size):
        value = values[column, i]
        k = i
        while k > 0 and values[column, k - 1] > value:
            values[column, k] = values[column, k - 1]
            k -= 1
        values[column, k] = value


@part
def grid_code(value: float, low: float, step: float, per_step: float, n_cuts: int) -> int:
    """Number of grid points ``low + step, low + 2 step, ...`` at or below a value."""
    place = (value - low) * per_step
    code = 0 if not place > 0.0 else (n_cuts if place > n_cuts else int(place))
    # Rounding may be off by one: the comparison with the cut itself decides.
    while code < n_cuts and low + step * (code + 1) <= value:
        code += 1
    while code > 0 and low + step * code > value:
        code -= 1
    return code


@part
def list_code(value: float, cuts: NDArray[np.float64], first: int, last: int) -> int:
    """Number of the sorted ``cuts[first:last]`` at or below a value."""
    if last - first <= FEW_CUTS:
        code = 0
        for k in range(first, last):
            code += cuts[k] <= value
        return code
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if cuts[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - first


@kernel
def find_cuts(
    block: NDArray[np.float64],
    bits: NDArray[np.int64],
    seen: NDArray[np.int64],
    n_cuts: NDArray[np.uint8],
    low: NDArray[np.float64],
    step: NDArray[np.float64],
    sizes: NDArray[np.int64],
    halfway: NDArray[np.float64],
    n_missing: NDArray[np.int64],
    infinite: NDArray[np.bool_],
) -> None:
    """Cut points of a block of columns; ``sizes[j] > 0`` when they are listed in ``halfway``."""
    max_cuts = halfway.shape[1]
    for j in range(block.shape[0]):
        smallest, largest = np.inf, -np.inf
        n_distinct = 0
        for i in range(block.shape[1]):
            value = block[j, i]
            if value != value:
                n_missing[j] += 1
                continue
            smallest = min(smallest, value)
            largest = max(largest, value)
            if n_distinct < max_cuts and is_new(seen, j + 1, bits[j, i]):
                halfway[j, n_distinct] = value
                n_distinct += 1
        infinite[j] = n_missing[j] < block.shape[1] and not largest - smallest < np.inf
        low[j] = smallest
        if n_distinct < max_cuts:
            sort_in_place(halfway, j, n_distinct)
            sizes[j] = max(n_distinct - 1, 0)
            n_cuts[j] = sizes[j]
            for k in range(sizes[j]):
                middle = 0.5 * halfway[j, k] + 0.5 * halfway[j, k + 1]
                halfway[j, k] = middle if middle > halfway[j, k] else halfway[j, k + 1]
        else:
            step[j] = largest / (max_cuts + 1) - smallest / (max_cuts + 1)
            n_cuts[j] = max_cuts if step[j] > 0.0 else 0


@kernel
def encode_columns(
    block: NDArray[np.float64],
    n_cuts: NDArray[np.uint8],
    low: NDArray[np.float64],
    step: NDArray[np.float64],
    starts: NDArray[np.int64],
    halfway: NDArray[np.float64],
    codes: NDArray[np.uint8],
) -> None:
    """Codes of a block of columns."""
    for j in range(block.shape[0]):
        listed = starts[j + 1] > starts[j]
        cuts = int(n_cuts[j])
        per_step = min(1.0 / step[j], LARGEST) if step[j] > 0.0 else 0.0
        for i in range(block.shape[1]):
            value = block[j, i]
            if value != value:
                codes[j, i] = MISSING
            elif listed:
                codes[j, i] = list_code(value, halfway, starts[j], starts[j + 1])
            elif cuts > 0:
                codes[j, i] = grid_code(value, low[j], step[j], per_step, cuts)
