"""Arrays from what users hand in, before anything is known of their values."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.days import days_of_array
from tvselect.inputs.errors import ColumnTypeError


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Array of the values; masked ones are missing, numbers next to text stay numbers.

    Raises
    ------
    ValueError
        When it is no array, as rows of different lengths are not.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        kind = np.float64 if values.dtype.kind in "biuf" else object
        with np.errstate(invalid="ignore"):  # a signalling NaN is a missing value like others
            return np.ma.filled(values.astype(kind), np.nan)
    try:
        # Every cell of NumPy's own text is as wide as the longest one.
        return np.asarray(values, dtype=object if _lists_text(values) else None)
    except ValueError as error:
        raise ValueError(f"{what} cannot be read as an array: {error}") from None


def _lists_text(values: Any) -> bool:
    """Whether a list, or a list of lists, holds text."""
    if isinstance(values, list | tuple):
        return any(is_text(value) or _lists_text(value) for value in values)
    return False


def is_null(value: Any) -> bool:
    """Whether a value stands for a missing one (None, pandas' NA and NaT)."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_text(value: Any) -> bool:
    """Whether a value is text."""
    return isinstance(value, str | bytes)


def floats_of_objects(values: NDArray[Any], what: str, name: str) -> NDArray[np.float64]:
    """Floats of a column of any objects, or the error that it holds something else."""
    try:
        if values.dtype.kind in "USmMc" or (values.dtype.kind == "O" and any(map(is_text, values))):
            raise TypeError
        if values.dtype.kind == "O":
            present = [v for v in values if not is_null(v) and v == v]
            if present and all(isinstance(v, date) for v in present):
                times = [v if isinstance(v, date) and not is_null(v) else None for v in values]
                return days_of_array(np.array(times, dtype="datetime64[us]"))
            values = np.array([np.nan if is_null(v) else v for v in values], dtype=np.float64)
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise no_numbers(what, name, "mixed or text") from None


def no_numbers(what: str, name: str, kind: str) -> ColumnTypeError:
    """The error of a column that should hold numbers."""
    return ColumnTypeError(
        f"column {name!r} of {what} holds no numbers ({kind})",
        "encode it as numbers (for instance one column per category) or leave it out",
    )


def not_one_column(what: str, y: Any, shape: tuple[int, ...]) -> ValueError:
    """The error of an outcome of several columns."""
    if len(shape) != 2:
        return ValueError(f"{what} must be a single column, got shape {shape}")
    names = list(map(repr, getattr(y, "columns", ())))
    listed = f" ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})" if names else ""
    one = f"{what}[{names[0]}]" if names else f"{what}[:, 0]"
    return ValueError(
        f"{what} must be a single column, but has {shape[1]}{listed}; fit one selector to each "
        f"of them, for instance to {one}"
    )
