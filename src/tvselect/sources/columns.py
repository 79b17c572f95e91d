"""Which columns of the data are used: the target, and those it is explained by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.errors import SourceError
from tvselect.inputs.kinds import Field
from tvselect.inputs.table import refuse_other_kinds, refuse_repeated

LEAVE_OUT = "leave it out with {columns}"


def choose_columns(
    fields: Sequence[Field], columns: Iterable[str] | None, target: str | None, where: str
) -> tuple[Field, ...]:
    """The columns to use, in the order of ``columns`` or of the data, without the target.

    Parameters
    ----------
    fields : sequence of Field
        All columns of the data.
    columns : iterable of str or None
        None for all but the target.
    target : str or None
        None if it is no column.
    where : str
        The data's name in error messages.

    Raises
    ------
    SourceError
        For names that are missing or repeated, and columns of other types.
    """
    if isinstance(columns, str):
        raise SourceError(f"columns must be a list of names, got {columns!r}")
    known = {field.name: field for field in fields}
    refuse_repeated((field.name for field in fields), where, "rename them")
    if target is not None:
        refuse_other_kinds([_find(known, target, where, "target")], where, LEAVE_OUT)
    wanted = [name for name in known if name != target] if columns is None else list(columns)
    refuse_repeated(wanted, "columns", "name each once")
    if target in wanted:
        raise SourceError(f"columns holds the target {target!r}; leave it out")
    chosen = tuple(_find(known, name, where, "columns") for name in wanted)
    if not chosen:
        raise SourceError(f"{where} has no column besides the target")
    refuse_other_kinds(chosen, where, LEAVE_OUT)
    return chosen


def require_target(target: Any) -> str:
    """The name of the target, or an error that says how to give it."""
    if target is None:
        raise SourceError("which column is to be explained? Give its name: target='...'")
    if not isinstance(target, str):
        raise SourceError(f"target must be the name of a column, got {type(target).__name__}")
    return target


def compare_columns(
    first: Sequence[Field], other: Sequence[Field], where: str, *, extra: bool
) -> None:
    """Raise unless ``other`` has the columns of ``first``, in any order, of the same kinds.

    ``extra`` says whether it may have more columns.
    """
    found = {field.name: field for field in other}
    for field in first:
        if field.name not in found:
            raise SourceError(
                f"{where} lacks column {field.name!r}, which the data before it has",
                "leave the column out with {columns}, or add it",
            )
        if found[field.name].kind != field.kind:
            raise SourceError(
                f"column {field.name!r} of {where} holds {_called(found[field.name])}, before it "
                f"held {_called(field)}",
                "make them alike",
            )
    more = found.keys() - {field.name for field in first}
    if more and not extra:
        raise SourceError(
            f"{where} has column {min(more)!r}, which the data before it lacks",
            "say which columns to use with {columns}, or drop it",
        )


def categorical_mask(fields: Sequence[Field]) -> NDArray[np.bool_]:
    """Which columns hold text."""
    return np.array([field.kind == "text" for field in fields], dtype=np.bool_)


def hash_fields(fields: Sequence[Field], target: str | None) -> str:
    """A hash of names and types."""
    return sha256(repr((tuple(map(tuple, fields)), target)).encode()).hexdigest()


def _find(known: dict[str, Field], name: str, where: str, role: str) -> Field:
    if name not in known:
        close = get_close_matches(str(name), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {_shown(list(known))}"
        raise SourceError(f"{role} names {name!r}, which {where} does not have; {hint}")
    return known[name]


def _shown(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def _called(field: Field) -> str:
    return "text" if field.type == "object" else field.type
