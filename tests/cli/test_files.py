"""The files that people have."""

import bz2
import gzip
import io
import json
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.cli.makers import QUICK, make_table, write, write_rows

SELECT = ("-t", "y", *QUICK)
SIGNALS = ["a", "b"]
STREAMED = ("--stream", "--batch-size", 60, "--max-fdr", "none")


def names(found):
    return [variable["name"] for variable in found["selected"]]


@pytest.fixture
def told(tvs):
    """Run a command with --json that must succeed, with warnings or not."""

    def run(*arguments):
        code, out, err = tvs(*arguments, "--json", "--quiet")
        assert code == 0
        found = json.loads(out)
        assert err == "".join(f"tvs: warning: {warning}\n" for warning in found["warnings"])
        return found

    return run


def lines_of(table, mark=","):
    """The text of a table."""
    columns = [map(str, column.to_pylist()) for column in table.columns]
    return [mark.join(row) for row in zip(*columns, strict=True)]


def rewritten(column, change, table=None):
    """A table with the cells of a column written in another way."""
    table = make_table() if table is None else table
    place = table.column_names.index(column)
    cells = [change(value) for value in table[column].to_pylist()]
    return table.set_column(place, column, [cells])


def thousands(column, scale=10_000):
    """A column of whole numbers, all but some of six digits, as people write them."""
    return rewritten(column, lambda value: f"{200_000 + round(scale * value):,}")


