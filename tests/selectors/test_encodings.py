"""The law of encodings: one table, written down in any way, gives one selection to the bit."""

from __future__ import annotations

from functools import cache
from tempfile import TemporaryFile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from tests.selectors.streams import quick_bart
from tvselect import ThompsonSelector
from tvselect.sources import open_files

N_ROWS, NAMES = 120, ["a", "b", "c", "d", "e"]


@cache
def numbers(has_gaps):
    """Whole numbers that every type holds, a column of 0 and 1 among them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (N_ROWS, 5)).astype(np.float64)
    X[:, 4] = X[:, 4] > 6
    y = 2 * X[:, 1] + 9 * X[:, 4] + rng.integers(-2, 3, N_ROWS)
    if has_gaps:
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, y


def found(X, y):
    selector = ThompsonSelector(quick_bart(), n_plays=40, random_state=3).fit(X, y)
    return selector.support_, selector.result_.means(), selector.q_values_


@cache
def reference(has_gaps):
    return found(*numbers(has_gaps))


def assert_same_selection(form, has_gaps):
    X, y = numbers(has_gaps)
    for one, other in zip(found(form(X), y), reference(has_gaps), strict=True):
        np.testing.assert_array_equal(one, other)


def framed(X):
    return pd.DataFrame(X, columns=NAMES)


def strided(X):
    wide = np.full((2 * len(X), 2 * X.shape[1]), 77.0)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def mapped(X):
    with TemporaryFile() as file:
        there = np.memmap(file, X.dtype, "w+", shape=X.shape, order="F")
    there[:] = X
    return there


def arrow(X):
    return pa.table({name: pa.array(X[:, j], from_pandas=True) for j, name in enumerate(NAMES)})


def dictionaries(X):
    columns = [column.combine_chunks().dictionary_encode() for column in arrow(X).columns]
    return pa.table(columns, names=NAMES)


COMPLETE = {
    **{kind: lambda X, kind=kind: X.astype(kind) for kind in ("i1", "u8", "f2", ">f8", ">i4", "O")},
    "list": lambda X: X.tolist(),
    "truth values": lambda X: framed(X).astype({"e": bool}),
    "polars integers": lambda X: pl.DataFrame(X.astype("u1"), schema=NAMES),
    "csr": sparse.csr_array,
    "coo": sparse.coo_array,
}
ANY = {
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "mapped": mapped,
    "masked": lambda X: np.ma.masked_array(np.where(np.isnan(X), -5.0, X), np.isnan(X)),
    "single": lambda X: X.astype(np.float32),
    "pandas": framed,
    "nullable": lambda X: framed(X).astype("Int64"),
    "pandas by Arrow": lambda X: framed(X).convert_dtypes(dtype_backend="pyarrow"),
    "lazy": lambda X: pl.from_arrow(arrow(X)).lazy(),
    "chunked": lambda X: pa.concat_tables([arrow(X[:7]), arrow(X[7:90]), arrow(X[90:])]),
    "sliced": lambda X: arrow(np.vstack([X[:9], X, X[:5]])).slice(9, N_ROWS),
    "dictionaries": dictionaries,
}


@pytest.mark.parametrize("kind", [*COMPLETE, *ANY])
def test_numbers_and_missing_values_of_any_kind(kind):
    assert_same_selection((COMPLETE | ANY)[kind], kind in ANY)


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "tsv"])
@pytest.mark.parametrize("has_gaps", [False, True], ids=["complete", "gaps"])
def test_files(ending, has_gaps, tmp_path):
    def form(X):
        table, path = arrow(X), tmp_path / f"t.{ending}"
        if ending == "parquet":
            pq.write_table(table, path, row_group_size=50)
        elif ending == "feather":
            pa.feather.write_feather(table, path, chunksize=50)
        else:
            options = pa.csv.WriteOptions(delimiter="," if ending == "csv" else "\t")
            pa.csv.write_csv(table, path, options)
        return open_files(str(path)).read()

    assert_same_selection(form, has_gaps)


TEXTS = {
    "categories": lambda frame: frame.astype(
        {"a": pd.CategoricalDtype(["none", *set(frame["a"])])}
    ),
    "text of Arrow": lambda frame: frame.astype({"a": pd.ArrowDtype(pa.string())}),
    "polars": lambda frame: pl.from_pandas(frame).with_columns(pl.col("a").cast(pl.Categorical)),
    "arrow": lambda frame: pa.Table.from_pandas(frame).set_column(
        0, "a", pa.array(frame["a"].to_numpy()).dictionary_encode()
    ),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_of_any_kind(kind):
    X, y = numbers(False)
    labels = np.array(["low", "middle", "high"], dtype=object)[X[:, 1].astype(int) // 4]
    frame = framed(X).assign(a=pd.Series(labels, dtype=object))
    for one, other in zip(found(TEXTS[kind](frame), y), found(frame, y), strict=True):
        np.testing.assert_array_equal(one, other)
