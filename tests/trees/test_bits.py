from __future__ import annotations

import numpy as np
import pytest

from tests.core import probes
from tvselect.trees import state


def as_words(rows):
    """Row sets (rows, sets) as words (words, sets), bit by bit as the module says."""
    words = np.zeros((-(-len(rows) // 64), rows.shape[1]), dtype=np.uint64)
    for row, k in zip(*np.nonzero(rows), strict=True):
        w, b, i = row // 64, row % 64 // 8, row % 8
        words[w, k] |= np.uint64(1 << (8 * i + b))
    return words


def random_rows(rng, n_rows, n_sets):
    return rng.random((n_rows, n_sets)) < rng.random(n_sets)


@pytest.mark.parametrize("n_rows", [1, 7, 8, 63, 64, 65, 128, 300])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.bool_])
def test_bit_order_and_back_is_the_identity(n_rows, dtype):
    values = np.random.default_rng(n_rows).integers(0, 2, n_rows).astype(dtype)
    ordered = state.in_bit_order(values)
    assert ordered.size == 64 * -(-n_rows // 64)
    assert ordered.dtype == dtype
    assert ordered.sum() == values.sum()
    np.testing.assert_array_equal(state.in_row_order(ordered, n_rows), values)


def test_bit_order_puts_every_row_where_it_is_said():
    ordered = state.in_bit_order(np.arange(1, 193))
    for row in range(192):
        assert ordered[probes.bit_place(row)] == row + 1
        assert ordered[64 * (row // 64) + 8 * (row % 8) + row % 64 // 8] == row + 1


@pytest.mark.parametrize("missing_left", [0, 1])
def test_rows_at_most_are_those_that_a_split_sends_left(missing_left):
    rng = np.random.default_rng(1)
    codes = np.stack([rng.permutation(np.arange(320) % 256) for _ in range(2)]).astype(np.uint8)
    rows = random_rows(rng, 320, 3)
    rows[64:128, 1] = False
    masks, words = as_words(rows), state.pack_codes(codes, 8).ravel()
    out = np.full(5, 12345, dtype=np.uint64)
    for cut in range(254):
        n_left = probes.rows_at_most(words, 40, 8, masks, 1, cut, missing_left, out)
        left = rows[:, 1] & ((codes[1] <= cut) | ((codes[1] == 255) & (missing_left == 1)))
        np.testing.assert_array_equal(out, as_words(left[:, None])[:, 0])
        assert n_left == left.sum()


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("n_rows", [1, 50, 64, 100])
def test_rows_at_most_never_takes_padding(missing_left, n_rows):
    codes = np.zeros((1, 64 * -(-n_rows // 64)), dtype=np.uint8)
    codes[0, :n_rows:2] = 255
    masks = as_words(np.ones((n_rows, 1), bool))
    out = np.zeros(len(masks), dtype=np.uint64)
    n_left = probes.rows_at_most(
        state.pack_codes(codes, 8)[0], 0, 8, masks, 0, 0, missing_left, out
    )
    assert n_left == (n_rows if missing_left else n_rows // 2)
    assert not (out & ~masks[:, 0]).any()


@pytest.mark.parametrize(("width", "values"), [(1, [0, 1]), (2, [0, 1, 2, 255])])
def test_narrow_codes_are_split_as_wide_ones_are(width, values):
    rng = np.random.default_rng(3)
    codes = rng.choice(values, (2, 192)).astype(np.uint8)
    masks = as_words(random_rows(rng, 192, 2))
    narrow = state.pack_codes(codes, width)
    ways = [(cut, side) for cut in range(width) for side in (0, 1)] if width > 1 else [(0, 0)]
    for cut, missing_left in ways:
        found = []
        for words, bits_of_code in ((state.pack_codes(codes, 8), 8), (narrow, width)):
            out = np.zeros(3, dtype=np.uint64)
            flat, start = words.ravel(), words.shape[1]
            n = probes.rows_at_most(flat, start, bits_of_code, masks, 1, cut, missing_left, out)
            found.append((n, *out.tolist()))
        assert found[0] == found[1]


@pytest.mark.parametrize("n_sets", [1, 3, 4, 5, 7, 8, 9, 11, 12, 16])
@pytest.mark.parametrize("n_rows", [1, 64, 100, 330])
def test_overlaps_count_common_rows_and_weigh_them(n_rows, n_sets):
    rng = np.random.default_rng(n_rows)
    rows, some = random_rows(rng, n_rows, n_sets), random_rows(rng, n_rows, 1)
    some[:64] = False
    room = -(-n_sets // 8) * 8
    sets = np.pad(as_words(rows), ((0, 0), (0, room - n_sets)))
    out, weights = np.full(room + 8, -1, dtype=np.int32), rng.standard_normal(room + 8)
    total = probes.overlaps(sets, n_sets, np.ascontiguousarray(as_words(some)[:, 0]), weights, out)
    wanted = (rows & some).sum(axis=0)
    np.testing.assert_array_equal(out[:n_sets], wanted)
    assert (out[room:] == -1).all()
    assert total == pytest.approx(wanted @ weights[:n_sets], abs=1e-10)


@pytest.mark.parametrize("n_rows", [1, 20, 64, 129, 400])
def test_sums_over_sets_of_rows_are_right(n_rows):
    rng = np.random.default_rng(n_rows)
    values, rows = rng.standard_normal(n_rows), random_rows(rng, n_rows, 8)
    rows[:, 0], rows[:, 1] = False, True
    words = as_words(rows)
    spread = np.zeros(64 * len(words))
    probes.spread(state.in_bit_order(values), spread)
    np.testing.assert_array_equal(np.sort(spread[spread != 0]), np.sort(values))
    for k in range(8):
        total = probes.sum_over(spread, np.ascontiguousarray(words[:, k]))
        assert total == pytest.approx(values[rows[:, k]].sum(), abs=1e-11)
