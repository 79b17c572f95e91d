"""What was let in: code, secrets, steering of terminals, links and pipes."""

from __future__ import annotations

import json
import os
import pty
import threading
import time

from tests.cli.makers import QUICK, make_table, write
from tests.hardening.faults.base import Listener, change, expect, fault, python, said, select, tvs


@fault("1", "A run folder can run code", "`tvs resume` joins the scheduler that run.json names")
def run_code(folder):
    select(folder)
    with Listener() as scheduler:
        change(folder, lambda run: run["settings"].update(cluster=f"tcp://{scheduler.host}"))
        done = tvs(folder, "resume", "run", "--plays", 80)
        expect(not scheduler.was_called, "the scheduler was called")
    return f"nobody is called; {said(done)}"


@fault("2", "Keys in an address", "left in run.json, findings.json and report.html")
def keep_secrets(folder):
    script = (
        "import tvselect.sources.files as f, pyarrow.fs as fs\nfrom tvselect.cli import main\n"
        f"f.open_remote = lambda url: (fs.LocalFileSystem(), {str(folder / 't.csv')!r})\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    write(folder / "t.csv")
    address = "s3://AKEY:S3CR3T@bucket/t.csv"
    done = python(folder, script, "select", address, "-t", "y", *QUICK, "--out", "run")
    expect(done.returncode == 0, done.stderr)
    texts = [path.read_bytes() for path in (folder / "run").iterdir()]
    found = sum(b"S3CR3T" in text or b"AKEY" in text for text in texts)
    expect(found == 0 and "S3CR3T" not in done.stdout + done.stderr, f"in {found} files")
    kept = json.loads((folder / "run" / "run.json").read_text())["plan"]["file"]["table"]
    return f"in none of {len(texts)} files; kept is `{kept}`"


@fault("2", "An endpoint in run.json", "gets signed headers in clear; `resume` hangs")
def call_endpoints(folder):
    select(folder)
    with Listener() as host:
        address = f"s3://bucket/t.csv?scheme=http&endpoint_override={host.host}"
        change(folder, lambda run: run["plan"]["file"].update(table=address))
        keys = {"AWS_ACCESS_KEY_ID": "OWN", "AWS_SECRET_ACCESS_KEY": "OWN"}
        done = tvs(folder, "resume", "run", "--plays", 80, env=keys)
        expect(not host.was_called, "the endpoint was called")
    return f"nobody is called; {said(done)}"


@fault("2", "An endpoint that never answers", "`tvs select` hangs")
def wait_for_endpoints(folder):
    started = time.monotonic()
    with Listener() as host:
        address = f"s3://K:S@bucket/t.csv?scheme=http&endpoint_override={host.host}"
        done = tvs(folder, "select", address, "-t", "y")
    expect("Timeout" in done.stderr, done.stderr)
    return f"an error after {time.monotonic() - started:.0f} s: a timeout was reached"


ODD = ["a\x1b]0;owned\x07", "b\nforged\tyes"]


def odd_table(folder):
    table = make_table()
    return write(folder / "odd.parquet", table.rename_columns([*ODD, *table.column_names[2:]]))


@fault("3", "Escape sequences in names", "reach the terminal raw")
def steer_the_terminal(folder):
    odd_table(folder)
    here, there = pty.openpty()
    seen = bytearray()

    def listen():
        try:
            while block := os.read(here, 4096):
                seen.extend(block)
        except OSError:  # the other side is closed
            pass

    reader = threading.Thread(target=listen)
    reader.start()
    done = select(folder, table="odd.parquet", stdout=there)
    os.close(there)
    reader.join()
    os.close(here)
    expect(done.returncode == 0 and b"\x1b]0;" not in seen, seen)
    shown = next(line for line in seen.decode().splitlines() if "owned" in line)
    return f"shown as `{shown.split()[0]}`"


@fault("3", "Newlines and tabs in names", "forge rows in pipes and in `compare`")
def forge_rows(folder):
    odd_table(folder)
    rows = select(folder, table="odd.parquet").stdout.splitlines()
    compared = tvs(folder, "compare", "run", "run").stdout.splitlines()
    widths = [{line.count("\t") for line in lines} for lines in (rows, compared)]
    expect(widths == [{4}, {6}] and len(rows) == len(compared) == 3, (rows, compared))
    name = next(line for line in rows if "forged" in line).split("\t")[0]
    return f"a row each; the name is written as `{name}`"


@fault("3", "Formulas as names", "selected.csv keeps `=cmd\\|...`")
def keep_formulas(folder):
    table = make_table()
    names = ["=cmd|' /C calc'!A0", *table.column_names[1:]]
    write(folder / "odd.parquet", table.rename_columns(names))
    select(folder, table="odd.parquet")
    lines = (folder / "run" / "selected.csv").read_text().splitlines()
    cell = next(line.split(",")[0] for line in lines if "cmd" in line)
    expect(cell == f"'{names[0]}", cell)
    done = tvs(folder, "transform", "run", "odd.parquet", "-o", "short.parquet")
    expect(done.returncode == 0, done.stderr)
    return "written with an apostrophe in front, which tvs takes away again"


@fault("4", "journal.sqlite is a link", "`resume` creates a file outside the folder")
def follow_links(folder):
    select(folder)
    (folder / "run" / "journal.sqlite").unlink()
    (folder / "run" / "journal.sqlite").symlink_to(folder / "outside")
    done = tvs(folder, "resume", "run")
    expect(not (folder / "outside").exists(), "it was created")
    return said(done)


@fault("4", "run.json is a pipe", "hangs")
def wait_for_pipes(folder):
    select(folder)
    (folder / "run" / "run.json").unlink()
    os.mkfifo(folder / "run" / "run.json")
    return said(tvs(folder, "resume", "run"))
