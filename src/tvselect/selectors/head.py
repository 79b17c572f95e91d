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
from tvselect.inputs.stored import check_types, read_arrays
from tvselect.selectors.encoding import Encoding, indicators
from tvselect.sources import Batch
from tvselect.trees import Cuts, bin_table
from tvselect.trees.bins import MOST_CUTS

HEAD_ROWS = 1000
STORED = {
    "names": "U", "categorical": "|b1", "settings": "<i8", "feature_of": "<i8", "levels": "U",
    "n_cuts": "|u1", "low": "<f8", "step": "<f8", "starts": "<i8", "halfway": "<f8",
    "knockoffs": "|u1",
}  # fmt: skip


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
        try:
            np.savez_compressed(file, **arrays)
        except ValueError as error:
            # An interrupt in the midst of it comes out as the archive's complaint.
            if isinstance(error.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            raise
        return file.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Head:
        """The head that :meth:`to_bytes` wrote down.

        Raises
        ------
        ValueError
            For anything else.
        """
        arrays = read_arrays(blob)
        check_types(arrays, STORED)
        _demand(arrays["settings"].size == 4, "settings")
        names = tuple(map(str, arrays["names"]))
        decoys, max_cuts, n_batches, n_rows = map(int, arrays["settings"])
        _demand(decoys in (0, 1) and min(max_cuts, n_batches, n_rows) >= 1, "settings")
        head = cls(names, arrays["categorical"], decoys=bool(decoys), max_cuts=max_cuts)
        head.n_batches, head.n_rows = n_batches, n_rows
        _check_columns(names, arrays)
        decoy_of = np.flatnonzero(~head.categorical) if decoys else np.empty(0, dtype=np.int64)
        _check_cuts(arrays, arrays["feature_of"].size + decoy_of.size)
        knockoffs = None
        if decoys:
            knockoffs = GaussianKnockoffs.from_bytes(arrays["knockoffs"].tobytes())
            _demand(knockoffs.mean.size == decoy_of.size, "knockoffs")
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
            knockoffs=knockoffs,
        )
        if not head.is_full:
            head._take_rows(arrays)
        return head

    def _take_rows(self, arrays: dict[str, NDArray[Any]]) -> None:
        """The rows that a head which is not full has seen."""
        numbers = arrays.get("numbers", np.empty(0))
        shape = (self.n_rows, int((~self.categorical).sum()))
        _demand(numbers.shape == shape and numbers.dtype in (np.float32, np.float64), "numbers")
        self._numbers = [numbers]
        for place, pieces in enumerate(self._labels):
            check_types(arrays, {f"missing{place}": "|b1", f"labels{place}": "U"})
            missing, labels = arrays[f"missing{place}"], arrays[f"labels{place}"].astype(object)
            _demand(missing.size == labels.size == self.n_rows, f"labels{place}")
            labels[missing] = None
            pieces.append(labels)


def _check_columns(names: tuple[str, ...], arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless every feature has its columns, one if it is a number."""
    categorical, feature_of = arrays["categorical"], arrays["feature_of"]
    _demand(categorical.size == len(names) > 0, "categorical")
    _demand(feature_of.size == arrays["levels"].size > 0, "levels")
    steps = np.diff(feature_of, prepend=-1, append=len(names))
    _demand(bool(np.isin(steps, (0, 1)).all()), "feature_of")
    n_columns = np.bincount(feature_of, minlength=len(names))
    _demand(bool((n_columns[~categorical] == 1).all()), "feature_of")


def _check_cuts(arrays: dict[str, NDArray[Any]], n_columns: int) -> None:
    """Raise unless every column has its cut points."""
    n_cuts, starts = arrays["n_cuts"], arrays["starts"]
    for name, size in (("n_cuts", 0), ("low", 0), ("step", 0), ("starts", 1)):
        _demand(arrays[name].size == n_columns + size, name)
    _demand(bool((n_cuts <= MOST_CUTS).all()), "n_cuts")
    _demand(starts[0] == 0 and starts[-1] == arrays["halfway"].size, "starts")
    sizes = np.diff(starts)
    _demand(bool(((sizes == 0) | (sizes == n_cuts)).all()), "starts")
    for name in ("low", "step", "halfway"):
        _demand(bool(np.isfinite(arrays[name]).all()), name)


def _demand(fits: bool | np.bool_, name: str) -> None:
    if not fits:
        raise ValueError(f"these bytes are no stored head of a stream (at {name!r})")
