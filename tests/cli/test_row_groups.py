"""Rows that belong together, on the command line."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tests.cli.makers import QUICK
from tvselect.runs.folder import RunFolder


@pytest.fixture
def visits(here):
    """40 patients of 6 visits, who have numbers of their own; the rows in any order."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(40), 6)
    X = rng.normal(size=(40, 8))[who]
    y = rng.normal(size=40)[who] + 0.5 * rng.normal(size=240) + 4 * X[:, 2]
    day = [f"2020-01-{k % 6 + 1:02d}" for k in range(240)]
    columns = {f"x{j}": X[:, j] for j in range(8)}
    columns |= {"patient": [f"p{k}" for k in who], "day": day, "y": y}
    rows = rng.permutation(240)
    pa.csv.write_csv(pa.table(columns).take(rows), here / "visits.csv")
    return here / "visits.csv"


def test_a_run_says_and_keeps_which_rows_belong_together(visits, told, here):
    options = ("--target", "y", "--row-groups", "patient", "--order", "day", *QUICK)
    found = told("select", visits, *options, "--out", "told")
    assert found["n_columns"] == 8
    assert not {"patient", "day"} & found["left_out"].keys()
    assert "Rows of the same 'patient' belong together (--row-groups)." in found["decisions"]
    assert "Rows follow each other in time, by 'day' (--order)." in found["decisions"]
    assert not found["unproven"]
    assert not any("belong together?" in warning for warning in found["warnings"])
    plan = RunFolder(here / "told").read_run().plan
    assert (plan.row_groups, plan.order) == ("patient", "day")
    assert told("resume", "told", "--plays", "80")["n_plays"] == 80
    assert told("worth", "told", "--folds", "2")["held_back"] == "Whole groups of rows"
    told("select", visits, "--target", "y", "--row-groups", "patient", *QUICK, "--out", "other")
    assert (
        "The runs differ in order: day and None." in told("compare", "told", "other")["differences"]
    )


def test_a_doubt_marks_q_values_where_nothing_is_said(visits, told):
    found = told("select", visits, "--target", "y", "--exclude", "day", *QUICK, "--out", "run")
    assert found["unproven"]
    assert any("with the same 'patient' belong together?" in said for said in found["warnings"])


def test_streams_are_told_by_a_column_and_rows_in_order(visits, told, here):
    table = pa.csv.read_csv(visits).sort_by("patient")
    pa.csv.write_csv(table, here / "sorted.csv")
    stream = ("--target", "y", "--stream", "--batch-size", "60", "--row-groups", "patient")
    found = told("select", here / "sorted.csv", *stream, "--order", "rows", *QUICK[:2])
    assert found["stream"]
    assert "Rows follow each other in time, as they stand (--order)." in found["decisions"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--row-groups", "patients"), "no column named 'patients' in .*; did you mean 'patient'"),
        (("--order", "y"), "--order names 'y', which is what is to be explained"),
        (("--order", "patient"), "order holds 'p.*', which is neither a number nor a date"),
        (("--row-groups", "patient", "--decoys", "knockoffs"), "use decoys='shuffled'"),
        (("--stream", "--order", "day"), "say --order rows, or --no-stream"),
    ],
)
def test_what_is_wrong_says_what_to_do(visits, tvs, options, said):
    code, _, err = tvs("select", visits, "--target", "y", *QUICK, *options)
    assert code == 1
    assert re.search(said, err), err
