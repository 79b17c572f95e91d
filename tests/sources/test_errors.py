"""What is said of data that cannot be read, and where it goes wrong."""

import gzip
import io
import os
import sys
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.sources.makers import csv_file, make_table, parquet_file
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


def put(folder, content, name="bad.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


WRITERS = {
    "parquet": pq.write_table,
    "csv": pa.csv.write_csv,
    "feather": lambda table, path: pa.feather.write_feather(table, str(path)),
}


def parquet(table):
    pq.write_table(table, made := io.BytesIO())
    return made.getvalue()


def as_form(table, form, folder):
    """The table in a file or in memory."""
    path = folder / f"t.{form}"
    if form in WRITERS:
        WRITERS[form](table, path)
        return path
    return {
        "pandas": lambda: table.to_pandas(date_as_object=False),
        "polars": lambda: pl.from_arrow(table),
        "arrow": lambda: table,
        "stream": lambda: [table],
    }[form]()


class TestColumns:
    @pytest.mark.parametrize("form", ["parquet", "csv", "arrow", "stream"])
    def test_that_are_chosen_or_not_there(self, form, tmp_path):
        data = as_form(make_table(), form, tmp_path)
        if form != "stream":
            assert open_source(data, "y", columns=["t", "a"]).names == ("t", "a")
        for target, columns, message in (
            ("zzz", None, "target names 'zzz'.*it has 'a', 'b'"),
            (None, None, "target"),
            ("y", ["a", "y"], "columns holds the target 'y'"),
            ("y", ["aa"], r"columns names 'aa', which .* does not have; did you mean 'a'\?"),
            ("y", ["a", "a"], "columns has 2 columns named 'a'"),
            ("y", "a", "must be a list of names"),
            ("y", [], "no column besides the target"),
        ):
            with pytest.raises(SourceError, match=message):
                open_source(data, target, columns=columns)

    @pytest.mark.parametrize("form", [*WRITERS, "arrow", "stream"])
    def test_that_are_repeated(self, form, tmp_path):
        table = pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "y"])
        with pytest.raises(SourceError, match="2 columns named 'a'"):
            open_source(as_form(table, form, tmp_path), "y")

    @pytest.mark.parametrize("form", ["parquet", "csv", "pandas", "polars", "arrow", "stream"])
    def test_of_dates_and_lists(self, form, tmp_path):
        days = [date(1970, 1, 3), None, date(1969, 12, 31), date(2020, 1, 1)]
        dates = make_table(4).append_column("when", pa.array(days))
        dates = as_form(dates, form, tmp_path)
        source = open_source(dates, "y", columns=["when"])
        (batch,) = source.batches(9, 0, np.random.default_rng(0))
        np.testing.assert_array_equal(batch.numbers(np.array([0]))[:, 0], [2, np.nan, -1, 18262])
        with pytest.raises(ColumnTypeError, match=r"column 'when' of .* holds .*columns="):
            open_source(dates, "when")
        if form == "parquet":
            pq.write_table(pa.table({"a": [[1.0], [2.0]], "y": [1.0, 2.0]}), dates)
            with pytest.raises(SourceError, match=r"column 'a' of .*t.parquet holds list"):
                open_source(dates, "y")

    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            (np.ones(3), [1, 2, 3], "two dimensions"),
            (np.ones((3, 2)), [1, 2], "y has 2 values but X has 3 rows"),
            (np.ones((3, 2)), "y", "has no names"),
            (np.ones((3, 2)), np.ones((3, 2)), "y must be a single column"),
            (make_table(0), "y", "no rows"),
        ],
    )
    def test_of_arrays_that_are_no_table(self, X, y, message):
        with pytest.raises(ValueError, match=message):
            ArraySource(X, y)

    @pytest.mark.parametrize("form", ["parquet", "csv", "pandas", "stream"])
    def test_of_whole_numbers_that_are_rounded(self, form, tmp_path):
        table = pa.table({"a": [1, 2], "ns": [2**60, 2**60 + 1], "y": [1.0, 2.0]})
        read_all(open_source(as_form(table, form, tmp_path), "y", columns=["a"]))
        with pytest.raises(
            ValueError, match=r"'ns' of .* holds whole numbers from 115292150460684"
        ):
            read_all(open_source(as_form(table, form, tmp_path), "y"))

    def test_of_mixed_objects(self):
        frame = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "y": [0, 1]})
        with pytest.raises(TypeError, match="column 'a' of X holds no numbers"):
            ArraySource(frame, "y")
        with pytest.raises(SourceError, match="column 'a' of chunk 1 holds no numbers"):
            IteratorSource([frame], "y")


