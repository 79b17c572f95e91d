"""What may spoil a selection without being an error: leaks, codes for missing values, slips."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.columns import Floats, centred_ranks
from tvselect.inputs.facts import Doubt, DoubtKind, profile_numbers, scan_block
from tvselect.inputs.outcome import Outcome
from tvselect.inputs.text import SHARE_OF_NUMBERS, TextColumn, number_of

FEWEST_ROWS, FEW_OF_CLASS, MOST_CLASSES = 20, 10, 3
TOO_GOOD, NEARLY, SAMPLED = 0.99, 0.6, 40
MOST, SLIPS = 0.5, 0.01
FAR, FEWEST_VALUES = 20.0, 10
FEWEST_NUMBERS, SHARE_OF_CODED, MOST_CODES = 5, 0.5, 3
#: 31/12/2019, 31.12.2019 and 31 Dec 2019, with a time behind it or not
DATE = re.compile(
    r"(\d{1,2}([/.-])\d{1,2}\2\d{4}|\d{1,2}[ .-]+[^\W\d_]{3,9}[ .,-]+\d{4})([ T,]+\d{1,2}:\d{2}.*)?"
)
#: 12 kg, 3,5mm
WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s?([^\W\d_/]{1,5}(?:/[^\W\d_]{1,5})?\.?)")


class DoubtWarning(UserWarning):
    """A doubt about a table, said by ``fit``.

    Examples
    --------
    >>> import warnings
    >>> from tvselect.inputs.doubts import DoubtWarning
    >>> warnings.simplefilter("error", DoubtWarning)  # a doubt ends a fit  # doctest: +SKIP
    """


def find_doubts(
    names: Sequence[str],
    blocks: Iterable[tuple[int, Floats]],
    outcome: Outcome,
    *,
    with_structure: bool = True,
) -> tuple[Doubt, ...]:
    """Look at all columns of a table, in blocks; with ``with_structure`` for copies, too.

    Several columns may be of one name: categories of one feature. Blocks are the place of their
    first column, and values (columns, rows); NaN is missing.
    """
    if outcome.values.size < FEWEST_ROWS:
        return ()
    *others, last = outcome.in_simple_terms()
    closenesses = [_Closeness(simple) for simple in (*others[: MOST_CLASSES - 1], last)]
    parts, found = _parts(outcome), list[Doubt]()
    leaks: list[Doubt] = []
    firsts: dict[int, str] = {}
    copies: dict[str, Counter[str]] = {}
    for first, block in blocks:
        inside = names[first : first + len(block)]
        for closeness in closenesses:
            leaks += closeness.leaks(inside, block)
        found += far_values(inside, block)
        if outcome.family == "probit":
            found += _one_class(inside, block, outcome.values)
        found += _absent(inside, block, parts)
        if with_structure:
            found += _identifiers(inside, block)
            for name, values in zip(inside, block, strict=True):
                original = firsts.setdefault(hash(values.tobytes()), name)
                if original != name and np.fmin.reduce(values) < np.fmax.reduce(values):
                    copies.setdefault(original, Counter())[name] += 1
    # A column that separates one of several classes is no leak; one that separates most is.
    n_told = Counter(leak.names for leak in leaks)
    leaks = [leak for leak in leaks if n_told[leak.names] >= max(1, len(closenesses) - 1)]
    leaking = {leak.names for leak in leaks}
    found = [one for one in found if one.kind != "one class" or one.names not in leaking]
    doubts = list(_gathered([*leaks, *found]))
    if sets := list(_whole_copies(copies, names)):
        doubts.append(Doubt("copies", sets[0], n=len(sets)))
    return (*doubts, *_of_outcome(outcome))


def _whole_copies(
    copies: Mapping[str, Counter[str]], names: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Sets of features that are alike in all columns of one of them, not in a rare category."""
    n_columns = Counter(names) if copies else Counter()
    for original, shared in copies.items():
        alike = tuple(
            name for name, n in shared.items() if n >= min(n_columns[original], n_columns[name])
        )
        if alike:
            yield original, *alike


