"""The outcome to explain: a number, a class, a grade, a count or a survival time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.errors import InputError, RowError
from tvselect.inputs.frames import labels_of
from tvselect.inputs.kinds import kind_of
from tvselect.inputs.ranks import normal_scores
from tvselect.inputs.survival import Times, is_survival, log_rank_scores, read_times
from tvselect.inputs.values import as_array, is_null, is_text, not_one_column

Family = Literal["gaussian", "probit", "classes", "ordinal", "counts", "survival"]
AskedFamily = Literal["auto", Family]
FAMILIES: tuple[str, ...] = get_args(Family)
FEW_VALUES, ROWS_A_VALUE, LARGEST_CODE = 10, 5, 1e6
TYPICAL_COUNT = 20
MOST_CLASSES = 100


@dataclass(frozen=True)
class Outcome:
    """A checked outcome.

    Attributes
    ----------
    values : float64 array
        The numbers or counts; the place of the class or grade among ``classes``; the log of a
        survival time, or of the earliest one.
    family : {"gaussian", "probit", "classes", "ordinal", "counts", "survival"}
    classes : array or None
        The labels in sorted order: two (probit), or more (classes, ordinal).
    upper : float64 array or None
        Log of the latest time (survival): that of the event, inf where it is censored.
    is_guess : bool
        Whether other families are as likely for such numbers.
    """

    values: NDArray[np.float64]
    family: Family
    classes: NDArray[Any] | None
    upper: NDArray[np.float64] | None = None
    is_guess: bool = False

    @property
    def times(self) -> Times:
        """Bounds of the survival times, on the log scale."""
        assert self.upper is not None
        return Times(self.values, self.upper)

    def rows(self, chosen: NDArray[np.intp]) -> Outcome:
        """The outcome of some rows."""
        upper = None if self.upper is None else self.upper[chosen]
        return replace(self, values=self.values[chosen], upper=upper)

    def in_simple_terms(self) -> list[Outcome]:
        """Numbers or two classes that stand for it where only these can be dealt with.

        Normal scores of counts and grades, log-rank scores of survival times, each class against
        the rest.
        """
        if self.family in ("ordinal", "counts"):
            return [Outcome(normal_scores(self.values), "gaussian", None)]
        if self.family == "survival":
            return [Outcome(log_rank_scores(self.times), "gaussian", None)]
        if self.family == "classes":
            assert self.classes is not None
            return [
                Outcome((self.values == k).astype(np.float64), "probit", np.array([False, True]))
                for k in range(len(self.classes))
            ]
        return [self]


class TextOutcomeError(InputError, TypeError):
    """An outcome of text that is no class."""


def read_outcome(y: Any, n_rows: int, *, family: AskedFamily = "auto", what: str = "y") -> Outcome:
    """Check ``y`` against a table of ``n_rows`` rows and decide the family.

    With ``family="auto"``: two distinct values of any type are two classes ("probit"); three or
    more labels "classes", or "ordinal" where they are an ordered category; a structured array of
    events and times is "survival". Whole numbers with three to ten values, each in five rows on
    average, are taken for codes of "classes", whole numbers from 0 on that repeat (half as many
    values as rows, or fewer) and have a median of at most 20 for "counts": both are guesses.
    Other numbers, and those beyond a million, are "gaussian".

    Parameters
    ----------
    y : array-like
        An :class:`Outcome` is taken as it is.
    n_rows : int
    family : {"auto", "gaussian", "probit", "classes", "ordinal", "counts", "survival"}
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
    if isinstance(y, Outcome):
        return y
    check_family(family)
    if n_rows < 2:
        raise ValueError(f"X and {what} have one row; at least two are needed")
    if family == "survival" or (family == "auto" and is_survival(y)):
        return _survival(y, n_rows, what)
    values = checked_values(y, n_rows, what)
    grades = _order_of(y)
    levels = levels_of(values, what) if grades is None else grades
    if len(levels) == 1:
        raise ValueError(
            f"{what} is constant ({levels.item(0)!r} in every row): there is nothing to explain"
        )
    is_guess = False
    if family == "auto":
        family, is_guess = _guess(values, levels, grades is not None)
    if family == "probit" or (family == "classes" and len(levels) == 2):
        if len(levels) > 2:
            raise InputError(
                f"{what} has {len(levels):,} classes ({_listed(levels)}), probit takes two",
                "say {classes}, or compare one class with the rest",
            )
        return Outcome((values == levels[1]).astype(np.float64), "probit", levels)
    if family == "ordinal" and grades is None and _holds_text(values):
        raise TextOutcomeError(
            f"{what} holds grades in text ({_listed(levels)}), whose order is not known",
            "write them as numbers from the lowest on, or hand over an ordered category",
        )
    if family in ("classes", "ordinal"):
        return _labelled(values, levels, family, is_guess, what)
    numbers = _numbers(values, levels, what)
    if family == "counts":
        bad = (numbers < 0) | (numbers != np.floor(numbers))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise RowError(
                f"{what} has {numbers[row]:g}",
                "counts are whole numbers from 0 on; for other outcomes say {family}",
                row,
            )
    return Outcome(numbers, family, None, is_guess=is_guess)


def check_family(family: str) -> None:
    """Refuse what is no family."""
    if family not in ("auto", *FAMILIES):
        listed = ", ".join(map(repr, FAMILIES))
        raise ValueError(f"family must be 'auto' or one of {listed}, got {family!r}")


