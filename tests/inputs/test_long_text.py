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
    "objects": pd.Series(LABELS, dtype=object),
    "text": pd.Series(LABELS, dtype="str"),
    "ordered": pd.Series(LABELS).astype(pd.CategoricalDtype(sorted({*LABELS}), ordered=True)),
    "polars": pl.Series("t", LABELS),
    "arrow": pa.chunked_array([LABELS]),
    "list": LABELS,
    "rows": [[label] for label in LABELS],
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_outcomes_columns_and_the_head_of_a_stream(column):
    bin_table(np.arange(4.0).reshape(2, 2))  # what is loaded at first use is not measured
    tracemalloc.start()
    try:
        assert read_outcome(column, N_ROWS).classes.tolist() == sorted({*LABELS})
        if not isinstance(column, list):
            is_arrow = isinstance(column, pa.ChunkedArray)
            look_at_column(pa.table({"t": column}) if is_arrow else column.rename("t").to_frame())
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


def look_at_column(frame):
    assert read_features(frame).X.shape == (N_ROWS, 3)
    source = ArraySource(frame, np.arange(N_ROWS))
    for size in (900, N_ROWS):
        batch = next(source.batches(size, 0, np.random.default_rng(0)))
        encoder = StreamEncoder(source.names, source.categorical).having_seen(batch)
        kept = StreamEncoder.from_bytes(encoder.to_bytes())
        assert kept.levels == tuple(sorted({*LABELS}))
