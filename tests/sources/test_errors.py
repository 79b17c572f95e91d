"""Bad data: one clear line that names the file or column and says what to do."""

import gzip
import os
import sys
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.sources.makers import csv_file, feather_file, make_table, parquet_file, parquet_folder
from tvselect.sources import (
    ArraySource,
    ColumnTypeError,
    IteratorSource,
    SourceError,
    open_files,
    open_source,
)


def read_all(source):
    for batch in source.batches(100, 0, np.random.default_rng(0)):
        batch.numbers(np.flatnonzero(~source.categorical))
        batch.target()


FORMS = {
    "parquet": parquet_file,
    "csv": csv_file,
    "feather": feather_file,
    "frame": lambda folder: make_table(),
    "stream": lambda folder: [make_table()],
}
OTHER_COLUMNS = [
    (lambda t: t.drop_columns(["b"]), "{} lacks column 'b'"),
    (lambda t: t.append_column("new", t["a"]), "{} has column 'new'"),
    (lambda t: t.set_column(0, "a", t["a"].cast("string")), "column 'a' of .*{}"),
    (lambda t: t.set_column(5, "y", t["y"].cast("string")), "column 'y' of .*{}"),
]


class TestNames:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize(
        ("target", "columns", "message"),
        [
            ("zzz", None, "target names 'zzz'.*it has 'a', 'b'"),
            (None, None, "target"),
            ("y", ["a", "y"], "columns holds the target 'y'"),
            ("y", ["aa"], "columns names 'aa'.*did you mean 'a'"),
            ("y", ["a", "a"], "columns has 2 columns named 'a'"),
            ("y", "a", "must be a list of names"),
            ("y", [], "no column besides the target"),
        ],
    )
    def test_that_are_not_there(self, form, target, columns, message, tmp_path):
        with pytest.raises(SourceError, match=message):
            open_source(FORMS[form](tmp_path), target, columns=columns)

    def test_the_closest_is_named(self):
        wider = make_table().rename_columns(["age", "b", "n", "f", "t", "y"])
        with pytest.raises(SourceError, match=r"'agee', which .* did you mean 'age'\?"):
            open_source(wider, "agee")

    @pytest.mark.parametrize("form", FORMS)
    def test_that_are_chosen(self, form, tmp_path):
        assert open_source(FORMS[form](tmp_path), "y", columns=["t", "a"]).names == ("t", "a")

    def test_that_are_repeated(self, tmp_path):
        table = pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "y"])
        pq.write_table(table, tmp_path / "twice.parquet")
        (tmp_path / "twice.csv").write_text("a,a,y\n1,2,3\n")
        frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "y"])
        for bad in (tmp_path / "twice.parquet", tmp_path / "twice.csv", frame, table, [table]):
            with pytest.raises(SourceError, match="2 columns named 'a'"):
                open_source(bad, "y")


class TestTypes:
    @pytest.mark.parametrize("kind", ["parquet", "csv", "pandas", "polars", "arrow", "stream"])
    def test_dates_are_refused(self, kind, tmp_path):
        table = make_table(4).append_column("when", pa.array([date(2020, 1, 1)] * 4))
        bad = tmp_path / f"dates.{kind}"
        if kind == "parquet":
            pq.write_table(table, bad)
        elif kind == "csv":
            pa.csv.write_csv(table, bad)
        elif kind == "pandas":
            bad = table.to_pandas(date_as_object=False)
        else:
            bad = {"polars": pl.from_arrow(table), "arrow": table, "stream": [table]}[kind]
        with pytest.raises(ColumnTypeError, match=r"column 'when' of .* holds .*columns="):
            open_source(bad, "y")
        with pytest.raises(TypeError, match="'when'"):
            open_source(bad, "when")
        assert open_source(bad, "y", columns=["a"]).names == ("a",)

    def test_lists_are_refused(self, tmp_path):
        table = pa.table({"a": [[1.0], [2.0]], "y": [1.0, 2.0]})
        pq.write_table(table, tmp_path / "lists.parquet")
        with pytest.raises(SourceError, match=r"column 'a' of .*lists.parquet holds list"):
            open_source(tmp_path / "lists.parquet", "y")

    def test_mixed_objects_are_refused(self):
        frame = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "y": [0, 1]})
        with pytest.raises(TypeError, match="column 'a' of X holds no numbers"):
            ArraySource(frame, "y")
        with pytest.raises(SourceError, match="column 'a' of chunk 1 holds no numbers"):
            IteratorSource([frame], "y")


