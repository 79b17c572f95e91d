"""The files that people have: packed, in other encodings, sheets, folders, genotypes, cells."""

import bz2
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
STREAMED = ("--stream", "--batch-size", 60, "--max-fdr", "none")
TABLE = make_table()


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


class TestPacked:
    @pytest.mark.parametrize(
        ("ending", "packed"),
        [("txt", "gz"), ("csv", "bz2"), ("tsv", "zst"), ("csv", "zip"), ("tsv", "zip")],
    )
    def test_packed_text(self, ending, packed, answer, here):
        text = write(here / f"t.{ending}").read_bytes()
        path = here / f"t.{ending}.{packed}"
        if packed == "zip":
            zipped(path, **{"inside/t.csv": text, "__MACOSX/inside/._t.csv": b"\0"})
        elif packed == "zst":
            path.write_bytes(pa.Codec("zstd").compress(text, asbytes=True))
        else:
            path.write_bytes({"gz": gzip, "bz2": bz2}[packed].compress(text))
        assert names(answer("select", path, *SELECT)) == SIGNALS
        found = answer("select", path, *SELECT, *STREAMED)
        assert (found["stream"], found["n_rows"]) == (True, 120)

    def test_refusals(self, failure, here):
        for members in ({}, {"a.csv": "a,y\n", "b.csv": "a,y\n"}):
            line = failure("select", zipped(here / "t.zip", **members), "-t", "y")
            assert f"t.zip holds {len(members)} files; it must hold one table" in line
        zipped(here / "bomb.zip", **{"t.csv": "a,y\n" + "1,2\n" * 10_000_000})
        line = failure("select", "bomb.zip", "-t", "y", "--no-stream")
        assert "bomb.zip unpacks to more than" in line
        whole = zipped(here / "t.zip", **{"t.csv": text_of()}).read_bytes()
        (here / "t.zip").write_bytes(whole[:200] + b"\xff" * 50 + whole[250:])
        line = failure("select", "t.zip", "-t", "y")
        assert "t.zip cannot be read as CSV: the archive is damaged" in line


class TestText:
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
    def test_marks_of_txt(self, mark, answer, here):
        path = put(here / "t.txt", text_of(sep=mark))
        assert names(answer("select", path, *SELECT)) == SIGNALS

    def test_marks_in_names(self, answer, here):
        text = text_of(TABLE.rename_columns(["a, b, c", "b", "n1", "n2", "n3", "y"]), "\t")
        head, *rows = text.replace('"', "").splitlines()
        path = put(here / "t.txt", "\n".join([head, *(row.replace(".", ",") for row in rows)]))
        assert sorted(names(answer("select", path, *SELECT))) == ["a, b, c", "b"]

    @pytest.mark.parametrize("header", ["a b n1 n2 n3 y", '"a"  "b" n1\tn2 n3   y  '])
    def test_blanks(self, header, answer, here):
        rows = [f"  {'   '.join(map(str, row))}  " for row in rows_of()[1:]]
        path = put(here / "t.txt", "\n".join([header, *rows, ""]))
        found = answer("select", path, *SELECT)
        assert (names(found), found["n_columns"]) == (SIGNALS, 5)
        assert "Cells have blanks between them (--sep says another mark)." in found["decisions"]
        assert answer("select", path, *SELECT, *STREAMED)["n_rows"] == 120

    def test_blanks_as_r_writes_them(self, answer, here):
        rows = [f'"{i}" {" ".join(map(str, row))}' for i, row in enumerate(rows_of()[1:], start=1)]
        path = put(here / "t.txt", "\n".join(['"a" "b" "n1" "n2" "n3" "y"', *rows, ""]))
        found = answer("select", path, *SELECT)
        assert names(found) == SIGNALS
        assert found["left_out"] == {"": "numbers the rows from 1 to 120"}

    @pytest.mark.parametrize(
        ("codec", "read_as"),
        [
            ("latin-1", "Windows-1252"),
            ("cp1252", "Windows-1252"),
            ("utf-16", "UTF-16"),
            ("utf-16-be", "UTF-16BE"),
        ],
    )
    def test_encodings(self, codec, read_as, answer, here):
        table = TABLE.rename_columns(["größe", "b", "n1", "n2", "n3", "y"])
        text = text_of(changed(table, ort=["Köln", "Zürich"] * 60), ";").replace('"', "")
        path = put(here / "t.csv", text.encode(codec))
        found = answer("select", path, *SELECT)
        assert names(found) == ["größe", "b"]
        said = f"Not UTF-8: its letters are read as {read_as}."
        assert said in found["decisions"]
        assert answer("select", path, *SELECT, *STREAMED)["decisions"][1] == said

    def test_letters_far_down(self, answer, here, monkeypatch):
        monkeypatch.setattr("tvselect.sources.csv.HEAD", 500)
        towns = ["Bonn", "Trier"] * 59 + ["Köln", "Köln"]
        path = put(here / "t.csv", text_of(changed(ort=towns)).encode("latin-1"))
        found = answer("select", path, *SELECT)
        assert "Not UTF-8: its letters are read as Windows-1252." in found["decisions"]
        assert found["left_out"] == {}


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
            ("t.csv", ("--stream",), "save it as Parquet"),
            (None, (), "standard input is empty"),
            ("t.parquet", (), "standard input is no text"),
        ],
    )
    def test_refusals(self, name, options, said, failure, here, piped):
        piped(b"" if name is None else write(here / name).read_bytes())
        assert said in failure("select", "-", *SELECT, *options)


