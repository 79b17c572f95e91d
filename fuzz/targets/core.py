"""The native core behind its door: arrays of a wrong type, shape, order or range.

A case that is the name of a call is this call with sound arguments. Any other bytes are the seed
of the damage: one to three changes of what some call is handed. It returns, or an error comes
before the core is reached, of the door or of Python itself; were the door open, the process would
end. That the door says what is wrong is tested in ``tests/core/test_core.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.mutation import EXTREMES
from fuzz.targets.base import Target
from tvselect import BartReward
from tvselect.inputs import read_outcome
from tvselect.omics.plink import count_genotypes
from tvselect.rewards import Data
from tvselect.rewards.rules import descend
from tvselect.rewards.screening import correlate
from tvselect.selectors.copies import add_by_value
from tvselect.trees import Prior, bin_table, working_response
from tvselect.trees.bins import encode_columns
from tvselect.trees.forest import Forest
from tvselect.trees.sampler import Sampler
from tvselect.trees.state import DrawnRows, copy_sample, new_sample

N_ROWS = 70
DTYPES = ("f8", "f4", "i8", "i4", "u8", "u1", "b1", ">i8", "c16", "O", "U3")
MOST_CHANGES = 3
Arguments = dict[str, Any]


@cache
def table() -> Data:
    """Columns of two, three and many values, with missing ones among them."""
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, 6))
    X[:, 1] = X[:, 1] > 0.5
    X[:, 2] = rng.integers(3, size=N_ROWS)
    X[rng.random(N_ROWS) < 0.1, 3] = np.nan
    y = X[:, 0] + X[:, 1] + rng.random(N_ROWS)
    return Data(X, read_outcome(y, N_ROWS), tuple("abcdef"))


def chain() -> Arguments:
    """A chain on the table."""
    data = table()
    response = working_response(data.outcome)
    return dict(
        design=bin_table(data.X).design(),
        prior=Prior(n_trees=3).parameters(response, np.ones(6), burn=2, sparse_from=1),
        observed=response.observed.copy(),
    )


def run_chain(design: Any, prior: Any, observed: Any) -> None:
    """Begin, and some iterations."""
    rng = np.random.default_rng(1)
    Sampler(
        design, prior, observed, n_trees=3, n_iterations=6, precision=1.0, rng=rng
    ).advance()  # fmt: skip


def sample() -> Arguments:
    """Some rows of the table, and shadows."""
    rows = np.arange(40)
    return dict(
        table=bin_table(table().X).design(),
        observed=working_response(table().outcome).observed.copy(),
        draw=DrawnRows(rows, np.array([1, 3]), np.stack([rows[::-1], rows])),
        sample=new_sample(8, 40, 40),
        groups=np.arange(N_ROWS, dtype=np.int32) // 7,
    )


def forest() -> Arguments:
    """Two small trees, and rows as codes."""
    made = Forest(
        starts=np.array([0, 3, 4]),
        left=np.array([1, -1, -1, -1]),
        column=np.array([2, -1, -1, -1]),
        cut=np.zeros(4, dtype=np.uint8),
        missing_left=np.zeros(4, dtype=np.bool_),
        value=np.arange(4.0),
    )
    return dict(forest=made, codes=bin_table(table().X).codes.copy(), n_rows=N_ROWS)


def play() -> Arguments:
    """A play of the BART reward."""
    reward = BartReward(n_trees=3, n_iterations=4, shadows=8, max_samples=50)
    return dict(feedback=reward.start(table()), columns=np.arange(4))


def make_play(feedback: Any, columns: Any) -> None:
    """Score some columns."""
    feedback(columns, np.random.default_rng(2))


def cells() -> Arguments:
    """Values to be put between cut points that are listed."""
    return dict(
        block=np.random.default_rng(3).random((3, 20)),
        n_cuts=np.array([2, 1, 0], dtype=np.uint8),
        low=np.zeros(3),
        step=np.zeros(3),
        starts=np.array([0, 2, 3, 3]),
        halfway=np.array([0.3, 0.6, 0.5]),
        codes=np.zeros((3, 64), dtype=np.uint8),
    )


def lasso() -> Arguments:
    """A small regression."""
    rng = np.random.default_rng(4)
    return dict(
        x=rng.standard_normal((5, 12)), y=rng.random(12), weight=np.full(12, 1 / 12),
        is_binary=False, alpha=0.1, max_iter=20, places=np.array([0, 2, 4]), coef=np.zeros(5),
        eta=np.zeros(12), curvature=np.zeros(12), pull=np.zeros(12),
    )  # fmt: skip


def outcomes() -> Arguments:
    """Columns of few values, and two outcomes."""
    return dict(
        small=np.arange(60, dtype=np.uint8).reshape(3, 20) % 4, outcomes=np.ones((20, 2)),
        counts=np.zeros((3, 4), dtype=np.int64), sums=np.zeros((3, 4, 2)),
        others=np.zeros(20, dtype=np.int64),
    )  # fmt: skip


def codes() -> Arguments:
    """Codes and an outcome."""
    return dict(
        codes=np.arange(128, dtype=np.uint8).reshape(2, 64), outcome=np.arange(50.0),
        correlations=np.zeros(2), n_present=np.zeros(2, dtype=np.int64),
    )  # fmt: skip


def stored() -> Arguments:
    """Bytes of a .bed file."""
    return dict(
        stored=np.arange(15, dtype=np.uint8).reshape(3, 5), counts=np.zeros((3, 4), np.int64)
    )


CALLS: dict[str, tuple[Callable[[], Arguments], Callable[..., object]]] = {
    "chain": (chain, run_chain),
    "sample": (sample, copy_sample),
    "forest": (forest, lambda forest, codes, n_rows: forest.evaluate(codes, n_rows)),
    "play": (play, make_play),
    "cells": (cells, lambda **given: encode_columns(*given.values())),
    "lasso": (lasso, lambda **given: descend(*given.values())),
    "outcomes": (outcomes, lambda **given: add_by_value(*given.values())),
    "codes": (codes, lambda **given: correlate(*given.values())),
    "genotypes": (stored, lambda **given: count_genotypes(*given.values())),
}
# Arrays whose numbers the door looks at, or that may hold any.
FREE = {
    "codes", "starts", "widths", "columns", "rows", "shadows", "shuffled", "block", "halfway",
    "low", "step", "x", "y", "places", "small", "outcomes", "outcome", "stored", "n_cuts",
}  # fmt: skip


def arrays_in(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Where the arrays of nested records are."""
    if isinstance(value, np.ndarray):
        return [path]
    return [
        place for name in names_in(value) for place in arrays_in(part(value, name), (*path, name))
    ]


