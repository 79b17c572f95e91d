"""One long label does not make every cell of its column as wide."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tvselect.inputs import read_outcome
from tvselect.inputs.table import read_features
from tvselect.selectors.encoding import StreamEncoder
from tvselect.sources import ArraySource
from tvselect.trees import bin_table

N_ROWS, LONG, MOST_BYTES = 2000, 20_000, 10_000_000
LABELS = ["a", "b"] * (N_ROWS // 2)
LABELS[5] = "x" * LONG

COLUMNS = {
    "objects": lambda: pd.Series(LABELS, dtype=object),
    "text": lambda: pd.Series(LABELS, dtype="str"),
    "ordered": lambda: pd.Series(LABELS, dtype=object).astype(
        pd.CategoricalDtype(sorted({*LABELS}), ordered=True)
    ),
    "polars": lambda: pl.Series("t", LABELS),
    "arrow": lambda: pa.chunked_array([LABELS]),
}


@pytest.fixture
def traced():
    bin_table(np.arange(4.0).reshape(2, 2))  # what is loaded at first use is not measured
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("kind", [*COLUMNS, "list", "rows"])
def test_outcomes(kind, traced):
    others = {"list": LABELS, "rows": [[label] for label in LABELS]}
    outcome = read_outcome(COLUMNS[kind]() if kind in COLUMNS else others[kind], N_ROWS)
    assert outcome.classes.tolist() == sorted({*LABELS})
    assert traced() < MOST_BYTES


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_and_the_head_of_a_stream(kind, traced):
    column = COLUMNS[kind]()
    is_arrow = isinstance(column, pa.ChunkedArray)
    frame = pa.table({"t": column}) if is_arrow else column.rename("t").to_frame()
    assert read_features(frame).X.shape == (N_ROWS, 3)
    source = ArraySource(frame, np.arange(N_ROWS))
    for size in (900, N_ROWS):
        batch = next(source.batches(size, 0, np.random.default_rng(0)))
        encoder = StreamEncoder(source.names, source.categorical).having_seen(batch)
        kept = StreamEncoder.from_bytes(encoder.to_bytes())
        assert kept.levels == tuple(sorted({*LABELS}))
    assert traced() < MOST_BYTES
