"""How the outcome depends on the selected columns; draws of a forest make the band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvselect.plotting.dependence import Curves, DependenceForest, Encoded
from tvselect.report.findings import Dependence
from tvselect.report.names import readable

MOST_SHOWN = 12
BAND = (0.05, 0.95)


def partial_dependence(forest: DependenceForest, names: Sequence[str]) -> tuple[Dependence, ...]:
    """Dependence of the outcome on columns, the strongest first.

    Parameters
    ----------
    forest : DependenceForest
        Its first 12 columns are shown.
    names : sequence of str
        Of the columns, as they are shown.

    Examples
    --------
    >>> from tvselect.inputs import read_outcome, read_table
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 2))
    >>> outcome = read_outcome(5 * X[:, 1] + rng.normal(0, 0.1, 300), 300)
    >>> forest = DependenceForest(read_table(X), outcome, [0, 1], rng)
    >>> shapes = partial_dependence(forest, ["x0", "x1"])
    >>> shapes[0].variable, round(shapes[0].mean[-1] - shapes[0].mean[0])
    ('x1', 5)
    """
    shown = zip(names[:MOST_SHOWN], forest.encoded, forest.columns, strict=False)
    shapes = [_describe(name, encoded, forest.curves(column)) for name, encoded, column in shown]
    return tuple(sorted(shapes, key=lambda shape: min(shape.mean) - max(shape.mean)))


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
