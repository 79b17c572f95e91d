"""The outcome to explain: continuous, or two classes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.errors import InputError
from tvselect.inputs.frames import labels_of
from tvselect.inputs.kinds import kind_of
from tvselect.inputs.values import as_array, is_null, is_text, not_one_column

Family = Literal["gaussian", "probit"]
FAMILIES = ("auto", "gaussian", "probit")


@dataclass(frozen=True)
class Outcome:
    """A checked outcome.

    Attributes
    ----------
    values : float64 array
        The numbers, or 0 / 1 for the first and second class.
    family : {"gaussian", "probit"}
    classes : array or None
        The two labels in sorted order (probit).
    """

    values: NDArray[np.float64]
    family: Family
    classes: NDArray[Any] | None


class TextOutcomeError(InputError, TypeError):
    """An outcome of text that is not two classes."""


def read_outcome(
    y: Any,
    n_rows: int,
    *,
    family: Literal["auto", "gaussian", "probit"] = "auto",
    what: str = "y",
) -> Outcome:
    """Check ``y`` against a table of ``n_rows`` rows and decide the family.

    With ``family="auto"`` two distinct values of any type are two classes, more
    distinct numbers are a continuous outcome.

    Parameters
    ----------
    y : array-like
    n_rows : int
    family : {"auto", "gaussian", "probit"}
    what : str
        Its name in error messages.

    Raises
    ------
    TypeError
        For text where numbers are needed.
    ValueError
        For other lengths, missing or infinite values, a constant, or more than two
        classes for probit.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be 'auto', 'gaussian' or 'probit', got {family!r}")
    if n_rows < 2:
        raise ValueError(f"X and {what} have one row; at least two are needed")
    values = _checked(y, n_rows, what)
    levels = _levels(values, what)
    if len(levels) == 1:
        raise ValueError(
            f"{what} is constant ({levels.item(0)!r} in every row): there is nothing to explain"
        )
    if family == "probit" or (family == "auto" and len(levels) == 2):
        if len(levels) > 2:
            shown = ", ".join(repr(level) for level in levels[:5].tolist())
            raise ValueError(
                f"{what} has {len(levels):,} classes ({shown}{', ...' if len(levels) > 5 else ''})"
                f"; probit takes two. Compare one class with the rest, for instance y == "
                f"{levels.item(0)!r}"
            )
        return Outcome((values == levels[1]).astype(np.float64), "probit", levels)
    try:
        numbers = _as_numbers(values)
    except (TypeError, ValueError):
        raise TextOutcomeError(
            f"{what} holds text or mixed values with {len(levels)} distinct levels",
            "a continuous outcome needs numbers, a two-class one two labels",
        ) from None
    if not np.isfinite(numbers.max() - numbers.min()):
        raise ValueError(f"{what} spans more than a double can hold; rescale it")
    return Outcome(numbers, "gaussian", None)


