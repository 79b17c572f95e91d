"""One table in every form that a source can be opened from."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq

N_ROWS = 1003
NAMES = ("a", "b", "n", "f", "t")


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


def parquet_file(folder: Path) -> Path:
    path = folder / "one.parquet"
    pq.write_table(make_table(), path, row_group_size=90)
    return path


def parquet_folder(folder: Path) -> Path:
    """Three files, the second with its columns in another order, and some that are no data."""
    inside = folder / "parts"
    (inside / "_temporary").mkdir(parents=True)
    table = make_table()
    for number, (start, stop) in enumerate([(0, 400), (400, 401), (401, N_ROWS)]):
        part = table.slice(start, stop - start)
        if number == 1:
            part = part.select(part.column_names[::-1])
        pq.write_table(part, inside / f"part-{number}.parquet", row_group_size=150)
    for name in ("_SUCCESS", "notes.txt", "_temporary/part-0.parquet"):
        (inside / name).write_text("no data")
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


def cuts() -> list[pl.DataFrame]:
    """Chunks of uneven sizes, one of them empty, every other one with its columns reversed."""
    frame, edges = polars_frame(), [0, 1, 1, 40, 400, 900, N_ROWS]
    return [
        frame[a:b].select(sorted(frame.columns, reverse=k % 2 == 1))
        for k, (a, b) in enumerate(pairwise(edges))
    ]


def pairs() -> list[tuple[pd.DataFrame, np.ndarray]]:
    frames = [cut.select(make_table().column_names).to_pandas() for cut in cuts()]
    return [(frame.drop(columns="y"), frame["y"].to_numpy()) for frame in frames]


def polars_frame() -> pl.DataFrame:
    return pl.from_arrow(make_table())


def reader() -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(make_table().schema, make_table().to_batches(77))


Maker = Callable[[Path], Any]
#: What ``open_source`` takes, in a folder
FILES: dict[str, Maker] = {
    "parquet": parquet_file,
    "parquet folder": lambda folder: str(parquet_folder(folder)),
    "parquet glob": lambda folder: f"{parquet_folder(folder)}/*.parquet",
    "parquet dataset": lambda folder: ds.dataset(parquet_file(folder), format="parquet"),
    "parquet url": lambda folder: parquet_folder(folder).as_uri(),
    "csv": csv_file,
    "csv.gz": lambda folder: csv_file(folder, ".csv.gz"),
    "csv.bz2": lambda folder: csv_file(folder, ".csv.bz2"),
    "csv as txt.zst": lambda folder: csv_file(folder, ".txt.zst"),
    "csv.zip": zip_file,
    "csv as tsv": lambda folder: csv_file(folder, ".tsv"),
    "feather": feather_file,
}
MAKERS: dict[str, Maker] = FILES | {
    "pandas": lambda _: make_table().to_pandas().astype({"n": "Int64", "t": "category"}),
    "polars": lambda _: polars_frame(),
    "polars categories": lambda _: polars_frame().with_columns(pl.col("t").cast(pl.Categorical)),
    "arrow": lambda _: make_table(),
    "arrow dictionary": lambda _: make_table().set_column(
        4, "t", make_table()["t"].dictionary_encode()
    ),
    "pairs": lambda _: pairs(),
    "frames": lambda _: cuts(),
    "readers": lambda _: reader,
    "lazy": lambda _: polars_frame().lazy(),
    "filtered dataset": lambda folder: ds.dataset(parquet_file(folder)).filter(
        pa.compute.field("a") >= 0
    ),
}
ONCE: dict[str, Maker] = {
    "iterator of pairs": lambda _: iter(pairs()),
    "reader": lambda _: reader(),
    "generator of frames": lambda _: (frame for frame in cuts()),
}
OPTIONS: dict[str, dict[str, Any]] = {
    name: {} if "pairs" in name else {"target": "y"} for name in MAKERS | ONCE
} | {name: {"target": "y", "columns": NAMES} for name in ("frames", "generator of frames")}
