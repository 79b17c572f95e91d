"""How the outcome depends on columns, by the posterior of a forest; figures and report draw it.

Partial dependence: columns are set to values in every row, the others stay as they are, and the
forest's predictions are averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Table, TextColumn
from tvselect.inputs.outcome import Outcome, pull_in
from tvselect.inputs.table import one_hot
from tvselect.plotting.effects import Cells, JointEffect
from tvselect.trees import BartRun, Forest, run_bart
from tvselect.trees.bits import MISSING

MOST_COLUMNS = 60
MOST_POINTS, MOST_LEVELS = 12, 50
GRID, MOST_CELLS = 25, 15
JOINT_ROWS = 200
N_TREES, N_ITERATIONS, N_BURN, N_FORESTS = 50, 5000, 1000, 100
FEWEST_TREES, FEWER_FORESTS = 5, 25  # of each of several classes
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

    @property
    def is_ordered(self) -> bool:
        """Whether its values are numbers."""
        return self.grid.shape[1] == 1

    @property
    def at(self) -> NDArray[np.float64]:
        """Values of a curve, else the places of the points."""
        return np.arange(len(self.grid), dtype=np.float64) if self.labels else self.grid[:, 0]


class Curves(NamedTuple):
    """Predictions (forests, points), and of which class they are the probability, if of any."""

    values: NDArray[np.float64]
    of_class: str


class DependenceForest:
    """A forest on some columns of a table, to be asked how the outcome depends on them.

    Parameters
    ----------
    table : Table
    outcome : Outcome
        Of its rows; outliers are pulled in.
    columns : sequence of int
        The first 60 of them are used.
    rng : numpy.random.Generator

    Attributes
    ----------
    n_pulled_in : int
        Outliers among the outcomes.

    Raises
    ------
    ValueError
        When no forest can be fitted, as on too few rows.

    Examples
    --------
    >>> from tvselect.inputs import read_outcome, read_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (300, 2)).astype(float)
    >>> outcome = read_outcome(5 * X[:, 0] * X[:, 1] + rng.normal(0, 0.1, 300), 300)
    >>> forest = DependenceForest(read_table(X), outcome, [0, 1], rng)
    >>> forest.joint_effect(0, 1).mean.round() + 0
    array([[0., 0.],
           [0., 5.]])
    """

    def __init__(
        self,
        table: Table,
        outcome: Outcome,
        columns: Sequence[int],
        rng: np.random.Generator,
    ) -> None:
        self.columns = list(columns[:MOST_COLUMNS])
        self.names = [str(table.names[column]) for column in self.columns]
        self.encoded = [_encode(table, column) for column in self.columns]
        self.design = np.concatenate([column.values for column in self.encoded], axis=1)
        self.n_pulled_in = 0
        if outcome.family == "gaussian":
            values, self.n_pulled_in = pull_in(outcome.values)
            outcome = replace(outcome, values=values)
        n_forests = np.unique(outcome.values).size if outcome.family == "classes" else 1
        # Chances of several classes take time: they are averaged over fewer rows and draws.
        every = 1 if n_forests == 1 else -(-len(self.design) // JOINT_ROWS)
        self.averaged_over = self.design[::every]
        self.run = run_bart(
            self.design,
            outcome,
            n_trees=max(FEWEST_TREES, N_TREES // n_forests),
            n_iterations=N_ITERATIONS,
            n_burn=N_BURN,
            n_keep=N_FORESTS if n_forests == 1 else FEWER_FORESTS,
            random_state=rng,
        )

    def curves(self, column: int) -> Curves:
        """Averaged predictions with a column set to its grid."""
        place = self.columns.index(column)
        return self._of_one_class(
            curves(self.run, self.averaged_over, *self._span(place), self.encoded[place].grid)
        )

    def _of_one_class(self, values: NDArray[np.float64]) -> Curves:
        """Of several classes the one whose probability changes most."""
        classes = self.run.classes
        if classes is None or self.run.family == "ordinal":
            return Curves(values, "")
        if self.run.family == "probit":
            return Curves(values, str(classes[1]))
        means = values.mean(axis=0).reshape(-1, len(classes))
        chosen = int(np.ptp(means, axis=0).argmax())
        return Curves(values[..., chosen], str(classes[chosen]))

    def joint_effect(self, first: int, second: int) -> JointEffect:
        """Averaged predictions with two columns set to every pair of their values."""
        i, j = self.columns.index(first), self.columns.index(second)
        cells, others = _thinned(self.encoded[i]), _thinned(self.encoded[j])
        start, end = self._span(i)
        every = -(-len(self.design) // JOINT_ROWS)
        rows = self.design[::every].copy()
        means = []
        for value in cells.grid:
            rows[:, start:end] = value
            means.append(curves(self.run, rows, *self._span(j), others.grid).mean(axis=0))
        shown = self._of_one_class(np.array(means)[None])
        return JointEffect(
            names=(self.names[i], self.names[j]),
            first=Cells(cells.at, cells.labels),
            second=Cells(others.at, others.labels),
            mean=shown.values[0],
            outcome=f"probability of {shown.of_class}" if shown.of_class else "y",
        )

    def _span(self, place: int) -> tuple[int, int]:
        """From and up to which column the design belongs to one of the table."""
        widths = [column.values.shape[1] for column in self.encoded]
        return sum(widths[:place]), sum(widths[: place + 1])


def _thinned(column: Encoded) -> Encoded:
    """With every second point of a long grid."""
    if len(column.grid) <= MOST_CELLS:
        return column
    return Encoded(column.values, column.grid[::2], column.labels[::2])


def _encode(table: Table, column: int) -> Encoded:
    if table.categorical[column]:
        return _encode_text(table.text(column))
    values = np.asarray(table.numbers(np.array([column])), dtype=np.float64)
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
        tuple(str(text.levels[level]) for level in shown),
    )


def curves(
    run: BartRun, design: NDArray[np.float64], first: int, last: int, grid: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Averaged predictions (forests, points) with the columns first to last set to the grid.

    With three or more classes: (forests, points, classes).
    """
    points = np.zeros((len(grid), design.shape[1]))
    points[:, first:last] = grid
    point_codes = run.cuts.encode(points)[first:last, None, : len(grid)]
    below = (point_codes <= np.arange(MISSING)[:, None]) @ (1 << np.arange(len(grid)))
    codes = run.cuts.encode(design)
    at_points = partial(
        _at_points, codes=codes, first=first, below=below, shape=(len(design), len(grid))
    )
    return np.array([run.expected(draw, at_points).mean(axis=0) for draw in run.draws])


def _at_points(
    f: Forest,
    codes: NDArray[np.uint8],
    first: int,
    below: NDArray[np.int64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    values = np.zeros(shape)
    f.add_at_points(codes, first, below, values)
    return values
