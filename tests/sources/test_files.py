"""Files: how little of them is read, what the formats allow, and what changes meanwhile."""

import gc
import io
import os
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tests.sources.makers import csv_file, make_table, parquet_file, parquet_folder
from tvselect.sources import FileSource, IteratorSource, SourceError, open_files, open_source
from tvselect.sources.files import DataFile
from tvselect.sources.source import Chunk

N_ROWS, N_COLUMNS, GROUP = 2000, 100, 500


def rng():
    return np.random.default_rng(0)


def first(batch):
    """The first column."""
    return batch.numbers(np.array([0])).ravel()


def write(table, path, rows=GROUP):
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=rows, use_dictionary=False)
    else:
        pa.feather.write_feather(table, str(path), chunksize=rows, compression="uncompressed")
    return path


class CountingFile(io.FileIO):
    """A file that counts the bytes read from it."""

    total = 0

    def __del__(self):
        self.close()  # pyarrow leaves files open

    def read(self, size=-1):
        data = super().read(size)
        CountingFile.total += len(data)
        return data


@pytest.fixture(params=["parquet", "feather"])
def wide(request, tmp_path, monkeypatch):
    """A file of many columns whose bytes are counted, and its size."""
    X = rng().normal(size=(N_COLUMNS, N_ROWS)).astype(np.float32)
    table = pa.table([*X, X[0]], names=[*(f"v{j}" for j in range(N_COLUMNS)), "y"])
    path = write(table, tmp_path / f"wide.{request.param}")

    def counted(file, *, mapped=False):
        return pa.PythonFile(CountingFile(file.path), mode="r")

    monkeypatch.setattr(DataFile, "open", counted)
    source = open_source(path, "y")
    CountingFile.total = 0
    return source, path.stat().st_size


def test_no_more_is_read_than_is_asked_for(wide):
    source, size = wide
    for batch in source.batches(40, 0, rng()):
        for _ in range(3):
            assert batch.numbers(np.array([3, 50])).dtype == np.float32
        batch.target()
    *_, last = source.batches(40, 1, rng(), skip=49)  # skipped batches are not read
    assert last.n_rows == 40
    values, footer = N_ROWS * 3 * 4, size - N_ROWS * (N_COLUMNS + 1) * 4
    n_footers = 1 if source._table.format == "Parquet" else 6
    assert values < CountingFile.total < 1.2 * values + n_footers * footer < 0.25 * size


def test_groups_that_are_done_are_dropped(tmp_path, monkeypatch):
    alive = weakref.WeakSet()
    plain = Chunk.__init__

    def spy(chunk, *args):
        alive.add(chunk)
        plain(chunk, *args)

    monkeypatch.setattr(Chunk, "__init__", spy)
    source = open_source(parquet_file(tmp_path), "y")
    gc.disable()
    try:
        for batch in source.batches(40, 0, rng()):
            batch.target()
            assert len(alive) <= 2
    finally:
        gc.enable()


def test_two_threads_read_one_batch(tmp_path):
    source = open_source(parquet_file(tmp_path), "y")
    barrier = threading.Barrier(2)

    def read(batch):
        barrier.wait()
        return batch.numbers(np.array([0, 1, 2, 3])), batch.labels(4)

    with ThreadPoolExecutor(2) as pool:
        for batch in source.batches(40, 1, rng()):
            (a, t), (b, u) = pool.map(read, [batch, batch])
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(t, u)


def test_row_groups_are_shuffled_whole(tmp_path):
    source = open_source(parquet_file(tmp_path), "y")
    rows = [first(batch) * 8 for batch in source.batches(90, 1, rng())]
    groups = np.concatenate(rows).astype(int) // 90
    order = groups[np.flatnonzero(np.diff(groups, prepend=-1))]
    assert sorted(order) == list(range(12))
    assert order.tolist() != sorted(order)


class TestWithoutTarget:
    """Row 3 and all of the second group lack the target."""

    HAVE = np.array([i for i in range(35) if i != 3 and not 10 <= i < 20])

    @pytest.fixture
    def files(self, tmp_path):
        y = [i / 4 if i in self.HAVE else None for i in range(35)]
        table = pa.table({"a": np.arange(35.0), "t": [f"u{i % 3}" for i in range(35)], "y": y})
        return open_files(write(table, tmp_path / "t.parquet", 10))

    @pytest.mark.parametrize("round", [0, 1])
    def test_rows_are_left_out(self, files, round):
        source = FileSource(files, "y", complete=True, n_rows=24)
        assert (source.n_rows, source.names, source.can_repeat) == (24, ("a", "t"), True)
        assert source.identity() != FileSource(files, "y").identity()
        batches = list(source.batches(7, round, rng()))
        assert [batch.n_rows for batch in batches] == [7, 7, 7, 3]
        a = np.concatenate([first(batch) for batch in batches])
        assert np.isin(a, self.HAVE).all()
        assert round == 1 or a.tolist() == self.HAVE.tolist()
        assert batches[0].labels(1).tolist() == [f"u{i % 3:.0f}" for i in a[:7]]
        np.testing.assert_array_equal(np.concatenate([b.target() for b in batches]), a / 4)
        rest = source.batches(7, round, rng(), skip=2)
        assert np.concatenate([first(batch) for batch in rest]).tolist() == a[14:].tolist()


