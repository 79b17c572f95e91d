"""Genotypes (PLINK) and cells (Matrix Market): one of several files is damaged.

The first byte of a case says which one; the others are sound.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np

from fuzz.mutation import TABLE
from fuzz.targets.base import Target
from tvselect.omics import isolated
from tvselect.runs.data import prepare
from tvselect.runs.inspect import TableOptions, inspect_table
from tvselect.runs.plan import FileOptions

N, P = 20, 9
BED, BIM, FAM, PHENOTYPES = ".bed", ".bim", ".fam", ".tsv"
PLINK = (BED, BIM, FAM, PHENOTYPES)
TEN_X = ("matrix.mtx", "barcodes.tsv", "features.tsv", "matrix.mtx.gz")
TOKENS = (
    b"\x6c\x1b\x01", b"\x6c\x1b\x00", b"-9", b"0", b"NA", b".", b"rs1", b"I1", b"\t", b" ", b"\n",
)  # fmt: skip
MARKET_TOKENS = (
    b"%%MatrixMarket matrix coordinate", b"array", b"real", b"integer", b"complex", b"pattern",
    b"general", b"symmetric", b"hermitian", b"0", b"-1", b"1e999", b"nan", b"99999999999", b"%",
)  # fmt: skip
HDF_TOKENS = (b"\x89HDF\r\n\x1a\n", b"TREE", b"HEAP", b"SNOD", b"GCOL", b"\xff" * 8, b"\0" * 8)


def plink() -> dict[str, bytes]:
    """A small study."""
    rng = np.random.default_rng(0)
    bed = b"\x6c\x1b\x01" + rng.integers(256, size=P * -(-N // 4), dtype=np.uint8).tobytes()
    bim = "".join(f"1\trs{j}\t0\t{100 * j}\tA\tG\n" for j in range(P))
    fam = "".join(f"F{i} I{i} 0 0 {1 + i % 2} {i / 3:.3f}\n" for i in range(N))
    rows = "".join(f"F{i}\tI{i}\t{i / 7:.4f}\t{'mf'[i % 2]}\n" for i in range(N))
    people = f"FID\tIID\ty\tsex\n{rows}"
    return {BED: bed, BIM: bim.encode(), FAM: fam.encode(), PHENOTYPES: people.encode()}


def read_plink(data: bytes, folder: Path) -> None:
    """As `tvs select study.bed --phenotype` does, also as a stream."""
    damaged = PLINK[data[0] % len(PLINK)] if data else BED
    for suffix, sound in plink().items():
        (folder / f"t{suffix}").write_bytes(data[1:] if suffix == damaged else sound)
    with_table = damaged == PHENOTYPES or len(data) % 2 == 0
    options = TableOptions(
        target="y" if with_table else "phenotype",
        stream=True if len(data) % 5 == 0 else None,
        covariates=("sex",) if len(data) % 3 == 0 else (),
    )
    phenotypes = str(folder / "t.tsv") if with_table else None
    _look(FileOptions(str(folder / "t.bed"), phenotypes=phenotypes), options)


def _look(file: FileOptions, options: TableOptions) -> None:
    plan, files, table = inspect_table(file, options)
    if not plan.stream:
        X, _ = prepare(plan, files, table)
        X.numbers()


def market() -> dict[str, bytes]:
    """A small matrix of genes by cells."""
    entries = [(1 + (3 * k) % P, 1 + k % N, 1 + k % 4) for k in range(40)]
    head = f"%%MatrixMarket matrix coordinate integer general\n{P} {N} {len(set(entries))}\n"
    lines = "".join(f"{i} {j} {value}\n" for i, j, value in sorted(set(entries)))
    return {
        TEN_X[0]: (head + lines).encode(),
        TEN_X[1]: "".join(f"B{i}\n" for i in range(N)).encode(),
        TEN_X[2]: "".join(f"E{j}\tG{j}\n" for j in range(P)).encode(),
    }


def read_market(data: bytes, folder: Path) -> None:
    """As `tvs select matrix.mtx --phenotype` does."""
    damaged = TEN_X[data[0] % len(TEN_X)] if data else TEN_X[0]
    for name in TEN_X:
        (folder / name).unlink(missing_ok=True)
    for name, sound in market().items():
        (folder / name).write_bytes(data[1:] if name == damaged else sound)
    if damaged == TEN_X[3]:
        (folder / damaged).write_bytes(data[1:])
    rows = "".join(f"B{i},{'ab'[i % 2]}\n" for i in range(N))
    (folder / "cells.csv").write_text("barcode,y\n" + rows)
    path = folder / (damaged if ".mtx" in damaged else TEN_X[0])
    file = FileOptions(str(path), phenotypes=str(folder / "cells.csv"))
    _look(file, TableOptions(target="y"))


def cells() -> list[bytes]:
    """Dense and sparse AnnData files."""
    import anndata
    import pandas as pd
    import scipy.sparse as sp

    X = np.random.default_rng(0).poisson(1.0, (N, P)).astype(np.float32)
    obs = pd.DataFrame({"y": ["a", "b"] * (N // 2)}, index=[f"B{i}" for i in range(N)])
    var = pd.DataFrame(index=[f"G{j}" for j in range(P)])
    made = []
    for matrix in (X, sp.csr_matrix(X)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.h5ad"
            anndata.AnnData(matrix, obs=obs, var=var).write_h5ad(path)
            made.append(path.read_bytes())
    return made


def read_cells(data: bytes, folder: Path) -> None:
    """As `tvs select cells.h5ad` does; what has no end is waited for some seconds only."""
    path = folder / "t.h5ad"
    path.write_bytes(data)
    with patch.object(isolated, "LEAST_SECONDS", 10.0):
        _look(FileOptions(str(path)), TableOptions(target="y"))


TARGETS = (
    Target("plink", "genotypes: .bed, .bim, .fam and the table of the people",
           lambda: [bytes([k]) + plink()[suffix] for k, suffix in enumerate(PLINK)], read_plink,
           tokens=TOKENS, changes=TABLE, share=60),
    Target("market", "matrices of 10x Genomics and the names beside them",
           lambda: [*(bytes([k]) + market()[name] for k, name in enumerate(TEN_X[:3])),
                    b"\3" + gzip.compress(market()[TEN_X[0]], mtime=0)],
           read_market, tokens=MARKET_TOKENS, share=20, per_process=4000),
    Target("cells", "AnnData files", cells, read_cells, tokens=HDF_TOKENS, share=1, quick=3,
           seconds=15.0),
)  # fmt: skip
