"""Tables as a careless person hands them in; some of the rows, rows that belong together."""

import datetime as dt
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from tests.cli.makers import QUICK, changed, make_table, names, put, rewritten, text_of, write
from tvselect.runs.folder import RunFolder

TABLE = make_table()
Y = TABLE["y"].to_numpy()
COUNT = range(120)
RANK = np.argsort(np.argsort(Y))
DAYS = [f"20{10 + i % 9}-03-{1 + i % 28:02d}" for i in RANK]
BOM = "\ufeff"
HEADERLESS = text_of().split("\n", 1)[1]
TIMES = changed(time=1.0 + np.abs(Y), died=[k % 3 > 0 for k in COUNT])
LOOK_ALIKES = "day,weight,score,x,y\n" + "".join(
    f"{1 + i % 11:02d}/{1 + i % 12:02d}/2019,{i}.5 kg,{'-' if i % 5 == 0 else f'{i % 23}.{i}'},"
    f"{i * 7 % 11},{i}\n"
    for i in range(60)
)
LOOK = {"names": None, "options": ("--no-report",)}
STREAM = ("--stream", "--batch-size", 60, "--max-fdr", "none")
TREES = ("--iterations", "50", "--plays", "60", "--seed", "1")  # other rewards take no groups
ENDINGS = (".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow")


def german(value):
    return f"{1000 * value:,.2f}".translate(str.maketrans(",.", ".,"))


def thousands(column):
    """A column of whole numbers, all but some of six digits, as people write them."""
    return rewritten(column, lambda value: f"{200_000 + round(10_000 * value):,}")


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
    "a mark that is named": ("t.csv", text_of(sep="~"), {"options": ("--sep", "~")}),
    "more labels": ("t.csv", changed(y=["u", "v", "w"] * 40),
                    {"family": "classes", "names": None, "said": "u, v and w: classes."}),
    "three numbers": ("t.csv", changed(y=[0, 1, 2] * 40),
                      {"family": "classes", "names": None, "said": "(--family ordinal if"}),
    "fifteen numbers": ("t.csv", changed(y=[k % 15 for k in COUNT]),
                        {"family": "counts", "names": None, "said": "(--family gaussian takes"}),
    "a family that is named":
        ("t.csv", changed(y=(Y > 0) * 1),
         {"options": ("--family", "gaussian"), "family": "gaussian", "said": "values: regression"}),
    "identifiers":
        ("t.csv", changed(id=np.arange(120) * 7, row=np.arange(1, 121),
                          code=[f"K-{i}" for i in COUNT], region_id=[i % 4 for i in COUNT]),
         {"options": ("--include", "id"), "left_out": {
             "row": "numbers the rows from 1 to 120",
             "code": "a different text in every row, as identifiers have"}}),
    "numbers that doubles would round":
        ("t.parquet", changed(time=2**60 + np.arange(120), key=np.arange(120) << 53),
         {"n_columns": 6, "left_out": {
             "time": "whole numbers so large and alike that their differences are lost in "
                     "floating-point numbers: subtract the smallest from all"}}),
    "a copy of the target":
        ("t.csv", changed(score=np.exp(Y / 10)), {"names": None, "said": "be true? 'score':"}),
    "copies of the target as labels":
        ("t.csv", changed(score=np.exp(Y / 10), z=np.where(np.median(Y) < Y, "high", "low")),
         {"options": ("-t", "z"), "names": None, "said": "be true? 'y', 'score':"}),
    "a copy that is excluded":
        ("t.csv", changed(score=np.exp(Y / 10)),
         {"options": ("--exclude", "score"), "not said": "be true?"}),
    "a code for missing values":
        ("t.csv", changed(coded=with_gaps("n1", 7, 8, 9, 10, value=-9999.0)),
         {"said": "-9999 is far from all other values of 'coded'."}),
    "dates that look like text": ("t.csv", LOOK_ALIKES, LOOK | {"said": "taken as text? 'day'."}),
    "numbers with a unit": ("t.csv", LOOK_ALIKES, LOOK | {"said": "text? 'weight': a unit"}),
    "numbers and signs": ("t.csv", LOOK_ALIKES, LOOK | {"said": "'score': most cells are numbers"}),
    "dollars": ("t.csv", rewritten("a", lambda x: f"${x:,.4f}"), {"said": "numbers: 'a' ('"}),
    "euros": ("t.csv", rewritten("a", lambda x: f"{x:.4f} €"), {"said": "numbers: 'a' ('"}),
    "per cent": ("t.csv", rewritten("a", lambda x: f"{100 * x:.2f}%"), {"said": "numbers: 'a' ('"}),
    "thousands": ("t.csv", rewritten("a", lambda x: f"{10_000 * x:,.2f}"),
                  {"said": "numbers: 'a' ('"}),
    "numbers kept as text in Parquet":
        ("t.parquet",
         changed(a=["" if k % 5 == 0 else f"{x:.4f}" for k, x in enumerate(TABLE["a"].to_pylist())],
                 y=[f"{x:.3f}" for x in Y]),
         {"family": "gaussian", "said": "Missing values are kept as missing: 'a'."}),
    "German numbers": ("t.csv", text_of(rewritten("a", german, rewritten("y", german)), ";"),
                       {"family": "gaussian"}),
    "thousands that the table explains":
        ("t.tsv", thousands("a"), {"said": "as elsewhere in the table"}),
    "decimal commas that the table explains":
        ("t.tsv", text_of(thousands("a"), "\t").replace(".", ","), {"not said": "as numbers"}),
    "thousands on a stream":
        ("t.tsv", thousands("a"),
         {"options": STREAM, "names": None,
          "said": "stream cannot read"}),
    "categories as Polars writes them":
        ("t.feather", TABLE.append_column("kind", pa.DictionaryArray.from_arrays(
            pa.array(np.arange(120) % 2, pa.uint32()),
            pa.array(["k", "l"]).cast(pa.string_view()))), {"n_columns": 6}),
    "dates and a target in a dictionary":
        ("t.feather",
         changed(when=pa.array([dt.date(2020, 1, 1) + dt.timedelta(i % 40) for i in COUNT])
                 .dictionary_encode(), y=TABLE["y"].dictionary_encode()),
         {"family": "gaussian",
          "said": "Dates become numbers (days since 1970-01-01): 'when'."}),
}  # fmt: skip
READ |= {ending: (f"t{ending}", TABLE, {"run": "tvs-t-1"}) for ending in ENDINGS}