class TestPaths:
    @pytest.mark.parametrize("name", ["no.parquet", "no.csv", "no*.parquet", "no.xlsx", "folder"])
    def test_missing_files(self, name, tmp_path):
        with pytest.raises(FileNotFoundError, match="look at the path"):
            open_source(tmp_path / name, "y")
        with pytest.raises(FileNotFoundError, match="does not exist"):
            open_source((tmp_path / name.replace("*", "")).as_uri(), "y")

    def test_no_permission(self, tmp_path, monkeypatch):
        path = parquet_file(tmp_path)
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(PermissionError, match=r"one.parquet may not be read"):
            open_source(path, "y")

    def test_a_pipe_is_no_table(self, tmp_path):
        os.mkfifo(tmp_path / "t.csv")
        with pytest.raises(SourceError, match="no file but a pipe"):
            open_files(tmp_path / "t.csv")

    def test_folder_without_parquet(self, tmp_path):
        csv_file(tmp_path)
        for folder in (tmp_path, tmp_path.as_uri()):
            with pytest.raises(SourceError, match=r"holds no file that ends in .*\*\.csv"):
                open_source(folder, "y")

    def test_what_cannot_be_opened(self, tmp_path):
        (tmp_path / "table.docx").touch()
        several = [parquet_file(tmp_path), csv_file(tmp_path)]
        for data, options, message in (
            (tmp_path / "table.docx", {}, r"'\.docx' cannot be read"),
            (several[0], dict(format="Word"), "must be one of Parquet, CSV, Feather, Excel"),
            (make_table(), dict(delimiter=";"), "are for files"),
            (several, {}, "several formats"),
            (3, {}, "int is no source of rows"),
            ("carrier-pigeon://a/b.parquet", {}, "cannot be reached"),
        ):
            with pytest.raises(SourceError, match=message):
                open_source(data, "y", **options)
        with pytest.raises(SourceError, match="list of files is empty"):
            open_files([])


class TestParquet:
    def test_no_parquet(self, tmp_path):
        for name, content in {"empty": b"", "text": b"a,y\n1,2\n" * 50}.items():
            path = tmp_path / f"{name}.parquet"
            path.write_bytes(content)
            with pytest.raises(SourceError, match=f"{name}.parquet cannot be read as Parquet"):
                open_source(path, "y")

    def test_one_bad_file_of_many_is_named(self, tmp_path):
        folder = parquet_folder(tmp_path)
        path = folder / "part-2.parquet"
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(SourceError, match=r"part-2.parquet cannot be read.*cut off"):
            open_source(folder, "y")

    @pytest.mark.parametrize(("change", "message"), OTHER_COLUMNS)
    def test_files_with_other_columns(self, change, message, tmp_path):
        folder = parquet_folder(tmp_path)
        pq.write_table(change(make_table(9)), folder / "part-9.parquet")
        with pytest.raises(SourceError, match=message.format("part-9.parquet")):
            open_source(folder, "y")

    def test_extra_columns_do_not_matter_when_columns_are_chosen(self, tmp_path):
        folder = parquet_folder(tmp_path)
        table = make_table(9)
        pq.write_table(table.append_column("new", table["a"]), folder / "part-9.parquet")
        assert open_source(folder, "y", columns=["a"]).n_rows == 1012

    def test_no_rows(self, tmp_path):
        pq.write_table(make_table(0), tmp_path / "none.parquet")
        with pytest.raises(SourceError, match=r"none.parquet has no rows"):
            open_source(tmp_path / "none.parquet", "y")

    @pytest.mark.parametrize("change", ["gone", "cut", "overwritten", "other columns"])
    def test_a_file_that_changes_later(self, change, tmp_path):
        path = parquet_file(tmp_path)
        source, content = open_source(path, "y"), bytearray(path.read_bytes())
        if change == "gone":
            path.unlink()
        elif change == "other columns":
            pq.write_table(make_table().select(["b", "y"]), path)
        else:
            content[4 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4)
            path.write_bytes(content[:500] if change == "cut" else content)
        with pytest.raises(SourceError, match=r"column 'a' of .*one.parquet cannot be read"):
            read_all(source)


