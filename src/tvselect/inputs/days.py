"""Dates, times and durations as numbers: days since 1970-01-01, or days."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

DAY = 86_400e6
"""In microseconds."""


def days_of_array(values: NDArray[Any]) -> NDArray[np.float64]:
    """Dates or durations of NumPy as days, NaN where there is none.

    Examples
    --------
    >>> days_of_array(np.array(["1970-01-02T12", "NaT"], dtype="datetime64[h]"))
    array([1.5, nan])
    """
    kind = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
    times = values.astype(kind)
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / DAY)


def days_of_series(series: nw.Series[Any]) -> NDArray[np.float64]:
    """A column of dates, times or durations of a data frame as days, NaN where null."""
    if series.dtype == nw.Time:
        times = [np.nan if t is None else _share_of_day(t) for t in series.to_list()]
        return np.array(times, dtype=np.float64)
    if series.dtype == nw.Duration:
        return days_of_array(series.to_numpy().astype("timedelta64[us]"))
    moments = series.cast(nw.Datetime("us")) if series.dtype == nw.Date else series
    micros = moments.dt.timestamp("us").cast(nw.Float64).to_numpy()
    return np.where(series.is_null().to_numpy(), np.nan, micros / DAY)


def _share_of_day(time: Any) -> float:
    seconds = 3600 * time.hour + 60 * time.minute + time.second
    return float((1e6 * seconds + time.microsecond) / DAY)
