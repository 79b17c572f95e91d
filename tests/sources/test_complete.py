"""Streams without the rows whose target is missing."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tvselect.sources import FileSource, open_files

COMPLETE = [i for i in range(35) if i != 3 and not 10 <= i < 20]


@pytest.fixture
def files(tmp_path):
    """Row 3 and all of the second group lack the target."""
    y = [i / 4 if i in COMPLETE else None for i in range(35)]
    table = pa.table({"a": np.arange(35.0), "t": [f"u{i % 3}" for i in range(35)], "y": y})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=10)
    return open_files(tmp_path / "t.parquet")


def read(source, size=7, round=0, skip=0):
    batches = list(source.batches(size, round, np.random.default_rng(0), skip=skip))
    return batches, np.concatenate([batch.numbers(np.array([0])).ravel() for batch in batches])


def test_rows_without_a_target_are_left_out(files):
    complete = FileSource(files, "y", complete=True, n_rows=24)
    batches, a = read(complete)
    assert a.tolist() == COMPLETE
    assert [batch.n_rows for batch in batches] == [7, 7, 7, 3]
    assert batches[0].labels(1)[3] == "u1"
    np.testing.assert_array_equal(batches[0].target(), a[:7] / 4)
    assert (complete.n_rows, complete.names, complete.can_repeat) == (24, ("a", "t"), True)
    assert complete.identity() != FileSource(files, "y").identity()


@pytest.mark.parametrize("round", [0, 1])
def test_resampling_and_skipping(files, round):
    batches, a = read(FileSource(files, "y", complete=True), 5, round)
    assert a.size == 24
    assert np.isin(a, COMPLETE).all()
    np.testing.assert_array_equal(np.concatenate([b.target() for b in batches]), a / 4)
    assert (
        a[10:].tolist() == read(FileSource(files, "y", complete=True), 5, round, skip=2)[1].tolist()
    )