class TestPaths:
    @pytest.mark.parametrize("name", ["no.parquet", "no*.csv", "no.xlsx", "folder"])
    def test_missing_files(self, name, tmp_path):
        with pytest.raises(FileNotFoundError, match="look at the path"):
            open_source(tmp_path / name, "y")
        with pytest.raises(FileNotFoundError, match="does not exist"):
            open_source((tmp_path / name.replace("*", "")).as_uri(), "y")

    def test_no_permission_and_a_pipe(self, tmp_path, monkeypatch):
        path = parquet_file(tmp_path)
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(PermissionError, match=r"one.parquet may not be read"):
            open_source(path, "y")
        os.mkfifo(tmp_path / "t.csv")
        with pytest.raises(SourceError, match="no file but a pipe"):
            open_files(tmp_path / "t.csv")

    def test_what_cannot_be_opened(self, tmp_path):
        (tmp_path / "table.docx").touch()
        several = [parquet_file(tmp_path), csv_file(tmp_path)]
        (tmp_path / "inside").mkdir()
        csv_file(tmp_path / "inside")
        no_parquet = r"holds no file that ends in .*\*\.csv"
        for data, options, message in (
            (tmp_path / "inside", {}, no_parquet),
            ((tmp_path / "inside").as_uri(), {}, no_parquet),
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


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("bad.parquet", b"", "bad.parquet cannot be read as Parquet"),
            ("bad.parquet", b"a,y\n1,2\n" * 50, "bad.parquet cannot be read as Parquet"),
            ("bad.csv.gz", b"a,y\n1,2\n", "bad.csv.gz cannot be read"),
            ("bad.csv", b"", "bad.csv is empty"),
            ("bad.csv", b"a,y\n", "bad.csv has no rows"),
            ("bad.csv", b"\n\n", "bad.csv is empty"),
            ("bad.csv", b"PAR1\0\0\1\2", "bad.csv is no text"),
            ("bad.csv", bytes(range(256)), "bad.csv is no text"),
            ("bad.csv", "name,y\nJosé,1\nJos\xe9,2\n".encode() + b"Jos\xe9,1\n",
             "column 'name' of .* holds text that is not UTF-8"),
            ("none.parquet", parquet(make_table(0)), "none.parquet has no rows"),
            ("cut.parquet", parquet(make_table())[:-100], "cut.parquet cannot be read.*cut off"),
        ],
    )  # fmt: skip
    def test_that_are_no_tables(self, name, content, message, tmp_path):
        with pytest.raises(SourceError, match=message):
            open_source(put(tmp_path, content, name), "y")

    @pytest.mark.parametrize("change", ["gone", "cut", "overwritten", "other columns"])
    def test_that_change_later(self, change, tmp_path):
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

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("t,b,y\n" + "u,1,2\n" * 500 + "u,oops,3\n", "column 'b' of .*: Row #502.*'oops'"),
            ("b,y\n" + "1,2\n" * 500 + "3\n", r"bad.csv cannot be read as CSV.*Row #502"),
            (None, r"bad.csv.gz cannot be read"),
        ],
    )
    def test_that_are_bad_far_down(self, content, message, tmp_path, monkeypatch):
        monkeypatch.setattr("tvselect.sources.csv.BLOCK", 1000)
        monkeypatch.setattr("tvselect.sources.csv.HEAD", 1000)
        name = "bad.csv"
        if content is None:
            rows = np.random.default_rng(0).normal(size=(20_000, 2))
            text = "b,y\n" + "\n".join(f"{a:.12f},{b:.12f}" for a, b in rows)
            name, content = "bad.csv.gz", gzip.compress(text.encode(), 1)[:-500]
        source = open_source(put(tmp_path, content, name), "y", columns=["b"])
        with pytest.raises(SourceError, match=message):
            read_all(source)


@pytest.mark.parametrize("form", ["parquet", "csv", "stream"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["b"]), "{} lacks column 'b'"),
        (lambda t: t.append_column("new", t["a"]), "{} has column 'new'"),
        (lambda t: t.set_column(0, "a", t["t"]), "column 'a' of .*{}"),
        (lambda t: t.set_column(5, "y", t["t"]), "column 'y' of .*{}"),
    ],
)
def test_a_second_table_with_other_columns(form, change, message, tmp_path):
    tables = [make_table(9), change(make_table(9))]
    second = "chunk 2"
    if form != "stream":
        for number, table in enumerate(tables):
            WRITERS[form](table, tmp_path / f"{number}.{form}")
        tables, second = f"{tmp_path}/*.{form}", f"1.{form}"
    with pytest.raises(SourceError, match=message.format(second)):
        read_all(open_source(tables, "y"))
    if "'new'" in message and form != "stream":  # does not matter when columns are chosen
        read_all(open_source(tables, "y", columns=["a"]))


class TestStreams:
    def test_nothing_comes(self):
        used = iter([make_table()])
        source = IteratorSource(lambda: used, "y")
        read_all(source)
        with pytest.raises(SourceError, match="used up"):
            read_all(source)
        for data, said in (
            *((empty, "the stream is empty") for empty in ([], iter([]), [make_table(0)])),
            ([(np.ones((2, 4)), [0, 1])], "needs no target"),
        ):
            with pytest.raises(SourceError, match=said):
                IteratorSource(data, "y")

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
            (make_table(2), "the target is missing"),
        ],
    )
    def test_a_later_pair_of_another_shape(self, second, message):
        source = IteratorSource([(np.ones((2, 4)), [0, 1]), second])
        with pytest.raises(SourceError, match=message):
            read_all(source)

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


def test_without_pyarrow(tmp_path, monkeypatch):
    paths = parquet_file(tmp_path), csv_file(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    for path in paths:
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'tvselect\[stream\]'"):
            open_source(path, "y")
    read_all(ArraySource(np.ones((3, 2)), [1, 2, 3]))
    read_all(IteratorSource([(np.ones((3, 2)), [1, 2, 3])]))
