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


def batches(frame, size):
    source = ArraySource(frame, np.arange(len(frame)))
    return source, list(source.batches(size, 0, np.random.default_rng(0)))


def head_of(frame, size, *, n_batches=None, **settings):
    source, parts = batches(frame, size)
    encoder = StreamEncoder(source.names, source.categorical, **settings)
    for part in parts[:n_batches]:
        encoder = encoder.having_seen(part)
    return encoder


def stored(encoder):
    return StreamEncoder.from_bytes(encoder.to_bytes())


def text(*labels):
    return np.array(labels, dtype=object)


def assert_same_encoding(one, other):
    assert (one.names, one.levels) == (other.names, other.levels)
    assert (one.n_rows, one.max_cuts) == (other.n_rows, other.max_cuts)
    for name in ("feature_of", "categorical"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("n_cuts", "low", "step", "starts", "halfway"):
        assert_array_equal(getattr(one.cuts, name), getattr(other.cuts, name))
    assert (one.knockoffs is None) == (other.knockoffs is None)
    if one.knockoffs is not None:
        assert store_knockoffs(one.knockoffs) == store_knockoffs(other.knockoffs)


@pytest.mark.parametrize("size", [70, 100, 1000, 1300])
def test_a_head_takes_the_first_thousand_rows_or_the_first_batch(size):
    frame, _ = make_frame(n=1500)
    head = head_of(frame, size)
    assert head.is_full
    assert head.n_rows == -(-HEAD_ROWS // size) * size
    numbers = frame.drop(columns=["city", "kind"])[: head.n_rows].to_numpy(float)
    places = np.flatnonzero(~head.categorical[head.feature_of])
    wanted = bin_table(numbers).cuts
    for place, column in enumerate(places):
        assert_array_equal(head.cuts.of(column), wanted.of(place))


def test_batches_in_the_head_settle_the_same_as_one():
    frame, _ = make_frame(n=1000)
    assert_same_encoding(head_of(frame, 100), head_of(frame, 1000))


def test_categories_are_sorted_and_have_one_column_each():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "t": ["z", None, "k"], "u": [None, None, None]})
    frame = frame.astype({"t": object, "u": object})
    encoding = head_of(frame, 3)
    assert encoding.n_columns == 4
    assert_array_equal(encoding.feature_of, [0, 1, 1, 2])
    assert_array_equal(encoding.levels, ["", "k", "z", ""])
    assert encoding.column_names(np.array([0, 2])) == ("a", "t")
    batch = batches(frame, 3)[1][0]
    values = encoding.values(batch, np.array([0, 1, 2, 3]), 0)
    nan = np.nan
    assert_array_equal(values, [[1, 0, 1, nan], [2, nan, nan, nan], [3, 1, 0, nan]])


@pytest.mark.parametrize("decoys", ["knockoffs", "shuffled"])
def test_values_come_in_the_order_that_was_asked_for(decoys):
    frame, _ = make_frame(n=1200)
    encoding = head_of(frame, 1000, decoys=decoys)
    batch = batches(frame, 200)[1][0]
    every = np.arange(2 * encoding.n_columns)
    whole = encoding.values(batch, every, np.random.default_rng(4))
    order = np.random.default_rng(0).permutation(every)
    some = encoding.values(batch, order, np.random.default_rng(4))
    assert_array_equal(some, whole[:, order])
    assert encoding.column_names(every[-1:]) == ("decoy of kind",)
    seen, copies = whole[:, : encoding.n_columns], whole[:, encoding.n_columns :]
    assert_array_equal(np.isnan(seen).sum(axis=0), np.isnan(copies).sum(axis=0))
    if decoys == "shuffled":
        assert_array_equal(np.sort(seen, axis=0), np.sort(copies, axis=0))
        assert (seen[:, 0] != copies[:, 0]).any()


