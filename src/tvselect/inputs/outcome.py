"""The outcome: a number, a class, a grade, a count or a survival time; in a table or a stream."""

from __future__ import annotations

import json
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.inputs.arrow import kind_of
from tvselect.inputs.columns import as_doubles, normal_scores
from tvselect.inputs.errors import InputError, RowError
from tvselect.inputs.table import as_array, holds_text, is_null, labels_of
from tvselect.words import listed

Family = Literal["gaussian", "probit", "classes", "ordinal", "counts", "survival"]
AskedFamily = Literal["auto", Family]
FAMILIES: tuple[str, ...] = get_args(Family)
FEW_VALUES, ROWS_A_VALUE, LARGEST_CODE = 10, 5, 1e6
TYPICAL_COUNT = 20
MOST_CLASSES = 100
SAY_NO = {"control", "healthy", "n", "nee", "nei", "nein", "nej", "no", "normal", "unaffected"}
MAD_TO_SD = 1.4826
FORMS = (
    "survival times are a structured array of an event (bool) and a time, as scikit-survival has "
    "them, two columns of the earliest and the latest time (inf where it is not known), or one of "
    "times that all ended in the event"
)
FloatArray = NDArray[np.float64]


class Times(NamedTuple):
    """Log of the earliest and of the latest time at which the event can have taken place."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class Outcome:
    """A checked outcome: numbers or counts, indices of classes, or logs of (earliest) times."""

    values: FloatArray
    family: Family
    #: Labels in order: two (probit; of ja and nein the latter is the first), or more (or grades).
    classes: NDArray[Any] | None = None
    upper: FloatArray | None = None  #: Log of the latest time; inf where it is censored
    is_guess: bool = False  #: Whether other families are as likely for such numbers

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
        """Each class against the rest, or normal or log-rank scores: numbers or two classes."""
        if self.family in ("ordinal", "counts"):
            return [Outcome(normal_scores(self.values), "gaussian")]
        if self.family == "survival":
            return [Outcome(log_rank_scores(self.times), "gaussian")]
        if self.family != "classes":
            return [self]
        assert self.classes is not None
        is_class = self.values == np.arange(len(self.classes))[:, None]
        labels = np.array([False, True])
        return [Outcome(one.astype(np.float64), "probit", labels) for one in is_class]


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

    An :class:`Outcome` is returned unchanged; ``what`` is its name in error messages.

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
    _check_family(family)
    if n_rows < 2:
        raise ValueError(f"X and {what} have one row; at least two are needed")
    if family == "survival" or (family == "auto" and is_survival(y)):
        return _survival(y, n_rows, what)
    values = _Values.of(y, n_rows, what)
    if len(values.levels) == 1:
        constant = values.levels.item(0)
        raise ValueError(
            f"{what} is constant ({constant!r} in every row): there is nothing to explain"
        )
    outcome: Outcome = getattr(values, family)()
    return outcome


def warn_of_guess(outcome: Outcome, stacklevel: int) -> None:
    """Warn where the values leave the family open, and say which one was taken."""
    if outcome.is_guess:
        taken, other = (
            (f"codes of {len(outcome.classes)} classes", "'ordinal' or 'gaussian'")
            if outcome.classes is not None
            else ("counts", "'gaussian'")
        )
        warnings.warn(
            f"y holds whole numbers, taken for {taken}: family={outcome.family!r}. Say so to "
            f"silence this warning, or family={other} for numbers of another kind",
            stacklevel=stacklevel + 1,
        )


def _check_family(family: str) -> None:
    if family not in ("auto", *FAMILIES):
        known = ", ".join(map(repr, FAMILIES))
        raise ValueError(f"family must be 'auto' or one of {known}, got {family!r}")


def _survival(y: Any, n_rows: int, what: str) -> Outcome:
    times = read_times(y, what)
    if times.lower.size != n_rows:
        raise ValueError(f"{what} has {times.lower.size} values but X has {n_rows} rows")
    if not np.isfinite(times.upper).any():
        raise ValueError(f"{what} has no event: all times are censored, nothing can be explained")
    if np.unique(times.lower).size == 1:
        raise ValueError(f"{what} has the same time in every row: there is nothing to explain")
    return Outcome(times.lower, "survival", upper=times.upper)


class _Values(NamedTuple):
    """The values of an outcome, none of them missing; a method for each family."""

    values: NDArray[Any]
    levels: NDArray[Any]  #: The distinct ones, in order
    is_ordered: bool  #: Whether they are an ordered category
    what: str

    @classmethod
    def of(cls, y: Any, n_rows: int, what: str) -> _Values:
        values = one_column(y, what)
        if values.size != n_rows:
            raise ValueError(f"{what} has {values.size} values but X has {n_rows} rows")
        bad = missing_mask(values)
        if values.dtype.kind == "O":
            bad |= [isinstance(v, float | np.floating) and bool(np.isinf(v)) for v in values]
        elif values.dtype.kind == "f":
            bad |= np.isinf(values)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise RowError(
                f"{what} has {int(bad.sum())} missing or infinite value(s), the first "
                f"({values.item(row)!r})",
                "drop these rows",
                row,
            )
        if (grades := _grades(y)) is not None:
            there = set(values.tolist())
            levels = as_array([grade for grade in grades if grade in there], what)
            return cls(values, levels, True, what)
        try:
            return cls(values, np.unique(values), False, what)
        except TypeError:
            raise TypeError(
                f"{what} mixes types that have no order, such as numbers and text"
            ) from None

    def auto(self) -> Outcome:
        values, levels = self.values, self.levels
        if len(levels) == 2:
            return self.probit()
        if self.is_ordered:
            return self.ordinal()
        try:
            numbers = self._as_numbers(levels)
        except InputError:
            return self.gaussian()
        except (TypeError, ValueError):
            return self.classes()
        if np.abs(numbers).max() > LARGEST_CODE or not np.array_equal(numbers, np.floor(numbers)):
            return self.gaussian()
        if len(levels) <= FEW_VALUES and values.size >= ROWS_A_VALUE * len(levels):
            return replace(self.classes(), is_guess=True)
        repeats = numbers.min() >= 0 and 2 * len(levels) <= values.size
        if repeats and np.median(self._as_numbers(values)) <= TYPICAL_COUNT:
            return replace(self.counts(), is_guess=True)
        return self.gaussian()

    def probit(self) -> Outcome:
        if len(self.levels) > 2:
            raise InputError(
                f"{self.what} has {len(self.levels):,} classes ({self._listed()}), probit takes "
                "two",
                "say {classes}, or compare one class with the rest",
            )
        levels = self.levels
        if not self.is_ordered and str(levels[1]).strip().lower() in SAY_NO:
            levels = levels[::-1]
        return Outcome((self.values == levels[1]).astype(np.float64), "probit", levels)

    def classes(self) -> Outcome:
        return self.probit() if len(self.levels) == 2 else self._labelled("classes")

    def ordinal(self) -> Outcome:
        if not self.is_ordered and holds_text(self.values):
            raise TextOutcomeError(
                f"{self.what} holds grades in text ({self._listed()}), whose order is not known",
                "write them as numbers from the lowest on, or hand over an ordered category",
            )
        return self._labelled("ordinal")

    def gaussian(self) -> Outcome:
        try:
            numbers = self._as_numbers(self.values)
        except InputError:
            raise
        except (TypeError, ValueError):
            raise self._text_error("a continuous outcome needs numbers") from None
        if not np.isfinite(numbers.max() - numbers.min()):
            raise ValueError(f"{self.what} spans more than a double can hold; rescale it")
        return Outcome(numbers, "gaussian")

    def counts(self) -> Outcome:
        numbers = self.gaussian().values
        bad = (numbers < 0) | (numbers != np.floor(numbers))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise RowError(
                f"{self.what} has {numbers[row]:g}",
                "counts are whole numbers from 0 on; for other outcomes say {family}",
                row,
            )
        return Outcome(numbers, "counts")

    def _as_numbers(self, values: NDArray[Any]) -> FloatArray:
        if holds_text(values):
            raise TypeError
        return as_doubles(values, f"{self.what} holds")

    def _labelled(self, family: Family) -> Outcome:
        values, levels = self.values, self.levels
        most = min(MOST_CLASSES, max(2, values.size // 2))
        if len(levels) > most:
            if values.dtype.kind in "USO":
                raise self._text_error(
                    f"a continuous outcome needs numbers; classes are at most {most}"
                )
            raise InputError(
                f"{self.what} has {len(levels):,} distinct values ({self._listed()}), {family} "
                f"takes at most {most} of them here",
                "for numbers say {family}",
            )
        place = {level: k for k, level in enumerate(levels.tolist())}
        codes = np.array([place[value] for value in values.tolist()], dtype=np.float64)
        return Outcome(codes, family, levels)

    def _text_error(self, remedy: str) -> TextOutcomeError:
        n = len(self.levels)
        return TextOutcomeError(
            f"{self.what} holds text or mixed values with {n} distinct levels", remedy
        )

    def _listed(self) -> str:
        return listed(self.levels.tolist())


def grades_as_numbers(y: Any, family: AskedFamily) -> tuple[Any, AskedFamily]:
    """An ordered category as indices of its grades; other outcomes unchanged."""
    if (grades := _grades(y)) is None or family not in ("auto", "ordinal"):
        return y, family
    place = {grade: float(k) for k, grade in enumerate(grades)}
    labels = nw.from_native(y, series_only=True).to_list()
    return np.array([place.get(label, np.nan) for label in labels]), "ordinal"


def _grades(y: Any) -> list[Any] | None:
    """All labels of an ordered category, in order; None for anything else."""
    if isinstance(y, np.ndarray) or not nw.dependencies.is_into_series(y):
        return None
    dtype: Any = getattr(y, "dtype", None)
    is_enum = isinstance(nw.from_native(y, series_only=True).dtype, nw.Enum)
    return list(dtype.categories) if is_enum or getattr(dtype, "ordered", False) else None


def one_column(y: Any, what: str = "y") -> NDArray[Any]:
    """The values of an outcome as an array of one dimension."""
    values: NDArray[Any]
    names: list[str] = []
    is_array = isinstance(y, np.ndarray)  # narwhals is slow to recognize one
    if not is_array and nw.dependencies.is_into_series(y):
        series = nw.from_native(y, series_only=True)
        if _grades(y) is not None:  # of any type, as their order names them
            values = np.empty(len(series), dtype=object)
            values[:] = series.to_list()
        elif kind_of(series.dtype) == "text":
            values = labels_of(series)
        else:
            values = series.to_numpy()
    elif not is_array and nw.dependencies.is_into_dataframe(y):
        frame = nw.from_native(y, eager_only=True)
        values, names = frame.to_numpy(), frame.columns
    else:
        values = as_array(y, what)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        shown = f" ({listed(names)})" if names else ""
        raise ValueError(
            f"{what} must be a single column, but has {values.shape[1]}{shown}; fit one selector "
            f"to each of them, for instance to {what}[{repr(names[0]) if names else ':, 0'}]"
        )
    if values.ndim != 1:
        raise ValueError(f"{what} must be a single column, got shape {values.shape}")
    odd = (type(value) for value in values if not isinstance(value, Hashable))
    kind = next(odd, None) if values.dtype.kind == "O" else None
    if kind is not None or values.dtype.kind in "cmM":
        held = values.dtype if kind is None else f"values such as a {kind.__name__}"
        raise TypeError(f"{what} holds {held}; it must hold numbers or labels")
    return values


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where there is no value."""
    if values.dtype.kind == "O":
        return np.array([is_null(value) or value != value for value in values], dtype=np.bool_)
    return np.asarray(values != values)


