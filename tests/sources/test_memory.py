"""Arrays, data frames and streams of them: what each kind allows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.sources.makers import make_table
from tvselect.sources import ArraySource, IteratorSource, open_source


def rng():
    return np.random.default_rng(0)


def whole(source):
    (batch,) = source.batches(10**6, 0, rng())
    return batch


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_array_is_not_copied(kind):
    X = rng().normal(size=(10, 3)).astype(kind)
    source = ArraySource(X, np.zeros(10), columns=["x2", "x0"])
    X[4] = 7
    numbers = whole(source).numbers(np.array([0, 1]))
    assert numbers.dtype == kind
    assert numbers[4].tolist() == [7, 7]


def test_a_frame_of_text_only():
    source = ArraySource(pl.DataFrame({"t": ["a", None], "y": [0, 1]}), "y")
    assert whole(source).labels(0).tolist() == ["a", None]
    assert len(source.identity()) == 64


def test_a_signalling_nan_is_a_missing_value_without_a_warning(recwarn):
    signalling = np.array([0x3F800000, 0x7FA00000], dtype=np.uint32).view(np.float32)
    table = pa.table({"f": signalling, "x": [1.0, 2.0], "y": [1, 2]})
    masked = np.ma.array(
        np.column_stack([signalling, np.float32([1, 2])]), mask=[[False] * 2, [True, False]]
    )
    for source in (ArraySource(table, "y"), ArraySource(masked, [1, 2])):
        numbers = whole(source).numbers(np.array([0, 1]))
        np.testing.assert_array_equal(numbers, [[1, 1], [np.nan, 2]])
    assert not recwarn.list


@pytest.mark.parametrize(
    ("y", "values"),
    [
        ([1, 2, 3], [1, 2, 3]),
        (np.array([1, 2, "a"], dtype=object), [1, 2, "a"]),
        (["a", "b", "a"], ["a", "b", "a"]),
        (np.array([[1.5], [2], [3]]), [1.5, 2, 3]),
        (pd.Series(["a", None, "b"], dtype="category"), ["a", None, "b"]),
        (pl.Series([True, False, None]), [True, False, None]),
        (pa.chunked_array([["a"], [None, "b"]]), ["a", None, "b"]),
        (pa.chunked_array([pa.array(["a", None, "b"]).dictionary_encode()]), ["a", None, "b"]),
    ],
)
def test_targets(y, values):
    assert whole(ArraySource(np.ones((3, 1)), y)).target().tolist() == values


class Tensor(list):
    """As much of a tensor as is needed."""

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return np.asarray(list(self))


class Loader:
    """A collection that starts anew with each loop."""

    def __iter__(self):
        for start in range(0, 12, 4):
            rows = np.arange(start, start + 4, dtype=np.float32)
            yield [Tensor(np.column_stack([rows, -rows])), Tensor(rows % 2)]


def test_tensors_of_a_loader():
    source = open_source(Loader())
    assert source.can_repeat
    for _ in range(2):
        batches = list(source.batches(5, 0, rng()))
        assert [batch.n_rows for batch in batches] == [5, 5, 2]
    assert batches[1].numbers(np.array([1])).ravel().tolist() == [-5, -6, -7, -8, -9]
    assert batches[1].target().tolist() == [1, 0, 1, 0, 1]
    (resampled,) = source.batches(12, 1, rng())
    chunks = resampled.numbers(np.array([0])).ravel() // 4
    assert chunks.tolist() == [0] * 4 + [1] * 4 + [2] * 4


class Capsule:
    """A table of an unknown library, by the Arrow PyCapsule interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_arrow_capsules():
    table = make_table()
    for data in (Capsule(table), [Capsule(table)], table.to_batches(), lambda: Capsule(table)):
        source = open_source(data, "y")
        assert source.names == ("a", "b", "n", "f", "t")
        assert sum(batch.n_rows for batch in source.batches(100, 0, rng())) == table.num_rows
    assert not open_source(Capsule(table), "y").can_repeat
    assert open_source(table.to_batches()[0], "y").n_rows == 1003


def test_no_more_is_read_than_a_batch_needs():
    taken = []

    def stream():
        for number in range(10):
            taken.append(number)
            yield np.full((10, 2), number), np.zeros(10)

    batches = IteratorSource(stream()).batches(15, 0, rng())
    next(batches)
    assert taken == [0, 1]
    next(batches)
    assert taken == [0, 1, 2]


def test_dictionaries_hold_what_their_values_are():
    numbers = pa.array([7, 5, 7, None]).dictionary_encode()
    table = pa.table({"n": numbers, "t": pa.array(list("abab")).dictionary_encode(), "y": numbers})
    source = open_source(table, "y")
    assert source.categorical.tolist() == [False, True]
    np.testing.assert_array_equal(whole(source).numbers(np.array([0])).ravel(), [7, 5, 7, np.nan])
    np.testing.assert_array_equal(whole(source).target(), [7, 5, 7, np.nan])