def test_shuffled_rows_change_places_two_by_two():
    frame, _ = make_frame(n=1200)
    encoding = head_of(frame, 1000, decoys="shuffled")
    batch = batches(frame, 201)[1][0]
    whole = encoding.values(batch, np.arange(2 * encoding.n_columns), np.random.default_rng(1))
    seen, copies = np.hsplit(np.nan_to_num(whole, nan=-9.0), 2)
    assert_array_equal(
        {(*row, *copy) for row, copy in zip(seen, copies, strict=True)},
        {(*copy, *row) for row, copy in zip(seen, copies, strict=True)},
    )


@pytest.mark.parametrize("unknown", [np.nan, 0.0])
def test_indicators_tell_missing_from_new(unknown):
    found = one_hot(codes_of(text("a", "b", None, "c"), ["a", "b"]), 2, unknown)
    assert_array_equal(found, [[1, 0], [0, 1], [np.nan] * 2, [unknown] * 2])


def test_an_empty_text_is_a_category_and_no_missing_value():
    found = one_hot(codes_of(text("", None, "a"), ["", "a"]), 2)
    assert_array_equal(found, [[1, 0], [np.nan] * 2, [0, 1]])


@pytest.mark.parametrize("decoys", [None, "knockoffs", "shuffled"])
@pytest.mark.parametrize("n_batches", [1, 4, 10, 11])
def test_a_head_survives_storage(n_batches, decoys):
    frame, _ = make_frame(n=1200)
    frame.loc[frame.index[::3], "city"] = ""
    head = head_of(frame, 100, n_batches=n_batches, decoys=decoys, max_cuts=20)
    loaded = stored(head)
    assert_same_encoding(loaded, head)
    for part in batches(frame, 100)[1][n_batches:]:
        head, loaded = head.having_seen(part), loaded.having_seen(part)
        assert_same_encoding(loaded, head)
    assert loaded.is_full


def test_single_precision_survives_storage():
    X = np.random.default_rng(0).random((300, 3)).astype(np.float32)
    head = head_of(X, 100, n_batches=2)
    part = batches(X, 100)[1][2]
    assert_same_encoding(head.having_seen(part), stored(head).having_seen(part))


def test_what_is_stored_does_not_grow_with_a_full_head():
    frame, _ = make_frame(n=1200)
    full, open_head = head_of(frame, 100), head_of(frame, 100, n_batches=9)
    assert len(full.to_bytes()) < len(open_head.to_bytes())


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
    part = batches(frame, 100)[1][9]
    with pytest.warns(RuntimeWarning, match=r"1000 rows .*: 'city', 'kind' cannot be selected"):
        head = head.having_seen(part)
    assert head.cuts.of(2).size == 0


@pytest.mark.parametrize("decoys", ["knockoffs", "shuffled"])
@pytest.mark.parametrize("value", [0.5, np.nan])
def test_columns_that_begin_to_vary_are_cut_batch_by_batch(decoys, value):
    frame, _ = make_frame(n=1400)
    frame.loc[:999, "v2"] = value
    frame.loc[:999, "kind"] = "p"
    encoding = head_of(frame, 100, decoys=decoys)
    columns = np.flatnonzero(np.isin(encoding.feature_of, [2, frame.columns.get_loc("kind")]))
    both = np.concatenate([columns, columns + encoding.n_columns, [3]])
    later = batches(frame, 100)[1][11]
    X = encoding.values(later, both, np.random.default_rng(0))
    cuts = encoding.cuts_of(both, X, 100)
    for place in (0, 2):
        assert_array_equal(cuts.of(place), bin_table(X[:, :1]).cuts.of(0))
    for place in (1, 3):
        assert_array_equal(cuts.of(place), [0.5])
    assert_array_equal(cuts.of(4), encoding.cuts.of(3))
    assert_array_equal(np.sort(X[:, :2], axis=0), np.sort(X[:, 2:4], axis=0))
    assert (X[:, :2] != X[:, 2:4]).any(axis=0).all()