class OutcomeReader:
    """Reads the outcome of a stream batch by batch, all of one family.

    Parameters
    ----------
    family : {"auto", "gaussian", "probit"}
        "auto" decides with the first batch that has more than one value.
    classes : array of two labels, optional
        For probit, where they are known already.
    """

    def __init__(
        self,
        family: Literal["auto", "gaussian", "probit"] = "auto",
        classes: NDArray[Any] | None = None,
    ) -> None:
        if family not in FAMILIES:
            raise ValueError(f"family must be 'auto', 'gaussian' or 'probit', got {family!r}")
        self.family: Literal["auto", "gaussian", "probit"] = family
        self.classes = classes

    @property
    def is_settled(self) -> bool:
        """Whether no batch to come can change the family or the classes."""
        return self.family == "gaussian" or self.classes is not None

    def to_bytes(self) -> bytes:
        """What is known so far, as JSON."""
        classes = None if self.classes is None else self.classes.tolist()
        return json.dumps([self.family, classes]).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> OutcomeReader:
        """The reader that :meth:`to_bytes` wrote down.

        Raises
        ------
        ValueError
            For anything else.
        """
        try:
            known = json.loads(blob)
        except (ValueError, RecursionError) as error:
            raise ValueError("these bytes are no stored outcome") from error
        if not isinstance(known, list) or len(known) != 2 or not _are_classes(known[1]):
            raise ValueError("these bytes are no stored outcome")
        family, classes = known
        return cls(family, None if classes is None else np.array(classes))

    def read(self, y: Any, n_rows: int) -> Outcome | None:
        """The outcome of a batch; None where it is constant: there is nothing to explain.

        Raises
        ------
        TypeError, ValueError
            As :func:`read_outcome`, and for a third class.
        """
        values = _checked(y, n_rows, "y")
        levels = _levels(values, "y")
        if self.classes is not None:
            known = self.classes.tolist()  # NumPy would take the number 1 for the text "1"
            for level in (level for level in levels.tolist() if level not in known):
                raise InputError(
                    f"y has the value {level!r} where the stream so far has the two classes "
                    f"{known}",
                    "for a continuous outcome say {family}",
                )
        if len(levels) == 1:
            return None
        if self.classes is not None:
            return Outcome((values == self.classes[1]).astype(np.float64), "probit", self.classes)
        outcome = read_outcome(values, n_rows, family=self.family)
        self.family, self.classes = outcome.family, outcome.classes
        return outcome


def _are_classes(value: Any) -> bool:
    """Whether a JSON value is no class or two."""
    if value is None:
        return True
    if not isinstance(value, list) or len(value) != 2 or value[0] == value[1]:
        return False
    kinds = {type(label) for label in value}
    if kinds == {str} or kinds == {bool}:
        return True
    return kinds <= {int, float} and all(abs(label) < 2**63 for label in value)


def one_column(y: Any, what: str = "y") -> NDArray[Any]:
    """The values of an outcome as an array of one dimension.

    Raises
    ------
    TypeError, ValueError
        When it is more than one column, or holds dates or complex numbers.
    """
    values: NDArray[Any]
    if isinstance(y, np.ndarray):  # narwhals takes its time to say no
        values = as_array(y, what)
    elif nw.dependencies.is_into_series(y):
        series = nw.from_native(y, series_only=True)
        is_text = kind_of(series.dtype) == "text"
        values = labels_of(series) if is_text else series.to_numpy()
    elif nw.dependencies.is_into_dataframe(y):
        values = nw.from_native(y, eager_only=True).to_numpy()
    else:
        values = as_array(y, what)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise not_one_column(what, y, values.shape)
    if values.dtype.kind in "cmM":
        raise TypeError(f"{what} holds {values.dtype}; it must hold numbers or two labels")
    return values


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where an outcome has no value."""
    if values.dtype.kind == "O":
        return np.array([is_null(value) or value != value for value in values], dtype=np.bool_)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, dtype=np.bool_)


def _checked(y: Any, n_rows: int, what: str) -> NDArray[Any]:
    values = one_column(y, what)
    if values.size != n_rows:
        raise ValueError(f"{what} has {values.size} values but X has {n_rows} rows")
    bad = missing_mask(values) | _infinite_mask(values)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{what} has {int(bad.sum())} missing or infinite value(s), the first in row {row} "
            f"({values.item(row)!r}); drop these rows"
        )
    return values


def _infinite_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        return np.array(
            [isinstance(v, float | np.floating) and np.isinf(v) for v in values], dtype=np.bool_
        )
    return np.isinf(values) if values.dtype.kind == "f" else np.zeros(values.size, dtype=np.bool_)


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype.kind in "US" or (values.dtype.kind == "O" and any(map(is_text, values))):
        raise TypeError
    return values.astype(np.float64)


def _levels(values: NDArray[Any], what: str) -> NDArray[Any]:
    try:
        return np.unique(values)
    except TypeError:
        raise TypeError(
            f"{what} mixes types that have no order, such as numbers and text"
        ) from None
