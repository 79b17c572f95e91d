"""From the rows of a stream to columns of numbers, by rules that its first rows settle.

Categories, cut points and the law of the decoys are taken from the first 1,000 rows (or the
first batch, if that is longer). They are refined batch by batch until these are full, and
stay as they are from then on: values outside the range seen fall into the end bins, a new
category counts as missing. Columns that are constant until then are cut batch by batch.
"""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys import Knockoffs, restore_knockoffs, store_knockoffs
from tvselect.inputs import Numbered, Table
from tvselect.inputs.columns import refuse_nonfinite
from tvselect.inputs.npz import check_types, read_arrays
from tvselect.inputs.table import read_features
from tvselect.inputs.text import TextColumn, codes_of, encode_text, one_hot
from tvselect.selectors.layout import DecoyKind
from tvselect.sources import Batch
from tvselect.trees import Cuts, bin_table
from tvselect.trees.bins import MOST_CUTS
from tvselect.words import listed

HEAD_ROWS = 1000
CUTS = ("n_cuts", "low", "step", "starts", "halfway")
STORED = {
    "known": "|u1", "categorical": "|b1", "feature_of": "<i8", "n_cuts": "|u1", "low": "<f8",
    "step": "<f8", "starts": "<i8", "halfway": "<f8", "knockoffs": "|u1",
}  # fmt: skip


@dataclass(frozen=True)
class ColumnEncoding:
    """How features become columns: numbers as they are, one 0/1 column per category.

    Column ``n_columns + c`` is the decoy of column ``c``. A column that was constant when the
    rules were settled has no cut points: it is cut anew by every batch in which it varies, and
    its decoy is made of the rows of that batch.
    """

    names: tuple[str, ...]  #: Of the features
    feature_of: NDArray[np.int64]  #: The feature that each column comes from
    levels: NDArray[np.object_]  #: The category that a column stands for; "" for a number
    categorical: NDArray[np.bool_]  #: By feature
    cuts: Cuts  #: Of the columns; a decoy has those of its column
    knockoffs: Knockoffs | None  #: Of all numeric features; None for decoys of shuffled rows

    @property
    def n_columns(self) -> int:
        """Number of columns that are no decoys."""
        return self.feature_of.size

    def column_names(self, columns: NDArray[np.int64]) -> tuple[str, ...]:
        """Names of columns: that of the feature, or of its decoy."""
        names = (self.names[j] for j in self.feature_of[columns % self.n_columns])
        is_decoy = columns >= self.n_columns
        return tuple(f"decoy of {n}" if d else n for n, d in zip(names, is_decoy, strict=True))

    def cuts_of(self, columns: NDArray[np.int64], X: NDArray[np.float64], max_cuts: int) -> Cuts:
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
        columns: NDArray[np.int64],
        rng: np.random.Generator,
        unknown: float = np.nan,
    ) -> NDArray[np.float64]:
        """Some columns of a batch (rows, columns); only their features are read.

        Columns of a category hold ``unknown`` where a label is new, or 0 where the
        feature has a single label: a second one is what makes it vary. Knockoffs look at all
        numeric features that are not independent of those played, and read these as well. Other
        decoys are the columns with rows changing places two by two, the same ones for all columns.
        """
        wanted, place = np.unique(columns % self.n_columns, return_inverse=True)
        seen = self._read(batch, wanted, unknown)
        is_decoy = columns >= self.n_columns
        if not is_decoy.any():
            return np.asfortranarray(seen[:, place])
        # A permutation that is its own inverse: which is the copy cannot be told.
        order, half = rng.permutation(batch.n_rows), batch.n_rows // 2
        swapped = np.arange(batch.n_rows)
        swapped[order[:half]] = order[half : 2 * half]
        swapped[order[half : 2 * half]] = order[:half]
        copies = seen[swapped]
        features = self.feature_of[wanted]
        is_number = ~self.categorical[features] & (self.cuts.n_cuts[wanted] > 0)
        if self.knockoffs is not None and is_number.any():
            numbers = np.flatnonzero(~self.categorical)
            asked = np.searchsorted(numbers, features[is_number])
            needed, knockoffs = self.knockoffs.among(asked)
            originals = np.asarray(batch.numbers(numbers[needed]), dtype=np.float64)
            names = [self.names[j] for j in numbers[needed]]
            refuse_nonfinite(originals, names, takes_missing=True, takes_empty=True)
            drawn = knockoffs.draw(originals, rng)[0]
            copies[:, is_number] = drawn[:, np.searchsorted(needed, asked)]
        both = np.concatenate([seen, copies], axis=1)
        return np.asfortranarray(both[:, place + wanted.size * is_decoy])

    def _read(
        self, batch: Batch, columns: NDArray[np.int64], unknown: float
    ) -> NDArray[np.float64]:
        out = np.empty((batch.n_rows, columns.size))
        features = self.feature_of[columns]
        numbers = np.flatnonzero(~self.categorical[features])
        if numbers.size:
            out[:, numbers] = batch.numbers(features[numbers])
        for feature in np.unique(features[self.categorical[features]]):
            places = np.flatnonzero(features == feature)
            codes = codes_of(batch.labels(int(feature)), self.levels[columns[places]])
            is_late = bool((self.cuts.n_cuts[columns[places]] == 0).any())
            out[:, places] = one_hot(codes, places.size, 0.0 if is_late else unknown)
        return out


