"""Pairs of variables that act together, and heat maps of the surest."""

from __future__ import annotations

from collections.abc import Sequence

from tvselect.plotting.dependence import DependenceForest
from tvselect.plotting.effects import Cells
from tvselect.report.findings import HeatMap, ReportedInteraction, Scale
from tvselect.report.names import readable, shown
from tvselect.selectors.interactions import Interaction

MOST_MAPS = 3


def report_interactions(
    interactions: Sequence[Interaction], forest: DependenceForest | None
) -> tuple[ReportedInteraction, ...]:
    """Interactions as they are shown, the surest first.

    Parameters
    ----------
    interactions : sequence of Interaction
    forest : DependenceForest or None
        For heat maps of the first three; without one, there are none.

    Examples
    --------
    >>> pair = Interaction((0, 2), ("age", "dose"), 1.5, 0.05)
    >>> report_interactions([pair], None)
    (ReportedInteraction(names=('age', 'dose'), strength=1.5, q_value=0.05, heat_map=None),)
    """
    found = []
    for number, pair in enumerate(interactions):
        first, second = map(shown, pair.names, pair.columns)
        heat_map = None
        if forest is not None and number < MOST_MAPS and set(pair.columns) <= set(forest.columns):
            heat_map = _heat_map(forest, *pair.columns)
        found.append(ReportedInteraction((first, second), pair.strength, pair.q_value, heat_map))
    return tuple(found)


def _heat_map(forest: DependenceForest, first: int, second: int) -> HeatMap:
    effect = forest.joint_effect(first, second)
    return HeatMap(
        _scale(effect.first), _scale(effect.second), tuple(map(tuple, effect.mean.tolist()))
    )


def _scale(cells: Cells) -> Scale:
    return Scale(tuple(readable(label, 40) for label in cells.labels), tuple(cells.at.tolist()))
