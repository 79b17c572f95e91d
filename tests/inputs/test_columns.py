"""Ranks of columns."""

from __future__ import annotations

import numpy as np

from tvselect.inputs.columns import centred_ranks, centred_ranks_of_codes


def test_counted_ranks_are_sorted_ranks_to_the_bit():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, (5, 300)).astype(np.uint8)
    codes[1, ::7] = 255
    codes[2] = 4
    codes[3] = 255
    values = np.where(codes == 255, np.nan, codes)
    np.testing.assert_array_equal(centred_ranks_of_codes(codes), centred_ranks(values))
