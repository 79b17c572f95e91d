"""Tables of further kinds: workbooks, packed text, other encodings, a pipe, survival times, masks.

The first byte of a case says how the rest is read.
"""

from __future__ import annotations

import bz2
import gzip
import io
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from fuzz.mutation import TABLE
from fuzz.targets.base import Target
from fuzz.targets.calls import HarmError
from fuzz.targets.journals import ZIP_TOKENS, change_member
from fuzz.targets.tables import CSV_TOKENS, csv_seeds, look_at
from tvselect.runs.data import prepare
from tvselect.runs.inspect import TableOptions, inspect_table
from tvselect.runs.plan import FileOptions
from tvselect.sources import ArraySource

SUFFIXES = (".txt", ".csv.bz2", ".csv.zst", ".tsv.gz", ".txt.zip", ".csv", ".txt.bz2", ".tsv.zst")
CODECS = ("utf-8", "latin-1", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
WORKBOOKS = (".xlsx", ".xlsm", ".ods", ".xls", ".xlsb")
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
XML_TOKENS = (
    *ZIP_TOKENS, b"<c ", b"</c>", b'r="XFD1048576"', b'r="A1"', b't="s"', b't="inlineStr"',
    b't="b"', b't="e"', b"<v>1e999</v>", b"<v>-1</v>", b"&lt;", b"&#0;", b"<!DOCTYPE x [",
    b'<!ENTITY a "aaaa">', b"&a;", b"<row", b"</row>", b'table:number-rows-repeated="1048576"',
    b'table:number-columns-repeated="16384"', b"office:value-type", b"<mergeCell ",
)  # fmt: skip


def _zip(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def workbook() -> bytes:
    """A small .xlsx, by hand: the same bytes at all times."""

    def cell(row: int, column: int, value: object) -> str:
        place = f'r="{"ABCD"[column]}{row}"'
        if isinstance(value, str):
            return f'<c {place} t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c {place}><v>{value}</v></c>"

    rows = [["n", "x", "text", "y"], *([i, i / 7, "abc"[i % 3], i % 2] for i in range(12))]
    cells = (
        f'<row r="{r}">{"".join(cell(r, c, value) for c, value in enumerate(row))}</row>'
        for r, row in enumerate(rows, start=1)
    )
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return _zip({
        "[Content_Types].xml": f'{XML}<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        f'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.'
        'main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
        f'ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": f'{XML}<Relationships xmlns="{PACKAGE}/relationships"><Relationship '
        f'Id="a" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{XML}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="one" sheetId="1" r:id="b"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{XML}<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="b" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        "</Relationships>",
        "xl/worksheets/sheet1.xml": f'{XML}<worksheet xmlns="{MAIN}"><sheetData>'
        f"{''.join(cells)}</sheetData></worksheet>",
    })  # fmt: skip


def open_document() -> bytes:
    """A small .ods."""
    space = "urn:oasis:names:tc:opendocument:xmlns"

    def cell(value: object) -> str:
        kind = "string" if isinstance(value, str) else "float"
        given = "" if kind == "string" else f' office:value="{value}"'
        return (
            f'<table:table-cell office:value-type="{kind}"{given}><text:p>{value}</text:p>'
            "</table:table-cell>"
        )

    rows = [["x", "text", "y"], *([i / 7, "ab"[i % 2], i % 2] for i in range(12))]
    cells = (f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    return _zip({
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": f'{XML}<manifest:manifest xmlns:manifest="{space}:manifest:1.0">'
        '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.'
        'opendocument.spreadsheet"/></manifest:manifest>',
        "content.xml": f'{XML}<office:document-content xmlns:office="{space}:office:1.0" '
        f'xmlns:table="{space}:table:1.0" xmlns:text="{space}:text:1.0"><office:body>'
        f'<office:spreadsheet><table:table table:name="one">{"".join(cells)}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>",
    })  # fmt: skip


def workbook_seeds() -> list[bytes]:
    """By their endings."""
    return [b"\0" + workbook(), b"\1" + workbook(), b"\2" + open_document(), b"\3" + workbook()]


def look_at_workbook(data: bytes, folder: Path) -> None:
    """A sheet; of a hundred cases some are transposed."""
    path = folder / f"t{WORKBOOKS[data[0] % len(WORKBOOKS) if data else 0]}"
    path.write_bytes(data[1:])
    options = FileOptions(str(path), transpose=len(data) % 97 == 0)
    plan, files, table = inspect_table(options, TableOptions(target="y"))
    prepare(plan, files, table)


def packed_seeds() -> list[bytes]:
    """The first byte: the ending, and whether the text or the archive is damaged."""
    plain = csv_seeds()[0][1:]
    return [
        bytes([number, codec]) + (pack(text, suffix) if number % 2 else text)
        for codec, name in enumerate(CODECS)
        for number, suffix in enumerate(SUFFIXES)
        for text in [plain.decode().replace("text", "pr\xe9nom").encode(name)]
    ]  # fmt: skip


def pack(text: bytes, suffix: str) -> bytes:
    """As the ending of a file says."""
    if suffix.endswith(".bz2"):
        return bz2.compress(text)
    if suffix.endswith(".gz"):
        return gzip.compress(text, mtime=0)
    if suffix.endswith(".zst"):
        return bytes(pa.Codec("zstd").compress(text, asbytes=True))
    return _zip({"t.csv": text}) if suffix.endswith(".zip") else text  # type: ignore[dict-item]


def look_at_packed(data: bytes, folder: Path) -> None:
    """A stream or not."""
    mode = data[0] if data else 0
    suffix = SUFFIXES[mode % len(SUFFIXES)]
    path = folder / f"t{suffix}"
    path.write_bytes(data[2:] if mode % 2 else pack(data[2:], suffix))
    look_at(path, bool(len(data) % 2))


@contextmanager
def piped(data: bytes) -> Iterator[None]:
    """Standard input that holds these bytes."""
    with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data))):
        yield