class TestTransposed:
    def turned(self, path, mark="\t"):
        """The table of tests with a row for each column, and text in one."""
        cells = zip(*rows_of(changed(kind=["u", "v"] * 60)), strict=True)
        rows = [["gene", *(f"s{i}" for i in range(120))], *cells]
        return put(path, "".join(f"{mark.join(map(str, row))}\n" for row in rows))

    @pytest.mark.parametrize(("name", "mark"), [("g.tsv", "\t"), ("g.csv", ";"), ("g.txt", "  ")])
    def test_genes_in_rows(self, name, mark, answer, here):
        found = answer("select", self.turned(here / name, mark), *SELECT, "--transpose")
        assert (names(found), found["n_rows"], found["n_columns"]) == (SIGNALS, 120, 6)
        assert "Transposed, as you asked: rows of the file are columns here." in found["decisions"]
        assert found["left_out"] == {}
        assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70
        answer("transform", found["run"], name, "-o", "short.csv")
        header = (here / "short.csv").read_text().splitlines()[0]
        assert header.split(mark.strip(" ") or ",") == list("aby")

    def test_in_parquet(self, answer, here):
        columns = {f"s{i}": row for i, row in enumerate(zip(*TABLE.columns, strict=True))}
        table = pa.table({"gene": TABLE.column_names, **columns})
        found = answer("select", write(here / "g.parquet", table), *SELECT, "--transpose")
        assert names(found) == SIGNALS

    @pytest.mark.parametrize(
        ("content", "options", "said"),
        [
            (None, (), "is named 'y', but a row is; if its rows are to be columns, say "
                       "--transpose"),
            (None, ("--transpose", "--stream"),
             "cannot be read batch by batch: it is transposed; save it as Parquet"),
            ("gene,s1,s2\na,1,2\n,3,4\n", ("--transpose",), "row 2 of"),
            ("gene,s1,s2\ny,1,2\na,1,2\na,3,4\n", ("--transpose",), "2 columns named 'a'"),
        ],
    )  # fmt: skip
    def test_refusals(self, content, options, said, failure, here):
        path = self.turned(here / "g.tsv") if content is None else put(here / "g.csv", content)
        assert said in failure("select", path, *SELECT, *options)