def _guess(values: NDArray[Any], levels: NDArray[Any], has_order: bool) -> tuple[Family, bool]:
    """The family that an outcome seems to be of, and whether others are as likely."""
    if len(levels) == 2:
        return "probit", False
    if has_order:
        return "ordinal", False
    try:
        numbers = _as_numbers(levels)
    except (TypeError, ValueError):
        return "classes", False
    if np.abs(numbers).max() > LARGEST_CODE or not np.array_equal(numbers, np.floor(numbers)):
        return "gaussian", False
    if len(levels) <= FEW_VALUES and values.size >= ROWS_A_VALUE * len(levels):
        return "classes", True
    is_count = (
        numbers.min() >= 0
        and 2 * len(levels) <= values.size
        and np.median(_as_numbers(values)) <= TYPICAL_COUNT
    )
    return ("counts", True) if is_count else ("gaussian", False)


def _survival(y: Any, n_rows: int, what: str) -> Outcome:
    times = read_times(y, what)
    if times.lower.size != n_rows:
        raise ValueError(f"{what} has {times.lower.size} values but X has {n_rows} rows")
    if not np.isfinite(times.upper).any():
        raise ValueError(f"{what} has no event: all times are censored, nothing can be explained")
    if np.unique(times.lower).size == 1:
        raise ValueError(f"{what} has the same time in every row: there is nothing to explain")
    return Outcome(times.lower, "survival", None, upper=times.upper)


def _labelled(
    values: NDArray[Any], levels: NDArray[Any], family: Family, is_guess: bool, what: str
) -> Outcome:
    """Classes or grades as their places among the labels."""
    most = min(MOST_CLASSES, max(2, values.size // 2))
    if len(levels) > most:
        if values.dtype.kind in "USO":
            raise TextOutcomeError(
                f"{what} holds text or mixed values with {len(levels)} distinct levels",
                f"a continuous outcome needs numbers; classes are at most {most}",
            )
        raise InputError(
            f"{what} has {len(levels):,} distinct values ({_listed(levels)}), {family} takes at "
            f"most {most} of them here",
            "for numbers say {family}",
        )
    place = {level: k for k, level in enumerate(levels.tolist())}
    codes = np.array([place[value] for value in values.tolist()], dtype=np.float64)
    return Outcome(codes, family, levels, is_guess=is_guess)


def _numbers(values: NDArray[Any], levels: NDArray[Any], what: str) -> NDArray[np.float64]:
    try:
        numbers = _as_numbers(values)
    except (TypeError, ValueError):
        raise TextOutcomeError(
            f"{what} holds text or mixed values with {len(levels)} distinct levels",
            "a continuous outcome needs numbers",
        ) from None
    if not np.isfinite(numbers.max() - numbers.min()):
        raise ValueError(f"{what} spans more than a double can hold; rescale it")
    return numbers


def grades_as_numbers(y: Any, family: AskedFamily) -> tuple[Any, AskedFamily]:
    """An ordered category as places among its grades, for what takes arrays; others as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> y = pd.Series(pd.Categorical(["low", "high"], ["low", "high", "top"], ordered=True))
    >>> grades_as_numbers(y, "auto")
    (array([0., 1.]), 'ordinal')
    """
    grades = _grades(y)
    if grades is None or family not in ("auto", "ordinal"):
        return y, family
    place = {grade: float(k) for k, grade in enumerate(grades)}
    labels = nw.from_native(y, series_only=True).to_list()
    return np.array([place.get(label, np.nan) for label in labels]), "ordinal"


def _order_of(y: Any) -> NDArray[Any] | None:
    """The labels of an ordered category that are there, in their order; None for anything else."""
    grades = _grades(y)
    if grades is None:
        return None
    there = set(nw.from_native(y, series_only=True).unique().to_list())
    return as_array([label for label in grades if label in there], "y")


def _grades(y: Any) -> list[Any] | None:
    """All labels of an ordered category, in their order; None for anything else."""
    if isinstance(y, np.ndarray) or not nw.dependencies.is_into_series(y):
        return None
    dtype: Any = getattr(y, "dtype", None)
    series = nw.from_native(y, series_only=True)
    if not (isinstance(series.dtype, nw.Enum) or getattr(dtype, "ordered", False)):
        return None
    return list(dtype.categories)


def _listed(levels: NDArray[Any]) -> str:
    shown = ", ".join(repr(level) for level in levels[:5].tolist())
    return shown + (", ..." if len(levels) > 5 else "")


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
        raise TypeError(f"{what} holds {values.dtype}; it must hold numbers or labels")
    return values


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where an outcome has no value."""
    if values.dtype.kind == "O":
        return np.array([is_null(value) or value != value for value in values], dtype=np.bool_)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.size, dtype=np.bool_)


def checked_values(y: Any, n_rows: int, what: str) -> NDArray[Any]:
    """The values of an outcome, as many as there are rows and none of them missing."""
    values = one_column(y, what)
    if values.size != n_rows:
        raise ValueError(f"{what} has {values.size} values but X has {n_rows} rows")
    bad = missing_mask(values) | _infinite_mask(values)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise RowError(
            f"{what} has {int(bad.sum())} missing or infinite value(s), the first "
            f"({values.item(row)!r})",
            "drop these rows",
            row,
        )
    return values


def _infinite_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        return np.array(
            [isinstance(v, float | np.floating) and np.isinf(v) for v in values], dtype=np.bool_
        )
    return np.isinf(values) if values.dtype.kind == "f" else np.zeros(values.size, dtype=np.bool_)


def _holds_text(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "US" or (values.dtype.kind == "O" and any(map(is_text, values)))


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    if _holds_text(values):
        raise TypeError
    return values.astype(np.float64)


def levels_of(values: NDArray[Any], what: str) -> NDArray[Any]:
    """The distinct values in their order."""
    try:
        return np.unique(values)
    except TypeError:
        raise TypeError(
            f"{what} mixes types that have no order, such as numbers and text"
        ) from None
