"""What columns are taken for."""

import numpy as np
import pyarrow as pa
import pytest

from tvselect.runs.columns import dates_to_numbers, examine, to_numbers


def look(values, name="x", type=None):
    return examine(name, pa.chunked_array([pa.array(values, type)]))


NUMBERS = np.random.default_rng(0).normal(size=50)


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("x", NUMBERS, ""),
        ("x", [True, False] * 25, ""),
        ("x", [2.5] * 50, "constant (2.5 in every row)"),
        ("x", [7, None] * 25, "constant (7 in every row)"),
        ("x", [None] * 50, "no value in any row"),
        ("x", [float("nan")] * 50, "no value in any row"),
        ("x", range(50), "numbers the rows from 0 to 49"),
        ("x", range(50, 0, -1), "numbers the rows from 1 to 50"),
        ("year", range(1950, 2000), ""),
        ("x", [float(i) for i in range(50)], ""),
        ("x", range(5), ""),
        ("customer_id", [i // 2 * 31 for i in range(50)], "an identifier by its name"),
        ("customerID", [i * 31 for i in range(50)], "an identifier by its name"),
        ("ID", [i * 31 for i in range(50)], "an identifier by its name"),
        ("humid", [i * 31 for i in range(50)], ""),
        ("region_id", [i % 4 for i in range(50)], ""),
        ("x", ["u", "v"] * 25, ""),
        ("x", ["u"] * 50, "constant ('u' in every row)"),
        ("x", [f"A{i}" for i in range(50)], "a different text in every row, as identifiers have"),
        ("x", [f"a long story about house {i}" for i in range(50)], "free text"),
        ("x", [f"A{i % 40}" for i in range(50)],
         "free text or names: 40 different texts in 50 rows"),
        ("x", [[1], [2]] * 25, "neither numbers nor text but list<item: int64>"),
    ],
)  # fmt: skip
def test_reasons(name, values, reason):
    assert look(list(values), name).reason == reason


def test_numbers_with_some_text():
    column = look([*map(str, range(48)), "?", None])
    assert (column.reading, column.note) == ("as numbers", "cells such as '?' count as missing")
    assert column.has_missing
    np.testing.assert_array_equal(
        to_numbers(pa.chunked_array([["1", "?", None], ["1_0", "2e3"]])),
        [1.0, np.nan, np.nan, np.nan, 2000.0],
    )


def test_infinity_counts_as_missing():
    column = look([np.inf, *NUMBERS])
    assert column.note == "1 infinite value(s) count as missing"
    assert column.has_missing
    assert not look([1e308, 1e308, 1.0]).has_missing


def test_copies_have_the_same_digest():
    assert look(NUMBERS).digest == look(list(NUMBERS), "other").digest
    assert look([1, 2, 4]).digest == look([1.0, 2.0, 4.0]).digest
    assert look(NUMBERS).digest != look(-NUMBERS).digest


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        (pa.date32(), 2.0),
        (pa.timestamp("s"), 2.0),
        (pa.timestamp("ns", tz="Europe/Berlin"), 2.0),
        (pa.duration("ms"), 2.0),
    ],
)
def test_dates_in_days(type, expected):
    scale = {"date32[day]": 1, "timestamp[s]": 86400, "duration[ms]": 86_400_000}
    ticks = 2 * scale.get(str(type), 86_400 * 10**9)
    raw = pa.array([ticks, None], pa.int32() if pa.types.is_date(type) else pa.int64())
    values = pa.chunked_array([raw.cast(type)])
    np.testing.assert_array_equal(dates_to_numbers(values), [expected, np.nan])
    assert examine("when", values).reading == "as dates"


def test_categories_are_text():
    assert look(["u", "v"] * 25, type=pa.string()).reason == ""
    assert examine("x", pa.chunked_array([pa.array(["u", "v"]).dictionary_encode()])).reason == ""