def test_files_of_another_extension(tmp_path):
    path = parquet_file(tmp_path).rename(tmp_path / "table.dat")
    assert open_source(path, "y", format="Parquet").n_rows == 1003
    csv_file(tmp_path)
    assert open_source(tmp_path, "y", format="CSV").names == ("a", "b", "n", "f", "t")
    for ending in (".csv.gz", ".csv.zst", ".csv.bz2"):
        shouted = csv_file(tmp_path, ending).rename(tmp_path / f"TABLE{ending.upper()}")
        assert open_source(shouted, "y").names == ("a", "b", "n", "f", "t")


def test_only_simple_datasets_are_read_by_column(tmp_path):
    dataset = ds.dataset(parquet_file(tmp_path))
    assert isinstance(open_source(dataset, "y"), FileSource)
    assert isinstance(open_source(dataset.filter(ds.field("a") < 1), "y"), IteratorSource)
    table = make_table(6).append_column("part", pa.array(["p", "q"] * 3))
    parts = tmp_path / "parts"
    hive = dict(partitioning=["part"], partitioning_flavor="hive")
    ds.write_dataset(table, parts, format="parquet", **hive)
    source = open_source(ds.dataset(parts, partitioning="hive"), "y")
    assert source.names == ("a", "b", "n", "f", "t", "part")
    assert next(source.batches(6, 0, rng())).labels(5).tolist() == ["p"] * 3 + ["q"] * 3


def test_keys_of_folders(tmp_path):
    for number, value in enumerate(("a%20b", "__HIVE_DEFAULT_PARTITION__")):
        inside = tmp_path / "t" / f"year={2020 + number}" / f"kind={value}"
        inside.mkdir(parents=True)
        pq.write_table(make_table(4), inside / "part.parquet")
    for data in (tmp_path / "t", (tmp_path / "t").as_uri(), f"{tmp_path}/t/*/*/*.parquet"):
        source = pickle.loads(pickle.dumps(open_source(data, "y")))
        assert source.names == ("a", "b", "n", "f", "t", "year", "kind")
        (batch,) = source.batches(10, 0, rng())
        assert batch.numbers(np.array([5])).ravel().tolist() == [2020] * 4 + [2021] * 4
        assert batch.labels(6).tolist() == ["a b"] * 4 + [None] * 4
    part = open_source(tmp_path / "t" / "year=2020" / "kind=a%20b" / "part.parquet", "y")
    assert part.names == ("a", "b", "n", "f", "t")


class TestIdentity:
    def test_files_may_move_but_not_change(self, tmp_path):
        folder = parquet_folder(tmp_path)
        before = open_source(folder, "y").identity()
        moved = folder.rename(tmp_path / "elsewhere")
        assert open_source(moved, "y").identity() == before
        assert open_source(moved, "y", columns=["a"]).identity() != before
        assert open_source(moved, "n").identity() != before
        (moved / "part-1.parquet").unlink()
        assert open_source(moved, "y").identity() != before
        path = csv_file(tmp_path)
        before = open_source(path, "y").identity()
        path.write_text(path.read_text().replace("0.141", "0.142", 1))
        assert open_source(path, "y").identity() != before

    def test_one_value_of_an_array(self):
        X = rng().normal(size=(50, 3))
        other = X.copy()
        other[49, 2] = 0
        before, *same, values, target = (
            open_source(x, y).identity()
            for x, y in ((X, X[:, 0]), (np.asfortranarray(X), X[:, 0].copy()), (other, X[:, 0]),
                         (X, X[:, 1]))
        )  # fmt: skip
        assert same == [before]
        assert before not in (values, target)

    def test_row_groups_in_another_order(self, tmp_path):
        parts = [pa.table({"a": rows, "y": rows}) for rows in rng().random((2, 40_000))]
        found = []
        for order in (parts, parts, parts[::-1]):
            with pq.ParquetWriter(
                path := tmp_path / "t.parquet", parts[0].schema, write_statistics=False,
                compression="none", use_dictionary=False,
            ) as writer:  # fmt: skip
                for part in order:
                    writer.write_table(part)
            found.append((path.stat().st_size, open_source(path, "y").identity()))
        assert found[0] == found[1]
        assert found[0][0] == found[2][0]
        assert found[0][1] != found[2][1]

    def test_a_long_footer_is_looked_at_from_its_start(self, tmp_path):
        table = pa.table({"y": [1.0, 2.0], **{f"x{j}": [1.0, 2.0] for j in range(3000)}})
        path = tmp_path / "t.parquet"
        identities = set()
        for note in (b"aaaa", b"bbbb"):
            pq.write_table(table.replace_schema_metadata({b"note": note}), path)
            identities.add(open_source(path, "y", columns=["x1"]).identity())
        assert len(identities) == 2


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("how", ["replaced", "written to", "deleted"])
def test_a_file_that_changes_in_mid_pass_is_refused(kind, how, tmp_path):
    table = pa.table({"a": rng().random(200_000), "y": rng().random(200_000)})
    path = write(table, tmp_path / f"t.{kind}", 40_000)
    source = open_source(path, "y")
    batches = source.batches(1000, 0, rng())
    next(batches).target()
    if how == "replaced":
        os.replace(write(table, tmp_path / f"other.{kind}", 40_000), path)
    elif how == "deleted":
        path.unlink()
    else:
        os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="was changed or replaced while it was read"):
        source.require_unchanged()
    with pytest.raises(SourceError, match=r"was changed or replaced|cannot be read"):
        list(map(first, batches))


