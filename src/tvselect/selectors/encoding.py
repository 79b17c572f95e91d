"""From the rows of a stream to columns of numbers, by rules that its first rows settle.

Categories, cut points and the law of the decoys come from the first 1,000 rows (or the first
batch, if that is longer), batch by batch, and do not change afterwards: values outside the range
seen fall into the end bins, a new category counts as missing. Columns that are constant in these
rows are cut batch by batch.
"""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys import Knockoffs, restore_knockoffs, store_knockoffs
from tvselect.decoys.shuffled import FEWEST_COLUMNS, MOST_COLUMNS
from tvselect.inputs import Numbered, Table
from tvselect.inputs.columns import refuse_nonfinite
from tvselect.inputs.table import read_features
from tvselect.inputs.text import TextColumn, codes_of, encode_text, one_hot
from tvselect.records import check_types, read_arrays
from tvselect.selectors.layout import DecoyKind, IntArray
from tvselect.sources import Batch
from tvselect.trees import Cuts, bin_table
from tvselect.trees.bins import MOST_CUTS
from tvselect.words import listed

HEAD_ROWS = 1000
CUTS = {"n_cuts": "|u1", "low": "<f8", "step": "<f8", "starts": "<i8", "halfway": "<f8"}
STORED = {"known": "|u1", "categorical": "|b1", "feature_of": "<i8", "knockoffs": "|u1", **CUTS}
NO_CUTS = Cuts(**{name: np.empty(0, kind) for name, kind in CUTS.items()}, names=())


