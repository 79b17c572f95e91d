"""What a run does: the table as it was understood, and the settings of the game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tvselect.inputs.facts import TableFacts
from tvselect.inputs.outcome import Family
from tvselect.report.decisions import describe_table

RewardName = Literal["bart", "lasso", "importance", "pvalue"]
REWARDS: tuple[RewardName, ...] = ("bart", "lasso", "importance", "pvalue")


@dataclass(frozen=True)
class Settings:
    """The game.

    Attributes
    ----------
    reward : {"bart", "lasso", "importance", "pvalue"}
    iterations : int or None
        Of the trees, for "bart".
    plays : int
        Of a table in memory.
    chains : int
    seed : int
    time_limit : float or None
        Seconds.
    patience : int or None
    jobs : int
    cluster : str or None
        Address of the scheduler of a Dask cluster, instead of ``jobs`` on this machine.
    window : int or None
        Most plays that are chosen together; by the workers if not given.
    batch_size, rounds : int
        Of a stream.
    decoys : bool
        Of a stream.
    """

    seed: int
    reward: RewardName = "bart"
    iterations: int | None = None
    plays: int = 500
    chains: int = 1
    time_limit: float | None = None
    patience: int | None = None
    jobs: int = 1
    batch_size: int = 1000
    rounds: int = 1
    decoys: bool = False
    cluster: str | None = None
    window: int | None = None


@dataclass(frozen=True)
class Plan:
    """How a table is read.

    Attributes
    ----------
    table : str
        Path, folder, glob or URL.
    delimiter, decimal : str or None
        Of a CSV.
    columns : tuple of str
        Those to choose from.
    always : tuple of str
        Columns that are part of every play.
    groups : dict
        Columns that are one arm, by label.
    facts : TableFacts
        What was found out about the table.
    """

    table: str
    delimiter: str | None
    decimal: str | None
    columns: tuple[str, ...]
    always: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    facts: TableFacts

    @property
    def target(self) -> str:
        """The column to explain."""
        return self.facts.outcome.name

    @property
    def family(self) -> Family:
        """A continuous outcome, or two classes."""
        return self.facts.outcome.family

    @property
    def stream(self) -> bool:
        """Whether rows are read batch by batch."""
        return self.facts.mode.stream

    @property
    def n_rows(self) -> int:
        """Rows with a target."""
        return self.facts.outcome.n_rows


def describe_plan(plan: Plan) -> list[str]:
    """All decisions about a table in sentences."""
    return describe_table(plan.facts, len(plan.columns), plan.groups, plan.always)


def make_reward(settings: Settings) -> Any:
    """The reward that the settings name."""
    from tvselect import rewards

    if settings.reward == "lasso":
        return rewards.LassoReward()
    if settings.reward == "importance":
        return rewards.ImportanceReward()
    if settings.reward == "pvalue":
        return rewards.PValueReward()
    if settings.iterations is None:
        return rewards.BartReward()
    return rewards.BartReward(n_iterations=settings.iterations)
