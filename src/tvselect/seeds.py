"""Random numbers: what users call a random state, and the streams that a run draws from."""

from __future__ import annotations

import secrets
from enum import IntEnum, unique
from numbers import Integral
from typing import Any

import numpy as np

RandomState = None | int | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator


@unique
class RandomStream(IntEnum):
    """Random numbers outside of plays: keys below the run's seed, above those of plays (k, t)."""

    LATER_ROUNDS = 2**32 - 1  #: Rows of the rounds of a stream after the first
    STREAM_DECOYS = 2**32 - 2  #: Decoys of the batches of a stream
    DECOYS = 2**32 - 3  #: Decoys of a table
    SWAP_TEST = 2**32 - 4  #: Whether a classifier can tell knockoffs from columns
    INTERACTIONS = 2**32 - 5  #: Forests that find interactions
    WEIGHTS = 2**32 - 6  #: Rows drawn by their weights
    LINKAGE = 2**32 - 7  #: Forests that share the evidence among linked columns
    SECOND_LOOK = 2**32 - 8  #: Forests of the leading columns, before a wide search
    JOINT_EFFECT = 2**32 - 9  #: Forests that show what two columns do together
    SECOND_OPINION = 2**32 - 10  #: The regression beside the trees

    def seeds(self, entropy: int, *more: int) -> np.random.SeedSequence:
        """The seeds of this stream in the run with the seed ``entropy``."""
        return np.random.SeedSequence(entropy, spawn_key=(self.value, *more))

    def generator(self, entropy: int, *more: int) -> np.random.Generator:
        """A generator of these random numbers."""
        return np.random.default_rng(self.seeds(entropy, *more))


def as_generator(random_state: RandomState) -> np.random.Generator:
    """A generator from a seed (SFC64, the fastest of NumPy's), or the generator itself."""
    if isinstance(random_state, np.random.RandomState):
        raise TypeError(
            "random_state is a numpy RandomState; pass an int or numpy.random.default_rng(seed)"
        )
    if isinstance(random_state, np.random.Generator | np.random.BitGenerator):
        return np.random.default_rng(random_state)
    try:
        return np.random.Generator(np.random.SFC64(random_state))
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"random_state must be None, a non-negative int, a SeedSequence or a Generator, "
            f"got {random_state!r}"
        ) from None


def entropy_of(random_state: Any) -> int:
    """The seed of a run from a random state of NumPy or scikit-learn."""
    if random_state is None:
        return secrets.randbits(128)
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state!r}")
        return int(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        words = random_state.generate_state(2, np.uint64)
        return int(words[0]) | int(words[1]) << 64
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