class TestFolders:
    @pytest.mark.parametrize("mode", ["--stream", "--no-stream"])
    @pytest.mark.parametrize("first", [0, 1])
    def test_a_column_of_some_files(self, first, mode, answer, failure, here):
        halves = [TABLE.slice(0, 60), TABLE.slice(60)]
        halves[first] = changed(halves[first], more=range(60))
        (here / "parts").mkdir()
        for number, half in enumerate(halves):
            pq.write_table(half, here / "parts" / f"part-{number}.parquet")
        more = STREAMED if mode == "--stream" else ("--no-stream",)
        found = answer("select", "parts", *SELECT, *more)
        assert found["left_out"] == {"more": "in 1 of 2 files only"}
        assert found["n_rows"] == 120
        again = ("--rounds", 60) if mode == "--stream" else ("--plays", 70)
        answer("resume", found["run"], *again)
        line = failure("select", "parts", "-t", "more", *QUICK)
        assert "the target 'more' is in 1 of 2 files of parts" in line

    @pytest.mark.parametrize("values", [(2020, 2021), ("p", "q")])
    def test_keys(self, values, answer, here):
        table = changed(y=TABLE["y"].to_numpy() + np.repeat([0.0, 50.0], 60))
        for half, value in enumerate(values):
            inside = here / "sales" / f"year={value}"
            inside.mkdir(parents=True)
            pq.write_table(table.slice(60 * half, 60), inside / "part.parquet")
        for path in ("sales", "sales/*/*.parquet"):
            for mode in (STREAMED, ("--no-stream",)):
                found = answer("select", path, *SELECT, *mode)
                kept = json.loads((here / found["run"] / "run.json").read_text())
                assert kept["plan"]["columns"] == ["a", "b", "n1", "n2", "n3", "year"]
            assert names(found)[0] == "year"
        answer("transform", found["run"], "sales", "-o", "short.csv")


class TestSpreadsheets:
    @pytest.fixture
    def workbook(self, here):
        openpyxl = pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine")

        def write_workbook(name, sheets):
            book = openpyxl.Workbook()
            book.remove(book.active)
            for title, rows in sheets.items():
                sheet = book.create_sheet(title)
                for row in rows:
                    sheet.append(row)
            book.save(here / name)
            return here / name

        return write_workbook

    def test_a_sheet(self, answer, here, workbook):
        table = changed(
            when=[dt.date(2020, 1, 1 + i % 5) for i in range(120)], ort=["Köln", "Bonn"] * 60,
            row=range(1, 121), gap=[None, *range(119)],
        )  # fmt: skip
        path = workbook("t.xlsx", {"Notes": [], "Data": [[], [], *rows_of(table), []]})
        found = answer("select", path, *SELECT)
        assert (names(found), found["n_rows"]) == (SIGNALS, 120)
        assert found["left_out"] == {"row": "numbers the rows from 1 to 120"}
        assert {
            "Dates become numbers (days since 1970-01-01): 'when'.",
            "Missing values are kept as missing: 'gap'.",
            "Read into memory.",
        } <= set(found["decisions"])
        assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70
        answer("transform", found["run"], path, "-o", "short.csv")

    def test_several_sheets(self, answer, failure, here, workbook):
        path = workbook("t.xlsx", {"Data": rows_of(), "Other": rows_of(make_table(60, seed=4))})
        found = answer("select", path, *SELECT)
        assert "Sheet 'Data' is read; --sheet reads another: 'Other'." in found["decisions"]
        other = answer("select", path, *SELECT, "--sheet", "Other")
        assert other["n_rows"] == 60
        assert answer("resume", other["run"], "--plays", 70)["n_rows"] == 60
        answer("transform", other["run"], path, "-o", "short.csv")
        assert len((here / "short.csv").read_text().splitlines()) == 61
        line = failure("select", path, *SELECT, "--sheet", "None")
        assert "has no sheet 'None'; it has 'Data', 'Other'" in line

    def test_transposed(self, answer, workbook):
        turned = [list(row) for row in zip(*rows_of(), strict=True)]
        path = workbook("t.xlsx", {"Data": [["gene", *range(120)], *turned]})
        assert names(answer("select", path, *SELECT, "--transpose")) == SIGNALS

    def test_refusals(self, failure, here, workbook, monkeypatch):
        path = workbook("t.xlsx", {"Data": rows_of()})
        workbook("empty.xlsx", {"Data": []})
        (here / "t.csv").write_text("a,y\n1,2\n")
        (here / "bad.xlsx").write_bytes(path.read_bytes()[:2000])
        zipped(here / "bomb.xlsx", **{"xl/worksheets/sheet1.xml": b" " * 40_000_000})
        for table, options, said in (
            (path, ("--stream",),
             "cannot be read batch by batch: it is a spreadsheet; save it as Parquet"),
            (path, ("--sep", ";"), "--sep is for CSV alone"),
            ("t.csv", ("--sheet", "x"), "--sheet is for spreadsheets alone"),
            ("empty.xlsx", (), "empty.xlsx is empty"),
            ("bad.xlsx", (), "bad.xlsx cannot be read as a spreadsheet"),
            ("bomb.xlsx", (), "bomb.xlsx unpacks to more than"),
        ):  # fmt: skip
            assert said in failure("select", table, *SELECT, *options)
        monkeypatch.setitem(sys.modules, "python_calamine", None)
        assert "pip install 'tvselect[excel]'" in failure("select", path, *SELECT)


