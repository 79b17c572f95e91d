"""How the outcome depends on the selected columns, by the posterior of a forest.

Partial dependence: the column is set to a value in every row, the others stay as they are,
and the forest's predictions are averaged. One curve per draw of the forest makes the band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tvselect.inputs import TextColumn
from tvselect.inputs.outcome import Outcome
from tvselect.report.findings import Dependence
from tvselect.report.names import readable
from tvselect.report.rows import Rows
from tvselect.selectors.encoding import one_hot
from tvselect.trees import BartRun, Forest, run_bart

MOST_COLUMNS, MOST_SHOWN = 60, 12
MOST_POINTS, MOST_LEVELS = 12, 50
GRID = 25
BAND = (0.05, 0.95)
N_TREES, N_ITERATIONS, N_BURN, N_FORESTS = 50, 5000, 1000, 100
MODEL = (
    f"BART, {N_TREES} trees, {N_ITERATIONS} iterations with {N_BURN} of burn-in, {N_FORESTS} draws "
    "kept"
)


@dataclass(frozen=True)
class Encoded:
    """A column as the forest sees it."""

    values: NDArray[np.float64]  #: The column itself, or one 0/1 column per category
    grid: NDArray[np.float64]  #: What it is set to
    labels: tuple[str, ...]  #: Of the points, empty for a curve


def partial_dependence(
    rows: Rows,
    outcome: Outcome,
    columns: Sequence[int],
    names: Sequence[str],
    rng: np.random.Generator,
) -> tuple[Dependence, ...]:
    """Dependence of the outcome on columns, the strongest first.

    Parameters
    ----------
    rows : Rows
    outcome : Outcome
        Of these rows.
    columns : sequence of int
        The forest is fitted on the first 60 of them; the first 12 are shown.
    names : sequence of str
        Of the columns, as they are shown.
    rng : numpy.random.Generator

    Raises
    ------
    ValueError
        When no forest can be fitted, as on too few rows.

    Examples
    --------
    >>> from tvselect.inputs import read_outcome
    >>> from tvselect.report.rows import sample_rows
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2))
    >>> y = 5 * X[:, 1] + rng.normal(0, 0.1, 300)
    >>> rows = sample_rows(X, y, ("x0", "x1"), named=False, most=300, rng=rng)
    >>> shapes = partial_dependence(rows, read_outcome(y, 300), [0, 1], ["x0", "x1"], rng)
    >>> shapes[0].variable, round(shapes[0].mean[-1] - shapes[0].mean[0])
    ('x1', 5)
    """
    encoded = [_encode(rows, column) for column in columns[:MOST_COLUMNS]]
    design = np.concatenate([column.values for column in encoded], axis=1)
    run = run_bart(
        design,
        outcome.values,
        family=outcome.family,
        n_trees=N_TREES,
        n_iterations=N_ITERATIONS,
        n_burn=N_BURN,
        n_keep=N_FORESTS,
        random_state=rng,
    )
    shapes, first = [], 0
    for column, name in list(zip(encoded, names, strict=False))[:MOST_SHOWN]:
        last = first + column.values.shape[1]
        shapes.append(_describe(name, column, _curves(run, design, first, last, column.grid)))
        first = last
    return tuple(sorted(shapes, key=lambda shape: min(shape.mean) - max(shape.mean)))


def _encode(rows: Rows, column: int) -> Encoded:
    if rows.categorical[column]:
        return _encode_text(rows.text(column))
    values = rows.numbers(np.array([column]))
    distinct = np.unique(values[~np.isnan(values)])
    if distinct.size <= MOST_POINTS:
        return Encoded(values, distinct[:, None], tuple(f"{value:.6g}" for value in distinct))
    grid = np.unique(np.nanquantile(values, np.linspace(0.01, 0.99, GRID)))
    return Encoded(values, grid[:, None], ())


def _encode_text(text: TextColumn) -> Encoded:
    counts = np.bincount(text.codes[text.codes >= 0], minlength=len(text.levels))
    frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    values = one_hot(text.codes, len(text.levels))[:, frequent]
    shown = frequent[:MOST_POINTS]
    return Encoded(
        values,
        np.eye(frequent.size)[: shown.size],
        tuple(readable(text.levels[level], 40) for level in shown),
    )


def _curves(
    run: BartRun, design: NDArray[np.float64], first: int, last: int, grid: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Averaged predictions (forests, points) with the columns first to last set to the grid.

    Only trees that split on these columns are walked anew for every point.
    """
    n = len(design)
    changed = np.tile(design, (len(grid), 1))
    changed[:, first:last] = np.repeat(grid, n, axis=0)
    codes, changed_codes = run.cuts.encode(design), run.cuts.encode(changed)
    curves = []
    for forest in run.forests:
        moving = _trees_on(forest, first, last)
        still = run.center + forest.evaluate(codes, n) - moving.evaluate(codes, n)
        values = still + moving.evaluate(changed_codes, len(changed)).reshape(len(grid), n)
        curves.append((ndtr(values) if run.family == "probit" else values).mean(axis=1))
    return np.array(curves)


def _trees_on(forest: Forest, first: int, last: int) -> Forest:
    """The trees of a forest that split on the columns first to last."""
    sizes = np.diff(forest.starts)
    tree_of = np.repeat(np.arange(forest.n_trees), sizes)
    has_split = (forest.column >= first) & (forest.column < last)
    chosen = np.bincount(tree_of[has_split], minlength=forest.n_trees) > 0
    nodes = chosen[tree_of]
    starts = np.concatenate([[0], np.cumsum(sizes[chosen])])
    shift = np.repeat(starts[:-1] - forest.starts[:-1][chosen], sizes[chosen])
    left = forest.left[nodes]
    return Forest(
        starts=starts,
        left=np.where(left >= 0, left + shift, -1),
        column=forest.column[nodes],
        cut=forest.cut[nodes],
        missing_left=forest.missing_left[nodes],
        value=forest.value[nodes],
    )


def _describe(name: str, column: Encoded, curves: NDArray[np.float64]) -> Dependence:
    low, high = np.quantile(curves, BAND, axis=0)
    at = np.arange(len(column.grid)) if column.labels else column.grid[:, 0]
    return Dependence(
        variable=name,
        labels=column.labels,
        at=tuple(map(float, at)),
        mean=tuple(map(float, curves.mean(axis=0))),
        low=tuple(map(float, low)),
        high=tuple(map(float, high)),
    )
