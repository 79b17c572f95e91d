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
TAILS = {"normals": 3.66, "exponentials": 7.7}  # where they begin
KINDS = {"words": np.uint64, "halves": np.uint64, "floats": np.float32, "below": np.int64}
DRAWS = {
    "words": lambda rng, n, _: rng.bit_generator.random_raw(n),
    "halves": lambda rng, n, _: rng.integers(0, 2**32, n, dtype=np.uint32),
    "uniforms": lambda rng, n, _: rng.random(n),
    "floats": lambda rng, n, _: rng.random(n, dtype=np.float32),
    "normals": lambda rng, n, _: rng.standard_normal(n),
    "exponentials": lambda rng, n, _: rng.standard_exponential(n),
    "gammas": lambda rng, n, shape: rng.standard_gamma(shape, n),
    "chi_squares": lambda rng, n, df: rng.chisquare(df, n),
    "below": lambda rng, n, bound: rng.integers(bound, size=n),
}
CASES = [
    ("words", 100, 0),
    *(("halves", n, 0) for n in (1, 2, 101)),
    ("uniforms", 1000, 0),
    *(("floats", n, 0) for n in (1, 2, 7, 200)),
    ("normals", N_DRAWS, 0),
    ("exponentials", N_DRAWS, 0),
    *(("gammas", 20_000, shape) for shape in (1e-3, 0.2, 0.999, 1.0, 1.001, 2.5, 40.0, 1e6)),
    *(("chi_squares", 5000, df) for df in (0.7, 2.0, 3.0, 250.0)),
    *(("below", 501, bound) for bound in (1, 2, 3, 1000, 2**31 + 1, 2**32 - 1)),
]


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


@pytest.mark.parametrize(("name", "n", "about"), CASES)
def test_draws(pair, name, n, about):
    rng, state = pair
    found = np.zeros(n, dtype=KINDS.get(name, np.float64))
    getattr(probes, f"fill_{name}")(state, found, float(about))
    wanted = DRAWS[name](rng, n, about)
    assert wanted.max() > TAILS.get(name, -1)
    assert name != "normals" or wanted.min() < -TAILS[name]
    np.testing.assert_array_equal(found, wanted)


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