class StreamEncoder:
    """The encoder of a stream: its first rows, held until there are enough, and what they settle.

    ``n_batches`` and ``n_rows`` were seen; ``decoys`` is what decoys of columns are made of.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        categorical: NDArray[np.bool_],
        *,
        decoys: DecoyKind | None = None,
        max_cuts: int = 100,
    ) -> None:
        self.names, self.categorical = names, categorical
        self.decoys, self.max_cuts = decoys, max_cuts
        self.n_batches = self.n_rows = 0
        self.encoding: ColumnEncoding | None = None
        self.held_numbers: list[NDArray[Any]] = []
        self.held_labels: list[list[NDArray[Any]]] = [[] for _ in np.flatnonzero(categorical)]

    @property
    def is_full(self) -> bool:
        """Whether the encoding stays as it is."""
        return self.n_rows >= HEAD_ROWS

    def see(self, batch: Batch, *, is_new: bool = True) -> ColumnEncoding:
        """Take in a batch while there is room, and settle the encoding anew.

        Rows that come again in a later round tell nothing new of the columns' correlations:
        knockoffs stay as they are.
        """
        # New lists, so that a copy of the encoder stays as it was.
        numbers = np.asarray(batch.numbers(np.flatnonzero(~self.categorical)))
        self.held_numbers = [*self.held_numbers, numbers]
        features = np.flatnonzero(self.categorical).tolist()
        self.held_labels = [
            [*pieces, batch.labels(feature)]
            for pieces, feature in zip(self.held_labels, features, strict=True)
        ]
        self.n_rows += batch.n_rows
        self.n_batches += 1
        self.encoding = self._settle(is_new)
        if self.is_full:
            self.held_numbers, self.held_labels = [], []
        return self.encoding

    def _settle(self, is_new: bool) -> ColumnEncoding:
        numbers = np.concatenate(self.held_numbers).astype(np.float64)
        self._refuse_infinite(numbers)
        texts = [encode_text(np.concatenate(pieces)) for pieces in self.held_labels]
        features = read_features(Table.of_matrix(numbers, self.names, texts, self.categorical))
        X, feature_of = features.X[:, :], features.feature_of
        text_of = dict(zip(np.flatnonzero(self.categorical).tolist(), texts, strict=True))
        levels: list[str] = []
        for j in range(len(self.names)):
            levels += (text_of[j].levels if j in text_of else ()) or ("",)
        empty = [self.names[j] for j, text in text_of.items() if not text.levels]
        if empty and self.is_full:
            warnings.warn(
                f"text without a value in the first {self.n_rows} rows of the stream: "
                f"{listed(empty)} cannot be selected; take larger batches or shuffle the rows",
                RuntimeWarning,
                stacklevel=3,
            )
        knockoffs = None
        if self.decoys == "knockoffs" and self.n_rows > 1 and not self.categorical.all():
            before = self.encoding.knockoffs if self.encoding else None
            knockoffs = Knockoffs.estimate(numbers) if is_new or before is None else before
        X[:, np.isnan(X).all(axis=0)] = 0.0
        return ColumnEncoding(
            names=self.names,
            feature_of=feature_of,
            levels=np.array(levels, dtype=object),
            categorical=self.categorical,
            cuts=bin_table(X, max_cuts=self.max_cuts).cuts,
            knockoffs=knockoffs,
        )

    def _refuse_infinite(self, numbers: NDArray[np.float64]) -> None:
        names = [self.names[j] for j in np.flatnonzero(~self.categorical)]
        refuse_nonfinite(numbers, names, takes_missing=True, takes_empty=True)
        with np.errstate(over="ignore", invalid="ignore"):
            span = np.fmax.reduce(numbers) - np.fmin.reduce(numbers)
        for j in np.flatnonzero(np.isinf(span)):
            raise ValueError(
                f"X contains values further apart than a double can say in column {names[j]!r}"
            )


def store_encoder(encoder: StreamEncoder) -> bytes:
    """All that a resumed run needs to go on, as arrays without pickle."""
    encoding = encoder.encoding
    assert encoding is not None
    texts = [encode_text(np.concatenate(pieces)) for pieces in encoder.held_labels]
    known = {
        "names": encoder.names,
        "decoys": encoder.decoys,
        "counts": [encoder.max_cuts, encoder.n_batches, encoder.n_rows],
        "levels": encoding.levels.tolist(),
        "labels": [text.levels for text in texts],
    }
    knockoffs = store_knockoffs(encoding.knockoffs) if encoding.knockoffs else b""
    arrays: dict[str, Any] = {
        "known": np.frombuffer(json.dumps(known).encode(), np.uint8),
        "categorical": encoder.categorical,
        "feature_of": encoding.feature_of,
        **{name: getattr(encoding.cuts, name) for name in CUTS},
        "knockoffs": np.frombuffer(knockoffs, np.uint8),
    }
    if not encoder.is_full:
        arrays["numbers"] = np.concatenate(encoder.held_numbers)
        arrays["codes"] = np.array([text.codes for text in texts], np.int64).ravel()
    file = io.BytesIO()
    try:
        np.savez_compressed(file, **arrays)
    except ValueError as error:
        # An interrupt in the midst of it comes out as the archive's complaint.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    return file.getvalue()


def restore_encoder(blob: bytes) -> StreamEncoder:
    """The encoder that :func:`store_encoder` wrote down; a ValueError for anything else."""
    arrays = read_arrays(blob)
    try:
        check_types(arrays, STORED)
        return _restored(arrays)
    except Exception as error:  # JSON, NumPy and lookups have each their own
        raise ValueError(f"these bytes are no stored encoder of a stream ({error})") from error


def _restored(arrays: dict[str, NDArray[Any]]) -> StreamEncoder:
    known = json.loads(arrays["known"].tobytes())
    names, levels, labels = known["names"], known["levels"], known["labels"]
    max_cuts, n_batches, n_rows = known["counts"]
    categorical, feature_of = arrays["categorical"], arrays["feature_of"]
    cuts = Cuts(**{name: arrays[name] for name in CUTS}, names=Numbered(feature_of.size))
    n_numbers, sizes = np.count_nonzero(~categorical), np.diff(cuts.starts)
    fits = {
        "texts": all(isinstance(text, str) for text in chain(names, levels, *labels)),
        "decoys": known["decoys"] in (None, "knockoffs", "shuffled"),
        "counts": all(type(count) is int and count >= 1 for count in known["counts"]),
        "categorical": categorical.size == len(names) > 0,
        "levels": feature_of.size == len(levels) > 0,
        # Every feature has its columns, one if it is a number.
        "feature_of": np.isin(np.diff(feature_of, prepend=-1, append=len(names)), (0, 1)).all()
        and (np.bincount(feature_of, minlength=len(names))[~categorical] == 1).all(),
        "n_cuts": (cuts.n_cuts <= MOST_CUTS).all(),
        "starts": cuts.starts[0] == 0
        and cuts.starts[-1] == cuts.halfway.size
        and ((sizes == 0) | (sizes == cuts.n_cuts)).all(),
    }
    for name in ("n_cuts", "low", "step"):
        fits[f"size of {name}"] = arrays[name].size == feature_of.size == sizes.size
    for name in ("low", "step", "halfway"):
        fits[name] = np.isfinite(arrays[name]).all()
    knockoffs = None
    if known["decoys"] == "knockoffs" and n_rows > 1 and n_numbers:
        knockoffs = restore_knockoffs(arrays["knockoffs"].tobytes())
        fits["knockoffs"] = knockoffs.rest.size == n_numbers
    encoder = StreamEncoder(tuple(names), categorical, decoys=known["decoys"], max_cuts=max_cuts)
    encoder.n_batches, encoder.n_rows = n_batches, n_rows
    encoder.encoding = ColumnEncoding(
        names=encoder.names,
        feature_of=feature_of,
        levels=np.array(levels, dtype=object),
        categorical=categorical,
        cuts=cuts,
        knockoffs=knockoffs,
    )
    if not encoder.is_full:
        check_types(arrays, {"codes": "<i8"})
        numbers, codes = arrays["numbers"], arrays["codes"].reshape(len(labels), n_rows)
        fits["numbers"] = numbers.shape == (n_rows, n_numbers) and numbers.dtype.kind == "f"
        fits["codes"] = len(labels) == categorical.size - n_numbers
        for inside, texts in zip(codes, labels, strict=True):
            fits["codes"] &= inside.min() >= -1 and inside.max() < len(texts)
        encoder.held_numbers = [numbers]
        encoder.held_labels = [
            [TextColumn(inside, tuple(texts)).labels()]
            for inside, texts in zip(codes, labels, strict=True)
        ]
    for name, holds in fits.items():
        if not holds:
            raise ValueError(f"at {name!r}")
    return encoder
