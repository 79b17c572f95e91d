"""Scoring plays offline: the reward's feedback on the columns of the played arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tvselect.bandit.engine import Scorer
from tvselect.bandit.play import Payoffs, PendingPlay, Score
from tvselect.rewards.base import Feedback
from tvselect.runners import TaskMap
from tvselect.selectors.layout import ArmColumns


@dataclass(frozen=True)
class TableScorer(Scorer):
    """Plays on a table that every worker holds.

    Attributes
    ----------
    run : callable
        Scores a list of plays on the workers.
    """

    run: TaskMap

    def __call__(self, pending: Sequence[PendingPlay]) -> Sequence[Score | None]:
        """One score per play, in their order."""
        return self.run(pending)


def payoffs_of_arms(feedback: Feedback, arms_columns: ArmColumns) -> Payoffs:
    """Payoffs of arms from the feedback of columns: an arm gets that of its best column."""

    def payoffs(arms: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.float64]:
        if arms_columns.is_plain:
            return feedback(arms_columns.columns[arms], rng)
        columns, starts = arms_columns.of(arms)
        values = feedback(np.concatenate([columns, arms_columns.always]), rng)
        return np.maximum.reduceat(values[: columns.size], starts)

    return payoffs


def score_play(payoffs: Payoffs, pending: PendingPlay) -> Score:
    """The work of a worker that holds the data."""
    return pending.score(payoffs)