class OutcomeReader:
    """Reads the outcome of a stream; "auto" decides by the first batch that is not constant."""

    def __init__(self, family: AskedFamily = "auto", classes: NDArray[Any] | None = None) -> None:
        _check_family(family)
        self.family: AskedFamily = family
        self.classes = classes

    @property
    def is_settled(self) -> bool:
        """Whether the family and the classes are final."""
        return self.family not in ("auto", "probit") or self.classes is not None

    def to_bytes(self) -> bytes:
        """What is known so far, as JSON."""
        classes = None if self.classes is None else self.classes.tolist()
        return json.dumps([self.family, classes]).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> OutcomeReader:
        """The reader that :meth:`to_bytes` wrote down; raises a ValueError for anything else."""
        try:
            family, classes = json.loads(blob)
            if not _are_classes(classes):
                raise ValueError
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError("these bytes are no stored outcome") from error
        return cls(family, None if classes is None else np.array(classes))

    def read(self, y: Any, n_rows: int) -> Outcome | None:
        """The outcome of a batch, None if it is constant; refuses a third class."""
        if self.family == "survival" or (self.family == "auto" and is_survival(y)):
            self.family = "survival"
            times = read_times(y)
            has_none = not np.isfinite(times.upper).any() or np.unique(times.lower).size == 1
            return None if has_none else _survival(y, n_rows, "y")
        found = _Values.of(y, n_rows, "y")
        if self.classes is not None:
            self._refuse_other_classes(found.levels.tolist())
        if len(found.levels) == 1:
            return None
        if self.classes is not None:
            is_second = (found.values == self.classes[1]).astype(np.float64)
            return Outcome(is_second, "probit", self.classes)
        outcome: Outcome = getattr(found, self.family)()
        if self.family in ("auto", "probit"):
            self.family = outcome.family
            self.classes = outcome.classes if outcome.family == "probit" else None
        return outcome

    def _refuse_other_classes(self, levels: list[Any]) -> None:
        assert self.classes is not None
        known = self.classes.tolist()  # NumPy would take the number 1 for the text "1"
        if others := [level for level in levels if level not in known]:
            are_labels = all(isinstance(label, str) for label in (others[0], *known))
            three = "for three or more classes say {classes}"
            raise InputError(
                f"y has the value {others[0]!r} where the stream so far has the two classes "
                f"{known}",
                three if are_labels else "for other outcomes say {family}",
            )


