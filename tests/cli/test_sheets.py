"""Spreadsheets."""

import datetime as dt
import sys
import zipfile

import pytest

from tests.cli.makers import QUICK, make_table, rows_of

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")
SELECT = ("-t", "y", *QUICK)


def names(found):
    return [variable["name"] for variable in found["selected"]]


def workbook(path, sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rows(table=None):
    table = make_table() if table is None else table
    return [table.column_names, *rows_of(table)]


def test_a_sheet(answer, here):
    days = [dt.date(2020, 1, 1 + i % 5) for i in range(120)]
    table = make_table().append_column("when", [days])
    table = table.append_column("ort", [["Köln", "Bonn"] * 60])
    table = table.append_column("row", [range(1, 121)])
    table = table.append_column("gap", [[None, *range(119)]])
    path = workbook(here / "t.xlsx", {"Notes": [], "Data": [[], [], *rows(table), []]})
    found = answer("select", path, *SELECT)
    assert (names(found), found["n_rows"]) == (["a", "b"], 120)
    assert found["left_out"] == {"row": "numbers the rows from 1 to 120"}
    said = found["decisions"]
    assert "Dates become numbers (days since 1970-01-01): 'when'." in said
    assert "Missing values are kept as missing: 'gap'." in said
    assert "Read into memory." in said
    assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70
    answer("transform", found["run"], path, "-o", "short.csv")


def test_several_sheets(answer, failure, here):
    path = workbook(here / "t.xlsx", {"Data": rows(), "Other": rows(make_table(60, seed=4))})
    found = answer("select", path, *SELECT)
    assert "Sheet 'Data' is read; --sheet reads another: 'Other'." in found["decisions"]
    other = answer("select", path, *SELECT, "--sheet", "Other")
    assert other["n_rows"] == 60
    assert answer("resume", other["run"], "--plays", 70)["n_rows"] == 60
    answer("transform", other["run"], path, "-o", "short.csv")
    assert len((here / "short.csv").read_text().splitlines()) == 61
    assert "has no sheet 'None'; it has 'Data', 'Other'" in failure(
        "select", path, *SELECT, "--sheet", "None"
    )


def test_transposed(answer, here):
    turned = [list(row) for row in zip(*rows(), strict=True)]
    path = workbook(here / "t.xlsx", {"Data": [["gene", *range(120)], *turned]})
    assert names(answer("select", path, *SELECT, "--transpose")) == ["a", "b"]


def test_refusals(failure, here, monkeypatch):
    path = workbook(here / "t.xlsx", {"Data": rows()})
    line = failure("select", path, *SELECT, "--stream")
    assert "cannot be read batch by batch: it is a spreadsheet; save it as Parquet" in line
    assert "--sep is for CSV alone" in failure("select", path, *SELECT, "--sep", ";")
    (here / "t.csv").write_text("a,y\n1,2\n")
    assert "--sheet is for spreadsheets alone" in failure(
        "select", "t.csv", *SELECT, "--sheet", "x"
    )
    workbook(here / "empty.xlsx", {"Data": []})
    assert "empty.xlsx is empty" in failure("select", "empty.xlsx", *SELECT)
    (here / "bad.xlsx").write_bytes(path.read_bytes()[:2000])
    assert "bad.xlsx cannot be read as a spreadsheet" in failure("select", "bad.xlsx", *SELECT)
    with zipfile.ZipFile(here / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 40_000_000)
    assert "bomb.xlsx unpacks to more than" in failure("select", "bomb.xlsx", *SELECT)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert "pip install 'tvselect[excel]'" in failure("select", path, *SELECT)
