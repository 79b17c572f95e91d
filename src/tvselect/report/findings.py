"""What a report shows, as plain values that go through JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

from tvselect.bandit.stopping import StopReason
from tvselect.records import RecordError, parse_json, read_record
from tvselect.selectors.history import Asked

FORMAT, VERSION = "tvselect findings", 1


@dataclass(frozen=True)
class About:
    """Where a run comes from, as far as whoever ran it says.

    Attributes
    ----------
    table, command, folder : str
        Empty where there is none.
    more : dict
        Anything else that is worth showing, by label.
    """

    table: str = ""
    command: str = ""
    folder: str = ""
    more: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReportedVariable:
    """A variable, a group of columns or a decoy, and how it fared.

    Attributes
    ----------
    name : str
        Fit to be shown; see :func:`tvselect.report.names.shown`.
    role : {"selected", "unselected", "decoy"}
    pi : float
        The inclusion probability of all chains together.
    low, high : float
        Its 95 % interval.
    threshold : float
    n_played : int
        Plays that it was part of, in all chains.
    n_chains : int
        Chains that select it on their own.
    members : tuple of str
        The columns of a group; empty for a single column.
    path : tuple of float
        ``pi`` at :attr:`Findings.steps`.
    """

    name: str
    role: Literal["selected", "unselected", "decoy"]
    pi: float
    low: float
    high: float
    threshold: float
    n_played: int
    n_chains: int
    members: tuple[str, ...]
    path: tuple[float, ...]


@dataclass(frozen=True)
class Decoys:
    """How the decoys of a stream fared.

    Attributes
    ----------
    n : int
    n_passed : int
        Those that passed the threshold.
    false_share : float
        Estimated share of false discoveries among the selected.
    """

    n: int
    n_passed: int
    false_share: float


@dataclass(frozen=True)
class Dependence:
    """How the outcome depends on one column, the others as they are in the rows.

    Attributes
    ----------
    variable : str
    labels : tuple of str
        What the points stand for, where each value has its own; empty for a curve.
    at : tuple of float
        Values of a curve, else the places of the points.
    mean, low, high : tuple of float
        Posterior mean and 90 % band of the outcome, or of the probability of the second
        class.
    """

    variable: str
    labels: tuple[str, ...]
    at: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class LookAlike:
    """A column that was not selected, but resembles a selected one.

    Attributes
    ----------
    name : str
    correlation : float
        Spearman's.
    pi : float or None
        None if it was never played.
    """

    name: str
    correlation: float
    pi: float | None


@dataclass(frozen=True)
class Resemblance:
    """A selected column and its look-alikes, the nearest first."""

    variable: str
    alike: tuple[LookAlike, ...]


@dataclass(frozen=True)
class Findings:
    """Everything that the page of a run shows.

    Attributes
    ----------
    title, target : str
    outcome : {"continuous", "two classes", "unknown"}
    classes : tuple of str
        The two labels; empty unless there are two classes.
    n_columns, n_variables : int
        Columns, and the variables that they make: groups count once, those always included
        not at all.
    n_selected, n_unplayed : int
        Variables selected, and never played.
    n_plays, n_skipped, n_chains : int
        Plays of the longest chain, skipped batches among them, and chains.
    seconds : float
        Spent on plays, by all chains.
    stop_reason : StopReason
    asked : Asked
        What the run was to do.
    agreement : float or None
        Mean Jaccard index of the chains' sets; None for one chain.
    decoys : Decoys or None
    variables : tuple of ReportedVariable
        Those worth showing: selected ones first, then others, then decoys, each in falling
        order of ``pi``.
    always : tuple of str
        Columns that are always included.
    steps : tuple of int
        Plays after which paths and sizes are given.
    played, paid : tuple of float
        How many variables were played and paid at these steps, averaged over chains.
    dependence, resemblances : tuples
    dependence_note, resemblance_note : str
        How these were made, or why they are not there.
    notes : tuple of str
        Decisions about the table.
    about : About
    settings : str
        All parameters of the selector that are not as by default.
    versions : dict
        Of Python and of what the numbers depend on.
    """

    title: str
    target: str
    outcome: Literal["continuous", "two classes", "unknown"]
    classes: tuple[str, ...]
    n_columns: int
    n_variables: int
    n_selected: int
    n_unplayed: int
    n_plays: int
    n_skipped: int
    n_chains: int
    seconds: float
    stop_reason: StopReason
    asked: Asked
    agreement: float | None
    decoys: Decoys | None
    variables: tuple[ReportedVariable, ...]
    always: tuple[str, ...]
    steps: tuple[int, ...]
    played: tuple[float, ...]
    paid: tuple[float, ...]
    dependence: tuple[Dependence, ...]
    dependence_note: str
    resemblances: tuple[Resemblance, ...]
    resemblance_note: str
    notes: tuple[str, ...]
    about: About
    settings: str
    versions: dict[str, str]

    def __post_init__(self) -> None:
        series = [self.played, self.paid, *(variable.path for variable in self.variables)]
        if not self.steps or any(len(values) != len(self.steps) for values in series):
            raise ValueError("paths and sizes must have one value per step")
        for shape in self.dependence:
            lengths = {len(shape.at), len(shape.mean), len(shape.low), len(shape.high)}
            if len(lengths) > 1 or len(shape.labels) not in (0, len(shape.at)):
                raise ValueError(f"the dependence on {shape.variable!r} has uneven lengths")
            if not shape.at:
                raise ValueError(f"the dependence on {shape.variable!r} has no point")
        for group in self.resemblances:
            if not group.alike:
                raise ValueError(f"{group.variable!r} has no look-alike")
        if len(self.classes) != (2 if self.outcome == "two classes" else 0):
            raise ValueError("two labels go with two classes, and with nothing else")

    @property
    def unit(self) -> Literal["play", "batch"]:
        """What a step is."""
        return "batch" if self.asked.is_stream else "play"

    def of_role(self, role: str) -> tuple[ReportedVariable, ...]:
        """The variables of a role."""
        return tuple(variable for variable in self.variables if variable.role == role)

    def to_json(self) -> str:
        """The findings as text, for :meth:`from_json`.

        Examples
        --------
        >>> import numpy as np
        >>> from tvselect import LassoReward, ThompsonSelector
        >>> from tvselect.report import gather
        >>> X = np.random.default_rng(0).random((100, 5))
        >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0)
        >>> findings = gather(selector.fit(X, X[:, 3]))
        >>> Findings.from_json(findings.to_json()) == findings
        True
        """
        content = {"format": FORMAT, "version": VERSION, "findings": asdict(self)}
        return json.dumps(content, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Findings:
        """The findings that :meth:`to_json` wrote.

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
