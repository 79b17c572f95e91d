"""What was found out about a table, as plain values that go through JSON; no sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tvselect.inputs.outcome import Family

Reason = Literal[
    "excluded",
    "no value",
    "constant",
    "row numbers",
    "identifier",
    "free text",
    "all different",
    "many texts",
    "other type",
    "date on a stream",
    "mixed on a stream",
    "infinite on a stream",
]


@dataclass(frozen=True)
class LeftOut:
    """Why a column is of no use.

    Attributes
    ----------
    reason : str
    value : str
        The constant, or the type of what is neither number nor text.
    low, high : float
        Of row numbers.
    n_distinct, n_rows : int
        Of texts.
    n_seen : int or None
        How many of the first rows were looked at; None for all of them.
    """

    reason: Reason
    value: str = ""
    low: float = 0.0
    high: float = 0.0
    n_distinct: int = 0
    n_rows: int = 0
    n_seen: int | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the column can be kept all the same."""
        return self.reason not in (
            "no value", "other type", "date on a stream", "mixed on a stream",
            "infinite on a stream",
        )  # fmt: skip


@dataclass(frozen=True)
class ReadingMode:
    """Whether a table is read batch by batch, and why.

    Attributes
    ----------
    stream : bool
    why : {"asked", "rows", "memory", "small"}
    n_rows : int
        Rows, an estimate if ``is_estimate``.
    is_estimate : bool
    most_rows : int
        That are read into memory unasked.
    bytes_needed, bytes_free : int
    """

    stream: bool
    why: Literal["asked", "rows", "memory", "small"]
    n_rows: int
    is_estimate: bool = False
    most_rows: int = 0
    bytes_needed: int = 0
    bytes_free: int = 0


@dataclass(frozen=True)
class OutcomeProfile:
    """The outcome of a table.

    Attributes
    ----------
    name : str
    family : {"gaussian", "probit"}
    is_asked : bool
        Whether the user chose the family.
    is_text : bool
    n_rows, n_missing : int
        Rows with a value, and without.
    n_distinct : int
    classes : tuple of str
        The two classes (probit).
    """

    name: str
    family: Family
    is_asked: bool
    is_text: bool
    n_rows: int
    n_missing: int
    n_distinct: int
    classes: tuple[str, ...]


@dataclass(frozen=True)
class TableFacts:
    """How a table was understood.

    Attributes
    ----------
    where : str
        The table, as the user gave it.
    n_columns : int
        Besides the target.
    mode : ReadingMode
    outcome : OutcomeProfile
    left_out : dict
        Columns that are not used.
    dates : tuple of str
        Columns that are read as days since 1970-01-01.
    numbers : dict
        Columns of text that are read as numbers, and a cell that counts as missing (or "").
    infinite : dict
        Columns with infinite values, which count as missing, and how many.
    missing : tuple of str
        Columns with missing values.
    copies : tuple of tuples of str
        Columns that hold the same values.
    """

    where: str
    n_columns: int
    mode: ReadingMode
    outcome: OutcomeProfile
    left_out: dict[str, LeftOut]
    dates: tuple[str, ...]
    numbers: dict[str, str]
    infinite: dict[str, int]
    missing: tuple[str, ...]
    copies: tuple[tuple[str, ...], ...]
