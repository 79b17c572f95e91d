"""Tables: text, CSV, Parquet and Feather, as sources and as the command line reads them.

The first byte of a case says how the rest is read.
"""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from fuzz.mutation import TABLE
from fuzz.targets.base import Target
from tvselect.runs.data import open_stream, prepare, sample
from tvselect.runs.inspect import TableOptions, inspect_table
from tvselect.runs.plan import FileOptions
from tvselect.sources import Source, open_source

ROWS_AT_ONCE = 7
MOST_BATCHES = 50
CSV_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".csv.gz", ".csv", ".csv")
PACK = 3
MODES = len(CSV_SUFFIXES)
CSV_TOKENS = (
    b"y", b"x", b",", b";", b"\t", b"|", b'"', b'""', b"\n", b"\r\n", b"NA", b"nan", b"1,5", b"1.5",
    b"true", b"2024-01-01", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\x1f\x8b\x08", b"y,", b"\ny\n",
    b"1e400", b"-inf", b"\xe2\x80\xa8", b"\x1a", b"\xc3\xa9",
)  # fmt: skip
ARROW_TOKENS = (
    b"PAR1", b"PARE", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"y", b"x", b"text", b"int64", b"utf8",
    b"ARROW:schema", b"ARROW:extension:name", b"arrow.py_extension_type", b"pandas", b"\x15\x00",
    b"\x19\x4c", b"\x16\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x15\xfe\xff\xff\xff\x0f",
    b"\x00" * 8, b"\xff" * 8,
)  # fmt: skip


def read_all(source: Source) -> None:
    """Some batches of two rounds, every column of them."""
    source.identity()
    numbers, texts = np.flatnonzero(~source.categorical), np.flatnonzero(source.categorical)
    for round in range(2):
        batches = source.batches(ROWS_AT_ONCE, round, np.random.default_rng(0))
        for _, batch in zip(range(MOST_BATCHES), batches, strict=False):
            batch.numbers(numbers)
            for column in texts:
                batch.labels(int(column))
            batch.target()


def csv_seeds() -> list[bytes]:
    """Dialects, kinds of cells, line ends, encodings."""
    rows = [f"{i},{i / 7:.4f},{'abc'[i % 3]},{i % 2}" for i in range(12)]
    plain = ("n,x,text,y\n" + "\n".join(rows) + "\n").encode()
    french = plain.replace(b",", b";").replace(b".", b",")
    tabs = plain.replace(b",", b"\t")
    bars = plain.replace(b",", b"|").replace(b"\n", b"\r\n")
    quoted = b'"a, b","y"\n"1","2"\n"multi\nline","3"\n,4\nNA,5\n'
    marked = b"\xef\xbb\xbf" + plain
    latin = "pr\xe9nom,y\nJos\xe9,1\nZo\xe9,2\n".encode("latin-1")
    wide = b",".join(b"c%d" % i for i in range(40)) + b",y\n" + b",".join([b"1.5"] * 41) + b"\n"
    dates = b"day,y\n" + b"".join(b"2024-01-%02d,%d\n" % (d, d % 3) for d in range(1, 9))
    packed = gzip.compress(plain, mtime=0)
    return [
        b"\0" + plain, b"\1" + tabs, b"\2" + packed, b"\3" + plain, b"\4" + french, b"\5" + french,
        b"\0" + bars, b"\0" + quoted, b"\0" + marked, b"\0" + latin, b"\0" + wide, b"\0" + dates,
    ]  # fmt: skip


def put_csv(data: bytes, folder: Path) -> tuple[Path, int]:
    """The file of a case, and how it is to be read."""
    mode = data[0] % MODES if data else 0
    path = folder / f"t{CSV_SUFFIXES[mode]}"
    content = data[1:]
    path.write_bytes(gzip.compress(content, 1, mtime=0) if mode == PACK else content)
    return path, mode


def read_csv(data: bytes, folder: Path) -> None:
    """As a source, with found and with given marks."""
    path, mode = put_csv(data, folder)
    marks: dict[str, Any] = dict(delimiter=";", decimal=",") if mode == 5 else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is not UTF-8; it is read.*", UserWarning)
        source = open_source(path, "y", **marks)
    read_all(source)


def look_at(path: Path, stream: bool | None) -> None:
    """As ``tvs select`` does before the first play."""
    plan, files, table = inspect_table(
        FileOptions(str(path)), TableOptions(target="y", stream=stream)
    )
    if plan.stream:
        read_all(open_stream(plan, files))
        sample(plan, files)
    else:
        prepare(plan, files, table)


def look_at_csv(data: bytes, folder: Path) -> None:
    """In memory, or as a stream for one mode in two."""
    path, mode = put_csv(data, folder)
    look_at(path, bool(mode % 2) if len(data) % 3 else None)