class TestCells:
    def test_genes_of_an_anndata_file(self, answer, failure, here, with_interactions):
        pytest.importorskip("anndata")
        import scipy.sparse as sp

        from tests.omics.test_cells import annotated, counts

        annotated(sp.csr_matrix(counts())).write_h5ad(here / "cells.h5ad")
        select = ("select", "cells.h5ad", "-t", "type", *QUICK)
        found = answer(*select, "--covariates", "age")
        assert (names(found)[0], found["always"]) == ("gene3", ["age"])
        assert found["left_out"]["gene7"] == "constant (0 in every row)"
        assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70
        answer("transform", found["run"], "cells.h5ad", "-o", "short.csv")
        line = failure(*select, "-t", "gene3")
        assert "'gene3' is a column of cells.h5ad; the target is known of its rows: " in line
        assert "'type', 'age'" in line
        assert "its layers are: none" in failure(*select, "--layer", "raw")

    def test_genes_of_a_matrix(self, answer, failure, here):
        pytest.importorskip("anndata")
        from tests.omics.test_cells import market

        market(here)
        select = ("select", "matrix.mtx.gz", "-t", "type", *QUICK)
        found = answer(*select, "--phenotype", "cells.csv")
        assert (found["n_rows"], found["n_columns"]) == (120, 39)
        assert "name a table: --phenotype" in failure(*select)


class TestGenotypes:
    SELECT = ("--phenotype", "p.tsv", "-t", "height", *QUICK)

    @pytest.fixture
    def study(self, here):
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

    def test_variants_with_covariates(self, answer, study, with_interactions):
        found = answer("select", study, *self.SELECT, "--covariates", "age,sex,PC1-PC2")
        assert found["always"] == ["age", "sex", "PC1", "PC2"]
        assert names(found)[:2] == ["rs3", "rs7"]
        assert (found["n_rows"], found["n_columns"]) == (149, 42)
        assert found["left_out"] == {
            "income": "not named by --covariates",
            "rs4": "constant (1 in every row)",
            "rs5": "no value in any row",
        }
        said = found["decisions"]
        assert "Columns stay in the file and are read as they are needed." in said
        assert "Part of every play: 'age', 'sex', 'PC1', 'PC2'." in said
        assert names(answer("resume", found["run"], "--plays", 70)) == names(found)
        answer("transform", found["run"], study, "-o", "short.csv")

    def test_without_covariates_nothing_but_variants_is_chosen_from(self, answer, study):
        found = answer("select", study, *self.SELECT)
        assert found["n_columns"] == 38
        assert names(found)[:2] == ["rs3", "rs7"]

    def test_refusals(self, failure, study):
        for options, said in (
            (("--covariates", "PC1-PC9"), "--covariates names 'PC3'"),
            (("--covariates", "PC2-PC1"), "'PC2-PC1' ends before it begins"),
            (("--covariates", "PC01-PC02"), "--covariates names 'PC01'"),
            (("--phenotype", "s3://bucket/p.tsv"), "--phenotype is a file of this machine"),
            (("-t", "rs3"), "'rs3' is a column of"),
            (("-t", "heigth"), "no column named 'heigth' in"),
            (("--phenotype", "none.tsv"), "none.tsv does not exist"),
        ):
            assert said in failure("select", study, *self.SELECT, *options)
        study.write_bytes(study.read_bytes()[:-5])
        line = failure("select", study, *self.SELECT)
        assert "it is cut off, or the three files do not belong together" in line
