"""The real data sets: files that are downloaded or handed on."""

from __future__ import annotations

import gzip
from pathlib import Path

from fuzz.mutation import TABLE
from fuzz.targets.base import Target
from tvstudy.datasets import fetch_hiv, load_direct_mail

LENGTH = 240
PACKED = 1


def mail_seeds() -> list[bytes]:
    """The mail experiment in small; the first byte says whether the reader gets it packed."""
    text = (
        b"treatment,treat_ratio2,out_gavedum,out_amountgive,hpa,freq,years,female\n"
        b"0,0,0,0,35,12,5,0\n1,1,1,50.5,45,-999,8,1\n1,0,0,0,20,3,,\n"
    )
    return [b"\0" + text, b"\1" + text, b"\2" + gzip.compress(text, mtime=0)]


def read_mail(data: bytes, folder: Path) -> None:
    """A CSV, also packed."""
    mode, content = (data[0] % 3 if data else 0), data[1:]
    path = folder / ("mail.csv.gz" if mode else "mail.csv")
    path.write_bytes(gzip.compress(content, 1, mtime=0) if mode == PACKED else content)
    load_direct_mail(path)


def hiv_seeds() -> list[bytes]:
    """A class whose files are known by their form alone, in small."""
    header = ["IsolateName", "PseudoName", "MedlineID", "3TC", "ABC"]
    lines = ["\t".join(header + [f"P{place}" for place in range(1, LENGTH + 1)])]
    for isolate in range(8):
        cells = ["-"] * LENGTH
        cells[40], cells[183] = "LM"[isolate % 2], ("V" if isolate < 5 else ".")
        cells[68] = ("i", "d", "NS", "-")[isolate % 4]
        fold = ["NA" if isolate == 2 else f"{1.5 * isolate + 0.5}", "2.0"]
        lines.append("\t".join([f"CA{isolate}", "", "1234", *fold, *cells]))
    return [("\n".join(lines) + "\n").encode()]


def _put_table(folder: Path) -> None:
    (folder / "NRTI_DATA.txt").write_bytes(hiv_seeds()[0])
    (folder / "NRTI_tsm.txt").write_bytes(b"41 \tL\n184\tV I\n")


def _read_hiv(folder: Path) -> None:
    hiv = fetch_hiv("NRTI", data_home=folder, download_if_missing=False)
    for drug in hiv.drugs:
        hiv.problem(drug)


def read_hiv(data: bytes, folder: Path) -> None:
    """The isolates."""
    (folder / "NRTI_DATA.txt").write_bytes(data)
    _read_hiv(folder)


def read_selected(data: bytes, folder: Path) -> None:
    """The list of treatment-selected mutations."""
    (folder / "NRTI_tsm.txt").write_bytes(data)
    _read_hiv(folder)


HIV_TOKENS = (b"\t", b"\n", b"NA", b"*", b".", b"-", b"P1", b"P240", b"\xe9", b"\x85", b"1e400")
TARGETS = (
    Target("mail", "the direct-mail experiment, CSV and gzip", mail_seeds, read_mail,
           tokens=(b"treatment", b"out_gavedum", b"treat_", b"-999", b"\x1f\x8b", b"PK\x03\x04"),
           changes=TABLE, share=30),
    Target("hiv", "HIV-1 isolates", hiv_seeds, read_hiv, _put_table,
           tokens=HIV_TOKENS, changes=TABLE, share=20),
    Target("hiv-selected", "treatment-selected mutations of HIV-1",
           lambda: [b"41 \tL\n184\tV I\n"], read_selected, _put_table,
           tokens=HIV_TOKENS, changes=TABLE, share=20),
)  # fmt: skip
