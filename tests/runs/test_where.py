"""Conditions on rows: what they keep, what they may not do."""

import datetime as dt

import pyarrow as pa
import pytest

from tvselect.runs import RunError
from tvselect.runs.data import rows_that_meet

TABLE = pa.table(
    {
        "Segment": ["A", "B", None, "A"],
        "Age": [31, 20, 50, None],
        "Größe": [1.5, 2, 3, float("nan")],
        "Tag": ["31.12.2023", "01.01.2024", None, "05.01.2024"],
        "day": [dt.date(2024, 1, 1)] * 4,
        "zip": ["01067", "1", "2", "3"],
        "a b": ["x", "it's", "z", "x"],
        "paid": ["1.234,5 €", "2 €", "3,1 €", "4 €"],
        "list": [[1]] * 4,
        "ok": [True, False, None, True],
        "large": pa.array([2**64 - 1, 1, 2, 3], pa.uint64()),
        "Alter": [30, 40, 50, 60],
        "Length": [1, 2, 3, 4],
        "e3": [0] * 4,
    }
)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("Segment = 'A'", [0, 3]),
        ("segment='A' AND age>=30", [0]),
        ("Größe > 1", [0, 1, 2]),
        ("Tag >= '2024-01-01'", [1, 3]),
        ("day = '2024-01-01' and not ok", [1]),
        ("zip = '01067' or zip = 3", [0, 3]),
        ("\"a b\" = 'it''s'", [1]),
        ("[a b] in ('x', 'z')", [0, 2, 3]),
        ("`a b` like 'x%' -- a remark", [0, 3]),
        ("large > 5", [0]),
        ("Segment is null", [2]),
        ("age between 20 and 40", [0, 1]),
        ("Alter >= 30 and alter <> 40 and `Alter` < 60 -- Alter", [0, 2]),
        ("length(Segment) = length and 'Alter' <> segment and length < 1e3", [0]),
    ],
)
def test_rows_that_are_kept(condition, rows):
    assert rows_that_meet(condition, TABLE, "t.csv").tolist() == rows


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("Segment = A", "has no column 'A' (text stands in single quotes: 'A')"),
        ("\"Segmnt\" = 'A'", "'Segmnt', which t.csv does not have; did you mean 'Segment'?"),
        ("Segmnt = 'A'", "names no column of t.csv"),
        ("", "names no column of t.csv"),
        ("Segment ==", "syntax error"),
        ("Segment = 'Q'", "no row of t.csv meets"),
        ("paid > 2", "holds numbers written as text such as '1.234,5 €'"),
        ("list = 1", "cannot be compared"),
        ("Age in (select Age from here)", "not authorized"),
        ("Age = randomblob(10)", "not authorized to use function: randomblob"),
        ("Age = 1); drop table here; --", "one statement"),
        ("exists (with recursive c(x) as (select 1 union all select x + 1 from c) select * from c)"
         " or Age", "not authorized"),
        ("Age = '\0'", "null character"),
    ],
)  # fmt: skip
def test_what_is_refused(condition, said):
    with pytest.raises(RunError) as refused:
        rows_that_meet(condition, TABLE, "t.csv")
    assert said in str(refused.value)
