"""What a run does: the table as it was understood, and the settings of the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tvselect.inputs.facts import TableFacts
from tvselect.inputs.outcome import Family
from tvselect.inputs.text import Mark
from tvselect.report.decisions import describe_doubts, describe_table

RewardName = Literal["bart", "lasso", "importance", "pvalue"]
DecoyName = Literal["auto", "shuffled", "plain", "knockoffs", "none"]


@dataclass(frozen=True)
class Settings:
    """The search."""

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
    max_fdr: float | None = 0.1  #: Largest share of false selections; None: the median model
    decoys: DecoyName = "auto"
    window: int | None = None  #: Most plays that are chosen together; by the workers if not given

    @property
    def has_decoys(self) -> bool:
        """Whether decoys take part in the search."""
        is_open = self.decoys == "auto" and self.max_fdr is None
        return self.decoys != "none" and not is_open


@dataclass(frozen=True)
class Plan:
    """How a table is read."""

    table: str  #: Path, folder, glob or URL, or "-" for standard input
    delimiter: str | None  #: Of a CSV, as this and the next two if the user has said it
    decimal: Mark | None
    sheet: str | None  #: Of a spreadsheet
    transpose: bool  #: Whether rows of the file are columns of the table
    phenotypes: str | None  #: Table of the people or cells
    layer: str | None  #: Of an AnnData file
    columns: tuple[str, ...]  #: Those to choose from
    always: tuple[str, ...]  #: Columns that are part of every play
    groups: dict[str, tuple[str, ...]]  #: Columns that are one arm, by label
    linkage: bool  #: Whether neighbouring columns that are alike are one arm
    facts: TableFacts  #: What was found out about the table

    @property
    def target(self) -> str:
        """The column to explain."""
        return self.facts.outcome.name

    @property
    def event(self) -> str | None:
        """The column that says whether a survival time ended in the event."""
        return self.facts.outcome.event

    @property
    def family(self) -> Family:
        """What the outcome is."""
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
    said = describe_table(
        plan.facts, len(plan.columns) - len(plan.always), plan.groups, plan.always
    )
    if plan.linkage:
        said.append("Neighbouring columns that are much alike are one variable (--groups ld).")
    return said


def doubts_of(plan: Plan) -> list[str]:
    """What was assumed about a table and may be wrong."""
    return describe_doubts(plan.facts)


def make_reward(settings: Settings, stream: bool) -> Any:
    """The reward that the settings name."""
    from tvselect.selectors.base import as_reward

    reward: Any = as_reward(settings.reward, settings.has_decoys and not stream)
    if settings.iterations is not None:
        reward.n_iterations = settings.iterations
    return reward
