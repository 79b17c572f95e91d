"""What the columns of a table hold, and which of them say nothing about an outcome."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tvselect.sources.arrow import as_numbers

Reading = Literal["as it is", "as numbers", "as dates"]
FEW_ROWS = 10
MOST_CATEGORIES = 100
SHARE_OF_NUMBERS = 0.9
LONG_TEXT = 25
ID_NAME = re.compile(
    r"(|id|index|idx|uuid|guid|row_?(names?|id|number|num|nr|no)|unnamed: ?\d+)"
    r"|(id|uuid)[ _.-].*|.*[ _.-](id|uuid|guid|idx)",
    re.IGNORECASE,
)
CAMEL_ID = re.compile(r".*[a-z](ID|Id)")


@dataclass(frozen=True)
class Column:
    """A column, looked at.

    Attributes
    ----------
    name : str
    reading : {"as it is", "as numbers", "as dates"}
    reason : str
        Why it is of no use, or empty.
    note : str
        What is worth knowing of it, or empty.
    has_missing : bool
    usable : bool
        Whether it can be kept all the same.
    digest : bytes
        Of the values of a column of numbers: alike where they are.
    """

    name: str
    reading: Reading = "as it is"
    reason: str = ""
    note: str = ""
    has_missing: bool = False
    usable: bool = True
    digest: bytes = b""


def examine(name: str, values: pa.ChunkedArray) -> Column:
    """Look at a column."""
    kind = values.type
    n_missing = values.null_count
    if n_missing == len(values):
        return Column(name, reason="no value in any row", has_missing=True, usable=False)
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
        kind = values.type
    if pa.types.is_temporal(kind):
        return _dates(name, values)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or _is_fraction(kind):
        return _numbers(name, numbers_of(values), is_whole=pa.types.is_integer(kind))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _text(name, values.cast(pa.string()))
    what = "bytes or text that is not UTF-8" if pa.types.is_binary(kind) else str(kind)
    return Column(name, reason=f"neither numbers nor text but {what}", usable=False)


def numbers_of(values: pa.ChunkedArray) -> NDArray[np.floating[Any]]:
    """A column of numbers, NaN where null; not copied where it need not be."""
    if pa.types.is_float64(values.type) and values.num_chunks == 1 and values.null_count == 0:
        view: NDArray[Any] = np.from_dlpack(values.chunk(0))
        return view
    return as_numbers(values)


def to_numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
    """Text as numbers, NaN where it is none."""
    texts = pc.dictionary_encode(values.cast(pa.string())).combine_chunks()
    numbers = np.array([*(_number(text) for text in texts.dictionary.to_pylist()), np.nan])
    places = texts.indices.fill_null(len(numbers) - 1).cast(pa.int64())
    return numbers[np.from_dlpack(places)]


def dates_to_numbers(values: pa.ChunkedArray) -> NDArray[np.float64]:
    """Dates as days since 1970-01-01, times and durations as days."""
    kind = values.type
    if pa.types.is_date32(kind):
        return as_numbers(values.cast(pa.int32())).astype(np.float64)
    if pa.types.is_date64(kind):
        values = values.cast(pa.timestamp("us"), safe=False)
    elif pa.types.is_time(kind):
        values = values.cast(pa.time64("us"), safe=False)
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("us", tz=kind.tz), safe=False)
    else:
        values = values.cast(pa.duration("us"), safe=False)
    return as_numbers(values.cast(pa.int64())).astype(np.float64) / 86_400e6


def without_infinity(values: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Infinite values as missing ones."""
    if np.isfinite(values).all():
        return values
    return np.where(np.isinf(values), np.nan, values)


def _is_fraction(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _dates(name: str, values: pa.ChunkedArray) -> Column:
    looked_at = _numbers(name, dates_to_numbers(values), is_whole=False)
    return Column(name, "as dates", looked_at.reason, "", looked_at.has_missing)


def _numbers(name: str, values: NDArray[np.floating[Any]], *, is_whole: bool) -> Column:
    finite = without_infinity(values)
    low, high = np.fmin.reduce(finite), np.fmax.reduce(finite)
    missing = bool(np.isnan(np.min(finite)))
    if np.isnan(low):
        return Column(name, reason="no value in any row", has_missing=True, usable=False)
    n_infinite = int(np.isinf(values).sum()) if missing else 0
    note = f"{n_infinite} infinite value(s) count as missing" if n_infinite else ""
    values = finite
    reason = ""
    if low == high:
        reason = f"constant ({low:g} in every row)"
    elif is_whole and values.size >= FEW_ROWS:
        reason = _identifier(name, values, low, high)
    digest = blake2b(np.ascontiguousarray(values, np.float64).data, digest_size=16).digest()
    return Column(name, "as it is", reason, note, missing, True, digest)


def _identifier(name: str, values: NDArray[np.floating[Any]], low: float, high: float) -> str:
    counts_rows = low in (0.0, 1.0) and high - low == values.size - 1
    if not counts_rows and not _is_id(name):
        return ""
    n_distinct = np.unique(values).size
    if counts_rows and n_distinct == values.size:
        return f"numbers the rows from {low:g} to {high:g}"
    if _is_id(name) and _is_many(n_distinct, values.size):
        return "an identifier by its name"
    return ""


def _text(name: str, values: pa.ChunkedArray) -> Column:
    counts = pc.value_counts(values.drop_null())
    texts, times = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
    missing, n = values.null_count > 0, sum(times)
    is_number = [_number(text) == _number(text) for text in texts]
    share = sum(t for t, number in zip(times, is_number, strict=True) if number) / n
    if share >= SHARE_OF_NUMBERS:
        other = next((t for t, number in zip(texts, is_number, strict=True) if not number), None)
        note = "" if other is None else f"cells such as {other!r} count as missing"
        looked_at = _numbers(name, to_numbers(values), is_whole=False)
        return Column(name, "as numbers", looked_at.reason, note, looked_at.has_missing)
    reason = ""
    if len(texts) == 1:
        reason = f"constant ({_short(texts[0])} in every row)"
    elif _is_id(name) and _is_many(len(texts), n):
        reason = "an identifier by its name"
    elif n >= FEW_ROWS and len(texts) == n:
        is_long = sum(map(len, texts)) > LONG_TEXT * n
        reason = "free text" if is_long else "a different text in every row, as identifiers have"
    elif len(texts) > MOST_CATEGORIES or (n >= FEW_ROWS and 2 * len(texts) > n):
        reason = f"free text or names: {len(texts):,} different texts in {n:,} rows"
    return Column(name, reason=reason, has_missing=missing)


def _is_id(name: str) -> bool:
    return bool(ID_NAME.fullmatch(name) or CAMEL_ID.fullmatch(name))


def _is_many(n_distinct: int, n_rows: int) -> bool:
    """Too many values for the codes of a few kinds."""
    return n_distinct > max(2 * FEW_ROWS, n_rows // 20) or n_distinct == n_rows


def _number(text: str) -> float:
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        return float("nan")


def _short(text: str) -> str:
    return repr(text if len(text) <= LONG_TEXT else text[: LONG_TEXT - 3] + "...")
