"""Random numbers of the native core are those of NumPy's SFC64, to the bit, and leave its state.

Law: whatever is drawn, the core and a generator of NumPy's in the same state draw the same numbers
and are in the same state afterwards. There are enough draws for the tails of the ziggurats, which
one in some thousands falls into.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.core import probes

N_DRAWS = 100_000


def state_of(rng):
    """The state in the order of the core: four words, then the half that is left over."""
    state = rng.bit_generator.state
    left_over = state["has_uint32"] + (state["uinteger"] << 32 if state["has_uint32"] else 0)
    return np.array([*state["state"]["state"], left_over], dtype=np.uint64)


@pytest.fixture(params=[False, True], ids=["even", "half a word left over"])
def pair(request):
    """A generator of NumPy's, and the state of one like it."""
    rng = np.random.Generator(np.random.SFC64(5))
    if request.param:
        rng.random(dtype=np.float32)
    state = state_of(rng)
    yield rng, state
    wanted = state_of(rng)
    if not int(state[4]) & 1:  # which half is of no use then
        state[4] = wanted[4] = 0
    np.testing.assert_array_equal(state, wanted)


def drawn(fill, state, n=N_DRAWS, dtype=np.float64, about=0.0):
    out = np.zeros(n, dtype=dtype)
    fill(state, out, about)
    return out


def test_words(pair):
    rng, state = pair
    found = drawn(probes.fill_words, state, 100, np.uint64)
    np.testing.assert_array_equal(found, rng.bit_generator.random_raw(100))


@pytest.mark.parametrize("n", [1, 2, 101])
def test_halves(pair, n):
    rng, state = pair
    wanted = rng.integers(0, 2**32, n, dtype=np.uint32)
    np.testing.assert_array_equal(drawn(probes.fill_halves, state, n, np.uint64), wanted)


def test_uniforms(pair):
    rng, state = pair
    np.testing.assert_array_equal(drawn(probes.fill_uniforms, state, 1000), rng.random(1000))


@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_floats(pair, n):
    rng, state = pair
    wanted = rng.random(n, dtype=np.float32)
    np.testing.assert_array_equal(drawn(probes.fill_floats, state, n, np.float32), wanted)


def test_normals(pair):
    rng, state = pair
    wanted = rng.standard_normal(N_DRAWS)
    assert wanted.min() < -3.66  # beyond where the tails begin
    assert wanted.max() > 3.66
    np.testing.assert_array_equal(drawn(probes.fill_normals, state), wanted)


def test_exponentials(pair):
    rng, state = pair
    wanted = rng.standard_exponential(N_DRAWS)
    assert wanted.max() > 7.7
    np.testing.assert_array_equal(drawn(probes.fill_exponentials, state), wanted)


@pytest.mark.parametrize("shape", [1e-3, 0.2, 0.999, 1.0, 1.001, 2.5, 40.0, 1e6])
def test_gammas(pair, shape):
    rng, state = pair
    found = drawn(probes.fill_gammas, state, 20_000, about=shape)
    np.testing.assert_array_equal(found, rng.standard_gamma(shape, 20_000))


@pytest.mark.parametrize("df", [0.7, 2.0, 3.0, 250.0])
def test_chi_squares(pair, df):
    rng, state = pair
    found = drawn(probes.fill_chi_squares, state, 5000, about=df)
    np.testing.assert_array_equal(found, rng.chisquare(df, 5000))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**31 + 1, 2**32 - 1])
def test_numbers_below(pair, n):
    rng, state = pair
    found = drawn(probes.fill_below, state, 501, np.int64, about=n)
    np.testing.assert_array_equal(found, rng.integers(n, size=501))


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 300])
def test_shuffles(pair, n):
    rng, state = pair
    values = np.arange(n)
    probes.shuffle(state, values)
    np.testing.assert_array_equal(values, rng.permuted(np.arange(n)))


@pytest.mark.parametrize("n", [1, 2, 7, 200])
def test_floats_that_reach_their_bounds(pair, n):
    rng, state = pair
    bounds = np.random.default_rng(n).random(n, dtype=np.float32)
    found = np.empty(n, dtype=np.int32)
    n_found = probes.floats_reaching(state, bounds, found)
    wanted = np.flatnonzero(rng.random(n, dtype=np.float32) >= bounds)
    np.testing.assert_array_equal(found[:n_found], wanted)


@pytest.mark.parametrize(
    ("n_table", "n_rows"),
    [(10, 1), (10, 9), (500, 30), (10_000, 600), (10_001, 499), (10_001, 501), (12_000, 11_999)],
)
def test_rows_are_chosen_as_numpy_does(pair, n_table, n_rows):
    """From many rows NumPy chooses in another way, unless it is few of them."""
    rng, state = pair
    rows, order = np.zeros(n_rows, dtype=np.int64), np.full(n_table, 77)
    probes.draw_rows(state, rows, order)
    wanted = rng.choice(n_table, n_rows, replace=False, shuffle=False)
    np.testing.assert_array_equal(rows, wanted)


def test_all_rows_take_no_random_numbers(pair):
    rows = np.zeros(70, dtype=np.int64)
    probes.draw_rows(pair[1], rows, np.zeros(70, dtype=np.int64))
    np.testing.assert_array_equal(rows, np.arange(70))


def test_seeding():
    sequence = np.random.SeedSequence(17, spawn_key=(2, 3))
    state = np.full(5, 9, dtype=np.uint64)
    probes.seed(sequence.generate_state(3, np.uint64), state)
    wanted = np.random.Generator(np.random.SFC64(sequence))
    np.testing.assert_array_equal(state, state_of(wanted))


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_generators_of_other_kinds_give_what_numpy_draws_from_them(kind):
    one, other = (np.random.Generator(kind(3)) for _ in range(2))
    out = np.zeros(5000)
    probes.normals_of(one, out)
    np.testing.assert_array_equal(out, other.standard_normal(5000))
    assert one.random() == other.random()
