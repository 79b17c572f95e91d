"""Files that once made a reader crash, hang or raise what is not ours."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import sqlite3
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from fuzz.targets.journals import HEADER, read_batches, restore, sound_heads, sound_journal
from fuzz.targets.kinds import open_document
from fuzz.targets.runs import make_folder, sound_findings
from fuzz.targets.studies import row_seeds
from fuzz.targets.tables import look_at, read_all
from tvselect.bandit.journal import Journal, JournalError, checksum, unpack
from tvselect.inputs import OutcomeReader
from tvselect.inputs.arrow import as_days
from tvselect.records import read_arrays
from tvselect.report.findings import Findings
from tvselect.runs import RunError
from tvselect.runs.data import open_planned
from tvselect.runs.folder import RunFolder
from tvselect.runs.inspect import TableOptions, inspect_table
from tvselect.runs.plan import FileOptions, read_groups
from tvselect.runs.transform import transform
from tvselect.selectors.encoding import StreamEncoder
from tvselect.sources import SourceError, open_source
from tvstudy.datasets import load_direct_mail
from tvstudy.rows import read_rows, write_parquet

DEEP = "[" * 100_000 + "]" * 100_000


def write_feather(path, damage=lambda content: content):
    table = pa.table({"text": ["one", "two", "three"], "x": [1.0, 2.0, 3.0], "y": [1, 2, 3]})
    sink = io.BytesIO()
    pa.feather.write_feather(table, sink, compression="uncompressed")
    path.write_bytes(damage(sink.getvalue()))


def wild_offsets(content):
    sound = np.array([0, 3, 6, 11], "<i4").tobytes()
    assert content.count(sound) == 1
    return content.replace(sound, np.array([0, 2**30, 2**30, 2**30], "<i4").tobytes())


def test_feather_that_points_beyond_its_buffers(tmp_path):
    path = tmp_path / "t.feather"
    write_feather(path)
    read_all(open_source(path, "y"))
    write_feather(path, wild_offsets)
    with pytest.raises(SourceError, match=r"'text'.*cannot be read"):
        read_all(open_source(path, "y"))
    with pytest.raises(SourceError, match="cannot be read as Feather"):
        look_at(path, stream=False)
    with pytest.raises(SourceError, match="cannot be read as Feather"):
        look_at(path, stream=True)


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


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", DEEP, "9" * 5000, '{"entropy": 1}',
     {"n_arms": "5"}, {"n_arms": 0}, {"n_chains": -1}, {"entropy": -1}, {"more": 1}],
)  # fmt: skip
def test_a_header_that_is_none(tmp_path, text):
    if isinstance(text, dict):
        sound = {"fingerprint": "4f1c", "entropy": 7, "n_arms": 5, "n_chains": 2, "settings": {}}
        text = json.dumps({**sound, "version": "1", **text})
    path = tmp_path / "run.journal"
    path.write_bytes(sound_journal())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        crc = zlib.crc32(text.encode())
        db.execute("UPDATE header SET json = ?, crc = ?", (text, crc))
    with pytest.raises(JournalError, match="damaged in its header"):
        Journal(path)


@pytest.mark.parametrize(
    ("arms", "rewards", "seconds"),
    [(b"\1", b"", 0.1), (b"\1\0\0\0", b"", 0.1), (b"", b"\1", 0.1), (b"", b"", np.inf)],
)
def test_a_play_of_odd_bytes(arms, rewards, seconds):
    row = (0, 0, arms, rewards, seconds, checksum(0, 0, arms, rewards, seconds))
    assert unpack(row, HEADER) is None


def archive(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(f"{name}.npy", content)
    return made.getvalue()


def npy(description, data=b""):
    text = description.encode().ljust(118)
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        archive(a=b"no array"),
        archive(a=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }")),
        archive(a=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }")),
        archive(a=npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"cos\nsystem")),
        archive(a=npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", b"\xff" * 4)),
        archive(a=npy("(" * 100)),
        archive(a=npy("{'descr': '\\d', 'fortran_order': False, 'shape': (1,), }")),
        archive(a=bytes(50_000_000))[:-30],
    ],
)
def test_stored_arrays_that_are_none(blob):
    with pytest.raises(ValueError, match="no stored arrays"):
        read_arrays(blob)
    with pytest.raises(ValueError, match="no stored arrays"):
        StreamEncoder.from_bytes(blob)
    with pytest.raises(JournalError, match="damaged at 'encoder'"):
        restore("encoder", blob, text=True, decoys=False)


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


@pytest.mark.parametrize(
    "blob",
    [b"", b"[]", b"[3, null]", b'["probit", [1]]', b'["probit", [1, 1]]', b'["probit", [[], {}]]',
     b'["probit", ["a", 1]]', b'["probit", [1, 1' + b"0" * 30 + b"]]", b"\xff", DEEP.encode()],
)  # fmt: skip
def test_a_kept_outcome_that_is_none(blob):
    with pytest.raises(ValueError, match=r"no stored outcome|family must be"):
        OutcomeReader.from_bytes(blob)
    with pytest.raises(JournalError, match="damaged at 'outcome'"):
        restore("outcome", blob, text=False, decoys=False)


@pytest.fixture
def run(tmp_path):
    make_folder(tmp_path)
    return RunFolder(tmp_path / "run")


def test_run_json_of_odd_numbers(run):
    values = json.loads(run.record.read_text())
    run.record.write_text(json.dumps({**values, "seconds": 10**400}))
    with pytest.raises(RunError, match="at 'seconds'"):
        run.read_run()
    run.record.write_text(DEEP)
    with pytest.raises(RunError, match="no JSON"):
        run.read_run()


def test_run_json_with_a_delimiter_that_is_no_character(run, monkeypatch):
    monkeypatch.chdir(run.path.parent)
    values = json.loads(run.record.read_text())
    values["plan"]["file"]["delimiter"] = "\ud800"
    run.record.write_text(json.dumps(values))
    with pytest.raises(SourceError, match="single character"):
        open_planned(run.read_run().plan)


@pytest.mark.parametrize("name", ["x" * 3000, "~nobody-of-this-name/t.csv"])
def test_what_cannot_be_a_path(name):
    with pytest.raises(SourceError, match="cannot be a path"):
        open_source(name, "y")


def test_findings_of_odd_numbers_and_with_half_a_character(run):
    content = json.loads(sound_findings().to_json())
    content["findings"]["notes"] = ["half \ud800 a pair"]
    run.findings.write_text(json.dumps(content))
    run.render(run.read_findings())
    assert "half ? a pair" in run.report.read_text(encoding="utf-8")
    content["findings"]["n_plays"] = 10**400
    run.findings.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="not finite"):
        Findings.from_json(run.findings.read_text())
    with pytest.raises(RunError, match="not as tvs wrote it"):
        run.read_findings()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("groups.json", DEEP, "no JSON"),
        ("groups.json", "9" * 5000, "no JSON"),
        ("groups.csv", "column,group\na," + "x" * 200_000, "mend the file"),
    ],
)
def test_groups_that_are_none(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(RunError, match=said):
        read_groups(tmp_path / name, ["a"])


def test_a_target_of_numbers_that_arrow_does_not_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},1_{i:03}\n" for i in range(20)))
    with pytest.raises(RunError, match="written in several ways"):
        look_at(path, stream=False)


def test_dates_that_no_timestamp_can_say():
    days = pa.chunked_array([pa.array([-(2**31), 0, 2**31 - 1], pa.int32()).cast(pa.date32())])
    assert as_days(days).tolist() == [-(2.0**31), 0.0, 2.0**31 - 1]
    times = pa.chunked_array([pa.array([1_001], pa.int64()).cast(pa.time64("ns"))])
    assert as_days(times).tolist() == [1 / 86_400e6]


def test_rows_of_a_study_that_are_none(tmp_path):
    path = tmp_path / "rows.jsonl"
    sound = row_seeds()[1]
    row = json.loads(sound.split(b"\n")[0])
    path.write_bytes(sound + b"\n\xff\n" + DEEP.encode() + b'\n{"key": \n')
    assert len(read_rows(tmp_path)) == 6
    for name, value in (
        ("method", None), ("n_rows", "30"), ("n_columns", 10**400), ("hamming", float("nan")),
        ("exact", 3), ("selection_rates", [[1]]), ("status", []),
    ):  # fmt: skip
        path.write_bytes(sound + b"\n" + json.dumps({**row, name: value}).encode())
        with pytest.raises(ValueError, match=rf"line 7 of .*\(at '{name}'\)"):
            read_rows(tmp_path)
    path.write_bytes(b"3\n")
    with pytest.raises(ValueError, match="line 1 of"):
        read_rows(tmp_path)
    for selected in (3, {}, "\ud800", 10**30):
        path.write_bytes(sound + b"\n" + json.dumps({**row, "selected": selected}).encode())
        with pytest.raises(ValueError, match="differ in the types"):
            write_parquet(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be read as CSV"),
        (b"\xff\xfe", "cannot be read as CSV"),
        (b"\x1f\x8b\x08", "is damaged"),
        (gzip.compress(b"treatment,out_gavedum\n", mtime=0)[:-3], "is damaged"),
        (b"treatment,out_gavedum,x\n1,0,one\n", "more than numbers"),
        (b"treatment,out_gavedum,x\n1,7,1\n", "other values than 0 and 1"),
    ],
)
def test_mail_that_is_damaged(tmp_path, content, said):
    path = tmp_path / "mail.csv.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        load_direct_mail(path)


def test_a_kept_number_of_batches_that_is_none():
    for blob in (b"", b"-1", b"x", b"9" * 30, "٣".encode()):
        with pytest.raises(JournalError, match="damaged at 'batches'"):
            read_batches(blob, None)
    read_batches(b"0", None)


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


def look_at_times(path):
    return inspect_table(
        FileOptions(str(path)), TableOptions("time", event="event", family="survival")
    )


@pytest.mark.parametrize(("cell", "said"), [("1.5.2", "in row 3; mend"), ("zero", "in row 3")])
def test_times_that_are_text(tmp_path, cell, said, recwarn):
    path = tmp_path / "t.csv"
    rows = [f"{i},{i % 2},{i * i % 7}" for i in range(12)]
    path.write_text("\n".join(["time,event,x", *rows]))
    look_at_times(path)
    assert not recwarn.list  # a time of zero is reported by the fit
    rows[2] = f"{cell},1,4"
    path.write_text("\n".join(["time,event,x", *rows]))
    with pytest.raises(RunError, match=rf"'time' of .* holds numbers, but '{cell}' {said}"):
        look_at_times(path)
    path.write_text("\n".join(["time,event,x", *(f"{'ab'[i % 2]},1,{i}" for i in range(9))]))
    with pytest.raises(RunError, match=r"holds text such as 'a'; survival times are numbers"):
        look_at_times(path)


@pytest.mark.parametrize("encoding", [b"UTF-8", b"UTF-yes", b"shift_jis"])
def test_a_workbook_whose_table_does_not_end(tmp_path, encoding):
    path = tmp_path / "t.ods"
    path.write_bytes(open_document())
    look_at(path, stream=False)
    with zipfile.ZipFile(io.BytesIO(open_document())) as file:
        files = {name: file.read(name) for name in file.namelist()}
    files["content.xml"] = files["content.xml"].replace(b"</table:table>", b"")
    files["content.xml"] = files["content.xml"].replace(b"UTF-8", encoding)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    with pytest.raises(SourceError, match=r"cannot be read as a spreadsheet: mismatched tag"):
        look_at(path, stream=False)


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
