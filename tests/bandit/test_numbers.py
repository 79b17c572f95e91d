"""Random numbers inside kernels are those of NumPy, and leave its generator where NumPy does."""

from __future__ import annotations

import numpy as np
import pytest

from tvselect.bandit import numbers
from tvselect.jit import kernel


@kernel
def places_reached(words, bounds, found):
    return numbers.floats_reaching(words, bounds, found)


@kernel
def fill_below(words, n, out):
    for i in range(out.shape[0]):
        out[i] = numbers.next_below(words, n)


@kernel
def shuffled(words, values):
    numbers.shuffle(words, values)


@kernel
def seeded(words, seeds):
    numbers.seed(words, seeds)


@pytest.fixture
def pair():
    """A generator of NumPy's, and the state of one like it."""
    one, other = (np.random.Generator(np.random.SFC64(5)) for _ in range(2))
    yield one, numbers.state_in_memory(other.bit_generator)
    np.testing.assert_array_equal(one.random(3), other.random(3))
    np.testing.assert_array_equal(*(g.random(3, dtype=np.float32) for g in (one, other)))


def test_floats(pair):
    for n in (1, 2, 7, 200):
        bounds = np.random.default_rng(n).random(n, dtype=np.float32)
        found = np.empty(n, dtype=np.int32)
        n_found = places_reached(pair[1], bounds, found)
        wanted = np.flatnonzero(pair[0].random(n, dtype=np.float32) >= bounds)
        np.testing.assert_array_equal(found[:n_found], wanted)


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**31 + 1, 2**32 - 1])
def test_numbers_below(pair, n):
    out = np.empty(501, dtype=np.int64)
    fill_below(pair[1], n, out)
    np.testing.assert_array_equal(out, pair[0].integers(n, size=501))


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 300])
def test_shuffles(pair, n):
    values = np.arange(n)
    shuffled(pair[1], values)
    np.testing.assert_array_equal(values, pair[0].permuted(np.arange(n)))


def test_seeding():
    sequence = np.random.SeedSequence(17, spawn_key=(2, 3))
    bits = np.random.SFC64(0)
    seeded(numbers.state_in_memory(bits), sequence.generate_state(3, np.uint64))
    wanted = np.random.SFC64(sequence)
    np.testing.assert_array_equal(bits.random_raw(9), wanted.random_raw(9))


def test_a_state_of_another_form_is_not_touched(monkeypatch):
    bits = np.random.SFC64(0)
    copy = np.arange(5, dtype=np.uint64)
    monkeypatch.setattr(numbers.np.ctypeslib, "as_array", lambda _: copy)
    assert numbers.state_in_memory(bits) is None
