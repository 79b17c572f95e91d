"""The outcome of a table: its family, and the rows that lack it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tvselect.runs.errors import RunError, listed
from tvselect.runs.plan import Family
from tvselect.sources.arrow import as_target

MOST_CLASSES = 5


@dataclass(frozen=True)
class Target:
    """The outcome, looked at.

    Attributes
    ----------
    family : {"gaussian", "probit"}
    n_rows, n_missing : int
        Rows with a value, and without.
    sentences : tuple of str
    """

    family: Family
    n_rows: int
    n_missing: int
    sentences: tuple[str, ...]


def look_at_target(
    name: str, values: pa.ChunkedArray, path: str, wish: Family | None = None
) -> Target:
    """Look at the outcome.

    Raises
    ------
    RunError
        When there is nothing to explain, or it is neither a number nor two classes.
    """
    what = f"the target {name!r} of {path}"
    if not _is_readable(values.type):
        raise RunError(f"{what} holds {values.type}; it must hold numbers or two classes")
    missing = missing_mask(values)
    present = as_target(values)[~missing]
    n_missing = int(missing.sum())
    if present.size == 0:
        raise RunError(f"{what} has no value in any of its {len(values):,} rows")
    levels = sorted(set(present.tolist()))
    if len(levels) == 1:
        raise RunError(f"{what} is {levels[0]!r} in every row: there is nothing to explain")
    is_text = isinstance(levels[0], str)
    family: Family = wish or ("probit" if len(levels) == 2 else "gaussian")
    if is_text and (family == "gaussian" or len(levels) > 2):
        raise RunError(_text_target(what, values, levels))
    if family == "probit" and len(levels) > 2:
        raise RunError(
            f"{what} has {len(levels):,} different values; --family probit takes two classes"
        )
    if not is_text and np.isinf(np.asarray(present, dtype=np.float64)).any():
        raise RunError(f"{what} has infinite values; mend them or drop these rows")
    said: list[str] = []
    if family == "probit":
        other = "" if wish else " (--family gaussian takes them as numbers)"
        other = "" if is_text else other
        said.append(f"{name!r} has two values, {levels[0]} and {levels[1]}: two classes{other}.")
    else:
        said.append(f"{name!r} is a number with {len(levels):,} different values: regression.")
    if n_missing:
        rows = "row has" if n_missing == 1 else "rows have"
        said.append(f"{n_missing:,} {rows} no value of {name!r} and cannot be used.")
    return Target(family, present.size, n_missing, tuple(said))


def missing_mask(values: pa.ChunkedArray) -> np.ndarray:
    """Where the outcome is null or NaN."""
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    mask = pc.is_null(values, nan_is_null=True)
    return np.asarray(mask.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _is_readable(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return is_number or is_text or pa.types.is_boolean(kind) or pa.types.is_null(kind)


def _text_target(what: str, values: pa.ChunkedArray, levels: list[str]) -> str:
    texts = values.cast(pa.string()).to_pylist()
    odd = [i for i, text in enumerate(texts) if text is not None and not is_number(text)]
    if not odd:
        return (
            f"{what} holds numbers that are written in several ways, such as {texts[0]!r}; write "
            "them alike"
        )
    if 2 * len(odd) < len(texts):
        return (
            f"{what} holds numbers, but {texts[odd[0]]!r} in row {odd[0] + 1}"
            f"{f' and text in {len(odd) - 1:,} more' if len(odd) > 1 else ''}; mend or empty these"
        )
    return (
        f"{what} holds text with {len(levels):,} different values "
        f"({listed(levels, MOST_CLASSES)}); it must be a number or have two classes: "
        "add a 0/1 column for one of them"
    )


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
