"""Fits with a clock, judged by the columns that are known to matter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tvselect import ThompsonSelector


class Judged(NamedTuple):
    """What a selector keeps."""

    found: int
    false: int
    seconds: float
    kept: NDArray[np.bool_]


def judge(selector: Any, d: Any) -> Judged:
    """Signals found, other columns kept and CPU seconds of a fit on ``d.X``, ``d.y``."""
    with threadpool_limits(1):
        started = time.process_time()
        selector.fit(d.X, d.y)
        seconds = time.process_time() - started
    kept = selector.support_
    return Judged(int((kept & d.support).sum()), int((kept & ~d.support).sum()), seconds, kept)


def warm_up() -> None:
    """Two small fits, so that no clock counts what the first ones load."""
    X = np.random.default_rng(0).standard_normal((100, 20))
    total = X[:, :3].sum(axis=1)
    for family, y in (("gaussian", total), ("classes", np.digitize(total, [-0.5, 0.5]))):
        ThompsonSelector(family=family, n_jobs=1, random_state=0).fit(X, y)


def with_error(values: Sequence[float]) -> str:
    """Mean and, of two values or more, its standard error."""
    if len(values) < 2:
        return f"{np.mean(values):.2f}"
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"


def errors_of(made: Sequence[Judged], n_signals: int = 5) -> str:
    """Cells of a table: Hamming distance, found, false, CPU seconds."""
    hamming = [m.false + n_signals - m.found for m in made]
    found, false, seconds = np.mean([m[:3] for m in made], axis=0)
    return f"{with_error(hamming)} | {found:.2f} | {false:.2f} | {seconds:.1f}"


def shuffled(X: NDArray[Any], columns: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Copies of columns, the rows of each in an order of its own."""
    return rng.permuted(X[:, columns], axis=0)
