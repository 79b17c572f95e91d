"""What a run does: the settings of the search, and the table as it was understood."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from tvselect.inputs.facts import TableFacts
from tvselect.inputs.outcome import Family
from tvselect.inputs.text import Mark
from tvselect.records import RecordError, parse_json, read_record
from tvselect.report.decisions import describe_table
from tvselect.runs import RunError, hint
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

    def make_reward(self, stream: bool) -> Any:
        """The reward of the search."""
        from tvselect.selectors.base import as_reward

        without_decoys = self.decoys == "none" or (self.decoys == "auto" and self.max_fdr is None)
        reward: Any = as_reward(self.reward, not without_decoys and not stream)
        if self.iterations is not None:
            reward.n_iterations = self.iterations
        return reward


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
    feature_groups: dict[str, tuple[str, ...]]  #: Columns that are one arm, by label
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
        plan.facts, len(plan.columns) - len(plan.always), plan.feature_groups, plan.always
    )
    if plan.linkage:
        said.append(
            "Neighbouring columns that are much alike are one variable (--feature-groups ld)."
        )
    return said


def expand(items: Iterable[str], names: Sequence[str], option: str, where: str) -> list[str]:
    """The columns that names and patterns stand for, in the order of the table.

    An item is a name, a pattern such as ``gene_*``, or several of these with commas between them;
    one that stands for no column is an error, which names the option and the table.

    Examples
    --------
    >>> expand(["y,gene_*"], ["gene_1", "x", "gene_2", "y"], "--exclude", "t.csv")
    ['gene_1', 'gene_2', 'y']
    """
    known = set(names)
    found: set[str] = set()
    for item in items:
        for part in [item] if item in known else item.split(","):
            part = part if part in known else part.strip()
            if not part:
                continue
            matches = {part} & known or {name for name in names if fnmatchcase(name, part)}
            if not matches:
                raise RunError(
                    f"{option} names {part!r}, which {where} does not have; {hint(part, names)}"
                )
            found |= matches
    return [name for name in names if name in found]


def with_ranges(items: Iterable[str], names: Sequence[str]) -> list[str]:
    """Names, with those in between where two that end in numbers have a dash between them.

    Examples
    --------
    >>> with_ranges(["age,PC1-PC3"], ["age", "PC1", "PC2", "PC3"])
    ['age', 'PC1', 'PC2', 'PC3']
    """
    found: list[str] = []
    for part in (part.strip() for item in items for part in item.split(",")):
        ends = RANGE.fullmatch(part)
        if ends is None or part in names:
            found.append(part)
            continue
        first, last = int(ends["first"]), int(ends["last"])
        if last < first:
            raise RunError(f"{part!r} ends before it begins; the smaller number comes first")
        width = len(ends["first"])
        found += [f"{ends['name']}{number:0{width}d}" for number in range(first, last + 1)]
    return found


def read_groups(path: str | Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Groups from JSON, ``{"label": ["column", "pattern_*"]}``, or CSV with column,group."""
    where = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{where} is no UTF-8 text; groups are JSON or a CSV column,group") from None
    pairs: list[tuple[str, str]] = []
    if where.lower().endswith(".json"):
        try:
            read = read_record(dict[str, tuple[str, ...]], parse_json(text))
        except RecordError as error:
            shape = '{"group": ["column", "column"]}'
            raise RunError(f"{where} must look like {shape}, but {error}") from None
        pairs = [(label, member) for label, members in read.items() for member in members]
    else:
        try:
            rows = [row for row in csv.reader(text.splitlines()) if row]
        except csv.Error as error:
            raise RunError(f"{where} cannot be read as CSV: {error}; mend the file") from None
        if not rows or [cell.strip().lower() for cell in rows[0]] != ["column", "group"]:
            raise RunError(f"{where} must begin with the line 'column,group' (or be a .json file)")
        for number, row in enumerate(rows[1:], start=2):
            if len(row) != 2:
                cells = counted(len(row), "cell")
                raise RunError(f"line {number} of {where} has {cells}; it needs column,group")
        pairs = [(group.strip(), column) for column, group in rows[1:] if group.strip()]
    groups: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for label, item in pairs:
        for name in expand([item], names, f"group {label!r} of {where}", "the table"):
            if owner.setdefault(name, label) != label:
                raise RunError(
                    f"{where} puts column {name!r} into groups {owner[name]!r} and {label!r}; "
                    "a column can be in one"
                )
            members = groups.setdefault(label, [])
            if name not in members:
                members.append(name)
    return groups
