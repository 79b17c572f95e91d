"""What columns are taken for, and which ones names and patterns mean."""

import numpy as np
import pyarrow as pa
import pytest

from tvselect.inputs.arrow import as_days, as_text
from tvselect.inputs.facts import scan_block
from tvselect.inputs.text import text_to_numbers
from tvselect.report.decisions import why_left_out
from tvselect.runs import RunError
from tvselect.runs.data import split, with_written_days
from tvselect.runs.inspect import profile_columns
from tvselect.runs.plan import expand, read_groups


def look(values, name="x", type=None):
    return look_at({name: pa.array(values, type)})


def look_at(columns):
    n_rows = len(next(iter(columns.values())))
    return profile_columns(split(pa.table({**columns, "target": [0] * n_rows}), "target"))


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
        ("x", [np.inf, None] * 25, "no value in any row"),
        ("x", range(50), "numbers the rows from 0 to 49"),
        ("x", range(50, 0, -1), "numbers the rows from 1 to 50"),
        ("rank", np.random.default_rng(0).permutation(50) + 1, ""),
        ("row_id", np.random.default_rng(0).permutation(50) + 1, "an identifier by its name"),
        ("__index_level_0__", 7 * np.arange(50), "an identifier by its name"),
        ("year", range(1950, 2000), ""),
        ("x", [float(i) for i in range(50)], ""),
        ("x", range(5), ""),
        ("customer_id", [i // 2 * 31 for i in range(50)], "an identifier by its name"),
        ("customerID", [i * 31 for i in range(50)], "an identifier by its name"),
        ("ID", [i * 31 for i in range(50)], "an identifier by its name"),
        ("", [i * 31 for i in range(50)], "an identifier by its name"),
        ("humid", [i * 31 for i in range(50)], ""),
        ("region_id", [i % 4 for i in range(50)], ""),
        ("x", ["u", "v"] * 25, ""),
        ("x", ["u"] * 50, "constant ('u' in every row)"),
        ("x", [f"A{i}" for i in range(50)], "a different text in every row, as identifiers have"),
        ("x", [f"a long story about house {i}" for i in range(50)], "free text"),
        ("x", [f"A{i % 40}" for i in range(50)],
         "free text or names: 40 different texts in 50 rows"),
        ("x", [[1], [2]] * 25, "neither numbers nor text but list<item: int64>"),
        ("x", [b"\xff", b"\xfe"] * 25,
         "neither numbers nor text but bytes or text that is not UTF-8"),
    ],
)  # fmt: skip
def test_reasons(name, values, reason):
    left_out = look(list(values), name).left_out
    assert [why_left_out(why) for why in left_out.values()] == ([reason] if reason else [])


def test_numbers_with_some_text():
    found = look([*map(str, range(48)), "?", None])
    assert found.numbers == {"x": "?"}
    assert found.missing == ("x",)
    np.testing.assert_array_equal(
        text_to_numbers(as_text(pa.chunked_array([["1", "?", None], ["1_0", "2e3", "inf"]]))),
        [1.0, np.nan, np.nan, np.nan, 2000.0, np.nan],
    )


def test_infinity_counts_as_missing():
    found = look([np.inf, *NUMBERS])
    assert found.infinite == {"x": 1}
    assert found.missing == ("x",)
    assert not look([1e308, 1e308, 1.0]).missing


def test_copies_are_found_across_blocks_and_types(monkeypatch):
    monkeypatch.setattr("tvselect.inputs.columns.VALUES_AT_ONCE", 60)
    whole = np.arange(50) % 7
    columns = {"a": NUMBERS, "b": whole, "c": -NUMBERS, "d": NUMBERS, "e": whole * 1.0}
    assert look_at(columns).copies == (("a", "d"), ("b", "e"))


def test_columns_of_the_same_hash_are_compared(monkeypatch):
    def same_digest(block):
        found = scan_block(block)
        found.digest[:] = 7
        return found

    monkeypatch.setattr("tvselect.inputs.facts.scan_block", same_digest)
    assert look_at({"a": NUMBERS, "b": -NUMBERS, "c": NUMBERS}).copies == (("a", "c"),)


def test_small_whole_numbers_have_different_hashes():
    block = np.random.default_rng(1).integers(0, 2, size=(20_000, 40)).astype(np.float64)
    distinct = np.unique(block, axis=0)
    assert np.unique(scan_block(distinct).digest).size == len(distinct)


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
    np.testing.assert_array_equal(as_days(values), [expected, np.nan])
    assert look_at({"when": values}).dates == ("when",)


def test_the_day_that_a_text_is_read_as_is_shown_also_before_1970():
    table = pa.table({"at": ["30.12.1969 18:00", "31.12.1969 06:00"], "y": [0, 1]})
    shown = with_written_days(split(table, "y")).written_days
    assert shown == {"at": ("31.12.1969 06:00", "1969-12-31")}


def test_categories_are_text():
    assert not look(["u", "v"] * 25, type=pa.string()).left_out
    assert not look_at({"x": pa.array(["u", "v"]).dictionary_encode()}).left_out


NAMES = ["id", "gene_1", "gene_2", "a,b", "x[1]", " padded"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], []),
        (["gene_2", "id"], ["id", "gene_2"]),
        (["gene_*"], ["gene_1", "gene_2"]),
        (["gene_?, id"], ["id", "gene_1", "gene_2"]),
        (["a,b"], ["a,b"]),
        (["x[1]"], ["x[1]"]),
        ([" padded"], [" padded"]),
        (["id,"], ["id"]),
        (["*"], NAMES),
    ],
)
def test_expand(items, expected):
    assert expand(items, NAMES, "--exclude", "t.csv") == expected


@pytest.mark.parametrize("item", ["gen_1", "GENE_1"])
def test_a_misspelt_name(item):
    with pytest.raises(RunError, match=r"--exclude names .* did you mean 'gene_1'"):
        expand([item], NAMES, "--exclude", "t.csv")


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("\ufeffcolumn,group\ngene_*,genes\n", {"genes": ["gene_1", "gene_2"]}),
        ("column,group\ngene_1,genes\nid,\ngene_2, \n", {"genes": ["gene_1"]}),  # in none
        ('column,group\n"two\nlines",g\r\n"form\x0cfeed",g\n',
         {"g": ["two\nlines", "form\x0cfeed"]}),
    ],
)  # fmt: skip
def test_groups_of_a_csv(text, groups, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text(text, encoding="utf-8")
    assert read_groups(path, [*NAMES, "two\nlines", "form\x0cfeed"]) == groups
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RunError, match="no UTF-8 text"):
        read_groups(path, NAMES)
