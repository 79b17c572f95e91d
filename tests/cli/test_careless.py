"""Tables as a careless person hands them in: an answer, or one line that says what to do."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.cli.makers import QUICK, make_table, rows_of, write, write_rows


def names(found):
    return [variable["name"] for variable in found["selected"]]


def with_column(name, values, table=None):
    table = make_table() if table is None else table
    return table.append_column(name, [list(values)])


def test_semicolons(answer, here):
    found = answer("select", write(here / "t.csv", sep=";"), "-t", "y", *QUICK)
    assert names(found) == ["a", "b"]


def test_semicolons_and_decimal_commas(answer, here):
    text = write(here / "t.csv", sep=";").read_text().replace(".", ",")
    (here / "t.csv").write_text(text)
    found = answer("select", "t.csv", "-t", "y", *QUICK)
    assert names(found) == ["a", "b"]
    assert found["n_columns"] == 5


def test_bars_with_sep(answer, here):
    found = answer("select", write(here / "t.csv", sep="~"), "-t", "y", "--sep", "~", *QUICK)
    assert names(found) == ["a", "b"]


def test_byte_order_mark(answer, here):
    path = here / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + write(path).read_bytes())
    assert names(answer("select", path, "-t", "y", *QUICK)) == ["a", "b"]


def test_byte_order_mark_before_the_target(answer, here):
    path = write(here / "t.csv", make_table().select(["y", "a", "b", "n1"]))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert names(answer("select", path, "-t", "y", *QUICK)) == ["a", "b"]


def test_quoted_newlines(answer, here):
    texts = (f"line {i % 3}\nand, {i % 3}" for i in range(120))
    path = write(here / "t.csv", with_column("place\nname", texts))
    found = answer("select", path, "-t", "y", *QUICK)
    assert (found["n_rows"], found["n_columns"], names(found)) == (120, 6, ["a", "b"])


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow"])
def test_formats(suffix, answer, here):
    found = answer("select", write(here / f"t{suffix}"), "-t", "y", *QUICK)
    assert names(found) == ["a", "b"]
    assert found["run"] == "tvs-t-1"


def test_a_folder_of_parquet(answer, here):
    (here / "parts").mkdir()
    for number in range(3):
        write(here / "parts" / f"{number}.parquet", make_table().slice(40 * number, 40))
    found = answer("select", "parts/", "-t", "y", *QUICK)
    assert (found["n_rows"], names(found), found["run"]) == (120, ["a", "b"], "tvs-parts-1")


def test_a_misspelt_target(failure, here):
    table = make_table().rename_columns(["a", "b", "n1", "n2", "n3", "price"])
    line = failure("select", write(here / "t.csv", table), "-t", "pirce")
    assert "no column named 'pirce'" in line
    assert "did you mean 'price'?" in line


def test_a_target_in_the_wrong_case(failure, here):
    assert "did you mean 'y'?" in failure("select", write(here / "t.csv"), "-t", "Y")


def test_a_target_with_missing_values(answer, here):
    table = make_table()
    y = [None if i in (3, 50) else value for i, value in enumerate(table["y"].to_pylist())]
    found = answer(
        "select", write(here / "t.csv", table.set_column(5, "y", [y])), "-t", "y", *QUICK
    )
    assert (found["n_rows"], names(found)) == (118, ["a", "b"])
    assert "2 rows have no value of 'y' and cannot be used." in found["decisions"]


def test_a_target_with_nan_in_parquet(answer, here):
    y = np.array(make_table()["y"].to_pylist())
    y[:7] = np.nan
    path = write(here / "t.parquet", make_table().set_column(5, "y", [y]))
    assert answer("select", path, "-t", "y", *QUICK)["n_rows"] == 113


def test_a_target_with_text_among_numbers(failure, here):
    y = [str(value) for value in make_table()["y"].to_pylist()]
    y[16] = "much"
    path = write(here / "t.csv", make_table().set_column(5, "y", [y]))
    assert "holds numbers, but 'much' in row 17" in failure("select", path, "-t", "y")


@pytest.mark.parametrize(
    ("family", "value", "said"),
    [
        ("gaussian", np.inf, "the first (inf) in row 17; drop these rows"),
        ("counts", -3.0, "has -3 in row 17; counts are whole numbers from 0 on; for other "
                         "outcomes say --family gaussian"),
    ],
)  # fmt: skip
def test_the_row_of_a_value_that_cannot_be_used_is_that_of_the_file(
    failure, here, family, value, said
):
    y = np.arange(120.0) // 30
    y[[0, 4]], y[16] = np.nan, value
    path = write(here / "t.parquet", make_table().set_column(5, "y", [y]))
    assert said in failure("select", path, "-t", "y", "--family", family)


@pytest.mark.parametrize("labels", [["u", "v", "w"], [0, 1, 2]])
def test_a_target_of_three_classes(labels, tvs, here):
    path = write(here / "t.csv", with_column("kind", labels * 40))
    code, out, err = tvs("select", path, "-t", "kind", *QUICK, "--json")
    assert (code, json.loads(out)["family"]) == (0, "classes")
    assert f"'kind' has 3 values, {labels[0]}, {labels[1]} and {labels[2]}: classes" in err
    assert ("--family ordinal" in err) == (labels[0] == 0)


def test_a_target_of_names(failure, here):
    path = write(here / "t.csv", with_column("who", [f"person {k}" for k in range(120)]))
    assert "text with 120 different values" in failure("select", path, "-t", "who")


def test_a_target_of_counts(tvs, here):
    path = write(here / "t.csv", with_column("n", [k % 15 for k in range(120)]))
    code, out, err = tvs("select", path, "-t", "n", *QUICK, "--json")
    assert (code, json.loads(out)["family"]) == (0, "counts")
    assert "'n' holds whole numbers from 0 to 14: counts (--family gaussian takes" in err


def test_survival_times(tvs, failure, here):
    table = make_table()
    table = table.append_column("time", [[1.0 + abs(v) for v in table["y"].to_pylist()]])
    table = table.append_column("died", [[k % 3 > 0 for k in range(120)]])
    path = write(here / "t.csv", table)
    code, out, err = tvs("select", path, "--time", "time", "--event", "died", *QUICK, "--json")
    found = json.loads(out)
    assert (code, found["family"], found["target"]) == (0, "survival", "time")
    assert "'time' is the time until 'died': 80 events, 40 rows censored" in err
    assert "died" not in {v["name"] for v in found["selected"]}
    again = tvs("resume", found["run"], "--plays", "80", "--json")
    assert again[0] == 0
    assert "--event needs --time" in failure("select", path, "-t", "y", "--event", "died")
    assert "true or false" in failure("select", path, "--time", "time", "--event", "a")
    assert "no column named 'dead'" in failure("select", path, "--time", "time", "--event", "dead")


@pytest.mark.parametrize("values", [["no", "yes"], [0, 1], [False, True]])
def test_two_classes(values, answer, here):
    table = make_table()
    y = [values[int(value > 0)] for value in table["y"].to_pylist()]
    path = write(here / "t.csv", table.set_column(5, "y", [y]))
    found = answer("select", path, "-t", "y", *QUICK)
    assert (found["family"], names(found)) == ("probit", ["a", "b"])


def test_numbers_that_look_like_classes(answer, here):
    y = [int(value > 0) for value in make_table()["y"].to_pylist()]
    path = write(here / "t.csv", make_table().set_column(5, "y", [y]))
    found = answer("select", path, "-t", "y", "--family", "gaussian", *QUICK)
    assert found["family"] == "gaussian"


def test_identifiers(answer, here):
    table = with_column("id", np.arange(120) * 7)
    table = with_column("row", np.arange(1, 121), table)
    table = with_column("code", [f"K-{i}" for i in range(120)], table)
    table = with_column("region_id", [i % 4 for i in range(120)], table)
    path = write(here / "t.csv", table)
    found = answer("select", path, "-t", "y", *QUICK)
    assert set(found["left_out"]) == {"id", "row", "code"}
    assert found["left_out"]["row"] == "numbers the rows from 1 to 120"
    kept = answer("select", path, "-t", "y", "--include", "id,row", *QUICK)
    assert set(kept["left_out"]) == {"code"}


def test_the_index_that_pandas_writes(answer, here):
    rows = [",".join(map(str, [i, *row])) for i, row in enumerate(rows_of(make_table()))]
    found = answer("select", write_rows(here / "t.csv", ",a,b,n1,n2,n3,y", rows), "-t", "y", *QUICK)
    assert found["left_out"] == {"": "numbers the rows from 0 to 119"}


def test_dates(answer, here):
    y = make_table()["y"].to_pylist()
    days = [f"20{10 + i % 9}-03-{1 + i % 28:02d}" for i in np.argsort(np.argsort(y))]
    table = with_column("sold", days)
    table = with_column("at", [f"{day} 12:30:00" for day in days], table)
    found = answer("select", write(here / "t.csv", table), "-t", "y", *QUICK)
    assert "Dates become numbers (days since 1970-01-01): 'sold', 'at'." in found["decisions"]
    assert found["left_out"] == {}


def test_mixed_types(answer, here):
    values = make_table()["a"].to_pylist()
    a = ["unknown" if i in (3, 90) else str(value) for i, value in enumerate(values)]
    path = write(here / "t.csv", make_table().set_column(0, "a", [a]))
    found = answer("select", path, "-t", "y", *QUICK)
    assert names(found) == ["a", "b"]
    assert "Read as numbers: 'a'; cells such as 'unknown' count as missing." in found["decisions"]


def test_useless_columns(answer, here):
    table = with_column("country", ["DE"] * 120)
    table = with_column("empty", [None] * 120, table)
    table = with_column("notes", [f"a long story of the house {i // 2}" for i in range(120)], table)
    table = with_column("copy", table["a"].to_pylist(), table)
    found = answer("select", write(here / "t.csv", table), "-t", "y", *QUICK)
    assert (
        found["left_out"]
        == {
            "country": "constant ('DE' in every row)",
            "empty": "no value in any row",
            "notes": "free text or names: 60 different texts in 120 rows",
        }
        or "notes" not in found["left_out"]
    )
    assert any("The same values, all kept: 'a', 'copy'; they" in d for d in found["decisions"])


def test_infinite_values(answer, here):
    n1 = np.array(make_table()["n1"].to_pylist())
    n1[4] = np.inf
    path = write(here / "t.parquet", make_table().set_column(2, "n1", [n1]))
    found = answer("select", path, "-t", "y", *QUICK)
    assert "In 'n1' 1 infinite value counts as missing." in found["decisions"]


def test_one_row(failure, here):
    line = failure("select", write(here / "t.csv", make_table(1)), "-t", "y")
    assert "is 2" in line or "1 row" in line or "nothing to explain" in line


def test_a_few_rows(failure, here):
    line = failure("select", write(here / "t.csv", make_table(6)), "-t", "y")
    assert "6 rows with a value of 'y'; at least 10 are needed" in line


@pytest.mark.long
def test_a_hundred_thousand_columns(answer, here):
    rng = np.random.default_rng(0)
    X = rng.random((12, 100_000)).round(3)
    header = ",".join([*(f"g{j}" for j in range(100_000)), "y"])
    y = (10 * X[:, 3]).round(3)
    rows = [f"{','.join(map(str, row))},{value}" for row, value in zip(X, y, strict=True)]
    path = write_rows(here / "t.csv", header, rows)
    found = answer("select", path, "-t", "y", "--reward", "pvalue", "--plays", "2", "--seed", "1")
    assert (found["n_rows"], found["n_columns"]) == (12, 100_000)


def test_a_folder_without_parquet(failure, here):
    (here / "stuff").mkdir()
    (here / "stuff" / "notes.txt").touch()
    assert "holds no file that ends in .parquet" in failure("select", "stuff", "-t", "y")


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


@pytest.mark.parametrize("content", ["", "\n", "\n\n"])
def test_an_empty_file(content, failure, here):
    (here / "t.csv").write_text(content)
    assert "t.csv is empty" in failure("select", "t.csv", "-t", "y")


def test_a_header_alone(failure, here):
    (here / "t.csv").write_text("a,y\n")
    assert "no value in any of its 0 rows" in failure("select", "t.csv", "-t", "y")


def test_no_header(failure, here):
    text = write(here / "t.csv").read_text().split("\n", 1)[1]
    (here / "t.csv").write_text(text)
    line = failure("select", "t.csv", "-t", "y")
    assert "the first line of t.csv holds numbers ('" in line
    assert "write a line of names above it" in line


def test_a_binary_file(failure, here):
    (here / "t.csv").write_bytes(bytes(range(256)) * 100)
    assert "t.csv is no text; save it as CSV in UTF-8" in failure("select", "t.csv", "-t", "y")


def test_a_picture_named_parquet(failure, here):
    (here / "t.parquet").write_bytes(b"\x89PNG" * 1000)
    assert "t.parquet cannot be read as Parquet" in failure("select", "t.parquet", "-t", "y")


def test_rows_of_different_lengths(failure, here):
    (here / "t.csv").write_text("a,y\n" + "1,2\n" * 30 + "1,2,3\n")
    assert "Expected 2 columns, got 3" in failure("select", "t.csv", "-t", "y")


def test_columns_of_the_same_name(failure, here):
    (here / "t.csv").write_text("a,a,y\n" + "1,2,3\n" * 30)
    assert "2 columns named 'a'; rename them" in failure("select", "t.csv", "-t", "y")


def test_a_document(failure, here):
    (here / "t.docx").write_bytes(b"PK")
    assert "'.docx' cannot be read; save it as .csv" in failure("select", "t.docx", "-t", "y")


def test_no_such_file(failure):
    assert "nothing.csv does not exist" in failure("select", "nothing.csv", "-t", "y")


def test_all_columns_useless(failure, here):
    table = pa.table({"a": ["same"] * 30, "y": np.arange(30) % 7})
    line = failure("select", write(here / "t.csv", table), "-t", "y")
    assert "no column of" in line
    assert "constant" in line


def test_missing_values_for_a_reward_that_takes_none(failure, here):
    a = [None, *make_table()["a"].to_pylist()[1:]]
    path = write(here / "t.csv", make_table().set_column(0, "a", [a]))
    line = failure("select", path, "-t", "y", "--reward", "lasso")
    assert "--reward lasso cannot take missing values, but 'a' has some" in line


def test_what_may_spoil_the_selection(answer, here):
    y = np.array(make_table()["y"].to_pylist())
    code = np.array(make_table()["n1"].to_pylist())
    code[7:11] = -9999.0
    table = with_column("score", np.exp(y / 10))
    table = with_column("level", np.where(y > np.median(y), "high", "low"), table)
    table = with_column("coded", code, table)
    path = write(here / "t.csv", table)
    decisions = "\n".join(answer("select", path, "-t", "y", *QUICK)["decisions"])
    assert "Too good to be true? 'score':" in decisions
    assert "-9999 is far from all other values of 'coded'." in decisions
    assert "'score'" not in "\n".join(
        answer("select", path, "-t", "y", "--exclude", "score", *QUICK)["decisions"][3:]
    ).replace("Excluded, as you asked: 'score'.", "")
    decisions = "\n".join(answer("select", path, "-t", "level", *QUICK)["decisions"])
    assert "Too good to be true? 'y', 'score':" in decisions


def test_a_question_mark_in_a_target_of_classes(failure, here):
    y = make_table()["y"].to_pylist()
    path = write(here / "t.csv", with_column("c", ["?", *("01"[value > 0] for value in y[1:])]))
    said = failure("select", path, "-t", "c", *QUICK)
    assert "holds '?' in 1 row, first in row 1; empty these cells" in said


def test_grades_in_text(failure, here):
    y = make_table()["y"].to_pylist()
    grades = (("low", "mid", "high")[(value > 0) + (value > 1)] for value in y)
    path = write(here / "t.csv", with_column("g", grades))
    said = failure("select", path, "-t", "g", "--family", "ordinal", *QUICK)
    assert "whose order is not known; write them as numbers" in said


@pytest.mark.parametrize("option", ["--always", "--include", "--exclude"])
def test_the_target_among_the_columns(option, failure, here):
    said = failure("select", write(here / "t.csv"), "-t", "y", option, "y", *QUICK)
    assert f"{option} names 'y', which is what is to be explained" in said


def test_all_columns_excluded(failure, here):
    said = failure("select", write(here / "t.csv"), "-t", "y", "--exclude", "*", *QUICK)
    assert "'a': excluded" in said


def test_categories_as_polars_writes_them(answer, here):
    table = make_table()
    view = pa.array(["k", "l"]).cast(pa.string_view())
    codes = pa.array(np.arange(len(table)) % 2, pa.uint32())
    table = table.append_column("kind", pa.DictionaryArray.from_arrays(codes, view))
    with pa.ipc.new_file(here / "t.arrow", table.schema) as file:
        file.write_table(table)
    found = answer("select", "t.arrow", "-t", "y", *QUICK)
    assert (found["n_columns"], names(found)) == (6, ["a", "b"])


def test_text_that_looks_like_dates_and_numbers_is_pointed_out(answer, here):
    lines = ["day,weight,score,x,y"]
    for i in range(60):
        score = "-" if i % 5 == 0 else f"{i % 23}.{i}"
        lines.append(f"{1 + i % 28:02d}/{1 + i % 12:02d}/2019,{i}.5 kg,{score},{i * 7 % 11},{i}")
    (here / "t.csv").write_text("\n".join(lines) + "\n")
    said = answer("select", "t.csv", "-t", "y", "--plays", "2", "--no-report")["decisions"]
    assert any("Dates taken as text? 'day'. Write them as 2019-12-31" in s for s in said)
    assert any("Numbers taken as text? 'weight': a unit" in s for s in said)
    assert any("Numbers taken as text? 'score': most cells are numbers" in s for s in said)
    said = answer(
        "select", "t.csv", "-t", "y", "--plays", "2", "--no-report", "--exclude", "day,weight,score"
    )["decisions"]
    assert not any("taken as text" in sentence for sentence in said)
