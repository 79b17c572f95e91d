"""Survival times: read as times between which the event took place."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tvselect.inputs.errors import InputError, RowError

FORMS = (
    "survival times are a structured array of an event (bool) and a time, as scikit-survival has "
    "them, two columns of the earliest and the latest time (inf where it is not known), or one of "
    "times that all ended in the event"
)


class Times(NamedTuple):
    """Logs of the first and of the last time at which the event can have taken place."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


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
    >>> from tvselect.inputs.survival import survival_array
    >>> survival_array([5.0, 2.5], [True, False])
    array([( True, 5. ), (False, 2.5)], dtype=[('event', '?'), ('time', '<f8')])
    """
    times = np.asarray(time, dtype=np.float64).ravel()
    events = np.asarray(event).ravel()
    if events.size != times.size:
        raise ValueError(f"event has {events.size} values, time {times.size}")
    if not np.isin(events, [0, 1]).all():
        row = int(np.flatnonzero(~np.isin(events, [0, 1]))[0])
        raise RowError(f"event has {events.item(row)!r}", "it must be true or false (1 or 0)", row)
    made = np.empty(times.size, dtype=[("event", np.bool_), ("time", np.float64)])
    made["event"], made["time"] = events.astype(np.bool_), times
    return made


def read_times(y: Any, what: str = "y") -> Times:
    """Check survival times and put them on the log scale.

    A time of zero counts as half of the smallest other time.

    Raises
    ------
    InputError
        For anything that is not survival times.
    ValueError
        For negative or missing times, and where the last comes before the first.
    """
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
    is_zero = first == 0
    if is_zero.any():
        positive = np.concatenate([first[~is_zero], last[(last > 0) & np.isfinite(last)]])
        if positive.size == 0:
            raise ValueError(f"all times of {what} are zero")
        half = positive.min() / 2.0
        is_exact = first == last
        first = np.where(is_zero & is_exact, half, first)
        last = np.where(is_zero & is_exact, half, last)
        if (is_zero & is_exact).any():
            warnings.warn(
                f"{what} has {int((is_zero & is_exact).sum())} event(s) at time zero, taken as "
                f"{half:g}, half of the smallest other time",
                UserWarning,
                stacklevel=2,
            )
    with np.errstate(divide="ignore"):
        return Times(np.log(first), np.log(last))


def _as_bounds(y: Any, what: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if is_survival(y):
        one, two = (y[name] for name in y.dtype.names)
        if two.dtype.kind == "b":
            one, two = two, one
        if one.dtype.kind == "b" and two.dtype.kind in "fiu":
            time = two.astype(np.float64)
            return time, np.where(one, time, np.inf)
        if one.dtype.kind not in "fiu" or two.dtype.kind not in "fiu":
            raise InputError(f"{what} has fields of {one.dtype} and {two.dtype}", FORMS)
        return one.astype(np.float64), two.astype(np.float64)
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


class _LifeTable(NamedTuple):
    """Rows by their time: whether it ended in the event, and events and rows at risk by time."""

    is_event: NDArray[np.bool_]
    place: NDArray[np.intp]
    distinct: NDArray[np.float64]
    n_events: NDArray[Any]
    n_at_risk: NDArray[Any]


def _life_table(times: Times) -> _LifeTable:
    is_event = np.isfinite(times.upper)
    at = np.where(np.isfinite(times.lower), times.lower, times.upper)
    distinct, place = np.unique(at, return_inverse=True)
    n_events = np.bincount(place, weights=is_event, minlength=distinct.size)
    n_at_risk = np.cumsum(np.bincount(place, minlength=distinct.size)[::-1])[::-1]
    return _LifeTable(is_event, place, distinct, n_events, n_at_risk)


def log_rank_scores(times: Times) -> NDArray[np.float64]:
    """Event less the cumulative hazard (Nelson-Aalen): a number for every row, censored or not.

    A time between bounds counts as an event at its first bound.

    Examples
    --------
    >>> log_rank_scores(Times(np.log([1.0, 2.0, 3.0]), np.array([0.0, np.inf, np.log(3.0)])))
    array([ 0.66666667, -0.33333333, -0.33333333])
    """
    seen = _life_table(times)
    return seen.is_event - np.cumsum(seen.n_events / seen.n_at_risk)[seen.place]


def normal_times(times: Times) -> Times:
    """The same times through their distribution (Kaplan-Meier) to quantiles of the normal law."""
    seen = _life_table(times)
    alive = np.cumprod(1.0 - seen.n_events / (seen.n_at_risk + 1.0))
    before = np.concatenate([[1.0], alive[:-1]])
    smallest = 0.25 / times.lower.size
    scores = ndtri(np.clip(1.0 - 0.5 * (before + alive), smallest, 1.0 - smallest))

    def score(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.interp(bounds, seen.distinct, scores)
        return np.where(np.isfinite(bounds), found, bounds)

    return Times(score(times.lower), score(times.upper))
