"""The law of encodings: one table, written down in any way, gives one selection to the bit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from tests.nested import nested
from tests.selectors.streams import quick_bart
from tvselect import ThompsonSelector
from tvselect.sources import open_files

N_ROWS, NAMES = 120, ["a", "b", "c", "d", "e"]


@cache
def whole_numbers():
    """Numbers that every type holds, a column of 0 and 1 among them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (N_ROWS, 5)).astype(np.float64)
    X[:, 4] = X[:, 4] > 6
    y = 2 * X[:, 1] + 9 * X[:, 4] + rng.integers(-2, 3, N_ROWS)
    return X, y


@cache
def with_gaps():
    X, y = whole_numbers()
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, y


def found(X, y, **settings):
    selector = ThompsonSelector(quick_bart(), **nested(n_plays=40, random_state=3, **settings)).fit(
        X, y
    )
    return selector.support_, selector.history_.means(), selector.q_values_


def assert_same_selection(X, data):
    for one, other in zip(found(X, data[1]), reference(data is with_gaps()), strict=True):
        np.testing.assert_array_equal(one, other)


@cache
def reference(has_gaps):
    return found(*(with_gaps() if has_gaps else whole_numbers()))


def framed(X):
    return pd.DataFrame(X, columns=NAMES)


def strided(X):
    wide = np.full((2 * len(X), 2 * X.shape[1]), 77.0)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def masked(X):
    return np.ma.masked_array(np.where(np.isnan(X), -5.0, X), np.isnan(X))


def arrow(X):
    return pa.table({name: pa.array(X[:, j], from_pandas=True) for j, name in enumerate(NAMES)})


def dictionaries(X):
    columns = [column.combine_chunks().dictionary_encode() for column in arrow(X).columns]
    return pa.table(columns, names=NAMES)


def from_file(X, folder, ending):
    table, path = arrow(X), folder / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=50)
    elif ending == "feather":
        pa.feather.write_feather(table, path, chunksize=50)
    else:
        options = pa.csv.WriteOptions(delimiter="," if ending == "csv" else "\t")
        pa.csv.write_csv(table, path, options)
    return open_files(str(path)).read()


COMPLETE = {
    **{
        kind: lambda X, kind=kind: X.astype(kind)
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", ">f8", ">i4", "O")
    },
    "list": lambda X: X.tolist(),
    "integers of pandas": lambda X: framed(X).astype("int16"),
    "truth values": lambda X: framed(X).astype({"e": bool}),
    "polars integers": lambda X: pl.DataFrame(X.astype("u1"), schema=NAMES),
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
}
ANY = {
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "masked": masked,
    "single": lambda X: X.astype(np.float32),
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "pandas": framed,
    "nullable": lambda X: framed(X).astype("Int64"),
    "nullable floats": lambda X: framed(X).astype("Float32"),
    "pandas by Arrow": lambda X: framed(X).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda X: pl.from_arrow(arrow(X)),
    "lazy": lambda X: pl.from_arrow(arrow(X)).lazy(),
    "arrow": arrow,
    "chunked": lambda X: pa.concat_tables([arrow(X[:7]), arrow(X[7:90]), arrow(X[90:])]),
    "sliced": lambda X: arrow(np.vstack([X[:9], X, X[:5]])).slice(9, N_ROWS),
    "dictionaries": dictionaries,
}


@pytest.mark.parametrize("kind", [*COMPLETE, *ANY])
def test_whole_numbers_of_any_kind(kind):
    data = whole_numbers()
    assert_same_selection((COMPLETE | ANY)[kind](data[0]), data)


@pytest.mark.parametrize("kind", ANY)
def test_missing_values_of_any_kind(kind):
    data = with_gaps()
    assert_same_selection(ANY[kind](data[0]), data)


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "tsv"])
@pytest.mark.parametrize("data", [whole_numbers, with_gaps])
def test_files(ending, data, tmp_path):
    assert_same_selection(from_file(data()[0], tmp_path, ending), data())


@pytest.mark.parametrize("kind", ["objects", "categories", "text of Arrow", "polars", "arrow"])
def test_text_of_any_kind(kind):
    X, y = whole_numbers()
    labels = np.array(["low", "middle", "high"], dtype=object)[X[:, 1].astype(int) // 4]
    frame = framed(X).assign(a=pd.Series(labels, dtype=object))
    forms = {
        "objects": lambda: frame,
        "categories": lambda: frame.astype({"a": pd.CategoricalDtype(["none", *set(labels)])}),
        "text of Arrow": lambda: frame.astype({"a": pd.ArrowDtype(pa.string())}),
        "polars": lambda: pl.from_pandas(frame).with_columns(pl.col("a").cast(pl.Categorical)),
        "arrow": lambda: pa.Table.from_pandas(frame).set_column(
            0, "a", pa.array(labels).dictionary_encode()
        ),
    }
    for one, other in zip(found(forms[kind](), y), found(frame, y), strict=True):
        np.testing.assert_array_equal(one, other)
