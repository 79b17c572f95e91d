"""Genotypes of PLINK files: what is read is what was written."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.omics.genotypes import as_floats, draw_genotypes, write_plink
from tvselect.inputs.errors import SourceError
from tvselect.omics.plink import read_plink
from tvselect.sources import FileSource, open_files

pytest.importorskip("bed_reader")


@pytest.fixture
def genotypes():
    return draw_genotypes(23, 12)


@pytest.fixture
def bed(tmp_path, genotypes):
    return write_plink(tmp_path / "study", genotypes)


def test_the_table_holds_what_was_written(bed, genotypes):
    table = read_plink(bed)
    assert table.names == tuple(f"rs{j}" for j in range(12))
    assert_array_equal(table.numbers(), as_floats(genotypes))
    rows, columns = np.array([20, 3, 4]), np.array([11, 0])
    assert_array_equal(table.numbers(columns, rows), as_floats(genotypes)[np.ix_(rows, columns)])
    assert_array_equal(table.rows(rows).numbers(), as_floats(genotypes)[rows])
    assert_array_equal(
        table.X.file.read_small(columns), np.where(genotypes < 0, 3, genotypes).T[columns]
    )


@pytest.mark.parametrize("n_people", [1, 4, 5, 23])
def test_genotypes_are_counted_but_no_bits_behind_the_last_person(tmp_path, n_people):
    genotypes = draw_genotypes(n_people, 6, seed=n_people)
    bed = write_plink(tmp_path / "s", genotypes)
    stored, width = bytearray(bed.read_bytes()), -(-n_people // 4)
    for last in range(2 + width, len(stored), width):
        stored[last] |= 0xFF << (2 * (n_people % 4 or 4)) & 0xFF
    bed.write_bytes(bytes(stored))
    file = read_plink(bed).X.file
    for value, found in zip((0, 1, 2, -1), file.counts.T, strict=True):
        assert_array_equal(found, (genotypes == value).sum(axis=0))
    low, high, n_missing = file.ranges()
    held = np.where(genotypes < 0, np.inf, genotypes)
    assert_array_equal(low, held.min(axis=0))
    assert_array_equal(high, np.where(np.isinf(held), -np.inf, held).max(axis=0))
    assert_array_equal(n_missing, (genotypes < 0).sum(axis=0))


def test_a_choice_of_a_choice_and_a_pickled_file(bed, genotypes):
    file = read_plink(bed).X.file
    some = file.at(np.arange(22, 2, -2), np.array([5, 3, 1])).at(np.array([1, 0]), np.array([2, 0]))
    chosen = genotypes[[20, 22]][:, [1, 5]]
    assert some.shape == (2, 2)
    assert_array_equal(some.read(np.arange(2)), as_floats(chosen))
    assert_array_equal(some.counts[:, 3], (genotypes[:, [1, 5]] < 0).sum(axis=0))
    assert_array_equal(some.read_small(np.arange(2)), np.where(chosen < 0, 3, chosen).T)
    data = pickle.dumps(some)
    assert len(data) < 2000
    again = pickle.loads(data)
    assert_array_equal(again.read(np.array([1])), as_floats(chosen)[:, [1]])
    assert again.identity() == some.identity() != file.identity()


def test_columns_in_front(bed, genotypes):
    people = pd.DataFrame({"age": np.arange(23.0), "sex": ["m", "f", None] * 7 + ["m", "f"]})
    table = read_plink(bed, people)
    assert table.names[:3] == ("age", "sex", "rs0")
    assert table.categorical.tolist() == [False, True] + [False] * 12
    assert_array_equal(table.numbers(np.array([0, 4])).T, [people.age, as_floats(genotypes)[:, 2]])
    assert table.text(1).levels == ("f", "m")
    with pytest.raises(ValueError, match=r"people has 22 rows, but .* has 23 people"):
        read_plink(bed, people[1:])
    with pytest.raises(SourceError, match="2 columns named 'rs3'"):
        read_plink(bed, people.rename(columns={"age": "rs3"}))


def test_variants_without_a_name_are_called_by_their_place(tmp_path, genotypes):
    names = [".", "rs1", "rs1", ".", *(f"rs{j}" for j in range(4, 12))]
    table = read_plink(write_plink(tmp_path / "s", genotypes, names=names))
    assert table.names[:5] == ("1:0:A:G", "rs1", "3:200:A:G", "1:300:A:G", "rs4")


class TestPhenotypes:
    def table(self, tmp_path, genotypes, content, **made):
        bed = write_plink(tmp_path / "s", genotypes, **made)
        (tmp_path / "p.tsv").write_text(content)
        return open_files(bed, phenotypes=tmp_path / "p.tsv")

    def test_are_put_in_order(self, tmp_path, genotypes):
        lines = [f"F{i % 2}\tI{i}\t{i}.5" for i in reversed(range(1, 23))]
        found = self.table(tmp_path, genotypes, "\n".join(["FID\tIID\theight", *lines]))
        assert found.names[:3] == ["height", "fid", "rs0"]
        read = found.read(["rs3", "height"])
        assert read.column("height").to_pylist() == [None, *(i + 0.5 for i in range(1, 23))]
        assert_array_equal(read.column("rs3").to_numpy(), as_floats(genotypes)[:, 3])

    @pytest.mark.parametrize(
        ("people", "lines", "rows"),
        [
            (["1", "1", "2"], ["#FID IID y", "F1 1 5", "F0 1 4", "F0 2 2"], {"y": [4, 5, 2]}),
            (
                ["007", "008", "7"],
                ["iid sample y", "008 S1 1", "7 S1 2", "007 S1 0"],
                {"sample": ["S1"] * 3, "y": [0, 1, 2]},
            ),
        ],
    )
    def test_are_matched(self, tmp_path, people, lines, rows):
        found = self.table(tmp_path, draw_genotypes(3, 5), "\n".join(lines), people=people)
        assert found.rows.drop_columns(["fid"]).to_pydict() == rows

    def test_are_for_genotypes_and_are_none(self, tmp_path, genotypes):
        bed = write_plink(tmp_path / "s", genotypes)
        with pytest.raises(SourceError, match=r"s\.bed is PLINK, no table of the rows"):
            open_files(bed, phenotypes=bed)
        with pytest.raises(SourceError, match="it can be read in one way only"):
            open_files(bed, transpose=True)
        with pytest.raises(SourceError, match="PLINK is read alone"):
            open_files([bed, bed])
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        with pytest.raises(SourceError, match=r"phenotypes= is for PLINK and \.mtx alone"):
            open_files(tmp_path / "t.csv", phenotypes=bed)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("name y\nI1 2\n", "no column IID"),
            ("IID y\nI1 2\nI1 3\n", "several rows of 'I1'"),
            ("IID y\nother 2\n", "no row of .* they are called 'I0' there and 'other'"),
            ("IID rs3\nI1 2\n", "2 columns named 'rs3'"),
        ],
    )
    def test_that_do_not_fit(self, tmp_path, genotypes, content, message):
        with pytest.raises(SourceError, match=message):
            self.table(tmp_path, genotypes, content)

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            (["0", "1", "2", "-9"], [None, 1.0, 2.0, None]),
            (["NA", "1.5", "-9", "2"], [None, 1.5, None, 2.0]),
            (["0", "1", "0", "NA"], [0.0, 1.0, 0.0, None]),
            (["case", "control", "NA", "case"], ["case", "control", None, "case"]),
        ],
    )
    def test_of_the_fam_file(self, tmp_path, values, expected):
        files = open_files(write_plink(tmp_path / "s", draw_genotypes(4, 3), phenotypes=values))
        assert files.rows["phenotype"].to_pylist() == expected
        assert files.rows["sex"].to_pylist() == [None, 1, 2, None]
        fam = files.files[-1].path
        Path(fam).write_text(Path(fam).read_text().replace("F0", "0"))
        families = open_files(files.files[0].path).rows["fid"].to_pylist()
        assert families == ["0 I0", "F1", "0 I2", "F1"]  # 0 is no family


@pytest.mark.parametrize("columns", [None, ["rs5", "age", "rs2"]])
def test_batches_of_a_stream(tmp_path, genotypes, columns):
    bed = write_plink(tmp_path / "s", genotypes, phenotypes=[str(i) for i in range(10, 33)])
    files = open_files(bed)
    files.rows = files.rows.rename_columns(["age", "phenotype", "fid"])
    files.names[0] = "age"
    source = FileSource(files, "phenotype", columns)
    batches = list(source.batches(10, 0, None))
    assert [batch.n_rows for batch in batches] == [10, 10, 3]
    places = np.array([source.names.index("rs5"), source.names.index("age")])
    found, ages = np.concatenate([batch.numbers(places) for batch in batches]).T
    assert_array_equal(found, as_floats(genotypes)[:, 5])
    assert_array_equal(ages[:3], [np.nan, 1, 2])
    again = next(iter(source.batches(10, 1, np.random.default_rng(0))))
    assert again.numbers(places).shape == (10, 2)


@pytest.mark.parametrize(
    ("suffix", "damage", "message"),
    [
        (".bed", lambda data: data[:-1], r"study\.bed has .* bytes where 23 people"),
        (".bed", lambda data: b"\x6c\x1b\x00" + data[3:], "person by person"),
        (".bed", lambda data: b"hello", "does not begin as"),
        (".bed", lambda data: b"", "does not begin as"),
        (".fam", lambda data: b"", "has 0 people|cannot be read"),
        (".bim", lambda data: b"1 rs0\n" * 12, "cannot be read: .*six columns"),
        (".bim", lambda data: data.replace(b"100", b"here"), "cannot be read: .*six columns"),
        (".bim", lambda data: b"\xff\xfe\x00" * 50, "cannot be read: .*six columns"),
    ],
)
def test_damaged_files_are_refused(bed, suffix, damage, message):
    part = bed.with_suffix(suffix)
    part.write_bytes(damage(part.read_bytes()))
    with pytest.raises(SourceError, match=message):
        read_plink(bed)


def test_files_that_change_or_are_not_there(bed):
    files, fam = open_files(bed), bed.with_suffix(".fam")
    fam.write_text(fam.read_text() + "\n")
    with pytest.raises(SourceError, match="was changed or replaced"):
        files.read(["rs1"])
    fam.unlink()
    with pytest.raises(FileNotFoundError, match=r"study\.fam does not exist"):
        read_plink(bed)


def test_bed_reader_is_an_extra(bed, monkeypatch):
    monkeypatch.setitem(sys.modules, "bed_reader", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tvselect\[genetics\]'"):
        read_plink(bed)
