"""The head of a stream: its first rows settle how all later ones are read.

Categories, cut points and the law of the decoys are taken from the first 1,000 rows (or the
first batch, if that is longer). They are refined batch by batch until the head is full, and
stay as they are from then on: values outside the range seen fall into the end bins, a new
category counts as missing.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.decoys import GaussianKnockoffs
from tvselect.selectors.encoding import Encoding, indicators
from tvselect.sources import Batch
from tvselect.trees import Cuts, bin_table

HEAD_ROWS = 1000


class Head:
    """The first rows of a stream, and the encoding they settle.

    Parameters
    ----------
    names : tuple of str
    categorical : bool array
    decoys : bool
        Whether numeric features get a knockoff.
    max_cuts : int
    """

    def __init__(
        self,
        names: tuple[str, ...],
        categorical: NDArray[np.bool_],
        *,
        decoys: bool = False,
        max_cuts: int = 100,
    ) -> None:
        self.names, self.categorical = names, categorical
        self.decoys, self.max_cuts = decoys, max_cuts
        self.n_batches = 0
        self.n_rows = 0
        self.encoding: Encoding | None = None
        self._numbers: list[NDArray[Any]] = []
        self._labels: list[list[NDArray[Any]]] = [[] for _ in np.flatnonzero(categorical)]

    @property
    def is_full(self) -> bool:
        """Whether the encoding stays as it is."""
        return self.n_rows >= HEAD_ROWS

    def see(self, batch: Batch, decoy_key: int) -> Encoding:
        """Take in a batch while there is room, and settle the encoding anew."""
        # New lists, so that a copy of the head stays as it was.
        numbers = np.asarray(batch.numbers(np.flatnonzero(~self.categorical)))
        self._numbers = [*self._numbers, numbers]
        self._labels = [
            [*pieces, batch.labels(int(feature))]
            for pieces, feature in zip(self._labels, np.flatnonzero(self.categorical), strict=True)
        ]
        self.n_rows += batch.n_rows
        self.n_batches += 1
        self.encoding = self._settle(decoy_key)
        if self.is_full:
            self._numbers, self._labels = [], []
        return self.encoding

    def _settle(self, decoy_key: int) -> Encoding:
        numbers = np.concatenate(self._numbers).astype(np.float64)
        self._refuse_infinite(numbers)
        feature_of: list[int] = []
        levels: list[str] = []
        columns: list[NDArray[np.float64]] = []
        number_at, labels_at = iter(numbers.T), iter(self._labels)
        for feature, is_text in enumerate(self.categorical):
            if not is_text:
                feature_of.append(feature)
                levels.append("")
                columns.append(next(number_at))
                continue
            labels = np.concatenate(next(labels_at))
            known = sorted({str(label) for label in labels if label is not None}) or [""]
            feature_of += [feature] * len(known)
            levels += known
            columns += list(indicators(labels, np.array(known), np.arange(len(known))).T)
        decoy_of = np.empty(0, dtype=np.int64)
        knockoffs = None
        if self.decoys:
            decoy_of = np.flatnonzero(~self.categorical)
            knockoffs = GaussianKnockoffs.estimate(numbers)
            columns += list(knockoffs.draw(numbers, decoy_key).T)
        X = np.column_stack(columns)
        self._warn_of_empty(X[:, : len(feature_of)], np.array(feature_of))
        X[:, np.isnan(X).all(axis=0)] = 0.0
        return Encoding(
            names=self.names,
            feature_of=np.array(feature_of, dtype=np.int64),
            levels=np.array(levels, dtype=np.str_),
            categorical=self.categorical,
            cuts=bin_table(X, max_cuts=self.max_cuts).cuts,
            decoy_of=decoy_of,
            knockoffs=knockoffs,
        )

    def _refuse_infinite(self, numbers: NDArray[np.float64]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            span = np.fmax.reduce(numbers) - np.fmin.reduce(numbers)
        for bad, what in (
            (np.isinf(numbers).any(axis=0), "infinity"),
            (np.isinf(span), "values further apart than a double can say"),
        ):
            places = np.flatnonzero(bad)
            if places.size:
                name = self.names[np.flatnonzero(~self.categorical)[places[0]]]
                raise ValueError(f"X contains {what} in column {name!r}")

    def _warn_of_empty(self, X: NDArray[np.float64], feature_of: NDArray[np.int64]) -> None:
        empty = np.flatnonzero(np.isnan(X).all(axis=0)) if self.is_full else np.empty(0)
        if empty.size:
            name = self.names[feature_of[int(empty[0])]]
            others = f" and {empty.size - 1} more" if empty.size > 1 else ""
            warnings.warn(
                f"column {name!r}{others} has no value in the first {self.n_rows} rows of the "
                "stream: trees never split on it",
                RuntimeWarning,
                stacklevel=4,
            )

    def to_bytes(self) -> bytes:
        """All that a resumed run needs to go on, without pickle."""
        assert self.encoding is not None
        e = self.encoding
        arrays: dict[str, Any] = {
            "names": np.array(self.names, dtype=np.str_),
            "categorical": self.categorical,
            "settings": np.array([self.decoys, self.max_cuts, self.n_batches, self.n_rows]),
            "feature_of": e.feature_of,
            "levels": e.levels,
            "n_cuts": e.cuts.n_cuts,
            "low": e.cuts.low,
            "step": e.cuts.step,
            "starts": e.cuts.starts,
            "halfway": e.cuts.halfway,
            "knockoffs": np.frombuffer(e.knockoffs.to_bytes() if e.knockoffs else b"", np.uint8),
        }
        if not self.is_full:
            arrays["numbers"] = np.concatenate(self._numbers)
            for place, pieces in enumerate(self._labels):
                labels = np.concatenate(pieces)
                arrays[f"missing{place}"] = np.array([label is None for label in labels])
                arrays[f"labels{place}"] = np.array([str(label or "") for label in labels])
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Head:
        """The head that :meth:`to_bytes` wrote down."""
        with np.load(io.BytesIO(blob), allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        names = tuple(map(str, arrays["names"]))
        decoys, max_cuts, n_batches, n_rows = map(int, arrays["settings"])
        head = cls(names, arrays["categorical"], decoys=bool(decoys), max_cuts=max_cuts)
        head.n_batches, head.n_rows = n_batches, n_rows
        decoy_of = np.flatnonzero(~head.categorical) if decoys else np.empty(0, dtype=np.int64)
        n_cuts = arrays["n_cuts"]
        head.encoding = Encoding(
            names=names,
            feature_of=arrays["feature_of"],
            levels=arrays["levels"],
            categorical=head.categorical,
            cuts=Cuts(
                n_cuts,
                arrays["low"],
                arrays["step"],
                arrays["starts"],
                arrays["halfway"],
                tuple(f"x{j}" for j in range(n_cuts.size)),
            ),
            decoy_of=decoy_of,
            knockoffs=GaussianKnockoffs.from_bytes(arrays["knockoffs"].tobytes())
            if decoys
            else None,
        )
        if "numbers" in arrays:
            head._numbers = [arrays["numbers"]]
            for place, pieces in enumerate(head._labels):
                missing, labels = arrays[f"missing{place}"], arrays[f"labels{place}"].astype(object)
                labels[missing] = None
                pieces.append(labels)
        return head
