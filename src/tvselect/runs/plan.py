"""What a run does: the table as it was understood, and the settings of the game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

RewardName = Literal["bart", "lasso", "importance", "pvalue"]
Family = Literal["gaussian", "probit"]


@dataclass(frozen=True)
class Settings:
    """The game."""

    seed: int
    reward: RewardName = "bart"
    iterations: int | None = None  #: Of the trees, for "bart"
    plays: int = 500  #: Of a table in memory
    chains: int = 1
    time_limit: float | None = None  #: Seconds
    patience: int | None = None
    jobs: int = 1
    batch_size: int = 1000  #: Of a stream
    rounds: int = 1  #: Of a stream
    decoys: bool = False  #: Of a stream
    #: Address of the scheduler of a Dask cluster, instead of ``jobs`` on this machine.
    cluster: str | None = None
    window: int | None = None  #: Most plays that are chosen together; by the workers if not given


@dataclass(frozen=True)
class Plan:
    """How a table is read."""

    table: str  #: Path, folder, glob or URL
    delimiter: str | None  #: Of a CSV
    decimal: str | None  #: Of a CSV
    target: str
    family: Family
    stream: bool  #: Whether rows are read batch by batch
    n_rows: int  #: Rows with a target
    n_incomplete: int  #: Rows without one, which are not used
    columns: tuple[str, ...]  #: Those to choose from
    numbers: tuple[str, ...]  #: Columns of text that are read as numbers
    dates: tuple[str, ...]  #: Columns of dates that are read as numbers
    always: tuple[str, ...]  #: Columns that are part of every play
    groups: dict[str, tuple[str, ...]]  #: Columns that are one arm, by label
    left_out: dict[str, str]  #: Why a column is not among ``columns``
    decisions: tuple[str, ...]  #: All of this in sentences


def make_reward(settings: Settings) -> Any:
    """The reward that the settings name."""
    from tvselect import rewards

    kinds: dict[str, Any] = {
        "bart": rewards.BartReward,
        "lasso": rewards.LassoReward,
        "importance": rewards.ImportanceReward,
        "pvalue": rewards.PValueReward,
    }
    more = {} if settings.iterations is None else {"n_iterations": settings.iterations}
    return kinds[settings.reward](**more)
