"""What a target is: sound files to begin with, and a reader to hand damaged ones to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random

from fuzz.mutation import Change, mutate

SECONDS = 1.0


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes
    ----------
    name : str
    about : str
        What is read, for the page of results.
    make_seeds : callable
        Sound files; the first of them must be read without an error.
    read : callable
        ``read(data, folder)`` puts the bytes where the reader finds them and reads all.
    prepare : callable, optional
        Called once with the empty folder.
    tokens : sequence of bytes
        Words of the format.
    changes : sequence of Change
        Mutations that know the format.
    share : int
        Of all cases, in parts; slow readers get fewer.
    quick : int
        Cases of the quick test.
    seconds : float
        More is a fault.
    per_process : int
        Cases that one process runs: pyarrow's memory pools grow a little with every file.
    """

    name: str
    about: str
    make_seeds: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], None]
    prepare: Callable[[Path], None] | None = None
    tokens: Sequence[bytes] = ()
    changes: Sequence[Change] = field(default=())
    share: int = 10
    quick: int = 30
    seconds: float = SECONDS
    per_process: int = 15_000

    @cached_property
    def seeds(self) -> list[bytes]:
        """Sound files."""
        return self.make_seeds()

    def case(self, seed: int, number: int) -> bytes:
        """The bytes of a case; the first ones are the sound files."""
        if number < len(self.seeds):
            return self.seeds[number]
        rng = Random(f"{seed}/{self.name}/{number}")
        return mutate(rng.choice(self.seeds), rng, self.seeds, self.tokens, self.changes)