def _are_classes(value: Any) -> bool:
    """Whether a JSON value is None or two classes."""
    if not isinstance(value, list) or len(value) != 2 or value[0] == value[1]:
        return value is None
    kinds = {type(label) for label in value}
    is_small = kinds <= {int, float} and all(abs(label) < 2**63 for label in value)
    return is_small or kinds in ({str}, {bool})


def is_survival(y: Any) -> bool:
    """Whether an outcome is a structured array of two fields."""
    return isinstance(y, np.ndarray) and y.dtype.names is not None and len(y.dtype.names) == 2


def survival_array(time: Any, event: Any) -> NDArray[Any]:
    """Times and events as one outcome.

    Parameters
    ----------
    time : array-like of positive numbers
        When the event took place, or when the row was seen last without it.
    event : array-like of bool or 0 / 1
        Whether it took place.

    Examples
    --------
    >>> from tvselect.inputs.outcome import survival_array
    >>> survival_array([5.0, 2.5], [True, False])
    array([( True, 5. ), (False, 2.5)], dtype=[('event', '?'), ('time', '<f8')])
    """
    times = np.asarray(time, dtype=np.float64).ravel()
    events = np.asarray(event).ravel()
    if events.size != times.size:
        raise ValueError(f"event has {events.size} values, time {times.size}")
    if (bad := np.flatnonzero(~np.isin(events, [0, 1]))).size:
        row = int(bad[0])
        raise RowError(f"event has {events.item(row)!r}", "it must be true or false (1 or 0)", row)
    made = np.empty(times.size, dtype=[("event", np.bool_), ("time", np.float64)])
    made["event"], made["time"] = events.astype(np.bool_), times
    return made


