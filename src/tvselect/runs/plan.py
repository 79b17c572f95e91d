"""What a run does: the settings of the search, the files of the table, and how it is read."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from tvselect.inputs.blocks import IN_ROW_ORDER, named_columns
from tvselect.inputs.facts import TableFacts
from tvselect.inputs.text import Mark
from tvselect.records import RecordError, parse_json, read_record
from tvselect.report.decisions import describe_table
from tvselect.runs import RunError, hint
from tvselect.sources import open_files
from tvselect.sources.files import STANDARD_INPUT
from tvselect.sources.tables import TableFiles
from tvselect.words import counted

RewardName = Literal["bart", "lasso", "importance", "pvalue"]
DecoyName = Literal["auto", "shuffled", "plain", "knockoffs", "none"]
RANGE = re.compile(r"(?P<name>.*?)(?P<first>[0-9]{1,6})-(?P=name)(?P<last>[0-9]{1,6})")


@dataclass(frozen=True)
class Settings:
    """The search."""

    seed: int
    reward: RewardName = "bart"
    iterations: int | None = None  #: Of the trees, for "bart"
    plays: int | None = None  #: Of a table in memory; None goes on until the search has settled
    chains: int = 1
    time_limit: float | None = None  #: Seconds
    patience: int | None = None
    jobs: int = 1
    batch_size: int = 1000  #: Of a stream
    rounds: int = 1  #: Of a stream
    max_fdr: float | None = 0.1  #: Largest share of false selections; None: the median model
    decoys: DecoyName = "auto"
    trees_only: bool = False  #: Without a second opinion
    window: int | None = None  #: Most plays that are chosen together; by the workers if not given

    def make_reward(self, stream: bool) -> Any:
        """The reward of the search."""
        from tvselect.selectors.base import as_reward

        without_decoys = self.decoys == "none" or (self.decoys == "auto" and self.max_fdr is None)
        reward: Any = as_reward(self.reward, not without_decoys and not stream)
        if self.iterations is not None:
            reward.n_iterations = self.iterations
        return reward

    @property
    def has_knockoffs(self) -> bool:
        """Whether decoys are knockoffs: asked for, or needed by the reward."""
        is_needed = self.max_fdr is not None and self.make_reward(False).rewards_stand_ins
        return self.decoys == "knockoffs" or (self.decoys == "auto" and is_needed)


@dataclass(frozen=True)
class FileOptions:
    """The files of a table, and what the user has said about their format."""

    table: str  #: Path, folder, glob or URL, or "-" for standard input
    delimiter: str | None = None  #: Of a CSV
    decimal: Mark | None = None
    sheet: str | None = None  #: Of a spreadsheet
    transpose: bool = False  #: Whether rows of the file are columns of the table
    phenotypes: str | None = None  #: Table of the people or cells
    layer: str | None = None  #: Of an AnnData file
    names: str | None = None  #: Column of its ``var`` with the names of the genes

    def open(self) -> TableFiles:
        """The files, looked at but not read."""
        named = vars(self.absolute()) | {"table": self.table}
        return open_files(named.pop("table"), **named)

    def absolute(self) -> FileOptions:
        """The same with absolute paths; a ``--phenotype`` of another machine is a RunError."""
        is_fixed = "://" in self.table or self.table == STANDARD_INPUT
        if "://" in (self.phenotypes or "") or self.phenotypes == STANDARD_INPUT:
            raise RunError("--phenotype is a file of this machine; save it as one")
        return replace(
            self,
            table=self.table if is_fixed else os.path.abspath(os.path.expanduser(self.table)),
            phenotypes=self.phenotypes and os.path.abspath(os.path.expanduser(self.phenotypes)),
        )


@dataclass(frozen=True)
class Plan:
    """How a table is read."""

    file: FileOptions
    columns: tuple[str, ...]  #: Those to choose from
    always: tuple[str, ...]  #: Columns that are part of every play
    feature_groups: dict[str, tuple[str, ...]]  #: Columns that are one arm, by label
    linkage: bool  #: Whether neighbouring columns that are alike are one arm
    facts: TableFacts  #: What is known of the table
    row_groups: str | None = None  #: Column that says which rows belong together
    order: str | None = None  #: Column by which rows follow each other, or "rows": as they stand
    where: str | None = None  #: Condition of SQL that rows have to meet

    @property
    def row_columns(self) -> list[str]:
        """Columns that say how rows depend on each other; no features."""
        return list(named_columns(self.row_groups, self.order))

    @property
    def told(self) -> dict[str, str]:
        """What ``fit`` is told of the rows."""
        told = {"groups": self.row_groups, "order": self.order}
        return {key: value for key, value in told.items() if value is not None}

    @property
    def target(self) -> str:
        """The column to explain."""
        return self.facts.outcome.name

    @property
    def event(self) -> str | None:
        """The column that says whether a survival time ended in the event."""
        return self.facts.outcome.event

    @property
    def stream(self) -> bool:
        """Whether rows are read batch by batch."""
        return self.facts.mode.stream

    @property
    def needed(self) -> list[str]:
        """All columns that are read."""
        event = [self.event] if self.event else []
        return [*self.columns, *self.row_columns, self.target, *event]


def describe_plan(plan: Plan) -> list[str]:
    """All decisions about a table in sentences."""
    n_candidates = len(plan.columns) - len(plan.always)
    said = describe_table(plan.facts, n_candidates, plan.feature_groups, plan.always)
    if plan.linkage:
        said.append(
            "Neighbouring columns that are much alike are one variable (--feature-groups ld)."
        )
    if plan.where is not None:
        said.insert(1, f"Only rows that meet {plan.where} (--where).")
    if plan.row_groups is not None:
        said.append(f"Rows of the same {plan.row_groups!r} belong together (--row-groups).")
    if plan.order is not None:
        by = "as they stand" if plan.order == IN_ROW_ORDER else f"by {plan.order!r}"
        said.append(f"Rows follow each other in time, {by} (--order).")
    return said


def expand(items: Iterable[str], names: Sequence[str], option: str, where: str) -> list[str]:
    """The columns that names, patterns and ranges (with commas between) stand for, in order."""
    known = set(names)
    found: set[str] = set()
    for item in items:
        for part in [item] if item in known else item.split(","):
            for name in [part] if part in known else _in_range(part.strip(), known):
                matches = {name} & known or {other for other in names if fnmatchcase(other, name)}
                if name and not matches:
                    raise RunError(
                        f"{option} names {name!r}, which {where} does not have; {hint(name, names)}"
                    )
                found |= matches
    return [name for name in names if name in found]


def _in_range(part: str, known: set[str]) -> list[str]:
    """PC1, PC2 and PC3 for PC1-PC3; other names as they are."""
    ends = RANGE.fullmatch(part)
    if ends is None or part in known:
        return [part]
    first, last, width = int(ends["first"]), int(ends["last"]), len(ends["first"])
    if last < first:
        raise RunError(f"{part!r} ends before it begins; the smaller number comes first")
    return [f"{ends['name']}{number:0{width}d}" for number in range(first, last + 1)]


def read_groups(path: str | Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Groups from JSON, ``{"label": ["column", "pattern_*"]}``, or CSV with column,group."""
    where = str(path)
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{where} is no UTF-8 text; groups are JSON or a CSV column,group") from None
    if where.lower().endswith(".json"):
        try:
            read = read_record(dict[str, tuple[str, ...]], parse_json(text))
        except RecordError as error:
            shape = '{"group": ["column", "column"]}'
            raise RunError(f"{where} must look like {shape}, but {error}") from None
        pairs = [(label, member) for label, members in read.items() for member in members]
    else:
        try:
            rows = [row for row in csv.reader(io.StringIO(text)) if row]
        except csv.Error as error:
            raise RunError(f"{where} cannot be read as CSV: {error}; mend the file") from None
        if not rows or [cell.strip().lower() for cell in rows[0]] != ["column", "group"]:
            raise RunError(f"{where} must begin with the line 'column,group' (or be a .json file)")
        for number, row in enumerate(rows[1:], start=2):
            if len(row) != 2:
                cells = counted(len(row), "cell")
                raise RunError(f"line {number} of {where} has {cells}; it needs column,group")
        pairs = [(group.strip(), column) for column, group in rows[1:] if group.strip()]
    group_of: dict[str, str] = {}
    for label, item in pairs:
        for name in expand([item], names, f"group {label!r} of {where}", "the table"):
            if group_of.setdefault(name, label) != label:
                raise RunError(
                    f"{where} puts column {name!r} into groups {group_of[name]!r} and {label!r}; "
                    "a column can be in one"
                )
    groups: dict[str, list[str]] = {}
    for name, label in group_of.items():
        groups.setdefault(label, []).append(name)
    return groups