class TestPacked:
    @pytest.mark.parametrize(
        ("ending", "packed"),
        [("txt", "gz"), ("csv", "bz2"), ("tsv", "zst"), ("csv", "zip"), ("tsv", "zip")],
    )
    def test_packed_text(self, ending, packed, answer, here):
        text = write(here / f"t.{ending}").read_bytes()
        path = here / f"t.{ending}.{packed}"
        if packed == "zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("inside/t.csv", text)
                archive.writestr("__MACOSX/inside/._t.csv", b"\0")
        elif packed == "zst":
            path.write_bytes(pa.Codec("zstd").compress(text, asbytes=True))
        else:
            path.write_bytes({"gz": gzip, "bz2": bz2}[packed].compress(text))
        assert names(answer("select", path, *SELECT)) == SIGNALS
        found = answer("select", path, *SELECT, *STREAMED)
        assert (found["stream"], found["n_rows"]) == (True, 120)

    def test_a_zip_of_several_files(self, failure, here):
        for members in ([], ["a.csv", "b.csv"]):
            with zipfile.ZipFile(here / "t.zip", "w") as archive:
                for member in members:
                    archive.writestr(member, "a,y\n")
            line = failure("select", "t.zip", "-t", "y")
            assert f"t.zip holds {len(members)} files; it must hold one table" in line

    def test_a_zip_that_unpacks_to_too_much(self, failure, here):
        with zipfile.ZipFile(here / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", "a,y\n" + "1,2\n" * 10_000_000)
        line = failure("select", "t.zip", "-t", "y", "--no-stream")
        assert "t.zip unpacks to more than" in line

    def test_a_damaged_zip(self, failure, here):
        with zipfile.ZipFile(here / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", write(here / "t.csv").read_bytes())
        whole = (here / "t.zip").read_bytes()
        (here / "t.zip").write_bytes(whole[:200] + b"\xff" * 50 + whole[250:])
        assert "t.zip cannot be read as CSV: the archive is damaged" in failure(
            "select", "t.zip", "-t", "y"
        )


class TestText:
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
    def test_marks_of_txt(self, mark, answer, here):
        write(here / "t.csv", sep=mark).rename(here / "t.txt")
        assert names(answer("select", "t.txt", *SELECT)) == SIGNALS

    def test_marks_in_names(self, answer, here):
        table = make_table().rename_columns(["a, b, c", "b", "n1", "n2", "n3", "y"])
        rows = [line.replace(".", ",") for line in lines_of(table, "\t")]
        path = write_rows(here / "t.txt", "\t".join(table.column_names), rows)
        assert sorted(names(answer("select", path, *SELECT))) == ["a, b, c", "b"]

    @pytest.mark.parametrize("header", ["a b n1 n2 n3 y", '"a"  "b" n1\tn2 n3   y  '])
    def test_blanks(self, header, answer, here):
        rows = [f"  {line}  " for line in lines_of(make_table(), "   ")]
        found = answer("select", write_rows(here / "t.txt", header, rows), *SELECT)
        assert (names(found), found["n_columns"]) == (SIGNALS, 5)
        assert "Cells have blanks between them (--sep says another mark)." in found["decisions"]
        streamed = answer("select", "t.txt", *SELECT, *STREAMED)
        assert streamed["n_rows"] == 120

    def test_blanks_as_r_writes_them(self, answer, here):
        rows = [f'"{i}" {line}' for i, line in enumerate(lines_of(make_table(), " "), start=1)]
        path = write_rows(here / "t.txt", '"a" "b" "n1" "n2" "n3" "y"', rows)
        found = answer("select", path, *SELECT)
        assert names(found) == SIGNALS
        assert found["left_out"] == {"": "numbers the rows from 1 to 120"}

    @pytest.mark.parametrize(
        ("codec", "said"),
        [
            ("latin-1", "Windows-1252"),
            ("cp1252", "Windows-1252"),
            ("utf-16", "UTF-16"),
            ("utf-16-be", "UTF-16BE"),
        ],
    )
    def test_encodings(self, codec, said, answer, here):
        table = make_table().rename_columns(["größe", "b", "n1", "n2", "n3", "y"])
        table = table.append_column("ort", [["Köln", "Zürich"] * 60])
        text = "\n".join([";".join(table.column_names), *lines_of(table, ";"), ""])
        (here / "t.csv").write_bytes(text.encode(codec))
        found = answer("select", "t.csv", *SELECT)
        assert names(found) == ["größe", "b"]
        assert f"Not UTF-8: its letters are read as {said}." in found["decisions"]
        streamed = answer("select", "t.csv", *SELECT, *STREAMED)
        assert streamed["decisions"][1] == f"Not UTF-8: its letters are read as {said}."

    def test_letters_far_down(self, answer, here, monkeypatch):
        monkeypatch.setattr("tvselect.sources.text.HEAD", 500)
        towns = ["Bonn", "Trier"] * 59 + ["Köln", "Köln"]
        table = make_table().append_column("ort", [towns])
        text = "\n".join([",".join(table.column_names), *lines_of(table), ""])
        (here / "t.csv").write_bytes(text.encode("latin-1"))
        found = answer("select", "t.csv", *SELECT)
        assert "Not UTF-8: its letters are read as Windows-1252." in found["decisions"]
        assert found["left_out"] == {}


class TestStandardInput:
    @pytest.fixture
    def piped(self, monkeypatch):
        def pipe(data):
            stream = io.TextIOWrapper(io.BytesIO(data))
            monkeypatch.setattr(sys, "stdin", stream)

        return pipe

    def test_a_table(self, answer, failure, here, piped):
        data = write(here / "t.csv").read_bytes()
        piped(data)
        found = answer("select", "-", *SELECT)
        assert (names(found), found["run"]) == (SIGNALS, "tvs-table-1")
        assert found["decisions"][0].startswith("standard input: 120 rows")
        assert "came through standard input" in failure("resume", "tvs-table-1", "--plays", 70)
        again = answer("resume", "tvs-table-1", "--plays", 70, "--table", "t.csv")
        assert again["n_plays"] == 70

    def test_no_stream(self, failure, here, piped):
        piped(write(here / "t.csv").read_bytes())
        line = failure("select", "-", *SELECT, "--stream")
        assert "standard input cannot be read batch by batch" in line
        assert "save it as Parquet" in line

    def test_nothing(self, failure, piped):
        piped(b"")
        assert "standard input is empty" in failure("select", "-", *SELECT)

    def test_no_text(self, failure, here, piped):
        piped(write(here / "t.parquet").read_bytes())
        assert "standard input is no text" in failure("select", "-", *SELECT)


class TestNumbers:
    def decided(self, answer, path, *more):
        found = answer("select", path, *SELECT, *more)
        return found, " ".join(found["decisions"])

    @pytest.mark.parametrize(
        "change",
        [
            lambda value: f"${value:,.4f}",
            lambda value: f"{value:.4f} €",
            lambda value: f"{100 * value:.2f}%",
            lambda value: f"{10_000 * value:,.2f}",
        ],
    )
    def test_signs(self, change, answer, here):
        path = write(here / "t.csv", rewritten("a", change))
        found, said = self.decided(answer, path)
        assert names(found) == SIGNALS
        assert "Read as numbers: 'a' ('" in said
        assert found["warnings"] == []

    def test_german(self, answer, here):
        def german(value):
            return f"{1000 * value:,.2f}".translate(str.maketrans(",.", ".,"))

        table = rewritten("a", german, rewritten("y", german))
        found, _ = self.decided(answer, write(here / "t.csv", table, sep=";"))
        assert names(found) == SIGNALS
        assert found["family"] == "gaussian"

    def test_a_target_with_signs(self, answer, failure, here):
        table = rewritten("y", lambda value: f"${1000 * value:,.2f}")
        found, said = self.decided(answer, write(here / "t.csv", table))
        assert (names(found), found["family"]) == (SIGNALS, "gaussian")
        assert "Read as numbers: 'y' ('" in said
        assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70
        cells = ["much", *table["y"].to_pylist()[1:]]
        write(here / "t.csv", table.set_column(5, "y", [cells]))
        assert "but 'much' in row 1;" in failure("select", "t.csv", *SELECT)
        line = failure("select", write(here / "t.csv", table), *SELECT, "--stream")
        assert "which a stream cannot read; say --no-stream" in line

    @pytest.mark.parametrize(
        ("name", "mark", "value"),
        [("t.tsv", "\t", "read as 2"), ("t.csv", ";", "read as 2"), ("t.csv", "|", "read as 2")],
    )
    def test_commas_that_nothing_explains(self, name, mark, value, told, here):
        table = thousands("a").set_column(
            5, "y", [[round(v) for v in (100 * make_table()["y"].to_numpy())]]
        )
        table = table.select(["a", "y"])
        found = told("select", write(here / name, table, sep=mark), *SELECT)
        (warning,) = found["warnings"]
        cell = min(table["a"].to_pylist())
        number = cell.replace(",", "." if mark == ";" else "")
        assert f"column 'a': {cell!r} is read as {float(number):.15g}" in warning
        assert "--decimal" in warning
        for decimal in ",.":
            again = told("select", name, *SELECT, "--decimal", decimal)
            assert again["warnings"] == []

    def test_commas_that_the_table_explains(self, answer, here):
        found, said = self.decided(answer, write(here / "t.tsv", thousands("a")))
        cell = min(thousands("a")["a"].to_pylist())
        assert f"'a' ({cell!r} as {cell.replace(',', '')}), as elsewhere in the table" in said
        assert found["warnings"] == []
        text = (here / "t.tsv").read_text()
        (here / "t.tsv").write_text(text.replace(".", ","))
        found, said = self.decided(answer, "t.tsv")
        assert "Read as numbers" not in said
        assert found["warnings"] == []

    def test_on_a_stream(self, answer, failure, here):
        path = write(here / "t.tsv", thousands("a"))
        found = answer("select", path, *SELECT, *STREAMED)
        assert "stream cannot read" in found["left_out"]["a"]
        path = write(here / "t.tsv", thousands("y"))
        assert "which a stream cannot read" in failure("select", path, *SELECT, "--stream")

    def test_several_currencies(self, told, here):
        signs = iter("$€" * 60)
        table = rewritten("n1", lambda value: f"{next(signs)}{round(abs(value))}")
        found = told("select", write(here / "t.csv", table), *SELECT)
        assert found["warnings"] == [
            "column 'n1' holds numbers of several units ($, €), which are not converted; write "
            "them in one"
        ]


class TestTransposed:
    def turned(self, path, mark="\t"):
        """The table of tests with a row for each column, and text in one."""
        table = make_table()
        table = table.append_column("kind", [["u", "v"] * 60])
        rows = [
            mark.join([name, *map(str, column.to_pylist())])
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        return write_rows(path, mark.join(["gene", *(f"s{i}" for i in range(120))]), rows)

    @pytest.mark.parametrize(("name", "mark"), [("g.tsv", "\t"), ("g.csv", ";"), ("g.txt", "  ")])
    def test_genes_in_rows(self, name, mark, answer, here):
        found = answer("select", self.turned(here / name, mark), *SELECT, "--transpose")
        assert (names(found), found["n_rows"], found["n_columns"]) == (SIGNALS, 120, 6)
        assert "Transposed, as you asked: rows of the file are columns here." in found["decisions"]
        assert found["left_out"] == {}
        again = answer("resume", found["run"], "--plays", 70)
        assert again["n_plays"] == 70
        answer("transform", found["run"], name, "-o", "short.csv")
        assert (here / "short.csv").read_text().splitlines()[0].split(
            mark.strip(" ") or ","
        ) == list("aby")

    def test_in_parquet(self, answer, here):
        columns = {f"s{i}": row for i, row in enumerate(zip(*make_table().columns, strict=True))}
        table = pa.table({"gene": make_table().column_names, **columns})
        found = answer("select", write(here / "g.parquet", table), *SELECT, "--transpose")
        assert names(found) == SIGNALS

    def test_it_is_suggested(self, failure, here):
        line = failure("select", self.turned(here / "g.tsv"), *SELECT)
        assert "is named 'y', but a row is; if its rows are to be columns, say --transpose" in line

    def test_no_stream(self, failure, here):
        line = failure("select", self.turned(here / "g.tsv"), *SELECT, "--transpose", "--stream")
        assert "cannot be read batch by batch: it is transposed; save it as Parquet" in line

    def test_names_that_will_not_do(self, failure, here):
        path = write_rows(here / "g.csv", "gene,s1,s2", ["a,1,2", ",3,4"])
        assert "row 2 of" in failure("select", path, *SELECT, "--transpose")
        path = write_rows(here / "g.csv", "gene,s1,s2", ["y,1,2", "a,1,2", "a,3,4"])
        assert "2 columns named 'a'" in failure("select", path, *SELECT, "--transpose")


def test_names_that_are_numbers(told, here):
    table = make_table().rename_columns(["1.5", "2.5", "3.5", "4.5", "5.5", "6.5"])
    found = told("select", write(here / "t.csv", table), "-t", "6.5", *QUICK)
    (warning,) = found["warnings"]
    assert "all names of columns are numbers" in warning
    counted = make_table().rename_columns(list("012345"))
    assert told("select", write(here / "t.csv", counted), "-t", "5", *QUICK)["warnings"] == []


def test_no_header_and_repeated_numbers(failure, here):
    (here / "t.csv").write_text("1,1,3\n" * 30)
    assert "write a line of names above it" in failure("select", "t.csv", "-t", "y")


class TestDictionaries:
    def test_numbers(self, answer, here):
        whole = [round(3 * value) for value in make_table()["a"].to_pylist()]
        table = make_table().set_column(0, "a", [whole])
        coded = table.set_column(0, "a", table["a"].dictionary_encode())
        plain = answer("select", write(here / "p.feather", table), *SELECT)
        found = answer("select", write(here / "c.feather", coded), *SELECT)
        assert [v["selection_rate"] for v in found["selected"]] == [
            v["selection_rate"] for v in plain["selected"]
        ]
        assert names(found) == SIGNALS

    def test_dates_and_a_coded_target(self, answer, here):
        days = np.datetime64("2020-01-01") + np.arange(120) % 40
        table = make_table().append_column("when", pa.array(days).dictionary_encode())
        table = table.set_column(5, "y", make_table()["y"].dictionary_encode())
        found = answer("select", write(here / "t.feather", table), *SELECT)
        assert "Dates become numbers (days since 1970-01-01): 'when'." in found["decisions"]
        assert (found["family"], names(found)) == ("gaussian", SIGNALS)


class TestFolders:
    def parts(self, folder, *tables):
        for number, table in enumerate(tables):
            path = folder / f"part-{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(table, path)
        return folder

    @pytest.mark.parametrize("mode", ["--stream", "--no-stream"])
    @pytest.mark.parametrize("first", [0, 1])
    def test_a_column_of_some_files(self, first, mode, answer, failure, here):
        halves = [make_table().slice(0, 60), make_table().slice(60)]
        halves[first] = halves[first].append_column("more", [range(60)])
        self.parts(here / "parts", *halves)
        more = STREAMED if mode == "--stream" else ("--no-stream",)
        found = answer("select", "parts", *SELECT, *more)
        assert found["left_out"] == {"more": "in 1 of 2 files only"}
        assert found["n_rows"] == 120
        again = ("--rounds", 60) if mode == "--stream" else ("--plays", 70)
        answer("resume", found["run"], *again)
        line = failure("select", "parts", "-t", "more", *QUICK)
        assert "the target 'more' is in 1 of 2 files of parts" in line

    @pytest.mark.parametrize("mode", ["--stream", "--no-stream"])
    @pytest.mark.parametrize("values", [(2020, 2021), ("p", "q")])
    def test_keys(self, values, mode, answer, here):
        y = make_table()["y"].to_numpy() + np.repeat([0.0, 50.0], 60)
        table = make_table().set_column(5, "y", [y])
        for half, value in enumerate(values):
            inside = here / "sales" / f"year={value}"
            inside.mkdir(parents=True)
            pq.write_table(table.slice(60 * half, 60), inside / "part.parquet")
        more = STREAMED if mode == "--stream" else ("--no-stream",)
        for path in ("sales", "sales/*/*.parquet"):
            found = answer("select", path, *SELECT, *more)
            kept = json.loads((here / found["run"] / "run.json").read_text())
            assert kept["plan"]["columns"] == ["a", "b", "n1", "n2", "n3", "year"]
            if mode == "--no-stream":
                assert names(found)[0] == "year"
        if mode == "--no-stream":
            answer("transform", found["run"], "sales", "-o", "short.csv")


def test_ranks_are_no_row_numbers(answer, here):
    rank = np.argsort(np.argsort(make_table()["a"].to_numpy())) + 1
    path = write(here / "t.csv", make_table().set_column(0, "a", [rank]))
    found = answer("select", path, *SELECT)
    assert (found["left_out"], names(found)) == ({}, SIGNALS)