def look_at_pipe(data: bytes, folder: Path) -> None:
    """Through standard input."""
    options = FileOptions("-", transpose=data[:1] == b"\1")
    with piped(data[1:]):
        plan, files, table = inspect_table(options, TableOptions(target="y"))
    prepare(plan, files, table)


def times_seeds() -> list[bytes]:
    """Times and events, written in several ways."""
    made = []
    for events in ("01", ["no", "yes"], ["false", "true"], ["", "1"], "12", ["a", "b"]):
        rows = (f"{i / 3 + 0.1:.3f},{events[i % 2]},{i * i % 7},{'uvw'[i % 3]}" for i in range(15))
        made.append(("time,event,x,text\n" + "\n".join(rows) + "\n").encode())
    return made


def look_at_times(data: bytes, folder: Path) -> None:
    """As ``tvs select --time time --event event`` does."""
    path = folder / "t.csv"
    path.write_bytes(data)
    event = None if len(data) % 11 == 0 else "event"
    plan, files, table = inspect_table(
        FileOptions(str(path)), TableOptions(target="time", event=event, family="survival")
    )
    prepare(plan, files, table)


def read_masked(data: bytes, folder: Path) -> None:
    """Numbers of any kind under a mask are read as missing ones."""
    kind = ("f8", "f4", "i8", "i4", "u1", "i2")[data[0] % 6 if data else 0]
    n = max(0, (len(data) - 1) // (np.dtype(kind).itemsize + 1) // 3)
    size = 3 * n * np.dtype(kind).itemsize
    values = np.frombuffer(data[1 : 1 + size], kind).reshape(n, 3)
    mask = np.frombuffer(data[1 + size : 1 + size + 3 * n], "u1").reshape(n, 3) > 99
    with np.errstate(all="ignore"):
        plain = np.where(mask, np.nan, values.astype(np.float64))
    y = np.arange(n) % 3.0
    every = np.arange(3)
    for one, other in zip(
        *(ArraySource(X, y).batches(5, 0, np.random.default_rng(0))
          for X in (np.ma.array(values, mask=mask), plain)), strict=True,
    ):  # fmt: skip
        if not np.array_equal(one.numbers(every), other.numbers(every), equal_nan=True):
            raise HarmError("a mask is not what is missing")


TARGETS = (
    Target("workbook", "workbooks: .xlsx, .xlsm, .ods", workbook_seeds, look_at_workbook,
           tokens=XML_TOKENS, changes=(change_member,), share=60),
    Target("packed", "text of six encodings: .txt, .bz2, .zst, .gz, .zip", packed_seeds,
           look_at_packed, tokens=CSV_TOKENS, changes=TABLE, share=60),
    Target("pipe", "standard input, also transposed", csv_seeds, look_at_pipe,
           tokens=CSV_TOKENS, changes=TABLE, share=40),
    Target("times", "survival times and events", times_seeds, look_at_times,
           tokens=(*CSV_TOKENS, b"time", b"event"), changes=TABLE, share=60),
    Target("masked", "masked arrays", lambda: [bytes([k]) + bytes(range(180)) for k in range(6)],
           read_masked, share=200),
)  # fmt: skip
