"""The files that people have: packed, in other encodings, sheets, folders, genotypes, cells.

A case of ``READ`` is a function that writes the files and returns the table, or what is in the file
of the case's name; options; and what is expected of the answer. Where ``goes on``, the run is
resumed, and the table is transformed.
"""

import bz2
import codecs
import datetime as dt
import gzip
import io
import json
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.makers import QUICK, changed, make_table, names, put, rows_of, text_of, write

SELECT = ("-t", "y", *QUICK)
SIGNALS = ["a", "b"]
TREES = ("--iterations", 50, "--plays", 60, "--seed", 1)
STREAMED = ("--stream", "--batch-size", 60, "--max-fdr", "none")
TABLE = make_table()
CSV = text_of().encode()


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def turned(mark="\t"):
    """A table with a row for each column, and text in one."""
    cells = zip(*rows_of(changed(kind=["u", "v"] * 60)), strict=True)
    rows = [["gene", *(f"s{i}" for i in range(120))], *cells]
    return "".join(f"{mark.join(map(str, row))}\n" for row in rows)


def in_sheets(**sheets):
    def build(here, name="t.xlsx"):
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine")
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(here / name)
        return name

    return build


def in_parts(*parts):
    """Parquet files by name."""

    def build(here):
        for name, part in parts:
            path = here / "parts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(part, path)
        return "parts"

    return build


def by_year(*years):
    table = changed(y=TABLE["y"].to_numpy() + np.repeat([0.0, 50.0], 60))
    halves = table.slice(0, 60), table.slice(60)
    return in_parts(*((f"year={y}/part.parquet", h) for y, h in zip(years, halves, strict=True)))


def cells(here):
    pytest.importorskip("anndata")
    import scipy.sparse as sp

    from tests.omics.test_cells import annotated, counts

    annotated(sp.csr_matrix(counts())).write_h5ad(here / "cells.h5ad")
    return "cells.h5ad"


def cells_of_10x(here):
    pytest.importorskip("anndata")
    from tests.omics.test_cells import market

    market(here)
    return "matrix.mtx.gz"


def people(here):
    pytest.importorskip("bed_reader")
    from tests.omics.genotypes import draw_genotypes, write_plink

    genotypes = draw_genotypes(150, 40)
    genotypes[:, 4] = 1
    genotypes[:, 5] = -1
    rng = np.random.default_rng(0)
    height = 2.0 * (genotypes[:, 3] > 0) + genotypes[:, 7] + 0.5 * rng.normal(size=150)
    columns = [height, rng.normal(size=150), rng.integers(1, 3, 150)]
    lines = ["IID\theight\tage\tsex\tPC1\tPC2\tincome"]
    for i, row in enumerate(zip(*columns, *rng.normal(size=(3, 150)), strict=True)):
        lines.append("\t".join([f"I{i}", *(f"{value:.4f}" for value in row)]))
    (here / "p.tsv").write_text("\n".join(lines[:-1]))
    return write_plink(here / "study", genotypes)