class TestCsv:
    def write(self, folder, text, name="bad.csv"):
        path = folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "bad.csv is empty"),
            ("a,y\n", "bad.csv has no rows"),
            ("\n\n", "bad.csv is empty"),
            (b"PAR1\0\0\1\2", "bad.csv is no text"),
            (bytes(range(256)), "bad.csv is no text"),
            (
                "name,y\nJosé,1\nJos\xe9,2\n".encode() + b"Jos\xe9,1\n",
                "column 'name' of .* holds text that is not UTF-8",
            ),
        ],
    )
    def test_no_table(self, text, message, tmp_path):
        with pytest.raises(SourceError, match=message):
            open_source(self.write(tmp_path, text), "y")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("t,b,y\n" + "u,1,2\n" * 500 + "u,oops,3\n", "column 'b' of .*: Row #502.*'oops'"),
            ("b,y\n" + "1,2\n" * 500 + "3\n", r"bad.csv cannot be read as CSV.*Row #502"),
        ],
    )
    def test_a_bad_line_far_down(self, text, message, tmp_path, monkeypatch):
        monkeypatch.setattr("tvselect.sources.csv.BLOCK", 1000)
        source = open_source(self.write(tmp_path, text), "y", columns=["b"])
        with pytest.raises(SourceError, match=message):
            read_all(source)

    def test_files_with_other_columns(self, tmp_path):
        self.write(tmp_path, "a,b,y\n1,2,3\n", "1.csv")
        self.write(tmp_path, "a,y\n1,3\n", "2.csv")
        with pytest.raises(SourceError, match=r"2.csv lacks column 'b'"):
            open_source(f"{tmp_path}/*.csv", "y")
        with pytest.raises(SourceError, match=r"1.csv has column 'b'"):
            open_source([tmp_path / "2.csv", tmp_path / "1.csv"], "y")

    def test_gzip_that_is_none_or_cut(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tvselect.sources.csv.BLOCK", 10_000)
        monkeypatch.setattr("tvselect.sources.csv.HEAD", 1000)
        with pytest.raises(SourceError, match=r"no.csv.gz cannot be read"):
            open_source(self.write(tmp_path, "a,y\n1,2\n", "no.csv.gz"), "y")
        rows = np.random.default_rng(0).normal(size=(20_000, 2))
        text = "a,y\n" + "\n".join(f"{a:.12f},{b:.12f}" for a, b in rows)
        content = gzip.compress(text.encode(), 1)
        source = open_source(self.write(tmp_path, content[:-500], "cut.csv.gz"), "y")
        with pytest.raises(SourceError, match=r"cut.csv.gz cannot be read"):
            read_all(source)


class TestStreams:
    @pytest.mark.parametrize("empty", [[], iter([]), [make_table(0)], lambda: iter([])])
    def test_nothing_comes(self, empty):
        with pytest.raises(SourceError, match="the stream is empty"):
            IteratorSource(empty, "y")

    def test_a_function_that_returns_a_used_iterator(self):
        used = iter([make_table()])
        source = IteratorSource(lambda: used, "y")
        read_all(source)
        with pytest.raises(SourceError, match="used up"):
            read_all(source)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            *OTHER_COLUMNS,
            (lambda t: t.drop_columns(["y"]), "target names 'y', which {} does not have"),
        ],
    )
    def test_a_later_table_with_other_columns(self, change, message):
        source = IteratorSource(iter([make_table(), change(make_table())]), "y")
        with pytest.raises(SourceError, match=message.format("chunk 2")):
            read_all(source)

    @pytest.mark.parametrize(
        ("second", "message"),
        [
            ((np.ones((2, 3)), [0, 1]), "chunk 2 lacks column 'x3'"),
            ((np.ones((2, 5)), [0, 1]), "chunk 2 has column 'x4'"),
            ((np.full((2, 4), "a"), [0, 1]), "column 'x0' of chunk 2 holds no numbers"),
            ((np.ones((2, 4)), ["a", "b"]), "column 'y' of chunk 2 holds text"),
            ((np.ones((2, 4)), [0, 1, 2]), "y has 3 values but chunk 2 has 2 rows"),
            ((np.ones(4), [0, 1, 2, 3]), "chunk 2 must have two dimensions"),
            (np.ones((2, 4)), "chunk 2 is a ndarray; the stream must give pairs"),
        ],
    )
    def test_a_later_pair_of_another_shape(self, second, message):
        source = IteratorSource([(np.ones((2, 4)), [0, 1]), second])
        with pytest.raises(SourceError, match=message):
            read_all(source)

    def test_target_and_pairs(self):
        with pytest.raises(SourceError, match="needs no target"):
            IteratorSource([(np.ones((2, 4)), [0, 1])], "y")

    def test_errors_of_arrow_are_wrapped_and_others_pass(self):
        def fail(error):
            yield make_table().to_batches()[0]
            raise error

        broken, schema = pa.ArrowInvalid("broken pipe"), make_table().schema
        for stream in (fail(broken), pa.RecordBatchReader.from_batches(schema, fail(broken))):
            with pytest.raises(SourceError, match=r"chunk 2 cannot be read: .*broken pipe"):
                read_all(IteratorSource(stream, "y"))
        with pytest.raises(ZeroDivisionError):
            read_all(IteratorSource(fail(ZeroDivisionError()), "y"))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones(3), [1, 2, 3], "two dimensions"),
        (np.ones((3, 2)), [1, 2], "y has 2 values but X has 3 rows"),
        (np.ones((3, 2)), "y", "has no names"),
        (np.ones((3, 2)), np.ones((3, 2)), "y must be a single column"),
        (make_table(0), "y", "no rows"),
        (np.ones((0, 2)), [], "empty"),
    ],
)
def test_arrays_that_are_no_table(X, y, message):
    with pytest.raises(ValueError, match=message):
        ArraySource(X, y)


def test_without_pyarrow(tmp_path, monkeypatch):
    paths = parquet_file(tmp_path), csv_file(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    for path in paths:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'tvselect\[stream\]'"):
            open_source(path, "y")
    read_all(ArraySource(np.ones((3, 2)), [1, 2, 3]))
    read_all(IteratorSource([(np.ones((3, 2)), [1, 2, 3])]))
