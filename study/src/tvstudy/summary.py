"""Means and standard errors of a study, by cell and method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvstudy.rows import FINISHED, MEASURES, Row

N_SIGNALS = 5
"""In every set-up of the paper: the first five columns."""

MEDIAN_TO_MEAN, QUARTILES_OF_A_NORMAL = 1.2533, 1.349
"""Standard error of a median over that of a mean, and distance of the quartiles."""

CellKey = tuple[str, int, int]
"""Set-up, rows, columns."""


class Cell(NamedTuple):
    """What a method did in a cell.

    Attributes
    ----------
    n : int
        Finished replicates.
    n_unfinished : int
        Others: out of time, or failed.
    means, errors : dict
        Of every measure, and their standard errors; of the seconds the median and its error
        by the quartiles, for others use the machine, too.
    exact : float
        Share of replicates in which exactly the true model was found.
    """

    n: int
    n_unfinished: int
    means: dict[str, float]
    errors: dict[str, float]
    exact: float


def summarise(rows: Sequence[Row]) -> dict[CellKey, dict[str, Cell]]:
    """Means and standard errors by cell (set-up, n, p) and method."""
    groups: dict[CellKey, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[row["setup"], row["n_rows"], row["n_columns"]][row["method"]].append(row)
    return {
        cell: {method: _cell(some) for method, some in methods.items()}
        for cell, methods in groups.items()
    }


def _cell(rows: Sequence[Row]) -> Cell:
    done = [row for row in rows if row["status"] == FINISHED]
    values = {name: np.array([row[name] for row in done], dtype=float) for name in MEASURES}
    n = len(done)
    return Cell(
        n=n,
        n_unfinished=len(rows) - n,
        means={name: _centre(name, v) if n else float("nan") for name, v in values.items()},
        errors={name: _error(name, v) if n > 1 else float("nan") for name, v in values.items()},
        exact=float(np.mean([row["exact"] for row in done])) if n else float("nan"),
    )


def _centre(name: str, values: NDArray[np.float64]) -> float:
    return float(np.median(values) if name == "seconds" else values.mean())


def _error(name: str, values: NDArray[np.float64]) -> float:
    spread = values.std(ddof=1)
    if name == "seconds":
        low, high = np.quantile(values, (0.25, 0.75))
        spread = MEDIAN_TO_MEAN * (high - low) / QUARTILES_OF_A_NORMAL
    return float(spread / np.sqrt(values.size))
