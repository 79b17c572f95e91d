"""How the outcome depends on the selected columns; draws of a forest make the band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvselect.plotting.dependence import Curves, DependenceForest, Encoded
from tvselect.report.findings import Dependence, Direction, Effect
from tvselect.report.names import readable

MOST_SHOWN = 12
BAND = (0.05, 0.95)


def partial_dependence(
    forest: DependenceForest, names: Sequence[str]
) -> tuple[tuple[Dependence, ...], tuple[Effect, ...]]:
    """Dependence of the outcome on the first 12 columns, and effects of all, the strongest first.

    Parameters
    ----------
    forest : DependenceForest
    names : sequence of str
        Of the columns, as they are shown.

    Examples
    --------
    >>> from tvselect.inputs import read_outcome, read_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2))
    >>> outcome = read_outcome(5 * X[:, 1] + rng.normal(0, 0.1, 300), 300)
    >>> forest = DependenceForest(read_table(X), outcome, [0, 1], rng)
    >>> shapes, effects = partial_dependence(forest, ["x0", "x1"])
    >>> shapes[0].variable, round(shapes[0].mean[-1] - shapes[0].mean[0])
    ('x1', 5)
    >>> effects[0].name, effects[0].direction
    ('x1', 'up')
    """
    shapes = [
        _describe(name, encoded, forest.curves(column))
        for name, encoded, column in zip(names, forest.encoded, forest.columns, strict=False)
    ]
    effects = [
        Effect(
            column,
            shape.variable,
            effect_size(shape),
            direction(shape) if encoded.is_ordered else "by category",
            shape.of_class,
        )
        for column, shape, encoded in zip(forest.columns, shapes, forest.encoded, strict=False)
    ]
    shapes = sorted(shapes[:MOST_SHOWN], key=lambda shape: -effect_size(shape))
    return tuple(shapes), tuple(sorted(effects, key=lambda effect: -effect.size))


def effect_size(shape: Dependence) -> float:
    """Largest less smallest value of a curve."""
    return max(shape.mean) - min(shape.mean)


def direction(shape: Dependence) -> Direction:
    """Where a curve, or points of rising numbers, go, or that they have no clear way.

    Examples
    --------
    >>> def curve(*mean):
    ...     low, high = ([m + d for m in mean] for d in (-0.1, 0.1))
    ...     return Dependence("x", (), (0.0, 1.0, 2.0), "", mean, tuple(low), tuple(high))
    >>> direction(curve(0.0, 1.0, 2.0)), direction(curve(2.0, 0.0, 2.0))
    ('up', 'valley')
    """
    first, last = shape.mean[0], shape.mean[-1]
    top, bottom = max(shape.mean), min(shape.mean)
    width = (sum(shape.high) - sum(shape.low)) / len(shape.mean)
    if top - bottom < width:
        return "unclear"
    if abs(last - first) > 0.7 * (top - bottom):
        return "up" if last > first else "down"
    return "valley" if min(first, last) - bottom > top - max(first, last) else "peak"


def _describe(name: str, column: Encoded, curves: Curves) -> Dependence:
    low, high = np.quantile(curves.values, BAND, axis=0)
    return Dependence(
        variable=name,
        labels=tuple(readable(label, 40) for label in column.labels),
        at=tuple(map(float, column.at)),
        of_class=readable(curves.of_class, 40),
        mean=tuple(map(float, curves.values.mean(axis=0))),
        low=tuple(map(float, low)),
        high=tuple(map(float, high)),
    )
