"""Streams without the rows whose target is missing."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tvselect.sources import ArraySource, CompleteSource, open_source


def rng():
    return np.random.default_rng(0)


def table():
    """Row 3 and all of the second group lack the target."""
    y = [None if i == 3 or 10 <= i < 20 else i / 4 for i in range(35)]
    return pa.table({"a": np.arange(35.0), "t": [f"u{i % 3}" for i in range(35)], "y": y})


def source(folder):
    path = folder / "t.parquet"
    pq.write_table(table(), path, row_group_size=10)
    return open_source(path, "y")


def read(source, size=7, round=0, skip=0):
    batches = list(source.batches(size, round, rng(), skip=skip))
    columns = np.array([source.names.index("a")])
    return batches, np.concatenate([batch.numbers(columns).ravel() for batch in batches])


def test_rows_without_a_target_are_left_out(tmp_path):
    complete = CompleteSource(source(tmp_path), n_rows=24)
    batches, a = read(complete)
    assert a.tolist() == [i for i in range(35) if i != 3 and not 10 <= i < 20]
    assert [batch.n_rows for batch in batches] == [7, 7, 7, 3]
    assert batches[0].labels(1)[3] == "u1"
    np.testing.assert_array_equal(batches[0].target(), a[:7] / 4)
    assert (complete.n_rows, complete.names, complete.can_repeat) == (24, ("a", "t"), True)


def test_resampling_takes_complete_rows_only(tmp_path):
    batches, a = read(CompleteSource(source(tmp_path)), round=1)
    assert a.size == 24
    assert not np.isin(a, [3, *range(10, 20)]).any()
    np.testing.assert_array_equal(np.concatenate([b.target() for b in batches]), a / 4)


@pytest.mark.parametrize("round", [0, 1])
def test_skipped_batches_change_nothing(round, tmp_path):
    complete = CompleteSource(source(tmp_path))
    assert read(complete, 5, round)[1][10:].tolist() == read(complete, 5, round, skip=2)[1].tolist()


@pytest.mark.parametrize(
    "y", [[1.0, np.nan, 3.0], ["u", None, "v"], np.array([True, None, False], dtype=object)]
)
def test_every_kind_of_target(y):
    complete = CompleteSource(ArraySource(pa.table({"a": [1.0, 2.0, 3.0]}), np.array(y)))
    assert read(complete)[1].tolist() == [1.0, 3.0]


def test_whole_numbers_are_never_missing():
    complete = CompleteSource(ArraySource(pa.table({"a": [1.0, 2.0]}), [0, 1]))
    assert read(complete)[1].tolist() == [1.0, 2.0]


def test_identity_is_not_that_of_all_rows(tmp_path):
    every = source(tmp_path)
    assert CompleteSource(every).identity() == CompleteSource(source(tmp_path)).identity()
    assert CompleteSource(every).identity() != every.identity()
