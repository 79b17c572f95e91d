"""One table in every form that a source can be opened from."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq

from tvselect.sources import ArraySource, IteratorSource, Source, open_source

N_ROWS = 1003
NAMES = ("a", "b", "n", "f", "t")
NUMERIC = np.array([0, 1, 2, 3])


def make_table(n: int = N_ROWS) -> pa.Table:
    """Numbers of several types, text, and missing values; ``a`` numbers the rows."""
    row = np.arange(n)
    missing = row % 7 == 3
    return pa.table(
        {
            "a": pa.array((row / 8).astype(np.float32)),
            "b": pa.array(np.sin(row).round(3), mask=missing),
            "n": pa.array(row % 11, mask=row % 13 == 5),
            "f": pa.array(row % 2 == 0),
            "t": pa.array(np.array(["x", "y z", 'q"uote', "new\nline"])[row % 4], mask=missing),
            "y": pa.array((row % 5) - 2.5),
        }
    )


def expected_numbers() -> np.ndarray:
    columns = [make_table()[name].to_numpy(zero_copy_only=False) for name in "abnf"]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def expected_labels() -> np.ndarray:
    return np.array(make_table()["t"].to_pylist(), dtype=object)


def expected_target() -> np.ndarray:
    return make_table()["y"].to_numpy()


def parquet_file(folder: Path) -> Path:
    path = folder / "one.parquet"
    pq.write_table(make_table(), path, row_group_size=90)
    return path


def parquet_folder(folder: Path) -> Path:
    """Three files, the second with its columns in another order, and one that is no data."""
    inside = folder / "parts"
    inside.mkdir()
    table = make_table()
    for number, (start, stop) in enumerate([(0, 400), (400, 401), (401, N_ROWS)]):
        part = table.slice(start, stop - start)
        if number == 1:
            part = part.select(part.column_names[::-1])
        pq.write_table(part, inside / f"part-{number}.parquet", row_group_size=150)
    (inside / "_SUCCESS").touch()
    (inside / "notes.txt").write_text("no data")
    return inside


def csv_file(folder: Path, suffix: str = ".csv") -> Path:
    path = folder / f"table{suffix}"
    marks = pa.csv.WriteOptions(delimiter="\t" if ".tsv" in suffix else ",")
    kind = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}.get(suffix.split(".")[-1])
    with pa.output_stream(path, compression=kind) as stream:
        pa.csv.write_csv(make_table(), stream, marks)
    return path


def zip_file(folder: Path) -> Path:
    path = folder / "table.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        # Without the time of the day, so that two archives of the same table are equal.
        archive.writestr(zipfile.ZipInfo("table.csv"), csv_file(folder).read_bytes())
    return path


def feather_file(folder: Path) -> Path:
    path = folder / "table.feather"
    pa.feather.write_feather(make_table(), path, chunksize=130)
    return path


def cuts(table: pa.Table) -> list[pa.Table]:
    """Chunks of uneven sizes, one of them empty."""
    edges = [0, 1, 1, 40, 400, 900, N_ROWS]
    return [table.slice(a, b - a) for a, b in pairwise(edges)]


def pairs() -> list[tuple[pd.DataFrame, np.ndarray]]:
    frames = [cut.to_pandas() for cut in cuts(make_table())]
    return [(frame.drop(columns="y"), frame["y"].to_numpy()) for frame in frames]


def shuffled_columns() -> list[pl.DataFrame]:
    frames = [pl.from_arrow(cut) for cut in cuts(make_table())]
    return [
        frame.select(sorted(frame.columns, reverse=k % 2 == 1)) for k, frame in enumerate(frames)
    ]


def pandas_frame() -> pd.DataFrame:
    frame = make_table().to_pandas()
    return frame.astype({"n": "Int64", "t": "category"})


def polars_frame() -> pl.DataFrame:
    return pl.from_arrow(make_table())


def reader() -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(make_table().schema, make_table().to_batches(77))


Maker = Callable[[Path], Source]

MAKERS: dict[str, Maker] = {
    "pandas": lambda folder: open_source(pandas_frame(), "y"),
    "pandas and y": lambda folder: ArraySource(pandas_frame().drop(columns="y"), expected_target()),
    "polars": lambda folder: open_source(polars_frame(), "y"),
    "polars categories": lambda folder: open_source(
        polars_frame().with_columns(pl.col("t").cast(pl.Categorical)), "y"
    ),
    "arrow": lambda folder: open_source(make_table(), "y"),
    "arrow dictionary": lambda folder: open_source(
        make_table().set_column(4, "t", make_table()["t"].dictionary_encode()), "y"
    ),
    "parquet": lambda folder: open_source(parquet_file(folder), "y"),
    "parquet folder": lambda folder: open_source(str(parquet_folder(folder)), "y"),
    "parquet glob": lambda folder: open_source(f"{parquet_folder(folder)}/*.parquet", "y"),
    "parquet dataset": lambda folder: open_source(
        pa.dataset.dataset(parquet_file(folder), format="parquet"), "y"
    ),
    "parquet url": lambda folder: open_source(parquet_file(folder).as_uri(), "y"),
    "csv": lambda folder: open_source(csv_file(folder), "y"),
    "csv.gz": lambda folder: open_source(csv_file(folder, ".csv.gz"), "y"),
    "csv.bz2": lambda folder: open_source(csv_file(folder, ".csv.bz2"), "y"),
    "csv as txt.zst": lambda folder: open_source(csv_file(folder, ".txt.zst"), "y"),
    "csv.zip": lambda folder: open_source(zip_file(folder), "y"),
    "tsv": lambda folder: open_source(csv_file(folder, ".tsv"), "y"),
    "feather": lambda folder: open_source(feather_file(folder), "y"),
    "pairs": lambda folder: open_source(pairs()),
    "frames": lambda folder: open_source(shuffled_columns(), "y", columns=NAMES),
    "readers": lambda folder: open_source(reader, "y"),
    "lazy": lambda folder: open_source(polars_frame().lazy(), "y"),
    "filtered dataset": lambda folder: open_source(
        pa.dataset.dataset(parquet_file(folder)).filter(pa.compute.field("a") >= 0), "y"
    ),
}
ONCE: dict[str, Maker] = {
    "iterator of pairs": lambda folder: IteratorSource(iter(pairs())),
    "reader": lambda folder: open_source(reader(), "y"),
    "generator": lambda folder: open_source(
        (frame for frame in shuffled_columns()), "y", columns=NAMES
    ),
}
