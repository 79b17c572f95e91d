"""Files that change while they are read, or between two readings."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tvselect.inputs.errors import SourceError
from tvselect.sources import FileSource, open_files, open_source

N = 40_000
WRITERS = {
    "csv": pa.csv.write_csv,
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=N),
    "feather": lambda table, path: pa.feather.write_feather(table, str(path), chunksize=N),
}


def write(path, seed=0, groups=(0, 1)):
    """Two row groups of random numbers, in any order; no statistics in the footer."""
    rng = np.random.default_rng(seed)
    parts = [pa.table({"a": rng.random(N), "y": rng.random(N)}) for _ in range(2)]
    with pq.ParquetWriter(
        path, parts[0].schema, write_statistics=False, compression="none", use_dictionary=False
    ) as writer:
        for place in groups:
            writer.write_table(parts[place], row_group_size=N)
    return path


def test_row_groups_in_another_order_are_another_table(tmp_path):
    path = write(tmp_path / "t.parquet")
    first = open_source(path, "y").identity()
    assert open_source(path, "y").identity() == first
    size = path.stat().st_size
    write(path, groups=(1, 0))
    assert path.stat().st_size == size
    assert open_source(path, "y").identity() != first


def test_a_long_footer_is_looked_at_from_its_start(tmp_path):
    table = pa.table({"y": [1.0, 2.0], **{f"x{j}": [1.0, 2.0] for j in range(3000)}})
    path = tmp_path / "t.parquet"
    identities = set()
    for note in (b"aaaa", b"bbbb"):
        pq.write_table(table.replace_schema_metadata({b"note": note}), path)
        identities.add(open_source(path, "y", columns=["x1"]).identity())
    assert len(identities) == 2


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("how", ["replaced", "written to", "deleted"])
def test_a_file_that_changes_in_mid_pass_is_refused(kind, how, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / f"t.{kind}"
    table = pa.table({"a": rng.random(200_000), "y": rng.random(200_000)})
    WRITERS[kind](table, path)
    source = FileSource(open_files(path), "y")
    batches = source.batches(1000, 0, rng)
    next(batches).target()
    if how == "replaced":
        WRITERS[kind](table, tmp_path / "other")
        os.replace(tmp_path / "other", path)
    elif how == "deleted":
        path.unlink()
    else:
        os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="was changed or replaced while it was read"):
        source.require_unchanged()
    with pytest.raises(SourceError, match=r"was changed or replaced|cannot be read"):
        list(map(read, batches))


def read(batch):
    return batch.target(), batch.numbers(np.array([0]))


def test_a_pipe_is_no_table(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(SourceError, match="no file but a pipe"):
        open_files(tmp_path / "t.csv")
