from __future__ import annotations

from functools import cache

import numba
import numpy as np
import pytest

from tvselect.trees import bits
from tvselect.trees.state import row_mask

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")


@cache
def compiled(part):
    return numba.njit(getattr(part, "py_func", part))


@pytest.fixture(params=["compiled", "plain"])
def form(request, monkeypatch):
    """Picks the compiled form of a part, or the Python that it was compiled from."""
    if request.param == "compiled":
        return compiled
    for name, part in list(vars(bits).items()):
        monkeypatch.setattr(bits, name, getattr(part, "py_func", part))
    return lambda part: part


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
    ordered = bits.in_bit_order(values)
    assert ordered.size == 64 * -(-n_rows // 64)
    assert ordered.dtype == dtype
    np.testing.assert_array_equal(bits.in_row_order(ordered, n_rows), values)


def test_bit_order_puts_every_row_where_it_is_said():
    ordered = bits.in_bit_order(np.arange(1, 193))
    for row in range(192):
        assert ordered[64 * (row // 64) + 8 * (row % 8) + row % 64 // 8] == row + 1


def test_bit_order_pads_with_zeros():
    ordered = bits.in_bit_order(np.ones(70))
    assert ordered.sum() == 70
    assert ordered[:64].all()


@pytest.mark.parametrize("n_rows", [1, 8, 63, 64, 65, 200])
def test_row_mask_holds_all_rows_and_no_padding(n_rows):
    np.testing.assert_array_equal(row_mask(n_rows), as_words(np.ones((n_rows, 1), bool))[:, 0])


def test_popcount_counts_ones(form):
    popcount = form(bits.popcount)
    rng = np.random.default_rng(0)
    words = [0, 1, 1 << 63, (1 << 64) - 1, *(1 << k for k in range(64))]
    words += [int(w) for w in rng.integers(0, 1 << 64, 200, dtype=np.uint64)]
    for word in words:
        assert popcount(np.uint64(word)) == word.bit_count()


@pytest.mark.parametrize("missing_left", [0, 1])
def test_rows_at_most_are_those_that_a_split_sends_left(form, missing_left):
    rows_at_most = form(bits.rows_at_most)
    rng = np.random.default_rng(1)
    codes = np.stack([rng.permutation(np.arange(320) % 256) for _ in range(2)]).astype(np.uint8)
    rows = random_rows(rng, 320, 3)
    rows[64:128, 1] = False
    masks, words = as_words(rows), codes.view(np.uint64).ravel()
    out = np.full(5, 12345, dtype=np.uint64)
    for cut in range(254):
        n_left = rows_at_most(words, 40, 8, masks, 1, cut, missing_left, out)
        left = rows[:, 1] & ((codes[1] <= cut) | ((codes[1] == 255) & (missing_left == 1)))
        np.testing.assert_array_equal(out, as_words(left[:, None])[:, 0])
        assert n_left == left.sum()


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("n_rows", [1, 50, 64, 100])
def test_rows_at_most_never_takes_padding(form, missing_left, n_rows):
    rows_at_most = form(bits.rows_at_most)
    codes = np.zeros((1, 64 * -(-n_rows // 64)), dtype=np.uint8)
    codes[0, :n_rows:2] = 255
    masks = row_mask(n_rows)[:, None]
    out = np.zeros(len(masks), dtype=np.uint64)
    n_left = rows_at_most(codes.view(np.uint64)[0], 0, 8, masks, 0, 0, missing_left, out)
    assert n_left == (n_rows if missing_left else n_rows // 2)
    assert not (out & ~masks[:, 0]).any()


def test_every_code_is_compared_right_with_every_cut(form):
    rows_at_most = form(bits.rows_at_most)
    codes = np.arange(256, dtype=np.uint8)[None]
    masks = row_mask(256)[:, None]
    out = np.zeros(4, dtype=np.uint64)
    for cut in range(254):
        for missing_left in (0, 1):
            n_left = rows_at_most(codes.view(np.uint64)[0], 0, 8, masks, 0, cut, missing_left, out)
            assert n_left == cut + 1 + missing_left


@pytest.mark.parametrize(("width", "values"), [(1, [0, 1]), (2, [0, 1, 2, 255])])
def test_narrow_codes_are_split_as_wide_ones_are(form, width, values):
    rows_at_most = form(bits.rows_at_most)
    rng = np.random.default_rng(3)
    codes = rng.choice(values, (2, 192)).astype(np.uint8)
    masks = as_words(random_rows(rng, 192, 2))
    narrow = bits.pack(codes, width)
    assert narrow.shape == (2, 3 * width)
    np.testing.assert_array_equal(bits.unpack(narrow, width), codes)
    ways = [(cut, side) for cut in range(width) for side in (0, 1)] if width > 1 else [(0, 0)]
    for cut, missing_left in ways:
        found = []
        for words, bits_of_code in ((codes.view(np.uint64), 8), (narrow, width)):
            out = np.zeros(3, dtype=np.uint64)
            flat, start = words.ravel(), words.shape[1]
            n = rows_at_most(flat, start, bits_of_code, masks, 1, cut, missing_left, out)
            found.append((n, *out.tolist()))
        assert found[0] == found[1]


@pytest.mark.parametrize("n_rows", [1, 64, 100, 330])
def test_overlaps_count_common_rows(form, n_rows):
    overlaps = form(bits.overlaps)
    rng = np.random.default_rng(n_rows)
    rows, some = random_rows(rng, n_rows, 9), random_rows(rng, n_rows, 1)
    some[:64] = False
    out = np.full(9, -1)
    overlaps(as_words(rows), 5, as_words(some)[:, 0], out)
    np.testing.assert_array_equal(out[:5], (rows[:, :5] & some).sum(axis=0))
    assert out[8] == -1


def test_tabulated_sums_are_those_of_all_subsets_of_four(form):
    values = np.random.default_rng(2).standard_normal(64)
    table = np.full((16, 16), np.nan)
    form(bits.tabulate_sums)(values, table)
    for i in range(16):
        for subset in range(16):
            chosen = [values[4 * i + b] for b in range(4) if subset >> b & 1]
            assert table[i, subset] == pytest.approx(sum(chosen), abs=1e-14)


@pytest.mark.parametrize("n_rows", [1, 20, 64, 129, 400])
def test_sums_over_sets_of_rows_are_right(form, n_rows):
    rng = np.random.default_rng(n_rows)
    values, rows = rng.standard_normal(n_rows), random_rows(rng, n_rows, 8)
    rows[:, 0], rows[:, 1] = False, True
    words = as_words(rows)
    table = np.zeros((16 * len(words), 16))
    form(bits.tabulate_sums)(bits.in_bit_order(values), table)
    for k in range(8):
        total = form(bits.sum_over)(table, np.ascontiguousarray(words[:, k]))
        assert total == pytest.approx(values[rows[:, k]].sum(), abs=1e-11)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 11])
def test_weighted_sums_stop_at_their_size(form, size):
    rng = np.random.default_rng(size)
    counts, weights = rng.integers(0, 100, 11), rng.standard_normal(11)
    total = form(bits.weighted_sum)(counts, weights, size)
    assert total == pytest.approx(counts[:size] @ weights[:size], abs=1e-11)
