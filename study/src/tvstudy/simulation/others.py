"""Tables of other people's benchmarks: rings and crosses, and outcomes of half of the columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tvstudy.simulation.outcomes import Labelled
from tvstudy.simulation.setups import Simulated

SHAPES: dict[str, Callable[..., NDArray[np.bool_]]] = {
    "ring": lambda a, b, width, rng: np.abs(np.hypot(a, b) - 0.35) <= width,
    "XOR": lambda a, b, margin, rng: -a * b >= margin,
    "sum": lambda a, b, least, rng: a + b + 1.0 + rng.normal(0.0, 0.2, a.size) >= least,
}
"""Which rows are inside, by two columns less 1/2."""
EDGES = {
    "ring": (0.1151,),
    "XOR": (0.0,),
    "ring+XOR": (0.0704, 0.0337),
    "ring+XOR+sum": (0.0479, 0.0598, 1.4074),
}
LAWS = ("normal", "t(3)", "spiked")


def simulate_rings(kind: str, n_rows: int, n_columns: int, rng: np.random.Generator) -> Labelled:
    """Two classes: inside any of the shapes of a name, each of two uniform columns, or in none.

    The pairs are at random places; with the edges of Passemiers et al. (2024) the classes are
    equally large.
    """
    X = rng.random((n_rows, n_columns))
    pairs = rng.permutation(n_columns)[: 2 * len(EDGES[kind])].reshape(-1, 2)
    inside = [
        SHAPES[shape](X[:, i] - 0.5, X[:, j] - 0.5, edge, rng)
        for shape, edge, (i, j) in zip(kind.split("+"), EDGES[kind], pairs, strict=True)
    ]
    y = np.any(inside, axis=0).astype(np.int64)
    return Labelled(X, y, np.isin(np.arange(n_columns), pairs))


def simulate_half(law: str, n_rows: int, n_columns: int, rng: np.random.Generator) -> Simulated:
    """Half of the columns move the outcome, by a square of their sum (Sawaya 2026).

    Columns have variances of about 1 over their number; spiked ones share two directions in each
    half of the rows. Eight of them also act in products; the noise has variance 1.
    """
    shape = (n_rows, n_columns)
    X = rng.standard_t(3.0, shape) if law == "t(3)" else rng.standard_normal(shape)
    X /= np.sqrt(n_columns)
    if law == "spiked":
        right = np.linalg.qr(rng.standard_normal((n_columns, 2)))[0]
        for rows in np.array_split(np.arange(n_rows), 2):
            X[rows] += np.linalg.qr(rng.standard_normal((rows.size, 2)))[0] @ right.T
    places = rng.permutation(n_columns)[: n_columns // 2]
    z = np.column_stack([2.0 * X[:, places].sum(axis=1), X[:, places[1:8]]])
    f = (z[:, 0] - 2.0) ** 2 + (np.maximum(z[:, 1:], 0.0) * z[:, :-1]).sum(axis=1)
    y = f + rng.standard_normal(n_rows)
    return Simulated(X, y, f, np.isin(np.arange(n_columns), places))
