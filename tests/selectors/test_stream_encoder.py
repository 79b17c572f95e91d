"""The head of a stream, and how it says later rows are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.selectors.streams import make_frame
from tvselect.decoys import store_knockoffs
from tvselect.inputs.text import codes_of, one_hot
from tvselect.selectors.encoding import HEAD_ROWS, StreamEncoder
from tvselect.sources import ArraySource
from tvselect.trees import bin_table

each_kind = pytest.mark.parametrize("decoys", ["knockoffs", "shuffled"])


def batches(frame, size):
    source = ArraySource(frame, np.arange(len(frame)))
    return list(source.batches(size, 0, np.random.default_rng(0)))


def head_of(frame, size, *, n_batches=None, **settings):
    source = ArraySource(frame, np.arange(len(frame)))
    encoder = StreamEncoder(source.names, source.categorical, **settings)
    for part in batches(frame, size)[:n_batches]:
        encoder = encoder.having_seen(part)
    return encoder


def assert_same_encoding(one, other):
    for name in ("names", "levels", "n_rows", "max_cuts"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("feature_of", "categorical"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("n_cuts", "low", "step", "starts", "halfway"):
        assert_array_equal(getattr(one.cuts, name), getattr(other.cuts, name))
    kept, wanted = (e.knockoffs and store_knockoffs(e.knockoffs) for e in (one, other))
    assert kept == wanted


@pytest.mark.parametrize("size", [70, 100, 1000, 1300])
def test_a_head_takes_the_first_thousand_rows_or_the_first_batch(size):
    frame, _ = make_frame(n=1500)
    head = head_of(frame, size)
    assert head.is_full
    assert head.n_rows == -(-HEAD_ROWS // size) * size
    numbers = frame.drop(columns=["city", "kind"])[: head.n_rows].to_numpy(float)
    wanted = bin_table(numbers).cuts
    for place, column in enumerate(np.flatnonzero(~head.categorical[head.feature_of])):
        assert_array_equal(head.cuts.of(column), wanted.of(place))
    if 1000 % size == 0:
        assert_same_encoding(head, head_of(frame, 1000))


def test_categories_are_sorted_and_have_one_column_each():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "t": ["z", None, "k"], "u": [None, None, None]})
    frame = frame.astype({"t": object, "u": object})
    encoder = head_of(frame, 3)
    assert_array_equal(encoder.feature_of, [0, 1, 1, 2])
    assert encoder.levels == ("", "k", "z", "")
    assert encoder.column_names(np.array([0, 2])) == ("a", "t")
    values = encoder.values(batches(frame, 3)[0], np.array([0, 1, 2, 3]), 0)
    nan = np.nan
    assert_array_equal(values, [[1, 0, 1, nan], [2, nan, nan, nan], [3, 1, 0, nan]])


@each_kind
def test_values_come_in_the_order_that_was_asked_for(decoys):
    frame, _ = make_frame(n=1200)
    encoder = head_of(frame, 1000, decoys=decoys)
    batch = batches(frame, 201)[0]
    every = np.arange(2 * encoder.n_columns)
    whole = encoder.values(batch, every, np.random.default_rng(4))
    order = np.random.default_rng(0).permutation(every)
    some = encoder.values(batch, order, np.random.default_rng(4))
    assert_array_equal(some, whole[:, order])
    assert encoder.column_names(every[-1:]) == ("decoy of kind",)
    seen, copies = np.hsplit(np.nan_to_num(whole, nan=-9.0), 2)
    assert_array_equal((seen == -9).sum(axis=0), (copies == -9).sum(axis=0))
    if decoys == "shuffled":  # rows change places two by two
        assert_array_equal(np.sort(seen, axis=0), np.sort(copies, axis=0))
        assert (seen[:, 0] != copies[:, 0]).any()
        both = set(map(tuple, np.hstack([seen, copies])))
        assert both == set(map(tuple, np.hstack([copies, seen])))


@pytest.mark.parametrize("unknown", [np.nan, 0.0])
def test_indicators_tell_missing_from_new_and_from_empty_text(unknown):
    labels = np.array(["a", "b", None, "c", ""], dtype=object)
    found = one_hot(codes_of(labels, ["", "a", "b"]), 3, unknown)
    nan = np.nan
    assert_array_equal(found, [[0, 1, 0], [0, 0, 1], [nan] * 3, [unknown] * 3, [1, 0, 0]])


@pytest.mark.parametrize("decoys", [None, "knockoffs", "shuffled"])
@pytest.mark.parametrize("n_batches", [1, 4, 10])
@pytest.mark.parametrize("single", [False, True])
def test_a_head_survives_storage(n_batches, decoys, single):
    frame, _ = make_frame(n=1200)
    frame.loc[frame.index[::3], "city"] = ""
    if single:
        frame = frame[["v0", "v3"]].astype(np.float32)
    head = head_of(frame, 100, n_batches=n_batches, decoys=decoys, max_cuts=20)
    loaded = StreamEncoder.from_bytes(head.to_bytes())
    assert_same_encoding(loaded, head)
    for part in batches(frame, 100)[n_batches:]:
        head, loaded = head.having_seen(part), loaded.having_seen(part)
        assert_same_encoding(loaded, head)
    assert loaded.is_full
    if n_batches == 4:  # what is stored does not grow with a full head
        assert len(head.to_bytes()) < len(head_of(frame, 100, n_batches=9).to_bytes())


@pytest.mark.parametrize(
    ("values", "match"),
    [([1.0, -np.inf], "infinity in column 'b'"), ([1.7e308, -1.7e308], "column 'b' .* too large")],
)
def test_infinite_and_too_large_values_are_refused_by_the_name_of_their_column(values, match):
    frame = pd.DataFrame({"t": ["a", "b"], "a": [1.0, 2.0], "b": values})
    with pytest.raises(ValueError, match=match):
        head_of(frame, 2)


def test_text_without_a_value_is_told_once_the_head_is_full():
    frame, _ = make_frame(n=1100)
    frame[["v2", "v5"]] = np.nan
    frame["city"] = frame["kind"] = np.full(1100, None, dtype=object)
    head = head_of(frame, 100, n_batches=9)
    with pytest.warns(RuntimeWarning, match=r"1000 rows .*: 'city', 'kind' cannot be selected"):
        head = head.having_seen(batches(frame, 100)[9])
    assert head.cuts.of(2).size == 0


@each_kind
@pytest.mark.parametrize("value", [0.5, np.nan])
def test_columns_that_begin_to_vary_are_cut_batch_by_batch(decoys, value):
    frame, _ = make_frame(n=1400)
    frame.loc[:999, "v2"] = value
    frame.loc[:999, "kind"] = "p"
    encoder = head_of(frame, 100, decoys=decoys)
    columns = np.flatnonzero(np.isin(encoder.feature_of, [2, frame.columns.get_loc("kind")]))
    both = np.concatenate([columns, columns + encoder.n_columns, [3]])
    X = encoder.values(batches(frame, 100)[11], both, np.random.default_rng(0))
    cuts = encoder.cuts_of(both, X, 100)
    wanted = [bin_table(X[:, :1]).cuts.of(0), [0.5]] * 2 + [encoder.cuts.of(3)]
    for place, points in enumerate(wanted):
        assert_array_equal(cuts.of(place), points)
    assert_array_equal(np.sort(X[:, :2], axis=0), np.sort(X[:, 2:4], axis=0))
    assert (X[:, :2] != X[:, 2:4]).any(axis=0).all()