class TestCsv:
    def read(self, folder, text, suffix=".csv", **options):
        path = folder / f"table{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        source = open_source(path, "y", **options)
        (batch,) = source.batches(10**6, 0, rng())
        return source, batch

    def test_delimiters(self, tmp_path):
        source, _ = self.read(tmp_path, '"a,;;;;b\nc";n;y\n1;2;3\n')
        assert source.names == ("a,;;;;b\nc", "n")
        source, _ = self.read(tmp_path, "a|b|y\n1|2|3\n", delimiter="|")
        assert source.names == ("a", "b")
        with pytest.raises(SourceError, match="a single character, got '::'"):
            self.read(tmp_path, "a::y\n1::2\n", delimiter="::")

    @pytest.mark.parametrize(
        ("text", "values", "options"),
        [
            ("a;t;y\n1,5;3,5;2\n", [1.5], {}),
            ("a;t;y\n1.5;x;2\n", [1.5], {}),
            ("a\tt\ty\n-1,5\tq\t2\n", [-1.5], {}),
            ("a;t;y\n15;1,2;2\n", [15.0], {}),
            ('a,t,y\n1.5,"3,5",2\n', [1.5], {}),
            ("a   t  y\n1.5 x   2\n", [1.5], {}),
            ("a   t  y\n1,5 x   2\n", [1.5], {}),
            ("a;b;y\n1,5;1.5;2\n", [1.5], dict(decimal=",", columns=["a"])),
            ("a\ty\n51,067\t1\n", [51.067], dict(decimal=",", suffix=".tsv")),
            ("a\ty\n51,067\t1\n0,5\t3\n", [51.067, 0.5], dict(suffix=".tsv")),
            (b"\xef\xbb\xbfa,y\n1,2\n", [1.0], {}),
            ("a,y\n1,1\nNA,2\n,3\n", [1.0, np.nan, np.nan], {}),
        ],
    )
    def test_numbers_as_they_are_written(self, text, values, options, tmp_path):
        source, batch = self.read(tmp_path, text, **options)
        assert source.names[0] == "a"
        np.testing.assert_array_equal(first(batch), values)

    def test_numbers_that_may_be_read_in_two_ways(self, tmp_path):
        for text in ("a\ty\n51,067\t1\n12,345\t2\n", "b  a   y\n1  51,067  1\n2  12,345 2\n"):
            with pytest.raises(SourceError, match=r"column 'a' .*or say decimal="):
                self.read(tmp_path, text, suffix=".txt")

    def test_text_and_booleans(self, tmp_path):
        _, batch = self.read(tmp_path, "t,y\nu,yes\nNA,no\n,yes\n")
        assert batch.labels(0).tolist() == ["u", None, None]
        assert batch.target().tolist() == ["yes", "no", "yes"]
        _, batch = self.read(tmp_path, "a,y\n1,true\n2,false\n")
        assert batch.target().tolist() == [True, False]

    def test_several_files_in_another_order_of_columns(self, tmp_path):
        (tmp_path / "1.csv").write_text("a,b,y\n1,2,3\n")
        (tmp_path / "2.csv").write_text("y,b,a\n3,2.5,1\n")
        (batch,) = open_source(f"{tmp_path}/*.csv", "y").batches(10, 0, rng())
        assert batch.numbers(np.array([0, 1])).tolist() == [[1, 2], [1, 2.5]]

    def test_another_encoding_is_said(self, tmp_path):
        with pytest.warns(UserWarning, match=r"table.csv is not UTF-8; it is read as"):
            source, batch = self.read(tmp_path, "größe,t,y\n1,ä,2\n3,ö,4\n".encode("cp1252"))
        assert (source.names, batch.labels(1).tolist()) == (("größe", "t"), ["ä", "ö"])

    def test_blocks(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tvselect.sources.csv.BLOCK", 1000)
        text = ",".join([*(f"v{j}" for j in range(500)), "y"]) + "\n"  # longer than a block
        _, batch = self.read(tmp_path, text + ",".join(["0.12345678"] * 501) + "\n")
        assert batch.numbers(np.arange(500)).shape == (1, 500)
        _, batch = self.read(tmp_path, "a,y\n" + "1,2\n" * 1000 + "0.5,2\n")
        assert first(batch)[-1] == 0.5  # whole numbers may go on as fractions
        source = open_source(csv_file(tmp_path), "y", columns=["a"])
        rows = [first(batch) * 8 for batch in source.batches(20, 1, rng())]
        assert 100 < np.concatenate(rows[:10]).astype(int).max() < 300  # resampled in large blocks