def read_times(y: Any, what: str = "y") -> Times:
    """Check survival times and take logs; a time of zero counts as half of the smallest other."""
    first, last = _as_bounds(y, what)
    bad = np.isnan(first) | np.isnan(last) | np.isinf(first) | (first < 0) | (last < first)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise RowError(
            f"{what} has {int(bad.sum())} row(s) that are no survival times, the first "
            f"({first[row]:g} to {last[row]:g})",
            "times are not negative, not missing, and the last is not before the first; drop "
            "these rows",
            row,
        )
    if (first == 0).any():
        positive = np.concatenate([first[first > 0], last[(last > 0) & np.isfinite(last)]])
        if positive.size == 0:
            raise ValueError(f"all times of {what} are zero")
        half = positive.min() / 2.0
        at_zero = (first == 0) & (last == 0)
        first, last = (np.where(at_zero, half, times) for times in (first, last))
        if at_zero.any():
            warnings.warn(
                f"{what} has {int(at_zero.sum())} event(s) at time zero, taken as "
                f"{half:g}, half of the smallest other time",
                UserWarning,
                stacklevel=2,
            )
    with np.errstate(divide="ignore"):
        return Times(np.log(first), np.log(last))


def _as_bounds(y: Any, what: str) -> tuple[FloatArray, FloatArray]:
    if is_survival(y):
        one, two = (y[name] for name in y.dtype.names)
        if two.dtype.kind == "b":
            one, two = two, one
        if one.dtype.kind not in "bfiu" or two.dtype.kind not in "fiu":
            raise InputError(f"{what} has fields of {one.dtype} and {two.dtype}", FORMS)
        last = two.astype(np.float64)
        if one.dtype.kind == "b":
            return last, np.where(one, last, np.inf)
        return one.astype(np.float64), last
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} does not hold times", FORMS) from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1:
        return values, values
    if values.ndim != 2 or values.shape[1] != 2:
        raise InputError(f"{what} has shape {values.shape}", FORMS)
    return values[:, 0].copy(), values[:, 1].copy()


