"""Tables as a careless person hands them in: an answer, or one line that says what to do."""

import datetime as dt
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.cli.makers import (
    QUICK,
    changed,
    make_table,
    names,
    put,
    rewritten,
    text_of,
    write,
)

TABLE = make_table()
Y = TABLE["y"].to_numpy()
COUNT = range(120)
RANK = np.argsort(np.argsort(Y))
DAYS = [f"20{10 + i % 9}-03-{1 + i % 28:02d}" for i in RANK]
BOM = "\ufeff"
HEADERLESS = text_of().split("\n", 1)[1]
TIMES = changed(time=1.0 + np.abs(Y), died=[k % 3 > 0 for k in COUNT])
LOOK_ALIKES = "day,weight,score,x,y\n" + "".join(
    f"{1 + i % 28:02d}/{1 + i % 12:02d}/2019,{i}.5 kg,{'-' if i % 5 == 0 else f'{i % 23}.{i}'},"
    f"{i * 7 % 11},{i}\n"
    for i in range(60)
)


def with_gaps(column, *rows, value=None):
    """A column with nothing, or a value, in some rows."""
    return [value if i in rows else cell for i, cell in enumerate(TABLE[column].to_pylist())]


READ = {
    "semicolons": ("t.csv", text_of(sep=";"), {}),
    "decimal commas": ("t.csv", text_of(sep=";").replace(".", ","), {"n_columns": 5}),
    "byte order mark": ("t.csv", BOM + text_of(), {}),
    "byte order mark at the target":
        ("t.csv", BOM + text_of(TABLE.select(["y", "a", "b", "n1"])), {}),
    "line breaks in cells":
        ("t.csv", changed(**{"place\nname": (f"line {i % 3}\nand, {i % 3}" for i in COUNT)}),
         {"n_rows": 120, "n_columns": 6}),
    "missing outcomes":
        ("t.csv", changed(y=with_gaps("y", 3, 50)),
         {"n_rows": 118, "said": "2 rows have no value of 'y' and cannot be used."}),
    "outcomes that are NaN":
        ("t.parquet", changed(y=with_gaps("y", *range(7), value=np.nan)), {"n_rows": 113}),
    "two labels": ("t.csv", changed(y=np.where(Y > 0, "yes", "no")), {"family": "probit"}),
    "two numbers": ("t.csv", changed(y=(Y > 0) * 1), {"family": "probit"}),
    "true and false": ("t.csv", changed(y=(Y > 0).tolist()), {"family": "probit"}),
    "the index that pandas writes":
        ("t.csv", "\n".join(f"{i - 1 if i else ''},{line}" for i, line in
                            enumerate(text_of().splitlines())),
         {"left_out": {"": "numbers the rows from 0 to 119"}}),
    "dates":
        ("t.csv", changed(sold=DAYS, at=[f"{day} 12:30:00" for day in DAYS]),
         {"left_out": {}, "names": None,
          "said": "Dates become numbers (days since 1970-01-01): 'sold', 'at'."}),
    "numbers with some text":
        ("t.csv", changed(a=map(str, with_gaps("a", 3, 90, value="unknown"))),
         {"said": "Read as numbers: 'a'; cells such as 'unknown' count as missing."}),
    "useless columns":
        ("t.csv",
         changed(country=["DE"] * 120, empty=[None] * 120, copy=TABLE["a"],
                 notes=[f"a long story of the house {2 * i // 3}" for i in COUNT]),
         {"names": None, "said": "The same values, all kept: 'a', 'copy'; they",
          "left_out": {"country": "constant ('DE' in every row)",
                       "empty": "no value in any row",
                       "notes": "free text or names: 80 different texts in 120 rows"}}),
    "infinite values":
        ("t.parquet", changed(n1=with_gaps("n1", 4, value=np.inf)),
         {"said": "In 'n1' 1 infinite value counts as missing."}),
    "ranks, which are no row numbers":
        ("t.csv", changed(a=np.argsort(np.argsort(TABLE["a"].to_numpy())) + 1), {"left_out": {}}),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_what_is_read(case, answer, here):
    name, content, expected = READ[case]
    found = answer("select", put(here / name, content), "-t", "y", *QUICK)
    expected = {"said": "", "names": ["a", "b"], **expected}
    assert expected.pop("said") in "\n".join(found["decisions"])
    found["names"] = expected["names"] and names(found)
    assert {key: found[key] for key in expected} == expected


REFUSED = [
    ("t.csv", "", (), "t.csv is empty"),
    ("t.csv", "\n\n", (), "t.csv is empty"),
    ("t.csv", "a,y\n", (), "no value in any of its 0 rows"),
    ("t.csv", HEADERLESS, (), "the first line of t.csv holds numbers ('"),
    ("t.csv", "1,1,3\n" * 30, (), "write a line of names above it"),
    ("t.csv", bytes(range(256)) * 100, (), "t.csv is no text; save it as CSV in UTF-8"),
    ("t.parquet", b"\x89PNG" * 1000, (), "t.parquet cannot be read as Parquet"),
    ("t.csv", "a,y\n" + "1,2\n" * 30 + "1,2,3\n", (), "Expected 2 columns, got 3"),
    ("t.csv", "a,a,y\n" + "1,2,3\n" * 30, (), "2 columns named 'a'; rename them"),
    ("t.docx", b"PK", (), "'.docx' cannot be read; save it as .csv"),
    ("stuff.txt", "", ("nothing.csv",), "nothing.csv does not exist"),
    ("stuff/notes.txt", "", ("stuff",), "holds no file that ends in .parquet"),
    ("t.csv", make_table(1), (), "a value in 1 row only; at least two are needed"),
    ("t.csv", make_table(6), (), "6 rows with a value of 'y'; at least 10 are needed"),
    ("t.csv", TABLE, ("-t", "Y"), "no column named 'Y' in t.csv; did you mean 'y'?"),
    ("t.csv", TABLE, ("--always", "y"), "--always names 'y', which is what is to be explained"),
    ("t.csv", TABLE, ("--include", "y"), "--include names 'y', which is what is to be explained"),
    ("t.csv", TABLE, ("--exclude", "y"), "--exclude names 'y', which is what is to be explained"),
    ("t.csv", TABLE, ("--exclude", "n1,nn2"), "--exclude names 'nn2', which t.csv does not have; "
                                              "did you mean 'n2'?"),
    ("t.csv", TABLE, ("--include", "nn2"), "--include names 'nn2'"),
    ("t.csv", TABLE, ("--always", "nn2"), "--always names 'nn2'"),
    ("t.csv", TABLE, ("--exclude", "a", "--include", "a"), "'a' is excluded and included"),
    ("t.csv", TABLE, ("--exclude", "*"), "'a': excluded"),
    ("t.csv", TABLE, ("--always", "*"), "are always included (--always, --covariates)"),
    ("t.csv", pa.table({"a": ["same"] * 30, "y": np.arange(30) % 7}), (),
     "no column of t.csv is left to choose from: 'a': constant"),
    ("t.csv", changed(y=map(str, with_gaps("y", 16, value="much"))), (),
     "holds numbers, but 'much' in row 17"),
    ("t.csv", changed(who=[f"person {k}" for k in COUNT]), ("-t", "who"),
     "text with 120 different values"),
    ("t.csv", changed(c=["?", *np.where(Y[1:] > 0, "1", "0")]), ("-t", "c"),
     "holds '?' in 1 row, first in row 1; empty these cells"),
    ("t.csv", changed(g=np.array(["low", "mid", "high"])[(Y > 0) * 1 + (Y > 1)]),
     ("-t", "g", "--family", "ordinal"), "whose order is not known; write them as numbers"),
    ("t.csv", changed(a=with_gaps("a", 0)), ("--reward", "lasso"),
     "--reward lasso cannot take missing values, but 'a' has some"),
    # The row of a value that cannot be used is that of the file.
    ("t.parquet", changed(y=[np.nan, *COUNT[1:16], np.inf, *COUNT[17:]]),
     ("--family", "gaussian"), "the first (inf) in row 17; drop these rows"),
    ("t.parquet", changed(y=[np.nan, *np.arange(119) // 30 * 1.0 - 3.0 * (np.arange(119) == 15)]),
     ("--family", "counts"), "has -3 in row 17; counts are whole numbers from 0 on; for other "
                             "outcomes say --family gaussian"),
    ("t.csv", TIMES, ("--event", "died"), "--event needs --time"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "said"), REFUSED)
def test_what_is_refused(name, content, options, said, failure, here):
    (here / name).parent.mkdir(exist_ok=True)
    put(here / name, content)
    if options and not options[0].startswith("-"):
        name, *options = options
    assert said in failure("select", name, "-t", "y", *options)


def test_a_mark_that_is_named(answer, here):
    path = write(here / "t.csv", sep="~")
    assert names(answer("select", path, "-t", "y", "--sep", "~", *QUICK)) == ["a", "b"]


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow"])
def test_formats(suffix, answer, here):
    found = answer("select", write(here / f"t{suffix}"), "-t", "y", *QUICK)
    assert (names(found), found["run"]) == (["a", "b"], "tvs-t-1")


def test_a_folder_of_parquet(answer, here):
    (here / "parts").mkdir()
    for number in range(3):
        write(here / "parts" / f"{number}.parquet", TABLE.slice(40 * number, 40))
    found = answer("select", "parts/", "-t", "y", *QUICK)
    assert (found["n_rows"], names(found), found["run"]) == (120, ["a", "b"], "tvs-parts-1")


def test_a_column_of_some_files_is_told_and_the_key_of_folders_is_one(answer, here):
    for place, site in enumerate(("u", "v")):
        part = TABLE.slice(60 * place, 60)
        (here / "parts" / f"site={site}").mkdir(parents=True)
        part = part.append_column("late", part["a"]) if site == "v" else part
        write(here / "parts" / f"site={site}" / "1.parquet", part)
    found = answer("select", "parts", "-t", "y", *QUICK)
    assert found["n_columns"] == TABLE.num_columns  # "site" in place of the target
    assert found["left_out"]["late"] == "in 1 of 2 files only"


@pytest.mark.parametrize(
    ("values", "options", "family", "said"),
    [
        (["u", "v", "w"] * 40, (), "classes", "has 3 values, u, v and w: classes."),
        ([0, 1, 2] * 40, (), "classes", "0, 1 and 2: classes (--family ordinal if"),
        ([k % 15 for k in COUNT], (), "counts", "from 0 to 14: counts (--family gaussian takes"),
        ((Y > 0) * 1, ("--family", "gaussian"), "gaussian", "2 different values: regression"),
    ],
)
def test_families(values, options, family, said, answer, here):
    path = write(here / "t.csv", changed(y=values))
    found = answer("select", path, "-t", "y", *options, *QUICK)
    assert found["family"] == family
    assert said in "\n".join(found["decisions"])


def test_survival_times(answer, failure, here):
    path = write(here / "t.csv", TIMES)
    found = answer("select", path, "--time", "time", "--event", "died", *QUICK)
    assert (found["family"], found["target"]) == ("survival", "time")
    said = "'time' is the time until 'died': 80 events, 40 rows censored."
    assert said in found["decisions"]
    assert "died" not in names(found)
    assert answer("resume", found["run"], "--plays", "80")["n_plays"] == 80
    for event, said in (("a", "true or false"), ("dead", "no column named 'dead'")):
        assert said in failure("select", path, "--time", "time", "--event", event)


def test_identifiers(answer, here):
    table = changed(
        id=np.arange(120) * 7, row=np.arange(1, 121), code=[f"K-{i}" for i in COUNT],
        region_id=[i % 4 for i in COUNT],
    )  # fmt: skip
    path = write(here / "t.csv", table)
    found = answer("select", path, "-t", "y", *QUICK)
    assert set(found["left_out"]) == {"id", "row", "code"}
    assert found["left_out"]["row"] == "numbers the rows from 1 to 120"
    kept = answer("select", path, "-t", "y", "--include", "id,row", *QUICK)
    assert set(kept["left_out"]) == {"code"}


@pytest.mark.long
def test_a_hundred_thousand_columns(answer, here):
    X = np.random.default_rng(0).random((12, 100_000)).round(3)
    header = ",".join([*(f"g{j}" for j in range(100_000)), "y"])
    rows = [f"{','.join(map(str, row))},{10 * row[3]:.3f}" for row in X]
    (here / "t.csv").write_text("\n".join([header, *rows, ""]))
    options = ("--reward", "pvalue", "--plays", "2", "--seed", "1")
    found = answer("select", "t.csv", "-t", "y", *options)
    assert (found["n_rows"], found["n_columns"]) == (12, 100_000)


def test_no_permission(failure, here, monkeypatch):
    path = write(here / "t.csv")
    path.chmod(0)
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda file, mode: Path(file).name != "t.csv" and access(file, mode)
    )
    assert "t.csv may not be read" in failure("select", path, "-t", "y")


def test_a_place_that_cannot_be_written(failure, here):
    (here / "file").touch()
    line = failure("select", write(here / "t.csv"), "-t", "y", "--out", "file/run")
    assert "file/run cannot be made" in line
    assert "--out" in line


def test_what_may_spoil_the_selection(answer, here):
    level = np.where(np.median(Y) < Y, "high", "low")
    coded = with_gaps("n1", 7, 8, 9, 10, value=-9999.0)
    path = write(here / "t.csv", changed(score=np.exp(Y / 10), level=level, coded=coded))

    def decisions(target, *options):
        return "\n".join(answer("select", path, "-t", target, *QUICK, *options)["decisions"])

    said = decisions("y")
    assert "Too good to be true? 'score':" in said
    assert "-9999 is far from all other values of 'coded'." in said
    assert decisions("y", "--exclude", "score").count("'score'") == 1  # excluded, as you asked
    assert "Too good to be true? 'y', 'score':" in decisions("level")


def test_categories_as_polars_writes_them(answer, here):
    view = pa.array(["k", "l"]).cast(pa.string_view())
    codes = pa.array(np.arange(120) % 2, pa.uint32())
    table = TABLE.append_column("kind", pa.DictionaryArray.from_arrays(codes, view))
    with pa.ipc.new_file(here / "t.arrow", table.schema) as file:
        file.write_table(table)
    found = answer("select", "t.arrow", "-t", "y", *QUICK)
    assert (found["n_columns"], names(found)) == (6, ["a", "b"])


def test_text_that_looks_like_dates_and_numbers_is_pointed_out(answer, here):
    put(here / "t.csv", LOOK_ALIKES)
    select = ("select", "t.csv", "-t", "y", "--plays", "2", "--no-report")
    said = "\n".join(answer(*select)["decisions"])
    assert "Dates taken as text? 'day'. Write them as 2019-12-31" in said
    assert "Numbers taken as text? 'weight': a unit" in said
    assert "Numbers taken as text? 'score': most cells are numbers" in said
    said = "\n".join(answer(*select, "--exclude", "day,weight,score")["decisions"])
    assert "taken as text" not in said


class TestNumbersWithSigns:
    def decided(self, answer, path, *more):
        found = answer("select", path, "-t", "y", *QUICK, *more)
        return found, " ".join(found["decisions"])

    def thousands(self, column):
        """A column of whole numbers, all but some of six digits, as people write them."""
        return rewritten(column, lambda value: f"{200_000 + round(10_000 * value):,}")

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
        found, said = self.decided(answer, write(here / "t.csv", rewritten("a", change)))
        assert names(found) == ["a", "b"]
        assert "Read as numbers: 'a' ('" in said

    def test_kept_as_text_in_parquet_with_empty_cells(self, answer, here):
        cells = [
            "" if k % 5 == 0 else f"{value:.4f}" for k, value in enumerate(TABLE["a"].to_pylist())
        ]
        table = changed(TABLE, a=cells, y=[f"{value:.3f}" for value in Y])
        found, said = self.decided(answer, write(here / "t.parquet", table))
        assert (names(found), found["family"]) == (["a", "b"], "gaussian")
        assert "Read as numbers: 'a'" in said
        assert "Missing values are kept as missing: 'a'." in said

    def test_german(self, answer, here):
        def german(value):
            return f"{1000 * value:,.2f}".translate(str.maketrans(",.", ".,"))

        table = rewritten("a", german, rewritten("y", german))
        found, _ = self.decided(answer, write(here / "t.csv", table, sep=";"))
        assert (names(found), found["family"]) == (["a", "b"], "gaussian")

    def test_a_target_with_signs(self, answer, failure, here):
        table = rewritten("y", lambda value: f"${1000 * value:,.2f}")
        found, said = self.decided(answer, write(here / "t.csv", table))
        assert (names(found), found["family"]) == (["a", "b"], "gaussian")
        assert "Read as numbers: 'y' ('" in said
        assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70
        line = failure("select", "t.csv", "-t", "y", "--stream")
        assert "which a stream cannot read; say --no-stream" in line
        write(here / "t.csv", changed(table, y=["much", *table["y"].to_pylist()[1:]]))
        assert "but 'much' in row 1;" in failure("select", "t.csv", "-t", "y")

    @pytest.mark.parametrize(("name", "mark"), [("t.tsv", "\t"), ("t.csv", ";"), ("t.csv", "|")])
    def test_commas_that_nothing_explains(self, name, mark, told, here):
        table = changed(self.thousands("a"), y=[round(100 * value) for value in Y])
        table = table.select(["a", "y"])
        select = ("select", write(here / name, table, sep=mark), "-t", "y", *QUICK)
        (warning,) = told(*select)["warnings"]
        cell = min(table["a"].to_pylist())
        number = float(cell.replace(",", "." if mark == ";" else ""))
        assert f"column 'a': {cell!r} is read as {number:.15g}" in warning
        assert "--decimal" in warning
        for decimal in ",.":
            assert told(*select, "--decimal", decimal)["warnings"] == []

    def test_commas_that_the_table_explains(self, answer, here):
        path = write(here / "t.tsv", self.thousands("a"))
        cell = min(self.thousands("a")["a"].to_pylist())
        _, said = self.decided(answer, path)
        assert f"'a' ({cell!r} as {cell.replace(',', '')}), as elsewhere in the table" in said
        path.write_text(path.read_text().replace(".", ","))
        assert "Read as numbers" not in self.decided(answer, path)[1]

    def test_on_a_stream(self, answer, failure, here):
        path = write(here / "t.tsv", self.thousands("a"))
        stream = ("--stream", "--batch-size", 60, "--max-fdr", "none")
        found = answer("select", path, "-t", "y", *QUICK, *stream)
        assert "stream cannot read" in found["left_out"]["a"]
        path = write(here / "t.tsv", self.thousands("y"))
        assert "which a stream cannot read" in failure("select", path, "-t", "y", "--stream")

    def test_several_currencies(self, told, here):
        signs = iter("$€" * 60)
        table = rewritten("n1", lambda value: f"{next(signs)}{round(abs(value))}")
        found = told("select", write(here / "t.csv", table), "-t", "y", *QUICK)
        assert found["warnings"] == [
            "column 'n1' holds numbers of several units ($, €), which are not converted; write "
            "them in one"
        ]


def test_names_that_are_numbers(told, here):
    table = TABLE.rename_columns(["1.5", "2.5", "3.5", "4.5", "5.5", "6.5"])
    (warning,) = told("select", write(here / "t.csv", table), "-t", "6.5", *QUICK)["warnings"]
    assert "all names of columns are numbers" in warning
    counted = TABLE.rename_columns(list("012345"))
    assert told("select", write(here / "t.csv", counted), "-t", "5", *QUICK)["warnings"] == []


def test_numbers_in_a_dictionary(answer, here):
    table = rewritten("a", lambda value: round(3 * value))
    coded = changed(table, a=table["a"].dictionary_encode())
    plain, found = (
        answer("select", write(here / name, content), "-t", "y", *QUICK)
        for name, content in (("p.feather", table), ("c.feather", coded))
    )
    assert names(found) == ["a", "b"]
    rates = [[v["selection_rate"] for v in each["selected"]] for each in (plain, found)]
    assert rates[0] == rates[1]


def test_dates_and_a_target_in_a_dictionary(answer, here, with_interactions):
    days = pa.array([dt.date(2020, 1, 1) + dt.timedelta(i % 40) for i in COUNT])
    table = changed(when=days.dictionary_encode(), y=TABLE["y"].dictionary_encode())
    found = answer("select", write(here / "t.feather", table), "-t", "y", *QUICK)
    assert "Dates become numbers (days since 1970-01-01): 'when'." in found["decisions"]
    assert (found["family"], names(found)) == ("gaussian", ["a", "b"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("g.json", "{", "is no JSON: Expecting property name"),
        ("g.json", '{"one": ["a"], "one": ["b"]}', "has the key 'one' twice"),
        ("g.json", '{"a": "b"}', "must look like"),
        ("g.json", '{"g": ["aa"]}', "did you mean 'a'?"),
        ("g.json", '{"g": ["a"], "h": ["a"]}', "puts column 'a' into groups 'g' and 'h'"),
        ("g.csv", "a,b\n", "must begin with the line 'column,group'"),
        ("g.csv", "column,group\na\n", "line 2 of g.csv has 1 cell;"),
        ("g.csv", None, "g.csv: no such file"),
    ],
)
def test_groups_that_cannot_be_read(name, content, said, failure, here):
    if content is not None:
        (here / name).write_text(content)
    assert said in failure("select", write(here / "t.csv"), "-t", "y", "--feature-groups", name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("g.json", json.dumps({"both": ["a", "n1"], "rest": ["n2", "n3"]})),
        ("g.csv", "column,group\na,both\nn1,both\nn2,rest\nn3,rest\n"),
    ],
)
def test_groups(name, content, answer, here):
    (here / name).write_text(content)
    found = answer("select", write(here / "t.csv"), "-t", "y", *QUICK, "--feature-groups", name)
    assert set(names(found)) == {"a", "n1", "b"}
    assert {v["name"]: v["group"] for v in found["selected"]}["n1"] == "both"
