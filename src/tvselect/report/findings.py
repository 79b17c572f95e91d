"""What a report shows, as plain values that go through JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tvselect.after.dependence import Dependence, Effect, Scale
from tvselect.after.worth import Stability, Worth
from tvselect.bandit.engine import StopReason
from tvselect.records import RecordError, parse_json, read_record, to_json
from tvselect.selectors.results import Asked

FORMAT, VERSION = "tvselect findings", 5
OutcomeKind = Literal[
    "continuous", "two classes", "classes", "grades", "counts", "survival times", "unknown"
]


@dataclass(frozen=True)
class About:
    """Where a run comes from, as far as whoever ran it says."""

    table: str = ""  #: Name of the table
    command: str = ""  #: Command that started the run
    folder: str = ""  #: Folder of the run
    more: dict[str, str] = field(default_factory=dict)  #: Anything else worth showing, by label


@dataclass(frozen=True)
class OutcomeSummary:
    """The outcome in the rows at hand."""

    n_rows: int
    #: Of a number or count, else None.
    mean: float | None
    quartiles: tuple[float, ...]  #: The lower and the upper one; empty where there is no mean
    #: Rows of each class or grade; of survival times those that are censored, and those with the
    #: event; else empty.
    counts: tuple[int, ...]


@dataclass(frozen=True)
class ReportedVariable:
    """A variable, a group of columns or a decoy, and how it fared."""

    name: str  #: As it is shown; see :func:`tvselect.words.column_name`
    role: Literal["selected", "unselected", "decoy"]
    selection_rate: float  #: Of all chains together
    low: float  #: Lower end of its 95 % interval
    high: float  #: Upper end
    threshold: float
    n_played: int  #: Plays that it was part of, in all chains
    n_chains: int  #: Chains that select it on their own
    #: The smallest false discovery rate at which it is selected; None without decoys.
    q_value: float | None
    e_value: float | None  #: Evidence against noise, of a stream
    selected_since: int | None  #: Batch of a stream
    members: tuple[str, ...]  #: The columns of a group; empty for a single column
    #: As what the regression beside the trees sees it, "by trees only" where it does not, or empty.
    seen: str
    path: tuple[float, ...]  #: ``selection_rate`` at :attr:`Findings.steps`
    evidence: tuple[float, ...] = ()  #: Log of ``e_value`` at these, of a stream

    @property
    def is_settled(self) -> bool:
        """Whether more plays would hardly bring it to the other side of the threshold."""
        return self.low > self.threshold or self.high < self.threshold


@dataclass(frozen=True)
class Control:
    """What is known about false selections."""

    max_fdr: float | None  #: Largest share of false ones that was asked for; None: no control
    expected_false: float | None  #: Expected number of false ones among the selected
    kind: str | None  #: Of the decoys
    n_decoys: int
    n_played: int  #: Decoys that were played
    n_copies: int  #: Decoys of a variable
    n_above: int  #: Decoys above their threshold
    highest: float | None  #: The highest selection rate of a decoy that was played
    unproven: bool = False  #: Whether rows seem to depend on each other though nothing was said
    second_opinion: bool = False  #: Whether a regression was asked beside the trees


@dataclass(frozen=True)
class JointClaim:
    """Variables that these rows cannot tell apart: at least one of them matters."""

    variables: tuple[str, ...]  #: The likeliest first, at most 20
    n_variables: int
    selection_rate: float  #: How often at least one of them proved useful
    q_value: float | None  #: None without decoys

    def __str__(self) -> str:
        more = self.n_variables - len(self.variables)
        return f"{', '.join(self.variables)}{f' and {more:,} more' if more else ''}"


@dataclass(frozen=True)
class Best:
    """The variable that came nearest to being selected."""

    name: str
    selection_rate: float
    q_value: float
    threshold: float


@dataclass(frozen=True)
class HeatMap:
    """How the outcome depends on two columns, the others as they are in the rows."""

    first: Scale
    second: Scale
    #: Posterior mean of the outcome, or of the probability of a class: a tuple for each
    #: value of the first column.
    mean: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ReportedInteraction:
    """Two selected columns whose effects do not add up."""

    names: tuple[str, str]
    strength: float  #: What the pair adds to the sum of both effects, as a standard deviation
    q_value: float
    heat_map: HeatMap | None  #: Of the surest ones


@dataclass(frozen=True)
class LookAlike:
    """A column that was not selected, but resembles a selected one."""

    name: str
    correlation: float  #: Spearman's
    selection_rate: float | None  #: None if it was never played


@dataclass(frozen=True)
class Resemblance:
    """A selected column and its look-alikes, the nearest first."""

    variable: str
    alike: tuple[LookAlike, ...]


@dataclass(frozen=True)
class Findings:
    """Everything that the page of a run shows."""

    title: str  #: Title of the page
    target: str  #: Name of the outcome
    outcome: OutcomeKind  #: Kind of the outcome
    classes: tuple[str, ...]  #: The labels of classes and grades; empty for other outcomes
    summary: OutcomeSummary | None  #: None without the table
    left_out: dict[str, int]  #: How many columns were left out beforehand, by the reason
    n_columns: int  #: Of the table, without the target
    n_variables: int  #: A group of columns is one, those always included are none
    n_selected: int  #: Variables that were selected
    n_unplayed: int  #: Variables that were never played
    n_plays: int  #: Plays of each chain
    n_skipped: int  #: Batches among them
    n_chains: int  #: Independent searches
    seconds: float  #: Spent on plays, by all chains
    stop_reason: StopReason  #: Why the run ended
    asked: Asked  #: What the run was to do
    agreement: float | None  #: Mean Jaccard index of the chains' sets; None for one chain
    control: Control  #: What is known about false selections
    claims: tuple[JointClaim, ...]  #: Of more than one variable
    best: Best | None  #: The variable that came nearest to being selected
    #: Those worth showing: selected ones first, then others, then decoys, each in falling order of
    #: ``selection_rate``.
    variables: tuple[ReportedVariable, ...]
    always: tuple[str, ...]  #: Columns that are always included
    steps: tuple[int, ...]  #: Plays after which paths and sizes are given
    played: tuple[float, ...]  #: Variables played at these steps, averaged over chains
    rewarded: tuple[float, ...]  #: How many of them were rewarded
    dependence: tuple[Dependence, ...]  #: Of the outcome on selected variables
    dependence_note: str  #: How they were made, or why they are not there
    #: Of selected columns, up to 60 of them, the largest first, then of the runners-up: what could
    #: stand in their places, and the best of the unselected.
    effects: tuple[Effect, ...]
    worth: Worth | None  #: Scores on held-out rows; None if these were not asked for
    stability: Stability | None  #: With other seeds; None if this was not asked for
    interactions: tuple[ReportedInteraction, ...]  #: The surest first; none of a stream
    resemblances: tuple[Resemblance, ...]  #: Pairs of correlated columns
    resemblance_note: str  #: How these were found, or why there are none
    notes: tuple[str, ...]  #: Decisions about the table
    about: About  #: Where the run comes from
    settings: str  #: All parameters of the selector that are not as by default
    versions: dict[str, str]  #: Of Python and of what the numbers depend on
    needed: tuple[float, ...] = ()  #: Log of the e-value to pass at ``steps``, of a stream

    def __post_init__(self) -> None:
        paths = [self.played, self.rewarded, *(variable.path for variable in self.variables)]
        if self.needed:
            own = (variable.evidence for variable in self.variables if variable.role != "decoy")
            paths += [self.needed, *own]
        if not self.steps or any(len(path) != len(self.steps) for path in paths):
            raise ValueError("paths and sizes must have one value per step")
        for shape in self.dependence:
            if not _fit_together(shape, shape.mean, shape.low, shape.high):
                raise ValueError(f"the dependence on {shape.variable!r} has uneven lengths")
        for heat_map in filter(None, (pair.heat_map for pair in self.interactions)):
            rows_fit = all(_fit_together(heat_map.second, row) for row in heat_map.mean)
            if not rows_fit or not _fit_together(heat_map.first, heat_map.mean):
                raise ValueError("a heat map has uneven lengths")
        for group in self.resemblances:
            if not group.alike:
                raise ValueError(f"{group.variable!r} has no look-alike")
        if (summary := self.summary) is not None:
            n_counts = 2 if self.outcome == "survival times" else len(self.classes)
            if len(summary.counts) != n_counts:
                raise ValueError("each class must have its number of rows")
            has_mean = summary.mean is not None and len(summary.quartiles) == 2
            if summary.n_rows < 1 or not (n_counts or has_mean):
                raise ValueError("the summary of the outcome lacks its rows, mean or quartiles")
        has_labels = self.outcome in ("two classes", "classes", "grades")
        if has_labels != bool(self.classes) or (self.outcome == "two classes") != (
            len(self.classes) == 2 and self.outcome != "grades"
        ):
            raise ValueError("labels go with classes and grades, two with two classes")

    @property
    def fresh_since(self) -> int:
        """Plays of burn-in, after which the leading variables started anew; 0 for none."""
        return self.asked.burn_in if self.asked.burn_in < self.n_plays else 0

    @property
    def is_nothing(self) -> bool:
        """Whether error control was on, and found nothing."""
        is_on = self.control.max_fdr is not None and self.n_plays > 0
        return is_on and self.n_selected == 0 and not self.claims

    @property
    def unit(self) -> Literal["play", "batch"]:
        """What a step is."""
        return "batch" if self.asked.is_stream else "play"

    def of_role(self, role: str) -> tuple[ReportedVariable, ...]:
        """The variables of this ``role``."""
        return tuple(variable for variable in self.variables if variable.role == role)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Findings:
        """The findings of a run, from its ``folder``, or from a file ``findings.json``."""
        path = Path(folder)
        path = path / "findings.json" if path.is_dir() else path
        return cls.from_json(path.read_text(encoding="utf-8"))

    def to_json(self) -> str:
        """The findings as text, for :meth:`from_json`.

        Examples
        --------
        >>> import numpy as np
        >>> from tvselect import LassoReward, ThompsonSelector
        >>> from tvselect.report import Findings, gather
        >>> X = np.random.default_rng(0).random((100, 5))
        >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0)
        >>> findings = gather(selector.fit(X, X[:, 3]))
        >>> Findings.from_json(findings.to_json()) == findings
        True
        """
        return to_json({"format": FORMAT, "version": VERSION, "findings": self})

    @classmethod
    def from_json(cls, text: str) -> Findings:
        """The findings that :meth:`to_json` wrote as ``text``.

        Raises
        ------
        ValueError
            When the text is no such file, of another version, or damaged; says where.

        Examples
        --------
        >>> Findings.from_json("[1, 2]")
        Traceback (most recent call last):
            ...
        ValueError: this is no file of findings (tvselect findings)
        """
        try:
            content = parse_json(text)
        except RecordError as error:
            raise ValueError(f"this is no file of findings: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"this is no file of findings ({FORMAT})")
        if content.get("version") != VERSION:
            raise ValueError(
                f"these findings are of version {content.get('version')!r}, this program reads "
                f"version {VERSION}"
            )
        return read_record(cls, content.get("findings"), "findings")


def _fit_together(scale: Scale | Dependence, *values: Sequence[object]) -> bool:
    """Whether there is a value, and a label if there are labels, for each of one or more places."""
    n = len(scale.at)
    return n > 0 and len(scale.labels) in (0, n) and all(len(part) == n for part in values)
