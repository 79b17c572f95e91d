"""Files that once made a reader crash, hang or raise what is not ours."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import resource
import sqlite3
import struct
import zipfile
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from fuzz.targets import TARGETS
from fuzz.targets.journals import HEADER, sound_heads, sound_journal
from fuzz.targets.kinds import open_document
from fuzz.targets.runs import make_folder, sound_findings, sound_run
from fuzz.targets.studies import row_seeds
from fuzz.targets.tables import look_at
from fuzz.verdict import OURS, PLAIN, fault_in
from tvselect.bandit.journal import Journal, JournalError
from tvselect.inputs.arrow import as_days
from tvselect.records import to_json
from tvselect.runs.folder import RunFolder
from tvselect.runs.transform import transform
from tvselect.selectors.encoding import StreamEncoder
from tvselect.sources import SourceError, open_source
from tvstudy.datasets import load_direct_mail
from tvstudy.rows import read_rows, write_parquet

DEEP = b"[" * 100_000 + b"]" * 100_000


def feather_beyond_its_buffers():
    table = pa.table({"text": ["one", "two", "three"], "x": [1.0, 2.0, 3.0], "y": [1, 2, 3]})
    pa.feather.write_feather(table, sink := io.BytesIO(), compression="uncompressed")
    sound, wild = (np.array(ends, "<i4").tobytes() for ends in ([0, 3, 6, 11], [0, *[2**30] * 3]))
    assert sink.getvalue().count(sound) == 1
    return sink.getvalue().replace(sound, wild)


def changed(sound, **values):
    return json.dumps({**json.loads(sound), **values}).encode()


def with_delimiter(mark):
    plan = json.loads(RUN)["plan"]
    plan["file"]["delimiter"] = mark
    return changed(RUN, plan=plan)


def with_finding(**values):
    sound = sound_findings().to_json()
    return changed(sound, findings=json.loads(sound)["findings"] | values)


def archive(content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", content)
    return made.getvalue()


def npy(description, data=b""):
    text = description.encode().ljust(118)
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def endless_sheet(encoding):
    with zipfile.ZipFile(io.BytesIO(open_document())) as file:
        files = {name: file.read(name) for name in file.namelist()}
    cut = files["content.xml"].replace(b"</table:table>", b"").replace(b"UTF-8", encoding)
    with zipfile.ZipFile(made := io.BytesIO(), "w") as file:
        for name, content in (files | {"content.xml": cut}).items():
            file.writestr(name, content)
    return made.getvalue()


def times(*rows):
    return "\n".join(["time,event,x", *rows]).encode()


def play(arms=b"", rewards=b"", seconds=0.1):
    return struct.pack("<d", seconds) + bytes([len(arms)]) + arms + rewards


SHAPED = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }"
ROWS = row_seeds()[1]
ROW = ROWS.split(b"\n")[0]
TIMES = [f"{i},{i % 2},{i * i % 7}" for i in range(12)]
RUN = to_json(sound_run())
HEADER_TEXT = json.dumps(asdict(HEADER))
#: By target: what it is handed, and what is said of it.
FAULTS = {
    "feather": [(b"\0" + feather_beyond_its_buffers(), "'text'.*cannot be read")],
    "feather-look": [
        (mode + feather_beyond_its_buffers(), "cannot be read as Feather")
        for mode in (b"\1", b"\2")
    ],
    "csv-look": [
        (b"\0x,y\n" + b"".join(b"%d,1_%03d\n" % (i, i) for i in range(20)),
         "written in several ways"),
    ],
    "times": [
        (times(*TIMES[:2], "1.5.2,1,4", *TIMES[3:]),
         r"'time' of .* holds numbers, but '1.5.2' in row 3; mend"),
        (times(*TIMES[:2], "zero,1,4", *TIMES[3:]),
         r"'time' of .* holds numbers, but 'zero' in row 3"),
        (times(*(f"{'ab'[i % 2]},1,{i}" for i in range(10))),
         r"holds text such as 'a'; survival times are numbers"),
    ],
    "workbook": [
        (b"\2" + endless_sheet(encoding), "cannot be read as a spreadsheet: mismatched tag")
        for encoding in (b"UTF-8", b"UTF-yes", b"shift_jis")
    ],
    "mail": [
        (b"\2" + content, said) for content, said in (
            (b"", "cannot be read as CSV"),
            (b"\xff\xfe", "cannot be read as CSV"),
            (b"\x1f\x8b\x08", "is damaged"),
            (gzip.compress(b"treatment,out_gavedum\n", mtime=0)[:-3], "is damaged"),
            (b"treatment,out_gavedum,x\n1,0,one\n", "more than numbers"),
            (b"treatment,out_gavedum,x\n1,7,1\n", "other values than 0 and 1"),
        )
    ],
    "journal-header": [
        (text, "damaged in its header") for text in (
            b"", b"[]", b"3", DEEP, b"9" * 5000, b'{"entropy": 1}',
            *(changed(HEADER_TEXT, **values) for values in (
                {"n_arms": "5"}, {"n_arms": 0}, {"n_chains": -1}, {"entropy": -1}, {"more": 1})),
        )
    ],
    "journal-plays": [
        (play(**odd), "damaged at play 2 of chain 0") for odd in (
            dict(arms=b"\1"), dict(arms=b"\1\0\0\0"), dict(rewards=b"\1"), dict(seconds=np.inf))
    ],
    "kept-head": [
        (b"\0" + blob, "damaged at 'encoder'.*no stored arrays") for blob in (
            b"", archive(b"no array"), archive(npy(SHAPED % ("<f8", 99999999999))),
            archive(npy(SHAPED % ("<f8", -1))), archive(npy(SHAPED % ("|O", 1), b"cos\nsystem")),
            archive(npy(SHAPED % ("<U1", 1), b"\xff" * 4)), archive(npy("(" * 100)),
            archive(npy(SHAPED % (r"\d", 1))), archive(bytes(50_000_000))[:-30],
        )
    ],
    "kept-outcome": [
        (blob, "damaged at 'outcome'.*(no stored outcome|family must be)") for blob in (
            b"", b"[]", b"[3, null]", b'["probit", [1]]', b'["probit", [1, 1]]',
            b'["probit", [[], {}]]', b'["probit", ["a", 1]]', b"\xff", DEEP,
            b'["probit", [1, 1' + b"0" * 30 + b"]]",
        )
    ],
    "kept-batches": [
        (blob, "damaged at 'batches'") for blob in (b"", b"-1", b"x", b"9" * 30, "٣".encode())
    ],
    "run-record": [
        (changed(RUN, seconds=10**400), "at 'seconds'"), (DEEP, "no JSON"),
        (with_delimiter("\ud800"), "single character"),
    ],
    "findings": [(with_finding(n_plays=10**400), "not as tvs wrote it")],
    "groups": [
        (b"\0" + DEEP, "no JSON"), (b"\0" + b"9" * 5000, "no JSON"),
        (b"\1column,group\na," + b"x" * 200_000, "mend the file"),
    ],
    "study-rows": [
        (b"3\n", "line 1 of"),
        *((ROWS + b"\n" + changed(ROW, **{name: value}), rf"line 7 of .*\(at '{name}'\)")
          for name, value in (
              ("method", None), ("n_rows", "30"), ("n_columns", 10**400), ("hamming", float("nan")),
              ("exact", 3), ("selection_rates", [[1]]), ("status", []))),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [pytest.param(name, *case, id=f"{name} {number}")
     for name, cases in FAULTS.items() for number, case in enumerate(cases)],
)  # fmt: skip
def test_files_that_once_did_harm_are_refused(name, data, said, tmp_path, monkeypatch):
    target = TARGETS[name]
    monkeypatch.chdir(tmp_path)
    if target.prepare is not None:
        target.prepare(tmp_path)
    with pytest.raises((*OURS, *PLAIN)) as raised:
        target.read(data, tmp_path)
    assert fault_in(raised.value) is None
    assert re.search(said, f"{raised.value}; {raised.value.__cause__}")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_table_of_nothing_but_rows(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    nothing = pa.table({"x": pa.nulls(50_000_000), "y": pa.nulls(50_000_000)})
    if suffix == ".parquet":
        one_page = dict(data_page_size=2**28, write_batch_size=2**26, max_rows_per_page=2**27)
        pa.parquet.write_table(nothing, path, row_group_size=50_000_000, **one_page)
    else:
        pa.feather.write_feather(nothing, path, chunksize=50_000_000)
    for read in (lambda: open_source(path, "y"), lambda: look_at(path, None)):
        with pytest.raises(SourceError, match=r"claims to hold 50,000,000 rows in [\d,]+ byte"):
            read()


def test_a_bomb_of_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"x,text,y\n" + b"1,a,2\n" * 20_000_000)
    with pytest.raises(SourceError, match=r"unpacks to more than [\d,]+ bytes"):
        look_at(path, stream=False)
    make_folder(tmp_path)
    with pytest.raises(SourceError, match="unpacks to more than"):
        transform(RunFolder(tmp_path / "run"), str(path), str(tmp_path / "out.csv"))
    with pytest.raises(ValueError, match="too large for the mail experiment"):
        load_direct_mail(path)
    source = open_source(path, "y")  # a stream takes what it needs
    batch = next(source.batches(10, 0, np.random.default_rng(0)))
    assert batch.numbers(np.array([0])).tolist() == [[1.0]] * 10


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
        "SELECT i FROM n",
        "CREATE TRIGGER no BEFORE INSERT ON plays BEGIN DELETE FROM plays; END",
        "CREATE INDEX slow ON plays (abs(randomblob(1000000)))",
        "DROP TABLE kept",
        "ALTER TABLE kept ADD COLUMN more",
    ],
)
def test_a_journal_with_other_tables(tmp_path, statement):
    path = tmp_path / "run.journal"
    path.write_bytes(sound_journal())
    with closing(sqlite3.connect(path)) as db:
        try:
            db.execute(statement)
        except sqlite3.OperationalError:
            pytest.skip("this SQLite refuses it itself")
    with pytest.raises(JournalError, match="is not a journal of tvselect"):
        Journal(path)


@pytest.mark.parametrize("number", range(6))
def test_a_head_with_an_array_that_does_not_fit(number):
    blob = sound_heads()[number]
    with np.load(io.BytesIO(blob)) as file:
        arrays = dict(file)
    StreamEncoder.from_bytes(blob)
    for name, array in arrays.items():
        if name == "knockoffs" and array.size == 0:
            continue
        others = [array[None], array[:-1], np.append(array, array), array.astype("S1")]
        if array.dtype.kind == "i":
            others += [array - 1, array + 1, array + 2**40]
        elif name in ("low", "step"):
            others += [array * np.nan]
        for other in others:
            if other.shape == array.shape and (other == array).all():
                continue
            made = io.BytesIO()
            np.savez(made, **{**arrays, name: other})
            try:
                StreamEncoder.from_bytes(made.getvalue())
            except ValueError:
                continue
            # A number may be another number, and an archive twice is still an archive.
            assert name in ("halfway", "knockoffs"), name


@pytest.mark.parametrize("name", ["x" * 3000, "~nobody-of-this-name/t.csv"])
def test_what_cannot_be_a_path(name):
    with pytest.raises(SourceError, match="cannot be a path"):
        open_source(name, "y")


def test_half_a_character_in_findings_is_shown_as_a_question_mark(tmp_path):
    make_folder(tmp_path)
    run = RunFolder(tmp_path / "run")
    run.findings.write_bytes(with_finding(notes=["half \ud800 a pair"]))
    run.render(run.read_findings())
    assert "half ? a pair" in run.report.read_text(encoding="utf-8")


def test_dates_that_no_timestamp_can_say():
    days = pa.chunked_array([pa.array([-(2**31), 0, 2**31 - 1], pa.int32()).cast(pa.date32())])
    assert as_days(days).tolist() == [-(2.0**31), 0.0, 2.0**31 - 1]
    times = pa.chunked_array([pa.array([1_001], pa.int64()).cast(pa.time64("ns"))])
    assert as_days(times).tolist() == [1 / 86_400e6]


@pytest.mark.parametrize("kind", ["pipe", "link", "file"])
def test_a_journal_with_a_rollback_journal_beside_it(tmp_path, kind):
    path, beside = tmp_path / "run.journal", tmp_path / "run.journal-journal"
    path.write_bytes(sound_journal())
    if kind == "pipe":
        os.mkfifo(beside)
    elif kind == "link":
        beside.symlink_to(tmp_path / "nothing")
    else:
        beside.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * 100)
    with pytest.raises(JournalError, match="has a -journal file"):
        Journal(path)
    assert path.read_bytes() == sound_journal()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="not Linux")
def test_packed_text_that_is_none_takes_no_memory_for_good(tmp_path):
    path = tmp_path / "t.csv.bz2"
    path.write_bytes(b"no archive" * 30)

    def address_space():
        for _ in range(40):
            with pytest.raises(SourceError):
                open_source(path, "y")
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

    before = address_space()
    assert address_space() - before < 10e6


def test_a_time_of_zero_is_told_by_the_fit_alone(tmp_path):
    TARGETS["times"].read(times(*TIMES), tmp_path)


def test_rows_of_a_study_that_are_left_out_or_differ(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS + b"\n\xff\n" + DEEP + b'\n{"key": \n')
    assert len(read_rows(tmp_path)) == 6
    for selected in (3, {}, "\ud800", 10**30):
        path.write_bytes(ROWS + b"\n" + changed(ROW, selected=selected))
        with pytest.raises(ValueError, match="differ in the types"):
            write_parquet(tmp_path)