class _Closeness:
    """How well columns alone tell the outcome: rank correlation, 1 if two classes are split."""

    def __init__(self, outcome: Outcome) -> None:
        self._y, self._has_classes = outcome.values, outcome.family == "probit"
        order = np.argsort(self._y, kind="stable")
        parts = [order]
        if self._has_classes:
            n_first = int(np.count_nonzero(self._y == 0.0))
            parts = [order[:n_first], order[n_first:]]
        self._some = []
        for part in parts:
            n = min(SAMPLED // len(parts), part.size)
            self._some.append(np.sort(part[np.linspace(0, part.size - 1, n).astype(np.int64)]))

    def leaks(self, names: Sequence[str], block: Floats) -> Iterator[Doubt]:
        """Columns that are too good, looked for on some rows first."""
        for j in np.flatnonzero(self._on_some_rows(block) > NEARLY).tolist():
            if (closeness := self._on_all_rows(block[j])) > TOO_GOOD:
                yield Doubt("leak", (names[j],), closeness)

    def _on_some_rows(self, block: Floats) -> NDArray[np.float64]:
        if self._has_classes:
            first, second = (block[:, rows] for rows in self._some)
            n_pairs = (~np.isnan(first)).sum(axis=1) * (~np.isnan(second)).sum(axis=1)
            above = np.count_nonzero(second[:, None] > first[:, :, None], axis=(1, 2))
            below = np.count_nonzero(second[:, None] < first[:, :, None], axis=(1, 2))
            return np.abs(above - below) / np.maximum(n_pairs, 1)
        (rows,) = self._some
        (y,) = centred_ranks(self._y[None, rows])
        return np.abs(centred_ranks(block[:, rows]) @ y)

    def _on_all_rows(self, x: NDArray[np.float64]) -> float:
        is_there = ~np.isnan(x)
        x, y = x[is_there], self._y[is_there]
        if 2 * x.size < self._y.size or y.min() == y.max():
            return 0.0
        if not self._has_classes:
            ranks, of_outcome = centred_ranks(np.stack([x, y]))
            return abs(float(ranks @ of_outcome))
        first, second = np.sort(x[y == 0.0]), x[y == 1.0]
        below, up_to = (np.searchsorted(first, second, side) for side in ("left", "right"))
        return abs(float((below + up_to).mean() / first.size - 1.0))


def _one_class(names: Sequence[str], block: Floats, y: NDArray[np.float64]) -> Iterator[Doubt]:
    """Columns with one value in all rows of a class, and with others in most of the other."""
    for value in (0.0, 1.0):
        here, there = block[:, y == value], block[:, y != value]
        if min(here.shape[1], there.shape[1]) < FEWEST_ROWS:
            return
        constant = np.flatnonzero((here == here[:, :1]).all(axis=1))
        for j in constant.tolist():
            if np.mean((there[j] != here[j, 0]) & ~np.isnan(there[j])) > MOST:
                yield Doubt("one class", (names[j],), float(here[j, 0]))


def _parts(outcome: Outcome) -> NDArray[np.bool_]:
    """Rows of each class, with and without the event, or of the usual value and of others."""
    values = outcome.values
    if outcome.classes is not None:
        return values == np.unique(values)[:, None]
    if outcome.upper is not None:
        is_usual = np.isinf(outcome.upper)
    else:
        levels, counts = np.unique(values, return_counts=True)
        is_usual = values == levels[counts.argmax()]
    return np.array([is_usual, ~is_usual])


def _absent(names: Sequence[str], block: Floats, parts: NDArray[np.bool_]) -> Iterator[Doubt]:
    """Columns that are empty in some ``parts`` of the rows, and filled in most of the others."""
    is_filled = ~np.isnan(block)
    some = np.flatnonzero(~is_filled.all(axis=1))
    if not some.size:
        return
    sizes = parts.sum(axis=1)
    n_filled = is_filled[some].astype(np.float64) @ parts.T
    is_empty = n_filled <= SLIPS * sizes
    n_empty = is_empty @ sizes
    n_others = parts.shape[1] - n_empty
    shares = np.where(is_empty, 0.0, n_filled).sum(axis=1) / np.maximum(n_others, 1)
    is_told = (np.minimum(n_empty, n_others) >= FEWEST_ROWS) & (shares > MOST)
    for j in some[is_told].tolist():
        yield Doubt("absent", (names[j],))


def far_values(names: Sequence[str], block: Floats) -> list[Doubt]:
    """Columns (columns, rows) with a value far from all others: a code, or a single wild cell.

    Such as 99, -999 and 8888 are codes where they are farther from the other values than these
    from each other; so is any value in several rows that is twenty times as far.
    """
    low = np.fmin.reduce(block, axis=1, initial=np.inf)
    high = np.fmax.reduce(block, axis=1, initial=-np.inf)
    inside = (block > low[:, None]) & (block < high[:, None])
    inner_low = np.min(block, axis=1, initial=np.inf, where=inside)
    inner_high = np.max(block, axis=1, initial=-np.inf, where=inside)
    found = []
    with np.errstate(invalid="ignore", over="ignore"):
        reach = inner_high - inner_low
        gaps = (
            (low, inner_low - low, np.where(reach > 0.0, reach, high - inner_low)),
            (high, high - inner_high, np.where(reach > 0.0, reach, inner_high - low)),
        )
        for values, gap, others in gaps:
            for j in np.flatnonzero((gap > others) & (reach >= 0.0)).tolist():
                value = float(values[j])
                kind: DoubtKind = "code"
                if not _is_code(value):
                    if not gap[j] / FAR > others[j] or np.unique(block[j]).size < FEWEST_VALUES:
                        continue
                    if np.count_nonzero(block[j] == value) == 1:
                        kind = "wild cell"
                found.append(Doubt(kind, (names[j],), value))
    return found


def _is_code(value: float) -> bool:
    """Whether a number is two or more times the digit 7, 8 or 9."""
    digits = f"{abs(value):.0f}" if float(value).is_integer() else ""
    return len(digits) > 1 and digits == digits[0] * len(digits) and digits[0] in "789"


def _identifiers(names: Sequence[str], block: Floats) -> Iterator[Doubt]:
    is_whole = (block == np.floor(block)).all(axis=1)
    if is_whole.any():
        some = [name for name, whole in zip(names, is_whole, strict=True) if whole]
        values = block[is_whole]
        useless = profile_numbers(some, values, scan_block(values), np.ones(len(some), np.bool_))
        for name, why in useless.items():
            if why.reason in ("row numbers", "identifier"):
                yield Doubt("identifier", (name,))


def _gathered(found: Iterable[Doubt]) -> Iterator[Doubt]:
    """Doubts of one kind, and of one value where it is a value of the table, in one."""
    together: dict[tuple[str, float], list[Doubt]] = {}
    for one in found:
        key = one.kind, 0.0 if one.kind == "leak" else one.value
        together.setdefault(key, []).append(one)
    for alike in together.values():
        names = tuple(dict.fromkeys(name for one in alike for name in one.names))
        yield Doubt(alike[0].kind, names, min(one.value for one in alike))


def _of_outcome(outcome: Outcome) -> Iterator[Doubt]:
    if outcome.family == "gaussian":
        for found in far_values(["y"], outcome.values[np.newaxis]):
            yield Doubt("outcome code" if found.kind == "code" else "outcome cell", (), found.value)
    if outcome.classes is None:
        return
    labels = list(map(str, outcome.classes.tolist()))
    counts = np.bincount(outcome.values.astype(np.int64), minlength=len(labels))
    written: dict[str, list[str]] = {}
    for label, n in zip(labels, counts.tolist(), strict=True):
        if n < FEW_OF_CLASS:
            yield Doubt("few rows", (label,), n=n)
        written.setdefault("".join(label.split()).casefold(), []).append(label)
    for alike in written.values():
        if len(alike) > 1:
            yield Doubt("labels", tuple(alike))


def doubts_about_text(texts: Mapping[str, TextColumn]) -> tuple[Doubt, ...]:
    """Columns that look like dates or numbers in a form that is not read as such; by kind."""
    kinds = {name: _kind_of_text(text.filled()) for name, text in texts.items()}
    return tuple(_gathered(Doubt(kind, (name,)) for name, kind in kinds.items() if kind))


def _kind_of_text(text: TextColumn) -> DoubtKind | None:
    """Whether nearly all cells are dates, or numbers with one unit, or most are numbers."""
    cells = [level.strip() for level in text.levels]
    if text.share(map(DATE.fullmatch, cells)) >= SHARE_OF_NUMBERS:
        return "dates as text"
    matches = list(map(WITH_UNIT.fullmatch, cells))
    units = [match[1] for match in matches if match is not None]
    has_one = len(units) >= FEWEST_NUMBERS and len(set(units)) == 1
    if has_one and text.share(matches) >= SHARE_OF_NUMBERS:
        return "units as text"
    is_number = np.isfinite([number_of(level) for level in text.levels])
    n_numbers = int(is_number.sum())
    is_coded = n_numbers >= FEWEST_NUMBERS and 0 < is_number.size - n_numbers <= MOST_CODES
    return "codes as text" if is_coded and text.share(is_number) >= SHARE_OF_CODED else None