@dataclass(frozen=True, eq=False)
class StreamEncoder:
    """How features become columns: numbers as they are, one 0/1 column per category.

    Column ``k n_columns + c`` is the ``k``-th decoy of column ``c``. A column that was constant in
    the first rows is cut by every batch in which it varies, and its decoy made of its rows.
    """

    names: tuple[str, ...]  #: Of the features
    categorical: NDArray[np.bool_]  #: By feature whether it is text
    decoys: DecoyKind | None = None
    n_copies: int = 1  #: Decoys of every column
    max_cuts: int = 100
    n_rows: int = 0  #: Rows that the rules come from
    numbers: NDArray[Any] | None = None  #: Of these rows, until there are enough
    texts: tuple[TextColumn, ...] = ()  #: Of these rows, until there are enough
    #: The feature that each column comes from
    feature_of: IntArray = field(default_factory=lambda: NO_CUTS.starts)
    levels: tuple[str, ...] = ()  #: The category that a column stands for; "" for a number
    cuts: Cuts = NO_CUTS  #: Of the columns; a decoy has those of its column
    #: The law of the decoys of all numeric features; None: rows are shuffled
    knockoffs: Knockoffs | None = None

    @property
    def is_full(self) -> bool:
        """Whether the rules stay as they are."""
        return self.n_rows >= HEAD_ROWS

    @property
    def n_columns(self) -> int:
        """Number of columns that are no decoys."""
        return self.feature_of.size

    def having_seen(self, batch: Batch, *, is_new: bool = True) -> StreamEncoder:
        """The encoder with rules that come from this batch, too, until rows are enough."""
        if self.is_full:
            return self
        head = np.asarray(batch.numbers(np.flatnonzero(~self.categorical)))
        labels = [batch.labels(j) for j in np.flatnonzero(self.categorical).tolist()]
        if self.numbers is not None:
            head = np.concatenate([self.numbers, head])
            held = zip(self.texts, labels, strict=True)
            labels = [np.concatenate([text.labels(), more]) for text, more in held]
        texts = tuple(map(encode_text, labels))
        numbers = head.astype(np.float64)
        numeric = [self.names[j] for j in np.flatnonzero(~self.categorical)]
        refuse_nonfinite(numbers, numeric, takes_missing=True, takes_empty=True)
        features = read_features(Table.of_matrix(numbers, self.names, texts, self.categorical))
        X, text = features.X[:, :].copy(), iter(texts)
        X[:, np.isnan(X).all(axis=0)] = 0.0
        levels = [(next(text).levels if t else ()) or ("",) for t in self.categorical]
        cuts = bin_table(Table(X, features.column_names), max_cuts=self.max_cuts).cuts
        n_rows, knockoffs = self.n_rows + batch.n_rows, self.knockoffs
        if (is_new or knockoffs is None) and n_rows > 1:
            knockoffs = self._estimated(numbers)
        seen = replace(
            self,
            n_rows=n_rows,
            numbers=head,
            texts=texts,
            feature_of=features.feature_of,
            levels=tuple(chain.from_iterable(levels)),
            cuts=cuts,
            knockoffs=knockoffs,
        )
        if not seen.is_full:
            return seen
        names = (self.names[j] for j in np.flatnonzero(self.categorical))
        empty = [name for name, text in zip(names, texts, strict=True) if not text.levels]
        if empty:
            warnings.warn(
                f"text without a value in the first {n_rows} rows of the stream: "
                f"{listed(empty)} cannot be selected; take larger batches or shuffle the rows",
                RuntimeWarning,
                stacklevel=2,
            )
        return replace(seen, numbers=None, texts=())

    def _estimated(self, numbers: NDArray[np.float64]) -> Knockoffs | None:
        """The law of the decoys of numbers; None where rows are moved, as for single decoys."""
        n_columns = numbers.shape[1]
        if self.decoys == "knockoffs" and n_columns:
            return Knockoffs.estimate(numbers, self.n_copies)
        may_keep = self.decoys == "shuffled" and self.n_copies > 1
        if may_keep and FEWEST_COLUMNS <= n_columns <= MOST_COLUMNS:
            found = Knockoffs.estimate(numbers, self.n_copies, factors_alone=True)
            return found if found.loadings.size else None
        return None

    def column_names(self, columns: IntArray) -> tuple[str, ...]:
        """Names of columns: that of the feature, or of its decoy."""
        names = (self.names[j] for j in self.feature_of[columns % self.n_columns])
        is_decoy = columns >= self.n_columns
        return tuple(f"decoy of {n}" if d else n for n, d in zip(names, is_decoy, strict=True))

    def cuts_of(self, columns: IntArray, X: NDArray[np.float64], max_cuts: int) -> Cuts:
        """Cut points of some columns of a batch, where ``X`` (rows, columns) are their values."""
        cuts = self.cuts.take(columns % self.n_columns, self.column_names(columns))
        late = np.flatnonzero(cuts.n_cuts == 0)
        late = late[~np.isnan(X[:, late]).all(axis=0)]
        if late.size == 0:
            return cuts
        return cuts.replaced(late, bin_table(X[:, late], max_cuts=max_cuts).cuts)

    def values(
        self,
        batch: Batch,
        columns: IntArray,
        rng: np.random.Generator,
        unknown: float = np.nan,
        swapped: IntArray | None = None,
    ) -> NDArray[np.float64]:
        """Some columns of a batch (rows, columns), by their features, and what knockoffs depend on.

        Categories hold ``unknown`` where a label is new, or 0 where there was a single one. Other
        decoys are the columns with rows moved around circles of ``1 + n_copies``, the same for all
        columns, so that a column and its decoys cannot be told apart; or in the order of
        ``swapped``.
        """
        wanted, place = np.unique(columns % self.n_columns, return_inverse=True)
        features = self.feature_of[wanted]
        is_text = self.categorical[features]
        seen = np.empty((batch.n_rows, wanted.size))
        if not is_text.all():
            seen[:, ~is_text] = batch.numbers(features[~is_text])
        for feature in np.unique(features[is_text]).tolist():
            mine = np.flatnonzero(features == feature)
            codes = codes_of(batch.labels(feature), [self.levels[c] for c in wanted[mine]])
            is_late = bool((self.cuts.n_cuts[wanted[mine]] == 0).any())
            seen[:, mine] = one_hot(codes, mine.size, 0.0 if is_late else unknown)
        is_decoy = columns >= self.n_columns
        if not is_decoy.any():
            return np.asfortranarray(seen[:, place])
        if swapped is None:
            swapped = _around(batch.n_rows, 1 + self.n_copies, rng)
        blocks, order = [seen], swapped
        for _ in range(self.n_copies):
            blocks.append(seen[order])
            order = order[swapped]
        drawn = ~is_text & (self.cuts.n_cuts[wanted] > 0)
        if self.knockoffs is not None and drawn.any():
            copies = self._knockoffs(self.knockoffs, batch, features[drawn], rng)
            for block, copy in zip(blocks[1:], copies, strict=True):
                block[:, drawn] = copy
        copy_of = columns // self.n_columns
        found = np.empty((batch.n_rows, columns.size), order="F")
        for k, block in enumerate(blocks):
            found[:, copy_of == k] = block[:, place[copy_of == k]]
        return found

    def _knockoffs(
        self, knockoffs: Knockoffs, batch: Batch, features: IntArray, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Knockoffs of some numeric features of a batch."""
        numeric = np.flatnonzero(~self.categorical)
        asked = np.searchsorted(numeric, features)
        needed, some = knockoffs.among(asked)
        originals = np.asarray(batch.numbers(numeric[needed]), dtype=np.float64)
        names = [self.names[j] for j in numeric[needed]]
        refuse_nonfinite(originals, names, takes_missing=True, takes_empty=True)
        return some.draw(originals, rng, among=np.searchsorted(needed, asked))

    def to_bytes(self) -> bytes:
        """All that a resumed run needs to go on, as arrays without pickle."""
        known = {
            "names": self.names,
            "decoys": self.decoys,
            "counts": [self.max_cuts, self.n_copies, self.n_rows],
            "levels": self.levels,
            "labels": [text.levels for text in self.texts],
        }
        knockoffs = store_knockoffs(self.knockoffs) if self.knockoffs else b""
        arrays: dict[str, Any] = {
            "known": np.frombuffer(json.dumps(known).encode(), np.uint8),
            "categorical": self.categorical,
            "feature_of": self.feature_of,
            "knockoffs": np.frombuffer(knockoffs, np.uint8),
            **{name: getattr(self.cuts, name) for name in CUTS},
        }
        if self.numbers is not None:
            arrays["numbers"] = self.numbers
            arrays["codes"] = np.array([text.codes for text in self.texts], np.int64).ravel()
        file = io.BytesIO()
        try:
            np.savez_compressed(file, **arrays)
        except ValueError as error:
            # NumPy turns an interrupt here into an error of the archive.
            if isinstance(error.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise
        return file.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> StreamEncoder:
        """The encoder that :meth:`to_bytes` wrote down; a ValueError for anything else."""
        arrays = read_arrays(blob)
        try:
            check_types(arrays, STORED)
            return cls._from_arrays(arrays)
        except Exception as error:  # JSON, NumPy and lookups raise errors of many types
            raise ValueError(f"these bytes are no stored encoder of a stream ({error})") from error

    @classmethod
    def _from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> StreamEncoder:
        known = json.loads(arrays["known"].tobytes())
        names, levels, labels = known["names"], known["levels"], known["labels"]
        max_cuts, n_copies, n_rows = known["counts"]
        categorical, feature_of = arrays["categorical"], arrays["feature_of"]
        cuts = Cuts(**{name: arrays[name] for name in CUTS}, names=Numbered(feature_of.size))
        n_numbers, sizes = np.count_nonzero(~categorical), np.diff(cuts.starts)
        fits = {
            "texts": all(isinstance(text, str) for text in chain(names, levels, *labels)),
            "decoys": known["decoys"] in (None, "knockoffs", "shuffled", "plain"),
            "counts": all(type(count) is int and count >= 0 for count in known["counts"])
            and min(max_cuts, n_rows) >= 1,
            "categorical": categorical.size == len(names) > 0,
            "levels": feature_of.size == len(levels) > 0,
            # Every feature has its columns, one if it is a number.
            "feature_of": np.isin(np.diff(feature_of, prepend=-1, append=len(names)), (0, 1)).all()
            and (np.bincount(feature_of, minlength=len(names))[~categorical] == 1).all(),
            "n_cuts": (cuts.n_cuts <= MOST_CUTS).all(),
            "starts": cuts.starts[0] == 0
            and cuts.starts[-1] == cuts.halfway.size
            and ((sizes == 0) | (sizes == cuts.n_cuts)).all(),
            "sizes": cuts.n_cuts.size == cuts.low.size == cuts.step.size == sizes.size
            and sizes.size == feature_of.size,
            "finite": all(np.isfinite(x).all() for x in (cuts.low, cuts.step, cuts.halfway)),
        }
        knockoffs, numbers, texts = None, None, []
        is_law = known["decoys"] == "knockoffs" and n_rows > 1 and n_numbers
        if is_law or (known["decoys"] == "shuffled" and arrays["knockoffs"].size):
            knockoffs = restore_knockoffs(arrays["knockoffs"].tobytes())
            fits["knockoffs"] = knockoffs.rest.size == n_numbers and knockoffs.n_copies == n_copies
        if n_rows < HEAD_ROWS:
            check_types(arrays, {"codes": "<i8"})
            numbers, codes = arrays["numbers"], arrays["codes"].reshape(len(labels), n_rows)
            fits["numbers"] = numbers.shape == (n_rows, n_numbers) and numbers.dtype.kind == "f"
            fits["codes"] = len(labels) == categorical.size - n_numbers
            for inside, held in zip(codes, labels, strict=True):
                fits["codes"] &= inside.min() >= -1 and inside.max() < len(held)
                texts.append(TextColumn(inside, tuple(held)))
        for name, holds in fits.items():
            if not holds:
                raise ValueError(f"at {name!r}")
        return cls(
            tuple(names), categorical, known["decoys"], n_copies, max_cuts, n_rows, numbers,
            tuple(texts), feature_of, tuple(levels), cuts, knockoffs,
        )  # fmt: skip


def _around(n_rows: int, size: int, rng: np.random.Generator) -> IntArray:
    """An order of rows that moves each to the next one in its circle of ``size`` drawn rows."""
    circles = rng.permutation(n_rows)[: n_rows // size * size].reshape(-1, size)
    order = np.arange(n_rows)
    order[circles] = np.roll(circles, 1, axis=1)
    return order