def _life_table(times: Times) -> tuple[NDArray[Any], ...]:
    """Whether each row has an event; distinct times, each row's index, events, rows at risk."""
    is_event = np.isfinite(times.upper)
    at = np.where(np.isfinite(times.lower), times.lower, times.upper)
    distinct, place = np.unique(at, return_inverse=True)
    n_events = np.bincount(place, weights=is_event, minlength=distinct.size)
    n_at_risk = np.cumsum(np.bincount(place, minlength=distinct.size)[::-1])[::-1]
    return is_event, distinct, place, n_events, n_at_risk


def log_rank_scores(times: Times) -> FloatArray:
    """Event less the cumulative hazard (Nelson-Aalen); interval-censored rows have it at once."""
    is_event, _, place, n_events, n_at_risk = _life_table(times)
    return is_event - np.cumsum(n_events / n_at_risk)[place]


def normal_times(times: Times) -> Times:
    """Times mapped to normal quantiles through their distribution (Kaplan-Meier)."""
    _, distinct, _, n_events, n_at_risk = _life_table(times)
    alive = np.cumprod(1.0 - n_events / (n_at_risk + 1.0))
    before = np.concatenate([[1.0], alive[:-1]])
    smallest = 0.25 / times.lower.size
    scores = ndtri(np.clip(1.0 - 0.5 * (before + alive), smallest, 1.0 - smallest))

    def score(bounds: FloatArray) -> FloatArray:
        found = np.interp(bounds, distinct, scores)
        return np.where(np.isfinite(bounds), found, bounds)

    return Times(score(times.lower), score(times.upper))


def _outlier_limits(y: FloatArray) -> tuple[float, float]:
    """The median, minus and plus five standard deviations estimated by the MAD."""
    centre = np.median(y)
    reach = 5.0 * MAD_TO_SD * np.median(np.abs(y - centre))
    return float(centre - reach), float(centre + reach)


def has_outliers(y: FloatArray) -> bool:
    """Whether a value is an outlier."""
    low, high = _outlier_limits(y)
    return bool(y.min() < low or y.max() > high)


def pull_in(y: FloatArray) -> tuple[FloatArray, int]:
    """Clip outliers if they are at most 1 %, and say how many; a long tail is left alone."""
    low, high = _outlier_limits(y)
    n_beyond = int(np.count_nonzero((y < low) | (y > high)))
    return (y, 0) if n_beyond > 0.01 * y.size else (np.clip(y, low, high), n_beyond)
