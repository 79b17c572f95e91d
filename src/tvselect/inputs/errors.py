"""Data that cannot be used and parameters that are wrong: what to do about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from numbers import Real
from typing import Any, Literal, TypeVar

IN_PYTHON = {
    "columns": "columns=",
    "family": "family='gaussian'",
    "classes": "family='classes'",
    "batch_size": "batch_size=",
    "delimiter": "delimiter=",
    "decimal": "decimal=",
    "sheet": "sheet=",
    "phenotypes": "phenotypes=",
    "layer": "layer=",
    "names": "names=",
    "format": "save it as .parquet, .csv or .feather; if only its name is wrong, say format=",
    "stream": "read it as a stream",
}
Raised = TypeVar("Raised", bound=Exception)


class InterruptWarning(RuntimeWarning):
    """Something was interrupted (Ctrl-C); its result covers what was done before."""


def needed(module: str, how: str) -> Any:
    """A module of a library that need not be there, or an error that says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(how, name=error.name) from None


def first_line(error: BaseException) -> str:
    """The first line of what a library says, or the kind of its error."""
    return (str(error).splitlines() or [""])[0].rstrip(". ") or type(error).__name__


class InputError(ValueError):
    """What is wrong with data, and a remedy whose parameters are spelt for whoever reads it.

    ``remedy`` has parameters in braces: ``"leave it out with {columns}"``. ``row`` says where the
    problem is: from 0 in an array, from 1 in a file.
    """

    def __init__(self, problem: str, remedy: str = "", row: int | None = None) -> None:
        self.problem, self.remedy, self.row = problem, remedy, row
        super().__init__(self.worded(IN_PYTHON))

    def worded(self, spelling: Mapping[str, str]) -> str:
        """The error in one sentence, with this spelling of the parameters."""
        problem = self.problem if self.row is None else f"{self.problem} in row {self.row}"
        return f"{problem}; {self.remedy.format_map(spelling)}" if self.remedy else problem


class RowError(InputError):
    """A value that cannot be used, in one row."""


class SourceError(InputError):
    """Data that cannot be read: the ``problem``, its ``row`` if it is one, and the ``remedy``."""


class ColumnTypeError(SourceError, TypeError):
    """A column of neither numbers nor text: the ``problem``, its ``row``, and the ``remedy``."""


def located(error: Raised, where: str) -> Raised:
    """The same error, with the place where it happened in front."""
    if isinstance(error, InputError):
        return type(error)(f"{where}: {error.problem}", error.remedy, error.row)
    return type(error)(f"{where}: {error}")


def check_share(value: Any, name: str, boundaries: Literal["neither", "right"] = "neither") -> None:
    """Refuse what is no number between 0 and 1, without 1 or with it ("right")."""
    from sklearn.utils import check_scalar

    check_scalar(value, name, Real, min_val=0.0, max_val=1.0, include_boundaries=boundaries)
    if math.isnan(value):
        raise ValueError(f"{name} must be a number between 0 and 1, got nan")
