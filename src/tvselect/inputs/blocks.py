"""Rows that belong together: in groups, in time, or both; and orders that move them as such."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from tvselect.inputs.columns import TINY, Floats, Matrix, centred_ranks, evenly
from tvselect.inputs.outcome import missing_mask
from tvselect.inputs.table import Table, as_array, as_floats, holds_text, is_frame
from tvselect.words import counted

IN_ROW_ORDER = "rows"
FEWEST_UNITS, UNITS_PER_COPY, FEWEST_OF_ONE = 15, 1.5, 6.0
LIKE_SIZE, FEWEST_ALIKE = 2.0, 8
MOST_COLUMNS, SHARE_OF_LAGS = 200, 4
ALL_ALONE = (
    "groups= (--row-groups) has another value in every row{}, which says of no rows that they "
    "belong together; name what several rows share (patient, donor, household), or leave it out"
)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """The group of every row, and its place in time among the rows of its group."""

    codes: NDArray[np.int32]  #: Of groups, in the order in which they come; 0 where none are given
    ranks: NDArray[np.int64]  #: From 0 in each group: by time, or as the rows come
    has_groups: bool
    is_ordered: bool

    @classmethod
    def of(cls, n_rows: int, groups: Any = None, order: Any = None) -> RowBlocks:
        """The blocks by labels of groups, by times or :data:`IN_ROW_ORDER`, or by both."""
        codes = np.zeros(n_rows, np.int32) if groups is None else _codes(groups, n_rows)
        is_given = order is not None and not (isinstance(order, str) and order == IN_ROW_ORDER)
        keys = (_times(order, n_rows), codes) if is_given else (codes,)
        sizes, ranks = np.bincount(codes), np.empty(n_rows, dtype=np.int64)
        ranks[np.lexsort(keys)] = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cls(codes, ranks, groups is not None, order is not None)

    def at(self, rows: NDArray[np.intp]) -> RowBlocks:
        """Those of some rows, each any number of times."""
        groups = None if self.groups is None else self.groups[rows]
        return RowBlocks.of(rows.size, groups, self.ranks[rows] if self.is_ordered else None)

    @property
    def groups(self) -> NDArray[np.int32] | None:
        """The group of every row, where groups are given."""
        return self.codes if self.has_groups else None

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each group."""
        return np.bincount(self.codes)

    @property
    def n_groups(self) -> int:
        """Number of groups; 1 where none are given."""
        return self.sizes.size

    @property
    def moves_groups(self) -> bool:
        """Whether whole groups change places; else rows move in time, each in its group."""
        return self.has_groups and (self.n_groups >= FEWEST_UNITS or not self.is_ordered)

    def spread(self, n_units: int) -> float:
        """The largest standard error of a sum over rows, next to that of independent ones."""
        n_rows = self.codes.size
        variance = np.sum(self.sizes**2) if self.moves_groups else n_rows**2 / max(n_units, 1)
        return math.sqrt(max(1.0, variance / n_rows))

    def too_few(self, n_units: int, needed: int, what: str = "rows") -> str:
        """Why nothing can be shown."""
        if self.moves_groups:
            return (
                f"nothing can be shown: the rows are of {counted(n_units, 'group')}, and fewer "
                f"than {needed} prove too little; all q-values are 1"
            )
        return (
            f"nothing can be shown: outcome and columns change so slowly that the {what} hold no "
            f"more than about {max(n_units, 2)} independent stretches of time, and fewer than "
            f"{needed} prove too little; all q-values are 1. Differences between successive rows, "
            "of the outcome and of the columns, may be independent of each other: take these, or "
            "leave out columns that hardly change"
        )

    def is_same_in_groups(self, y: Floats) -> bool:
        """Whether an outcome is the same in all rows of each group, and there are fewer groups."""
        first = np.full(self.n_groups, y[0])
        first[self.codes[::-1]] = y[::-1]
        return self.moves_groups and self.n_groups < y.size and bool((y == first[self.codes]).all())

    def n_units(self, X: Matrix, y: Floats) -> int:
        """How much evidence there is: groups, or stretches of time as long as dependence reaches.

        Rows of a series tell as much about the correlation of two columns as ``n / (1 + 2 sum_k r_k
        s_k)`` independent ones, with autocorrelations r and s: their estimates, or powers of the
        first one without its bias, whichever says less. The first one of two values is that of a
        number cut in two, which forgets more slowly than its halves seem to. It is the median over
        200 columns at most, or the least where that is below six stretches.
        """
        if self.moves_groups:
            return self.n_groups
        block = np.ascontiguousarray(X[:, evenly(X.shape[1], MOST_COLUMNS)].T, dtype=np.float64)
        series = centred_ranks(np.concatenate([y[np.newaxis], block]))[:, self.by_group]
        high = series == series.max(axis=1, keepdims=True)
        is_cut = (high | (series == series.min(axis=1, keepdims=True))).all(axis=1)
        starts = np.cumsum(self.sizes) - self.sizes
        means = np.add.reduceat(series, starts, axis=1) / self.sizes
        series -= np.repeat(means, self.sizes, axis=1)
        n = int(np.median(self.sizes))
        n_lags = max(1, n // SHARE_OF_LAGS)
        power = np.zeros((len(series), n_lags + 1))
        for start, size in zip(starts, self.sizes, strict=True):
            waves = np.fft.rfft(series[:, start : start + size], 2 * size)
            lags = np.fft.irfft(np.abs(waves) ** 2)[:, : n_lags + 1]
            power[:, : min(size, n_lags + 1)] += lags[:, :size]
        varies = power[:, 0] > TINY
        if not varies[0] or not varies[1:].any():
            return n
        r = (power / np.maximum(power[:, :1], TINY))[varies]
        together = r[:1] * r[1:]
        together[np.minimum.accumulate(together > 0.0, axis=1) == 0] = 0.0
        summed = 1.0 + 2.0 * together[:, 1:].sum(axis=1)
        first, is_cut = r[:, 1].copy(), is_cut[varies]
        first[is_cut] = _before_cut(first[is_cut], high[varies][is_cut].mean(axis=1))
        first = np.minimum(first + (1.0 + 3.0 * first.clip(0.0)) / n, 1.0 - 1.0 / n)
        product = np.maximum(first[0] * first[1:], 0.0)
        stretches = n / np.maximum(summed, (1.0 + product) / (1.0 - product))
        worst = float(stretches.min())
        return int(worst if worst < FEWEST_OF_ONE else np.median(stretches))

    @property
    def identity(self) -> dict[str, Any]:
        """What plays depend on."""
        return {"groups": self.codes, "order": self.ranks, "is_ordered": self.is_ordered}

    @cached_property
    def by_group(self) -> NDArray[np.int64]:
        """Rows group by group, each in its order."""
        return np.lexsort((self.ranks, self.codes))

    def orders(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Orders (n, rows) of the rows that keep how they depend on each other.

        A group takes the rows of another of like size, from the first on where time counts, else
        from one drawn at random; if there are fewer they come again. In a single series, or few
        groups, rows move in time, around the end: by ``1 / (n + 1)`` of it for the first order,
        twice that for the second, and so on, so that all are as far from each other as can be.
        """
        sizes = self.sizes
        found = np.empty((n, self.codes.size), dtype=np.int64)
        for k, order in enumerate(found):
            giver, moved = np.arange(sizes.size), np.zeros(sizes.size, dtype=np.int64)
            if self.moves_groups:
                for alike in self._alike():
                    giver[alike] = rng.permutation(alike)
                if not self.is_ordered:
                    moved = rng.integers(sizes[giver])
            else:
                moved = np.rint(sizes * (k + 1) / (n + 1)).astype(np.int64)
            order[:] = self._order(giver, moved)
        return found

    def swap(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """An order that exchanges groups of like size, or halves of a series; its own inverse."""
        sizes = self.sizes
        giver, moved = np.arange(sizes.size), np.zeros(sizes.size, dtype=np.int64)
        if self.has_groups:
            for alike in self._alike():
                some = rng.permutation(alike)[: alike.size // 2 * 2].reshape(-1, 2)
                giver[some] = some[:, ::-1]
                if not self.is_ordered:
                    moved[some[:, 0]] = rng.integers(sizes[some[:, 1]])
                    moved[some[:, 1]] = -moved[some[:, 0]]
        else:
            moved = sizes // 2
        return self._order(giver, moved)

    def _order(self, giver: NDArray[np.int64], moved: NDArray[np.int64]) -> NDArray[np.int64]:
        """Each group with the rows of its giver, from one on that has ``moved`` to the front."""
        giver, moved = giver[self.codes], moved[self.codes]
        starts = np.cumsum(self.sizes) - self.sizes
        return self.by_group[starts[giver] + (self.ranks + moved) % self.sizes[giver]]

    def _alike(self) -> list[NDArray[np.int64]]:
        """Groups of like size: at least eight, the largest at most twice the smallest if it can."""
        falling = np.argsort(-self.sizes, kind="stable")
        found = [[int(falling[0])]]
        for group in falling[1:].tolist():
            is_like = self.sizes[found[-1][0]] <= LIKE_SIZE * self.sizes[group]
            if is_like or len(found[-1]) < FEWEST_ALIKE:
                found[-1].append(group)
            else:
                found.append([group])
        if len(found) > 1 and len(found[-1]) < FEWEST_ALIKE:
            smallest = found.pop()
            found[-1] += smallest
        return [np.array(alike) for alike in found]


def named_columns(groups: Any, order: Any) -> tuple[str, ...]:
    """Names of columns among what is given."""
    by = () if isinstance(order, str) and order == IN_ROW_ORDER else (order,)
    return tuple(one for one in (groups, *by) if isinstance(one, str) and one)


def name_of(given: Any) -> str | None:
    """The name of a column, or :data:`IN_ROW_ORDER`; empty for values beside the table."""
    return given if given is None or isinstance(given, str) else ""


def units_needed(n_copies: int) -> int:
    """Groups or stretches of time below which nothing can be shown by so many copies."""
    return max(FEWEST_UNITS, int(UNITS_PER_COPY * n_copies))


def take_blocks(X: Any, groups: Any, order: Any) -> tuple[Any, RowBlocks | None]:
    """A table without the columns that are named, and the blocks of rows; or a ValueError."""
    if groups is None and order is None:
        return X, None
    names = named_columns(groups, order)
    by_row = [
        column_named(X, given, key) if isinstance(given, str) and given in names else given
        for key, given in (("groups", groups), ("order", order))
    ]
    n_rows = X.n_rows if isinstance(X, Table) else _num_samples(X)
    blocks = RowBlocks.of(n_rows, *by_row)
    if blocks.has_groups and blocks.n_groups == n_rows:
        warnings.warn(ALL_ALONE.format(""), UserWarning, stacklevel=3)
    return without_columns(X, set(names)), blocks


def column_named(X: Any, name: str, parameter: str) -> Any:
    """The values of a column of a data frame, or an error that names the parameter."""
    if not is_frame(X) or (isinstance(X, Table) and not X.named):
        raise ValueError(
            f"{parameter}={name!r} is the name of a column, but X has no names: pass a data "
            f"frame, or the values themselves, one for each row"
        )
    frame: Any = X if isinstance(X, Table) else nw.from_native(X, eager_only=True)
    names = X.names if isinstance(X, Table) else frame.columns
    if name not in names:
        hint = ", ".join(map(repr, list(names)[:5]))
        raise ValueError(
            f"{parameter} names the column {name!r}, which X does not have; it has {hint}"
        )
    return X.column(names.index(name)) if isinstance(X, Table) else frame[name].to_native()


def without_columns(X: Any, names: set[str]) -> Any:
    """A table without some columns, as far as it has them; the table itself if it has none."""
    if not names or not is_frame(X):
        return X
    if isinstance(X, Table):
        kept = [place for place, name in enumerate(X.names) if name not in names]
        return X if len(kept) == X.n_columns else X.take(np.array(kept, dtype=np.int64))
    frame = nw.from_native(X, eager_only=True)
    inside = [name for name in frame.columns if name in names]
    return frame.drop(inside).to_native() if inside else X


def _before_cut(r: Floats, share: Floats) -> Floats:
    """Correlations of normal numbers, by those of whether they are in the largest ``share``.

    Tetrachoric, by Pearson's cosine of the odds ratio, which is exact for halves.
    """
    rest = 1.0 - share
    odds = (share + r * rest).clip(0.0) * (rest + r * share).clip(0.0) / (share * rest)
    found: Floats = np.cos(np.pi / (1.0 + np.sqrt(odds) / (1.0 - r)))
    return found


def _codes(groups: Any, n_rows: int) -> NDArray[np.int32]:
    """Labels of groups of any kind as numbers from 0, in the order in which they come."""
    labels = one_per_row(groups, n_rows, "groups")
    number_of: dict[Any, int] = {}
    codes = [number_of.setdefault(label, len(number_of)) for label in labels.tolist()]
    return np.array(codes, dtype=np.int32)


def _times(order: Any, n_rows: int) -> NDArray[Any]:
    """Times, dates or numbers as what can be sorted."""
    times = one_per_row(order, n_rows, "order")
    if times.dtype.kind in "iufmM":
        return times
    try:
        if holds_text(times):
            return times.astype(str).astype("datetime64[us]")
        return as_floats(times, "X", "order")
    except (TypeError, ValueError):
        raise ValueError(
            f"order holds {times[0]!r}, which is neither a number nor a date; write dates as "
            "2019-12-31, or pass numbers that rise with time"
        ) from None


def one_per_row(
    values: Any, n_rows: int, parameter: str, one: str = "the name of a column or one value"
) -> NDArray[Any]:
    """An array of one value for each row, none of them missing."""
    if nw.dependencies.is_into_series(values):
        values = nw.from_native(values, series_only=True, allow_series=True).to_numpy()
    array = as_array(values, parameter)
    if array.shape != (n_rows,):
        found = f"{parameter} has shape {array.shape}, X has {n_rows} rows"
        raise ValueError(f"{found}; pass {one} for each row")
    if (is_missing := missing_mask(array)).any():
        raise ValueError(
            f"{parameter} has no value in {counted(int(is_missing.sum()), 'row')}, first in row "
            f"{int(is_missing.argmax())}; leave these out, or give each a value of its own"
        )
    return array