HALVES = TABLE.slice(0, 60), TABLE.slice(60)
LATE = changed(HALVES[1], more=range(60))
UMLAUTS = changed(
    TABLE.rename_columns(["größe", *TABLE.column_names[1:]]), ort=["Köln"] * 60 + ["Bonn"] * 60
)
ODD = text_of(TABLE.rename_columns(["a, b, c", *TABLE.column_names[1:]]), "\t").replace('"', "")
HEAD, _, BODY = ODD.partition("\n")
ROWS = [" ".join(map(str, row)) for row in rows_of()[1:]]
SHEET = changed(
    when=[dt.date(2020, 1, 1 + i % 5) for i in range(120)], ort=["Köln", "Bonn"] * 60,
    row=range(1, 121), gap=[None, *range(119)],
)  # fmt: skip
BLANKS = "Cells have blanks between them (--sep says another mark)."
HEIGHT = ("--phenotype", "p.tsv", "-t", "height")
SIDEWAYS = {"goes on": True, "memory only": True}
SHEETS = in_sheets(Data=rows_of(), Other=rows_of(make_table(60, seed=4)))
READ = {
    "t.txt.gz": (gzip.compress(CSV), (), {}),
    "t.csv.bz2": (bz2.compress(CSV), (), {}),
    "t.tsv.zst": (pa.Codec("zstd").compress(text_of(sep="\t").encode(), asbytes=True), (), {}),
    "t.csv.zip": (zipped(**{"inside/t.csv": CSV, "__MACOSX/inside/._t.csv": b"\0"}), (), {}),
    "semicolons.txt": (text_of(sep=";"), (), {}),
    "tabs.txt": (text_of(sep="\t"), (), {}),
    "bars.txt": (text_of(sep="|"), (), {}),
    "marks in names.txt": (f"{HEAD}\n{BODY.replace('.', ',')}", (), {"names": ["a, b, c", "b"]}),
    "blanks.txt": ("\n".join(["a b n1 n2 n3 y", *ROWS, ""]), (), {"said": [BLANKS]}),
    "several blanks.txt":
        ("\n".join(['"a"  "b" n1\tn2 n3   y  ', *(f"  {r.replace(' ', '   ')}  " for r in ROWS)]),
         (), {"said": [BLANKS], "n_columns": 5}),
    "blanks as R writes them.txt":
        ("\n".join(['"a" "b" "n1" "n2" "n3" "y"', *(f'"{i}" {r}' for i, r in enumerate(ROWS, 1))]),
         (), {"left_out": {"": "numbers the rows from 1 to 120"}}),
    "genes.tsv": (turned(), ("--transpose",), SIDEWAYS | {"n_columns": 6, "said": [
        "Transposed, as you asked: rows of the file are columns here."]}),
    "genes.csv": (turned(";"), ("--transpose",), SIDEWAYS),
    "genes.txt": (turned("  "), ("--transpose",), SIDEWAYS),
    "genes.parquet":
        (pa.table({"gene": TABLE.column_names} | {
            f"s{i}": row for i, row in enumerate(zip(*TABLE.columns, strict=True))}),
         ("--transpose",), SIDEWAYS),
    "a column of the first file":
        (in_parts(("1.parquet", LATE), ("2.parquet", HALVES[0])), (),
         {"left_out": {"more": "in 1 of 2 files only"}, "goes on": True}),
    "a column of the last file":
        (in_parts(("1.parquet", HALVES[0]), ("2.parquet", LATE)), (),
         {"left_out": {"more": "in 1 of 2 files only"}, "goes on": True}),
    "numbers as keys": (by_year(2020, 2021), (), {"first": ["year"], "n_columns": 6}),
    "words as keys": (by_year("p", "q"), (), {"first": ["year"], "goes on": True}),
    "a sheet":
        (in_sheets(Notes=[], Data=[[], [], *rows_of(SHEET), []]), (),
         SIDEWAYS | {"left_out": {"row": "numbers the rows from 1 to 120"}, "said": [
             "Dates become numbers (days since 1970-01-01): 'when'.",
             "Missing values are kept as missing: 'gap'.", "Read into memory."]}),
    "two sheets": (SHEETS, (), SIDEWAYS | {
        "said": ["Sheet 'Data' is read; --sheet reads another: 'Other'."]}),
    "the other sheet":
        (SHEETS, ("--sheet", "Other"), SIDEWAYS | {"n_rows": 60, "names": None}),
    "genes in a sheet":
        (in_sheets(Data=[["gene", *range(120)], *map(list, zip(*rows_of(), strict=True))]),
         ("--transpose",), SIDEWAYS),
    "genes of an AnnData file":
        (cells, ("-t", "type", "--covariates", "age"),
         SIDEWAYS | {"n_rows": None, "first": ["gene3"], "always": ["age"]}),
    "genes of a matrix":
        (cells_of_10x, ("-t", "type", "--phenotype", "cells.csv"),
         {"n_columns": 39, "names": None, "memory only": True}),
    "variants with covariates":
        (people, (*HEIGHT, "--covariates", "age,sex,PC1-PC2"), SIDEWAYS | {
            "first": ["rs3", "rs7"], "always": ["age", "sex", "PC1", "PC2"],
            "n_rows": 149, "n_columns": 42,
            "left_out": {"income": "not named by --covariates",
                         "fid": "not named by --covariates",
                         "rs4": "constant (1 in every row)", "rs5": "no value in any row"},
            "said": ["Columns stay in the file and are read as they are needed.",
                     "Part of every play: 'age', 'sex', 'PC1', 'PC2'."]}),
    "variants alone": (people, HEIGHT, SIDEWAYS | {
        "first": ["rs3", "rs7"], "n_rows": 149, "n_columns": 38}),
} | {
    f"{codec}.csv": (text_of(UMLAUTS, ";").replace('"', "").encode(codec), (), {
        "names": ["größe", "b"], "said": [f"Not UTF-8: its letters are read as {read_as}."]})
    for codec, read_as in (("latin-1", "Windows-1252"), ("cp1252", "Windows-1252"),
                           ("utf-16", "UTF-16"), ("utf-32", "UTF-32"), ("utf-16-be", "UTF-16BE"))
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_what_is_read(case, answer, here, with_interactions):
    content, options, expected = READ[case]
    expected = {"names": SIGNALS, "n_rows": 120} | expected
    expected["names"] = expected["names"] and sorted(expected["names"])
    table = content(here) if callable(content) else put(here / case, content)
    found = answer("select", table, *SELECT, *options)
    said = expected.pop("said", ())
    assert set(said) <= set(found["decisions"])
    if first := expected.pop("first", None):
        assert {*names(found)[: len(first)]} == {*first}
        expected["names"] = None
    if not expected.pop("memory only", False):
        streamed = answer("select", table, *SELECT, *STREAMED, *options)
        assert (streamed["stream"], streamed["n_rows"]) == (True, 120)
        assert set(said) <= set(streamed["decisions"])
    if expected.pop("goes on", False):
        again = answer("resume", found["run"], "--plays", 70)
        assert (again["n_plays"], again["n_rows"]) == (70, found["n_rows"])
        kept = {*names(again), *again["always"], again["target"]}
        assert set(answer("transform", found["run"], table, "-o", "short.csv")["columns"]) <= kept
        assert len((here / "short.csv").read_text().splitlines()) >= found["n_rows"]
    found["names"] = expected["names"] and sorted(names(found))
    expected["n_rows"] = expected["n_rows"] or found["n_rows"]
    assert {key: found[key] for key in expected} == expected


XLSX = in_sheets(Data=rows_of())
REFUSED = [
    ("t.zip", zipped(), (), "t.zip holds 0 files; it must hold one table"),
    ("t.zip", zipped(**{"a.csv": "a,y\n", "b.csv": "a,y\n"}), (), "t.zip holds 2 files; it must"),
    ("bomb.zip", zipped(**{"t.csv": "a,y\n" + "1,2\n" * 10_000_000}), ("--no-stream",),
     "bomb.zip unpacks to more than"),
    ("t.zip", zipped(**{"t.csv": CSV})[:200] + b"\xff" * 50 + zipped(**{"t.csv": CSV})[250:], (),
     "t.zip cannot be read as CSV: Error -3 while decompressing data"),
    ("g.tsv", turned(), (), "is named 'y', but a row is; if its rows are to be columns, say "
                            "--transpose"),
    ("g.tsv", turned(), ("--transpose", "--stream"),
     "cannot be read batch by batch: it is transposed; save it as Parquet"),
    ("g.csv", "gene,s1,s2\na,1,2\n,3,4\n", ("--transpose",), "row 2 of"),
    ("g.csv", "gene,s1,s2\ny,1,2\na,1,2\na,3,4\n", ("--transpose",), "2 columns named 'a'"),
    ("", in_parts(("1.parquet", LATE), ("2.parquet", HALVES[0])), ("-t", "more"),
     "the target 'more' is in 1 of 2 files of parts"),
    ("t.csv", "a,y\n1,2\n", ("--sheet", "x"), "--sheet is for spreadsheets alone"),
    ("", XLSX, ("--stream",),
     "cannot be read batch by batch: it is a spreadsheet; save it as Parquet"),
    ("", XLSX, ("--sep", ";"), "--sep is for CSV alone"),
    ("", XLSX, ("--sheet", "None"), "has no sheet 'None'; it has 'Data'"),
    ("", in_sheets(Data=[]), (), "t.xlsx is empty"),
    ("bad.xlsx", zipped(**{"xl/workbook.xml": b"<"})[:100], (),
     "bad.xlsx cannot be read as a spreadsheet"),
    ("bomb.xlsx", zipped(**{"xl/worksheets/sheet1.xml": b" " * 40_000_000}), (),
     "bomb.xlsx unpacks to more than"),
    ("", cells, ("-t", "gene3"), "'gene3' is a column of cells.h5ad; the target is known of its "
                                 "rows: 'type', 'age'"),
    ("", cells, ("-t", "type", "--layer", "raw"), "its layers are: none"),
    ("", cells, ("-t", "type", "--names", "symbol"), "var has no column 'symbol'"),
    ("", cells_of_10x, ("-t", "type"), "name a table: --phenotype"),
    ("", people, (*HEIGHT, "--covariates", "PC1-PC9"), "--covariates names 'PC3'"),
    ("", people, (*HEIGHT, "--covariates", "PC2-PC1"), "'PC2-PC1' ends before it begins"),
    ("", people, (*HEIGHT, "--covariates", "PC01-PC02"), "--covariates names 'PC01'"),
    ("", people, (*HEIGHT, "--phenotype", "s3://bucket/p.tsv"), "is a file of this machine"),
    ("", people, (*HEIGHT, "-t", "rs3"), "'rs3' is a column of"),
    ("", people, (*HEIGHT, "-t", "heigth"), "no column named 'heigth' in"),
    ("", people, (*HEIGHT, "--phenotype", "none.tsv"), "none.tsv does not exist"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "options", "said"), REFUSED, ids=[said for *_, said in REFUSED]
)
def test_what_is_refused(name, content, options, said, failure, here):
    table = content(here) if callable(content) else put(here / name, content)
    assert said in failure("select", table, *SELECT, *options)


def test_genotypes_that_are_cut_off(failure, here):
    study = people(here)
    study.write_bytes(study.read_bytes()[:-5])
    line = failure("select", study, *SELECT, *HEIGHT)
    assert "it is cut off, or the three files do not belong together" in line


def test_families_of_genotypes(told, here):
    study = people(here)
    fam = study.with_suffix(".fam")
    lines = fam.read_text().splitlines()
    fam.write_text("".join(f"F{i // 5} {line[3:]}\n" for i, line in enumerate(lines)))
    found = told("select", study, *HEIGHT, "--row-groups", "fid", *TREES)
    assert "Rows of the same 'fid' belong together (--row-groups)." in found["decisions"]
    assert sorted(names(found)) == ["rs3", "rs7"]


def test_sheets_without_the_extra(failure, here, monkeypatch):
    table = XLSX(here)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert "pip install 'tvselect[excel]'" in failure("select", table, *SELECT)


def test_letters_far_down(answer, here, monkeypatch):
    monkeypatch.setattr("tvselect.sources.csv.HEAD", 500)
    towns = ["Bonn", "Trier"] * 59 + ["Köln", "Köln"]
    path = put(here / "t.csv", text_of(changed(ort=towns)).encode("latin-1"))
    found = answer("select", path, *SELECT)
    assert "Not UTF-8: its letters are read as Windows-1252." in found["decisions"]
    assert found["left_out"] == {}


def test_keys_of_folders_that_a_pattern_names(answer, here):
    by_year(2020, 2021)(here)
    found = answer("select", "parts/*/*.parquet", *SELECT)
    kept = json.loads((here / found["run"] / "run.json").read_text())
    assert kept["plan"]["columns"] == ["a", "b", "n1", "n2", "n3", "year"]


class TestStandardInput:
    @pytest.fixture
    def piped(self, monkeypatch):
        return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    def test_a_table(self, answer, failure, here, piped):
        piped(write(here / "t.csv").read_bytes())
        found = answer("select", "-", *SELECT)
        assert (names(found), found["run"]) == (SIGNALS, "tvs-table-1")
        assert found["decisions"][0].startswith("standard input: 120 rows")
        assert "came through standard input" in failure("resume", "tvs-table-1", "--plays", 70)
        again = answer("resume", "tvs-table-1", "--plays", 70, "--table", "t.csv")
        assert again["n_plays"] == 70

    @pytest.mark.parametrize(
        ("name", "options", "said"),
        [
            ("t.csv", ("--stream",), "standard input cannot be read batch by batch"),
            (None, (), "standard input is empty"),
            ("t.parquet", (), "standard input is no text"),
        ],
    )
    def test_refusals(self, name, options, said, failure, here, piped):
        piped(b"" if name is None else write(here / name).read_bytes())
        assert said in failure("select", "-", *SELECT, *options)


def with_dates(separator, n=120):
    """A table as German offices write it, with a title above; days tell of the outcome."""
    rng = np.random.default_rng(0)
    days = rng.integers(0, 700, n)
    when = np.datetime64("2022-01-01") + days
    rows = [("Tag", "us", "offen", "Größe", "y")]
    for day, value in zip(when.astype(object), rng.normal(size=n), strict=True):
        y = 0.01 * (day - dt.date(2022, 1, 1)).days + 0.1 * value
        texts = f"{day:%d.%m.%Y}", f"{day:%m/%d/%Y}", f"{day.month}/12/{day.year}"
        rows.append((*texts, f"{value:.3f}".replace(".", ","), f"{y:.3f}".replace(".", ",")))
    return "".join(separator.join(row) + "\r\n" for row in rows)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_a_title_above_and_dates_that_all_cells_agree_on(encoding, answer, here):
    text = "Absatz 2023;;;;\r\n\r\n" + with_dates(";")
    path = put(here / "t.csv", text.encode(encoding))
    found = answer("select", path, *SELECT)
    said = found["decisions"]
    assert "Above the names of the columns stands 'Absatz 2023', which is skipped." in said
    dates = next(line for line in said if line.startswith("Read as dates") and "'Tag'" in line)
    assert dates.startswith("Read as dates, as all cells agree: 'Tag' ('31.")
    assert any("'us' ('12/" in line for line in said)
    assert not any("'offen'" in line for line in said if line.startswith(("Read", "Dates become")))
    assert {"Tag", "us"} & {v["name"] for v in found["selected"]}
    resumed = answer("resume", found["run"], "--plays", "61")
    assert resumed["n_plays"] == 61
    table = (here / found["run"] / "variables.csv").read_bytes()
    assert table.startswith(codecs.BOM_UTF8 + b"variable,")


def test_a_title_of_a_sheet(answer, here):
    table = [["Report of May"], [], *rows_of()]
    found = answer("select", in_sheets(Data=table)(here), *SELECT)
    assert "'Report of May', which is skipped." in " ".join(found["decisions"])
