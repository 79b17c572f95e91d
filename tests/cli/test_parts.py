"""Runs on some of the rows, and on each part of them."""

from tests.cli.makers import QUICK, changed, names, write

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
