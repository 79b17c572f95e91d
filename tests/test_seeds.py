from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvselect
from tvselect.seeds import RandomStream, as_generator


@pytest.mark.parametrize(
    "random_state", [0, 7, np.int64(7), 2**100, [1, 2], np.random.SeedSequence(7)]
)
def test_a_seed_gives_what_numpys_sfc64_gives(random_state):
    expected = np.random.Generator(np.random.SFC64(random_state)).random(3)
    np.testing.assert_array_equal(as_generator(random_state).random(3), expected)


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(1)
    assert as_generator(rng) is rng


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.Philox, np.random.MT19937])
def test_a_bit_generator_is_wrapped(kind):
    bits = kind(3)
    assert as_generator(bits).bit_generator is bits


def test_no_seed_differs_every_time():
    assert as_generator(None).random() != as_generator(None).random()


@pytest.mark.parametrize(
    ("random_state", "error", "message"),
    [
        (-1, ValueError, "random_state.*got -1"),
        (1.5, TypeError, "random_state.*got 1.5"),
        ("seed", TypeError, "random_state.*got 'seed'"),
        (np.random.RandomState(0), TypeError, "default_rng"),
        (np.random, TypeError, "random_state"),
    ],
)
def test_what_is_no_random_state_is_refused(random_state, error, message):
    with pytest.raises(error, match=message):
        as_generator(random_state)


def test_no_two_random_streams_of_a_run_are_alike():
    streams = {
        name: stream.generator(7).random() for name, stream in RandomStream.__members__.items()
    }
    assert len(set(streams.values())) == len(streams)
    assert min(RandomStream) > 2**31  # above the number of any chain


def test_no_other_file_has_keys_of_its_own():
    source = Path(tvselect.__file__).parent
    using = {path.name for path in source.rglob("*.py") if "spawn_key" in path.read_text()}
    assert using == {"seeds.py", "chain.py"}