def names_in(record: Any) -> tuple[str, ...]:
    """The fields of a record of any kind."""
    if isinstance(record, dict):
        return tuple(record)
    if is_dataclass(record):
        return tuple(field.name for field in fields(record))
    return getattr(record, "_fields", ())


def part(record: Any, name: str) -> Any:
    """A field of a record of any kind."""
    return record[name] if isinstance(record, dict) else getattr(record, name)


def with_part(record: Any, path: tuple[str, ...], value: Any) -> Any:
    """The same with another array somewhere."""
    if not path:
        return value
    changed = {path[0]: with_part(part(record, path[0]), path[1:], value)}
    if isinstance(record, dict):
        return {**record, **changed}
    return replace(record, **changed) if is_dataclass(record) else record._replace(**changed)


def damaged(array: NDArray[Any], name: str, rng: Random) -> Any:
    """Another array, or none at all."""
    kind = rng.randrange(10 if name in FREE and array.dtype != np.bool_ else 7)
    if kind == 0:
        return array.astype(rng.choice(DTYPES))
    if kind == 1:  # more or less of it
        return np.resize(array, [max(0, n + rng.randint(-2, 2)) for n in array.shape])
    if kind == 2:
        return rng.choice([array.ravel(), array[None], array.T, array[..., :0], array[:0]])
    if kind == 3:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if kind == 4:
        return np.asfortranarray(array)
    if kind == 5:
        array = array.copy()
        array.flags.writeable = False
        return array
    if kind == 6:
        return rng.choice([None, 0, array.tolist(), memoryview(array.copy()), "array"])
    array = array.copy()
    for _ in range(rng.randint(1, 3) if array.size else 0):
        number = rng.choice([*EXTREMES, array.size, array.size - 1, rng.randrange(300), -2])
        place = rng.randrange(array.size)
        array.flat[place] = np.asarray(number % 2**64).astype(np.uint64).astype(array.dtype)
    return array


def read(data: bytes, folder: Path) -> None:
    """Call with damaged arguments."""
    name = data.decode("latin-1")
    rng = Random(data)
    make, call = CALLS[name if name in CALLS else rng.choice(list(CALLS))]
    given = make()
    if name not in CALLS:
        for _ in range(rng.randint(1, MOST_CHANGES)):
            places = arrays_in(given)
            if not places:
                break
            place = rng.choice(places)
            array = given
            for step in place:
                array = part(array, step)
            with suppress(TypeError, ValueError):  # numbers that the other type does not know
                given = with_part(given, place, damaged(array, place[-1], rng))
    try:
        call(**given)
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError):
        if name in CALLS:
            raise


TARGETS = [
    Target("core", "arrays for the native core, handed over as Python does",
           lambda: [name.encode() for name in CALLS], read, share=60, quick=60),
]  # fmt: skip
