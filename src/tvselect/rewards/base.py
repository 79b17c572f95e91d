"""The interface of rewards: rules that score some columns of the data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tvselect.inputs import Outcome
from tvselect.inputs.columns import Matrix, at_rows
from tvselect.inputs.outcome import Family
from tvselect.rewards.screening import Bulk
from tvselect.trees import BinnedTable, Cuts, bin_table
from tvselect.trees.prior import NO_PAIRS

Floats = NDArray[np.float64]
Feedback = Callable[[NDArray[np.int64], np.random.Generator], Floats]
"""``feedback(columns, rng)``: one number in [0, 1] for each of the played columns."""


class DecoyColumns(Protocol):
    """Copies of columns that stand behind those of a table, one copy after the other."""

    @property
    def held(self) -> Sequence[NDArray[np.int64]]:
        """Columns that each copy holds, in rising order."""

    def at(self, rows: NDArray[np.int64]) -> DecoyColumns:
        """Those of some rows."""

    def values(self, X: Matrix, decoys: NDArray[np.int64]) -> Floats:
        """Some of them as floats (rows, decoys), counted from the first decoy."""

    def binned(self, table: BinnedTable) -> BinnedTable:
        """A binned table with all of them behind its columns."""


@dataclass(frozen=True)
class Data:
    """The data of a fit, as rewards see it."""

    X: Matrix  #: Numbers (rows, columns), in the dtype and order they came in; NaN is missing
    outcome: Outcome  #: What the columns are to explain
    names: Sequence[str]  #: Of the columns
    sample_weight: Floats | None = None  #: Of the rows, where they differ
    cuts: Cuts | None = None  #: Cut points of the columns, where they are settled (on a stream)
    n_candidates: int | None = None  #: Columns in the selection, if ``X`` has only some of them
    decoys: DecoyColumns | None = None  #: Columns behind those of ``X``
    bulks: Sequence[Bulk] = ()  #: Typical z-values of ``X`` and each copy, if these have only some
    #: Columns (pairs, 2) whose product is correlated with the outcome, see
    #: :func:`tvselect.rewards.screening.screen_pairs`.
    pairs: NDArray[np.int64] = field(default_factory=lambda: NO_PAIRS)
    groups: NDArray[np.int32] | None = None  #: Group of every row, from 0; None: independent rows
    #: How many rows of a weight of 1 tell as much as these, which are repeated by their weights: no
    #: play may see more (:meth:`rows_of_play`). None: all.
    n_effective: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def rows_of_play(self, rng: np.random.Generator, *, again: bool = False) -> NDArray[np.int64]:
        """The rows that a play sees: all, or ``n_effective`` by ``rng``, if ``again`` repeated."""
        n = self.n_effective or self.n_rows
        if again:
            return np.sort(rng.integers(self.n_rows, size=n))
        if n == self.n_rows:
            return np.arange(n)
        return np.sort(rng.choice(self.n_rows, n, replace=False))

    def at(self, rows: NDArray[np.int64]) -> Data:
        """The data of some ``rows``, none of them twice."""
        return replace(
            self,
            X=at_rows(self.X, rows),
            outcome=self.outcome.rows(rows),
            groups=None if self.groups is None else self.groups[rows],
            decoys=None if self.decoys is None else self.decoys.at(rows),
            n_effective=None,
        )

    @property
    def is_batch(self) -> bool:
        """Whether these are the rows of one batch of a stream."""
        return self.cuts is not None

    def binned(self, max_cuts: int = 100) -> BinnedTable:
        """The table as one-byte codes, with at most ``max_cuts`` cut points per column."""
        table = bin_table(self.X, max_cuts=max_cuts) if self.cuts is None else self.cuts.bin(self.X)
        return table if self.decoys is None else self.decoys.binned(table)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the table and every copy of it begin, and where the last ends."""
        copies = [] if self.decoys is None else [held.size for held in self.decoys.held]
        return np.cumsum([0, self.X.shape[1], *copies])

    def values(self, columns: NDArray[np.int64]) -> Floats:
        """These ``columns``, decoys among them, as floats (rows, columns)."""
        if self.decoys is None:
            return np.ascontiguousarray(self.X[:, columns], dtype=np.float64)
        values = np.empty((self.n_rows, columns.size))
        is_decoy = columns >= self.X.shape[1]
        values[:, ~is_decoy] = self.X[:, columns[~is_decoy]]
        values[:, is_decoy] = self.decoys.values(self.X, columns[is_decoy] - self.X.shape[1])
        return values


class Reward(BaseEstimator, ABC):  # type: ignore[misc]
    """A feedback rule. Subclasses are settings; :meth:`start` binds them to data."""

    takes_missing: bool = False  #: Whether missing values in ``X`` are legal
    takes_weights: bool = False  #: Whether sample weights are used
    #: Outcomes that it takes as they are; others are put in simple terms
    #: (:meth:`tvselect.inputs.Outcome.in_simple_terms`), see :func:`start_reward`.
    families: tuple[Family, ...] = ("gaussian", "probit", "ordinal", "counts")
    max_cuts: int = 100  #: Cut points per column that it asks for
    min_rows: int = 2  #: Fewer rows are too few for a play
    #: Whether a column may be rewarded only because it goes with another one of the table. Shuffled
    #: decoys never are, so that with such a reward only knockoffs keep a level.
    rewards_stand_ins: bool = True

    def __repr__(self) -> str:
        return " ".join(super().__repr__(N_CHAR_MAX=10**6).split())

    def settled(self, data: Data) -> Self:
        """Itself with settings that suit ``data`` in place of "auto"."""
        return self

    @abstractmethod
    def start(self, data: Data) -> Feedback:
        """Check the settings against ``data`` and return the feedback of a play.

        The feedback must be a pure function of the columns and the generator.
        """


def start_reward(reward: Reward, data: Data) -> Feedback:
    """Bind a reward to data; of an outcome in several simple terms the best payoff counts."""
    if data.outcome.family in reward.families:
        return reward.start(data)
    terms = data.outcome.in_simple_terms()
    feedbacks = [reward.start(replace(data, outcome=term)) for term in terms]

    def best(columns: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        return np.max([feedback(columns, rng) for feedback in feedbacks], axis=0)

    return feedbacks[0] if len(feedbacks) == 1 else best
