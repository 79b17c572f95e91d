"""How the outcome depends on selected columns, by a forest; and what could stand for these.

Partial dependence: columns are set to values in every row, the others stay as they are, and the
forest's predictions are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tvselect.inputs import Table, read_outcome
from tvselect.inputs.blocks import column_named, take_blocks
from tvselect.inputs.columns import centred_ranks, in_blocks
from tvselect.inputs.outcome import Outcome, pull_in
from tvselect.inputs.rows import sample_rows
from tvselect.inputs.table import as_given
from tvselect.inputs.text import one_hot
from tvselect.seeds import RandomStream
from tvselect.selectors.results import fitted_result
from tvselect.trees import BartRun, Forest, run_to_end
from tvselect.trees.state import MISSING
from tvselect.words import column_name, readable

if TYPE_CHECKING:
    from tvselect.selectors import StreamingThompsonSelector, ThompsonSelector
    from tvselect.selectors.base import BanditSelector
    from tvselect.selectors.results import SearchResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_ROWS, JOINT_ROWS, MOST_COLUMNS, MOST_SHOWN = 1000, 200, 60, 12
MOST_RUNNERS_UP = 5
MOST_POINTS, MOST_LEVELS, GRID, MOST_CELLS = 12, 50, 25, 15
N_TREES, N_ITERATIONS, N_BURN, N_FORESTS = 50, 5000, 1000, 100
CALENDAR = 700_000  # days that dates as text and as ticks can be from 1970-01-01, at most
SHORT = 0.4  # iterations of the model of runners-up
FEWEST_TREES, FEWER_FORESTS = 5, 25  # of each of several classes
BAND = (0.05, 0.95)
MODEL = (
    f"BART, {N_TREES} trees, {N_ITERATIONS} iterations with {N_BURN} of burn-in, {N_FORESTS} draws "
    "kept"
)

Direction = Literal["up", "down", "valley", "peak", "unclear", "by category"]


@dataclass(frozen=True)
class Dependence:
    """How the outcome depends on one column, the others as they are in the rows."""

    variable: str
    #: What the points stand for, where each value has its own; empty for a curve.
    labels: tuple[str, ...]
    at: tuple[float, ...]  #: Values of a curve, else the places of the points
    of_class: str  #: The class whose probability is shown; empty where it is the outcome itself
    #: Posterior mean and 90 % band of the outcome, or of the probability of the class.
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    is_date: bool = False  #: Whether a curve is over days since 1970-01-01

    @property
    def ticks(self) -> tuple[str, ...]:
        """What the points stand for, as text."""
        return self.labels or _as_text(self.at, self.is_date)

    @property
    def size(self) -> float:
        """Largest less smallest value."""
        return max(self.mean) - min(self.mean)

    @property
    def direction(self) -> Direction:
        """Where a curve, or points of rising numbers, go."""
        return self.direction_of(1)

    def direction_of(self, n_tried: int) -> Direction:
        """Where the curve of the best of so many columns goes, as far as that is sure.

        What it rises or falls has to be as wide as its 90 % band; of the best of several columns
        as much wider as the largest of so many normal numbers is than one of them.
        """
        first, last = self.mean[0], self.mean[-1]
        wider = ndtri(BAND[0] / n_tried) / ndtri(BAND[0])
        needed = wider * (sum(self.high) - sum(self.low)) / len(self.mean)
        below, above = min(first, last) - min(self.mean), max(self.mean) - max(first, last)
        if max(below, above) >= max(needed, 0.3 * self.size):
            return "valley" if below > above else "peak"
        if abs(last - first) >= needed:
            return "up" if last > first else "down"
        return "unclear"


@dataclass(frozen=True)
class Effect:
    """How far the outcome moves with one column, and which way."""

    column: int  #: Its place in the table
    name: str
    #: Largest less smallest value of the curve: of the outcome, or of the chance of a class.
    size: float
    direction: Direction
    of_class: str  #: The class whose chance moves; empty where it is the outcome itself


@dataclass(frozen=True)
class Scale:
    """Values of a column that the cells of a heat map stand for."""

    labels: tuple[str, ...]  #: One for each value; empty for a column of many numbers
    at: tuple[float, ...]  #: Values, or the places of the labels
    is_date: bool = False  #: Whether values are days since 1970-01-01

    @property
    def ticks(self) -> tuple[str, ...]:
        """The values as text."""
        return self.labels or _as_text(self.at, self.is_date)


class JointEffect(NamedTuple):
    """How the outcome depends on two columns, the others as they are in the rows."""

    names: tuple[str, str]  #: Of the two columns
    first: Scale  #: Values of the first column
    second: Scale  #: Values of the second column
    #: The outcome, or the probability of the second class (cells of the first, of the second).
    mean: Floats
    outcome: str = "y"  #: What the mean is of
    q_value: float | None = None  #: Of their interaction; None if none was found


class Encoded(NamedTuple):
    """A column as the forest sees it."""

    values: Floats  #: The column itself, or one 0/1 column per category
    grid: Floats  #: What it is set to, a row for each point
    labels: tuple[str, ...]  #: Of the points; empty for a curve
    is_date: bool = False

    def scale(self) -> Scale:
        """The points of the grid."""
        at = range(len(self.grid)) if self.labels else self.grid[:, 0]
        labels = tuple(readable(label, 40) for label in self.labels)
        return Scale(labels, tuple(map(float, at)), self.is_date)

    def thinned(self) -> Encoded:
        """With every second point of a long grid."""
        every = 1 if len(self.grid) <= MOST_CELLS else 2
        return self._replace(grid=self.grid[::every], labels=self.labels[::every])


class DependenceForest:
    """A model of the first 60 of some columns; outliers are pulled in. May be a ValueError."""

    def __init__(
        self,
        table: Table,
        outcome: Outcome,
        columns: Sequence[int],
        rng: np.random.Generator,
        groups: NDArray[np.int32] | None = None,
        length: float = 1.0,
    ) -> None:
        self.columns = list(columns[:MOST_COLUMNS])
        self.names = [column_name(str(table.names[column]), column) for column in self.columns]
        self.encoded = [_encode(table, column) for column in self.columns]
        self.design = np.concatenate([column.values for column in self.encoded], axis=1)
        self.starts = np.cumsum([0, *(column.values.shape[1] for column in self.encoded)])
        self.n_pulled_in = 0
        if outcome.family == "gaussian":
            values, self.n_pulled_in = pull_in(outcome.values)
            outcome = replace(outcome, values=values)
        n_forests = np.unique(outcome.values).size if outcome.family == "classes" else 1
        # Chances of several classes take time: they are averaged over fewer rows and draws.
        self.sample = self.design[:: -(-len(self.design) // JOINT_ROWS)]
        self.averaged_over = self.design if n_forests == 1 else self.sample
        self.run = run_to_end(
            self.design,
            outcome,
            n_trees=max(FEWEST_TREES, N_TREES // n_forests),
            n_iterations=round(length * N_ITERATIONS),
            n_burn=round(length * N_BURN),
            n_keep=N_FORESTS if n_forests == 1 else FEWER_FORESTS,
            groups=groups,
            random_state=rng,
        )

    def dependence(self, column: int) -> Dependence:
        """How the outcome depends on a column."""
        place = self.columns.index(column)
        encoded, scale = self.encoded[place], self.encoded[place].scale()
        found = curves(self.run, self.averaged_over, *self._span(place), encoded.grid)
        values, of_class = self._of_one_class(found)
        ends = np.quantile(values, BAND, axis=0)
        mean, low, high = (tuple(part.tolist()) for part in (values.mean(axis=0), *ends))
        name, shown = self.names[place], readable(of_class, 40)
        return Dependence(name, scale.labels, scale.at, shown, mean, low, high, scale.is_date)

    def joint_effect(self, first: int, second: int) -> JointEffect:
        """Averaged predictions with two columns set to every pair of their values."""
        i, j = self.columns.index(first), self.columns.index(second)
        cells, others = self.encoded[i].thinned(), self.encoded[j].thinned()
        rows = self.sample.copy()
        means = []
        for value in cells.grid:
            rows[:, slice(*self._span(i))] = value
            means.append(curves(self.run, rows, *self._span(j), others.grid).mean(axis=0))
        values, of_class = self._of_one_class(np.array(means)[None])
        outcome = f"probability of {of_class}" if of_class else "y"
        names = self.names[i], self.names[j]
        return JointEffect(names, cells.scale(), others.scale(), values[0], outcome)

    def _of_one_class(self, values: Floats) -> tuple[Floats, str]:
        """Of several classes the one whose probability changes most, and its name."""
        classes = self.run.classes
        if classes is None or self.run.family == "ordinal":
            return values, ""
        if self.run.family == "probit":
            return values, str(classes[1])
        means = values.mean(axis=0).reshape(-1, len(classes))
        chosen = int(np.ptp(means, axis=0).argmax())
        return values[..., chosen], str(classes[chosen])

    def _span(self, place: int) -> tuple[int, int]:
        """From and up to which column the design belongs to one of the table."""
        return int(self.starts[place]), int(self.starts[place + 1])


def partial_dependence(
    forest: DependenceForest, best_of: Mapping[int, int] | None = None
) -> tuple[tuple[Dependence, ...], tuple[Effect, ...]]:
    """Dependence on the first 12 columns; effects of all, or of those ``best_of`` so many."""
    shapes, effects = [], []
    for column, encoded in zip(forest.columns, forest.encoded, strict=True):
        if best_of is None or column in best_of:
            shape = forest.dependence(column)
            n_tried = 1 if best_of is None else best_of[column]
            is_number = encoded.grid.shape[1] == 1
            direction = shape.direction_of(n_tried) if is_number else "by category"
            shapes.append(shape)
            effects.append(Effect(column, shape.variable, shape.size, direction, shape.of_class))
    strongest = sorted(shapes[:MOST_SHOWN], key=lambda shape: -shape.size)
    return tuple(strongest), tuple(sorted(effects, key=lambda effect: -effect.size))


class Shown(NamedTuple):
    """The columns whose effects are shown, the best first."""

    #: Selected or always included; of columns that cannot be told apart the first.
    leading: list[int]
    #: The second of those, and the best of the unselected; with the leading column that it
    #: resembles, if there is one.
    runners_up: dict[int, int | None]
    n_unselected: int  #: Of how many these are the best


def columns_to_show(selector: BanditSelector) -> Shown:
    """The columns of a fit whose effects are shown: one of every claim about several."""
    result = selector.result_
    n, arm_of = result.layout.n_candidates, result.arm_of_feature
    place, claim_of = dict[int, int](), dict[int, int]()
    for number, claim in enumerate(getattr(selector, "claims_", ())):
        place |= {column: k for k, column in enumerate(claim.columns)}
        # The columns of a group that a user has made are different things.
        if claim.shares or len(set(arm_of[list(claim.columns)])) > 1:
            claim_of |= dict.fromkeys(claim.columns, number)
    rates, q = result.means(arms=result.candidates), selector.q_values_
    q, selected = q[result.layout.first_features], result.selected()[:n]
    others = np.flatnonzero(~selected & (result.times_played[:n] > 0))
    n_others = others.size
    others = others[np.lexsort([-rates[others], q[others]])][:MOST_COLUMNS]
    falling = np.flatnonzero(selected)[np.argsort(-rates[selected], kind="stable")]
    leading: dict[int, int] = {}  # by claim
    runners_up: dict[int, int | None] = {}
    seconds: set[int] = set()
    n_unselected = 0
    for arm in [*falling.tolist(), *others.tolist()]:
        members = np.flatnonzero(arm_of == arm).tolist()
        for column in sorted(members, key=lambda column: place.get(column, 0)):
            number = claim_of.get(column, -1 - column)
            if selected[arm] and number not in leading:
                leading[number] = column
            elif number not in seconds and (selected[arm] or n_unselected < MOST_RUNNERS_UP):
                seconds.add(number)
                runners_up[column] = leading.get(number)
                n_unselected += not selected[arm]
    always = np.flatnonzero(arm_of < 0).tolist()
    return Shown([*leading.values(), *always], runners_up, n_others)


def runner_up_effects(
    shown: Shown,
    table: Table,
    outcome: Outcome,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None = None,
) -> tuple[Effect, ...]:
    """Effects of runners-up, by a shorter model in which they stand for what they resemble."""
    runners_up = dict(islice(shown.runners_up.items(), MOST_COLUMNS // 2))
    if not runners_up:
        return ()
    replaced = set(runners_up.values())
    columns = [*runners_up, *(column for column in shown.leading if column not in replaced)]
    forest = DependenceForest(table, outcome, columns, rng, groups, SHORT)
    best_of = {j: shown.n_unselected if rival is None else 1 for j, rival in runners_up.items()}
    return partial_dependence(forest, best_of)[1]


def find_effects(
    selector: BanditSelector, X: Any, y: Any, groups: ArrayLike | str | None = None
) -> tuple[Effect, ...]:
    """Effects of selected columns, and of runners-up, on at most 1,000 rows of a table."""
    rng = RandomStream.JOINT_EFFECT.generator(fitted_result(selector).asked.seed)
    table, target, codes = rows_of(selector, X, y, groups, rng)
    outcome = read_outcome(target, table.n_rows, family=selector.result_.asked.family)
    shown = columns_to_show(selector)
    found: tuple[Effect, ...] = ()
    if shown.leading:
        found = partial_dependence(DependenceForest(table, outcome, shown.leading, rng, codes))[1]
    return found + runner_up_effects(shown, table, outcome, rng, codes)


def joint_effect(
    selector: ThompsonSelector | StreamingThompsonSelector,
    X: Any,
    y: Any,
    pair: Sequence[str] | Sequence[int] | None = None,
    groups: ArrayLike | str | None = None,
) -> JointEffect:
    """How the outcome depends on two selected features together.

    Partial dependence by a forest on the selected columns, of at most 1,000 rows: both features
    are set to every pair of about 13 quantiles, or of the values if there are few, and the
    predictions are averaged.

    Parameters
    ----------
    selector : ThompsonSelector or StreamingThompsonSelector
        Fitted.
    X, y : table and outcome
        With the columns that the selector was fitted on.
    pair : two names or column numbers, optional
        By default, the pair of ``selector.interactions_`` with the lowest q-value.
    groups : array-like (rows,) or str, optional
        Which rows belong together, as in :meth:`ThompsonSelector.fit`; by default the column that
        the fit was told of, if ``X`` has it.

    Raises
    ------
    ValueError
        When no interaction was found and no pair is named, or when a pair is not two selected
        columns.

    Examples
    --------
    >>> from tvselect import LassoReward, ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (200, 5))
    >>> y = X[:, 0] + X[:, 1] + 3 * X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=200)
    >>> selector = ThompsonSelector(LassoReward(), n_plays=30, random_state=0).fit(X, y)
    >>> effect = joint_effect(selector, X, y)
    >>> effect.names, effect.q_value
    (('x0', 'x1'), 0.05)
    >>> effect.mean.round() + 0
    array([[0., 1.],
           [1., 5.]])
    """
    result = fitted_result(selector)
    found = {pair.columns: pair.q_value for pair in getattr(selector, "interactions_", ())}
    if pair is None and not found:
        raise ValueError("no interaction was found: name a pair")
    columns = next(iter(found)) if pair is None else _selected_pair(pair, result)
    rng = RandomStream.JOINT_EFFECT.generator(result.asked.seed)
    table, target, codes = rows_of(selector, X, y, groups, rng)
    outcome = read_outcome(target, table.n_rows, family=result.asked.family)
    others = np.setdiff1d(np.flatnonzero(result.support), columns).tolist()
    forest = DependenceForest(table, outcome, [*columns, *others], rng, codes)
    effect = forest.joint_effect(*columns)
    name = str(getattr(y, "name", None) or "y") if effect.outcome == "y" else effect.outcome
    return effect._replace(outcome=name, q_value=found.get((min(columns), max(columns))))


def rows_of(
    selector: BanditSelector, X: Any, y: Any, groups: Any, rng: np.random.Generator
) -> tuple[Table, Any, NDArray[np.int32] | None]:
    """At most 1,000 rows of a table, their outcome, and groups: as told here, or in the fit.

    Of a series these are stretches of time, half as long as independent ones: what errors of
    neighbours have in common is then theirs, and not what columns are credited with.
    """
    result, named = selector.result_, hasattr(selector, "feature_names_in_")
    asked = result.asked
    if groups is None:
        with suppress(ValueError):  # not among these columns
            if asked.groups:
                groups = column_named(as_given(X), asked.groups, "groups")
            elif asked.groups is None and asked.order and asked.n_units:
                _, blocks = take_blocks(as_given(X), None, asked.order)
                n_seen = asked.n_rows or asked.batch_size or 0
                if blocks and (length := -(-n_seen // (2 * asked.n_units))) > 1:
                    groups = blocks.ranks // length
    return sample_rows(X, y, result.names, named=named, most=MOST_ROWS, rng=rng, groups=groups)


def _selected_pair(pair: Any, result: SearchResult) -> tuple[int, int]:
    """The columns of two names or numbers."""
    selected = np.flatnonzero(result.support).tolist()
    places = {str(result.names[j]): j for j in selected} | {j: j for j in selected}
    items = np.asarray(pair, dtype=object).ravel().tolist()
    columns = [places[item] for item in items if item in places]
    if not len(items) == len(set(columns)) == 2:
        raise ValueError(f"pair must be two selected columns, by name or number; got {pair!r}")
    return columns[0], columns[1]


def _encode(table: Table, column: int) -> Encoded:
    if table.categorical[column]:
        text = table.text(column)
        counts = np.bincount(text.codes[text.codes >= 0], minlength=len(text.levels))
        frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        labels = tuple(str(text.levels[level]) for level in frequent[:MOST_POINTS])
        values = one_hot(text.codes, len(text.levels))[:, frequent]
        return Encoded(values, np.eye(frequent.size)[: len(labels)], labels)
    values = np.asarray(table.numbers(np.array([column])), dtype=np.float64)
    distinct = np.unique(values[~np.isnan(values)])
    is_date = table.names[column] in table.dates and bool((np.abs(distinct) < CALENDAR).all())
    if distinct.size <= MOST_POINTS:
        labels = _as_text(distinct.tolist(), is_date, digits=6)
        return Encoded(values, distinct[:, None], labels, is_date)
    grid = np.unique(np.nanquantile(values, np.linspace(0.01, 0.99, GRID)))
    return Encoded(values, grid[:, None], (), is_date)


def _as_text(values: Sequence[float], is_date: bool, digits: int = 4) -> tuple[str, ...]:
    """Rising numbers, or days since 1970-01-01; with the time where these are close together."""
    if not is_date:
        return tuple(f"{value:.{digits}g}" for value in values)
    span = max(values, default=0.0) - min(values, default=0.0)
    unit, per_day = ("D", 1) if span >= len(values) - 1 else ("m", 1440)
    moments = np.round(np.array(values) * per_day).astype(f"datetime64[{unit}]")
    return tuple(str(moment).replace("T", " ") for moment in moments)


def curves(run: BartRun, design: Floats, first: int, last: int, grid: Floats) -> Floats:
    """Averaged predictions (forests, points, and classes if three or more) on a grid of columns."""
    points = np.zeros((len(grid), design.shape[1]))
    points[:, first:last] = grid
    point_codes = run.cuts.encode(points)[first:last, None, : len(grid)]
    below = (point_codes <= np.arange(MISSING)[:, None]) @ (1 << np.arange(len(grid)))
    codes = run.cuts.encode(design)

    def at_points(forest: Forest) -> Floats:
        values = np.zeros((len(design), len(grid)))
        forest.add_at_points(codes, first, below, values)
        return values

    return np.array([run.expected(draw, at_points).mean(axis=0) for draw in run.draws])


MOST_ALIKE = 5
ALIKE = 0.5


def find_lookalikes(table: Table, columns: Ints, candidates: Ints) -> list[list[tuple[int, float]]]:
    """For each column up to five candidates with their Spearman correlations of 0.5 or more."""

    def ranks(columns: Ints) -> Floats:
        return centred_ranks(np.ascontiguousarray(table.numbers(columns).T, dtype=np.float64))

    candidates = candidates[~table.categorical[candidates]]
    is_number = ~table.categorical[columns]
    ranked = ranks(columns[is_number])
    correlations = np.zeros((columns.size, candidates.size))
    for block in in_blocks(candidates.size, table.n_rows):
        correlations[is_number, block] = ranked @ ranks(candidates[block]).T

    def matches(row: Floats) -> list[tuple[int, float]]:
        best = np.argsort(-np.abs(row), kind="stable")[:MOST_ALIKE]
        return [
            (int(candidates[place]), round(float(np.clip(row[place], -1, 1)), 12))
            for place in best[np.abs(row[best]) >= ALIKE]
        ]

    return list(map(matches, correlations))


def chance_level(n_rows: int, n_candidates: int) -> float:
    """About the strongest rank correlation that unrelated columns reach by chance."""
    if n_rows < 3 or n_candidates < 1:
        return 1.0
    return min(1.0, float(ndtri(1 - 0.5 / (n_candidates + 1))) / math.sqrt(n_rows - 1))