@pytest.mark.parametrize("case", READ)
def test_what_is_read(case, answer, here):
    name, content, expected = READ[case]
    expected = {"said": "", "not said": "\0", "names": ["a", "b"], "options": (), **expected}
    found = answer("select", put(here / name, content), "-t", "y", *QUICK, *expected.pop("options"))
    said = "\n".join(found["decisions"])
    assert expected.pop("said") in said
    assert expected.pop("not said") not in said
    found["names"] = expected["names"] and sorted(names(found))
    assert {key: found[key] for key in expected} == expected


def make_visits():
    """40 patients of 6 visits, who have numbers of their own; the rows in any order."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(40), 6)
    X = rng.normal(size=(40, 8))[who]
    y = rng.normal(size=40)[who] + 0.5 * rng.normal(size=240) + 4 * X[:, 2]
    day = [f"2020-01-{k % 6 + 1:02d}" for k in range(240)]
    columns = {f"x{j}": X[:, j] for j in range(8)}
    columns |= {"patient": [f"p{k}" for k in who], "day": day, "y": y}
    return pa.table(columns).take(rng.permutation(240))


VISITS = make_visits()
GROUPS = ("u.csv", "--feature-groups", "g.json")
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
    ("t.csv", TABLE, ("--row-groups", "a", "--exclude", "n1,a"),
     "--exclude names 'a', which says how rows depend on each other (--row-groups, --order)"),
    ("t.csv", ",,y\n" + "1,2,3\n" * 30, (), "2 columns without a name; name them"),
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
    ("t.parquet", changed(y=[None, *(2**60 + k for k in COUNT[1:])]), (),
     "whose differences are lost as floating-point numbers; subtract 1152921504606846977 from all"),
    # The row of a value that cannot be used is that of the file.
    ("t.parquet", changed(y=[np.nan, *COUNT[1:16], np.inf, *COUNT[17:]]),
     ("--family", "gaussian"), "the first (inf) in row 17; drop these rows"),
    ("t.parquet", changed(y=[np.nan, *np.arange(119) // 30 * 1.0 - 3.0 * (np.arange(119) == 15)]),
     ("--family", "counts"), "has -3 in row 17; counts are whole numbers from 0 on; for other "
                             "outcomes say --family gaussian"),
    ("t.csv", TIMES, ("--event", "died"), "--event needs --time"),
    ("t.tsv", thousands("y"), ("--stream",), "which a stream cannot read; say --no-stream"),
    ("t.csv", changed(rewritten("y", lambda x: f"${1000 * x:,.2f}"), y=["much", *(
        f"${1000 * x:,.2f}" for x in Y[1:])]), (), "but 'much' in row 1;"),
    ("t.csv", TABLE, ("--reward", "pvalue", "--iterations", "5"), "is for --reward bart"),
    ("t.csv", TABLE, ("--no-stream", "--rounds", "2"), "drop --no-stream"),
    ("t.csv", TABLE, ("--decoys", "none"), "--max-fdr 0.1 cannot be kept with --decoys none; leave "
                                           "that out, or say --max-fdr none"),
    ("t.csv", TABLE, ("--batch-size", "1"), "--batch-size 1 is too small: --reward bart needs at"),
    ("g.json", "{", GROUPS, "is no JSON: Expecting property name"),
    ("g.json", '{"one": ["a"], "one": ["b"]}', GROUPS, "has the key 'one' twice"),
    ("g.json", '{"a": "b"}', GROUPS, "must look like"),
    ("g.json", '{"g": ["aa"]}', GROUPS, "did you mean 'a'?"),
    ("g.json", '{"g": ["a"], "h": ["a"]}', GROUPS, "puts column 'a' into groups 'g' and 'h'"),
    ("g.csv", "a,b\n", ("u.csv", "--feature-groups", "g.csv"), "must begin with the line 'column"),
    ("g.csv", "column,group\na\n", ("u.csv", "--feature-groups", "g.csv"),
     "line 2 of g.csv has 1 cell;"),
    ("t.csv", TABLE, ("--feature-groups", "g.csv"), "g.csv: no such file"),
    ("t.csv", VISITS, ("--row-groups", "patients"), "did you mean 'patient'"),
    ("t.csv", VISITS, ("--order", "y"), "--order names 'y', which is what is to be explained"),
    ("t.csv", VISITS, (*TREES, "--order", "patient"), "which is neither a number nor a date"),
    ("t.csv", VISITS, (*TREES, "--row-groups", "patient", "--decoys", "knockoffs"),
     "use decoys='shuffled'"),
    ("t.csv", VISITS, ("--stream", "--order", "day"), "say --order rows, or --no-stream"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "said"), REFUSED)
def test_what_is_refused(name, content, options, said, failure, here):
    (here / name).parent.mkdir(exist_ok=True)
    put(here / name, content)
    write(here / "u.csv")
    if options and not options[0].startswith("-"):
        name, *options = options
    assert said in failure("select", name, "-t", "y", *options)


def test_survival_times(answer, failure, here):
    path = write(here / "t.csv", TIMES)
    found = answer("select", path, "--time", "time", "--event", "died", *QUICK)
    assert (found["family"], found["target"]) == ("survival", "time")
    said = "'time' is the time until 'died': 80 events, 40 rows censored."
    assert said in found["decisions"]
    assert "died" not in names(found)
    assert answer("resume", found["run"], "--plays", "80")["n_plays"] == 80
    for event, said in (
        ("a", "true or false"),
        ("time", "name the same column"),
        ("dead", "no column named 'dead'"),
    ):
        assert said in failure("select", path, "--time", "time", "--event", event)


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


def test_a_target_with_signs(answer, here):
    path = write(here / "t.csv", rewritten("y", lambda value: f"${1000 * value:,.2f}"))
    found = answer("select", path, "-t", "y", *QUICK)
    assert (names(found), found["family"]) == (["a", "b"], "gaussian")
    assert "Read as numbers: 'y' ('" in " ".join(found["decisions"])
    assert answer("resume", found["run"], "--plays", 70)["n_plays"] == 70


@pytest.mark.parametrize(("name", "mark"), [("t.tsv", "\t"), ("t.csv", ";"), ("t.csv", "|")])
def test_commas_that_nothing_explains(name, mark, told, here):
    table = changed(thousands("a"), y=[round(100 * value) for value in Y]).select(["a", "y"])
    select = ("select", write(here / name, table, sep=mark), "-t", "y", *QUICK)
    (warning,) = told(*select)["warnings"]
    cell = min(table["a"].to_pylist())
    number = float(cell.replace(",", "." if mark == ";" else ""))
    assert f"column 'a': {cell!r} is read as {number:.15g}" in warning
    assert "--decimal" in warning
    for decimal in ",.":
        assert told(*select, "--decimal", decimal)["warnings"] == []


SIGNS = iter("$€" * 60)
WARNED = [
    (rewritten("n1", lambda x: f"{next(SIGNS)}{round(abs(x))}"), "y",
     ["column 'n1' holds numbers of several units ($, €), which are not converted; write them in "
      "one"]),
    (TABLE.rename_columns(["1.5", "2.5", "3.5", "4.5", "5.5", "6.5"]), "6.5",
     ["all names of columns are numbers"]),
    (TABLE.rename_columns(list("012345")), "5", []),
]  # fmt: skip


@pytest.mark.parametrize(("table", "target", "warnings"), WARNED)
def test_what_is_warned_of(table, target, warnings, told, here):
    found = told("select", write(here / "t.csv", table), "-t", target, *QUICK)["warnings"]
    assert len(found) == len(warnings)
    assert all(part in said for part, said in zip(warnings, found, strict=True))


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


SEGMENTS = changed(Segment=["A b", "B"] * 60)


def test_a_run_on_some_rows_goes_on_with_these(answer, failure, here):
    path = write(here / "t.csv", SEGMENTS)
    condition = "Segment = 'A b' and a is not null"
    found = answer("select", path, "-t", "y", *QUICK, "--where", condition)
    assert found["n_rows"] == 60
    assert f"Only rows that meet {condition} (--where)." in found["decisions"]
    assert "Segment" in found["left_out"]
    assert answer("resume", found["run"], "--plays", "62")["n_rows"] == 60
    assert answer("worth", found["run"], "--folds", "2")["n_rows"] == 60
    line = failure("select", path, "-t", "y", "--where", condition, "--stream")
    assert "--where reads the whole table" in line


def test_a_run_for_each_part(answer, tvs, failure, here):
    path = write(here / "t.csv", SEGMENTS)
    by = ("select", path, "-t", "y", *QUICK, "--by", "Segment")
    found = answer(*by, "--out", "run")
    assert [(part["value"], part["n_rows"]) for part in found["parts"]] == [("A b", 60), ("B", 60)]
    assert [part["run"] for part in found["parts"]] == ["run-A_b", "run-B"]
    assert all(set(names(part)) <= {"a", "b"} for part in found["parts"])
    _, out, err = tvs(*by, "--where", "a < 9")
    assert out.splitlines()[0].split("\t")[:3] == ["variable", "selected_1", "selected_2"]
    assert "The runs differ in rows: \"Segment\" = 'A b' and (a < 9) and" in err
    assert "Segment = A b (60 rows):" in err
    assert "makes 118 parts" in failure(*by[:-1], "a")
    assert "did you mean 'Segment'?" in failure(*by[:-1], "segment")


def test_every_part_has_a_folder(answer, here):
    """Whatever its value is written with."""
    path = write(here / "t.csv", changed(Land=["A/b", "A b", "Ä"] * 40))
    parts = answer("select", path, "-t", "y", *QUICK, "--by", "Land", "--out", "run")["parts"]
    folders = {part["value"]: part["run"] for part in parts}
    assert folders == {"A b": "run-A_b-1", "A/b": "run-A_b-2", "Ä": "run-Ä"}


@pytest.fixture
def visits(here):
    return write(here / "visits.csv", VISITS)


def test_a_run_says_and_keeps_which_rows_belong_together(visits, told, here):
    options = ("--target", "y", "--row-groups", "patient", "--order", "day", *TREES)
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
    told("select", visits, "--target", "y", "--row-groups", "patient", *TREES, "--out", "other")
    assert (
        "The runs differ in order: day and not set."
        in told("compare", "told", "other")["differences"]
    )


def test_a_doubt_marks_q_values_where_nothing_is_said(visits, told):
    found = told("select", visits, "--target", "y", "--exclude", "day", *TREES, "--out", "run")
    assert found["unproven"]
    assert any("with the same 'patient' belong together?" in said for said in found["warnings"])


def test_streams_are_told_by_a_column_and_rows_in_order(visits, told, here):
    table = pa.csv.read_csv(visits).sort_by("patient")
    pa.csv.write_csv(table, here / "sorted.csv")
    stream = ("--target", "y", "--stream", "--batch-size", "60", "--row-groups", "patient")
    found = told("select", here / "sorted.csv", *stream, "--order", "rows", *TREES[:2])
    assert found["stream"]
    assert "Rows follow each other in time, as they stand (--order)." in found["decisions"]