def text_seeds() -> list[bytes]:
    """Blanks between cells, numbers with signs, genes in rows, archives."""
    rows = [f"{i} {i / 7:.4f} {'abc'[i % 3]} ${i * 1000:,} {i % 2}" for i in range(12)]
    blanks = ("n x text price y\n" + "\n".join(rows) + "\n").encode()
    turned = b'gene,s1,s2,s3\ny,1,2,3\na,"1,5",2,x\nb,,NA,3\n'
    archives = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(sink := io.BytesIO(), "w", method) as archive:
            archive.writestr(zipfile.ZipInfo("t.csv"), csv_seeds()[0][1:])
        archives.append(b"\1" + sink.getvalue())
    wide = blanks.decode().encode("utf-16")
    return [b"\0" + blanks, b"\0" + wide, *archives, b"\2" + turned]


def look_at_text(data: bytes, folder: Path) -> None:
    """As text, unpacked from an archive, or transposed."""
    mode = data[0] % 3 if data else 0
    path = folder / ("t.txt", "t.zip", "t.csv")[mode]
    path.write_bytes(data[1:])
    if mode < 2:
        look_at(path, bool(len(data) % 2))
    else:
        plan, files, table = inspect_table(
            FileOptions(str(path), transpose=True), TableOptions(target="y")
        )
        prepare(plan, files, table)


def tables() -> list[pa.Table]:
    """Every kind of column that a table may hold, in small tables."""
    n = 20
    plain = pa.table(
        {
            "x": np.linspace(0, 1, n),
            "f": np.linspace(0, 1, n, dtype=np.float32),
            "n": np.arange(n, dtype=np.int16),
            "text": [f"level {i % 3}" for i in range(n)],
            "y": [i % 2 == 0 for i in range(n)],
        }
    )
    gaps = pa.table(
        {
            "x": pa.array([None if i % 4 == 0 else i / 7 for i in range(n)]),
            "text": pa.array([None if i % 5 == 0 else "ab"[i % 2] for i in range(n)]),
            "kind": pa.array(["u", "v", None, "w"] * 5).dictionary_encode(),
            "y": pa.array([None, 1, 2, 3] * 5),
        }
    )
    odd = pa.table(
        {
            "day": pa.array(range(n), pa.date32()),
            "at": pa.array(range(n), pa.timestamp("ns", tz="UTC")),
            "money": pa.array(range(n), pa.decimal128(9, 2)),
            "large": pa.array(["q"] * n, pa.large_string()),
            "bytes": pa.array([b"\xff"] * n, pa.binary()),
            "list": pa.array([[1]] * n),
            "nothing": pa.nulls(n),
            "y": np.arange(n) / 3,
        }
    )
    return [plain, gaps, odd]


def parquet_seeds() -> list[bytes]:
    """Versions, codecs, one and several row groups."""
    made = []
    for number, table in enumerate(tables()):
        for options in (
            dict(compression="none", row_group_size=8),
            dict(compression=("snappy", "gzip", "zstd")[number], use_dictionary=False),
            dict(compression="none", data_page_version="2.0", write_statistics=False),
        ):
            sink = io.BytesIO()
            pa.parquet.write_table(table, sink, **options)
            made.append(bytes([number]) + sink.getvalue())
    return made


def feather_seeds() -> list[bytes]:
    """With and without compression, one and several record batches."""
    made = []
    for number, table in enumerate(tables()):
        for codec, size in (("uncompressed", 8), ("lz4", 100), ("zstd", 100)):
            sink = io.BytesIO()
            pa.feather.write_feather(table, sink, compression=codec, chunksize=size)
            made.append(bytes([number]) + sink.getvalue())
    return made


def _put(suffix: str, data: bytes, folder: Path) -> tuple[Path, int]:
    path = folder / f"t{suffix}"
    path.write_bytes(data[1:])
    return path, data[0] if data else 0


def read_groups(suffix: str, data: bytes, folder: Path) -> None:
    """As a source; some cases name the columns."""
    path, mode = _put(suffix, data, folder)
    read_all(open_source(path, "y", columns=["x", "text"] if mode & 4 else None))


def look_at_groups(suffix: str, data: bytes, folder: Path) -> None:
    """As the command line does; some cases stream."""
    path, mode = _put(suffix, data, folder)
    look_at(path, (None, True, False)[mode % 3])


TARGETS = (
    Target("csv", "CSV, TSV and gzip as a stream", csv_seeds, read_csv,
           tokens=CSV_TOKENS, changes=TABLE, share=500),
    Target("csv-look", "CSV as `tvs select` looks at it", csv_seeds, look_at_csv,
           tokens=CSV_TOKENS, changes=TABLE, share=300),
    Target("text-look", "text, archives and transposed tables", text_seeds, look_at_text,
           tokens=CSV_TOKENS, changes=TABLE, share=100),
    Target("parquet", "Parquet as a stream", parquet_seeds,
           partial(read_groups, ".parquet"),
           tokens=ARROW_TOKENS, share=1000),
    Target("parquet-look", "Parquet as `tvs select` looks at it", parquet_seeds,
           partial(look_at_groups, ".parquet"),
           tokens=ARROW_TOKENS, share=100, quick=10),
    Target("feather", "Feather (Arrow IPC) as a stream", feather_seeds,
           partial(read_groups, ".feather"),
           tokens=ARROW_TOKENS, share=1000),
    Target("feather-look", "Feather as `tvs select` looks at it", feather_seeds,
           partial(look_at_groups, ".feather"),
           tokens=ARROW_TOKENS, share=100, quick=10),
)  # fmt: skip
