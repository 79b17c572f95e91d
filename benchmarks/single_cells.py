"""20,000 cells x 30,000 genes of a backed AnnData file, one value in twenty filled.

``make bench-cells`` makes the file (in a temporary folder, removed afterwards), selects from it,
backed and sparse, and from the same numbers as a dense array, each in a process of its own, and
records time, memory and whether both give the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from benchmarks.records import heading, in_fresh_process, record_as_made
from benchmarks.very_wide import MemoryWatch

N_CELLS, N_GENES, FILLED = 20_000, 30_000, 0.05
N_MARKERS, EFFECT = 8, 1.5
SEED = 990_000


def make_file(path: str, n_cells: int, n_genes: int) -> None:
    """Counts, on a log scale, of genes that are seen in few cells or many; ``obs`` has a score."""
    import anndata
    import pandas as pd

    rng = np.random.default_rng(SEED)
    shares = rng.beta(0.5, 0.5 / FILLED - 0.5, n_genes)
    markers = np.argsort(-shares)[:: max(1, n_genes // (10 * N_MARKERS))][:N_MARKERS]
    blocks = []
    for first in range(0, n_cells, 1000):
        shape = min(1000, n_cells - first), n_genes
        counts = rng.poisson(-np.log1p(-np.minimum(shares, 0.9)), shape)
        blocks.append(csr_array(np.log1p(counts).astype(np.float32)))
    X = vstack(blocks, format="csr")
    signs = np.where(np.arange(N_MARKERS) % 2 == 0, EFFECT, -EFFECT)
    score = (X[:, markers].toarray() > 0) @ signs + rng.standard_normal(n_cells)
    names = [f"gene{j}" for j in range(n_genes)]
    var = pd.DataFrame({"marker": np.isin(np.arange(n_genes), markers)}, index=names)
    obs = pd.DataFrame({"score": score}, index=[f"cell{i}" for i in range(n_cells)])
    anndata.AnnData(X=X, obs=obs, var=var).write_h5ad(path)


def one_run(path: str, is_dense: bool) -> dict[str, Any]:
    """Select from the file: what it takes and what is found."""
    import anndata

    from benchmarks.judging import warm_up
    from tvselect import ThompsonSelector, select_anndata

    warm_up()
    watch = MemoryWatch()
    watch.start()
    started, cpu = time.perf_counter(), time.process_time()
    adata = anndata.read_h5ad(path, backed="r")
    if is_dense:
        dense = np.asfortranarray(adata.to_memory().X.toarray())
        selector = ThompsonSelector(random_state=1).fit(dense, adata.obs["score"].to_numpy())
    else:
        selector = select_anndata(adata, "score", random_state=1)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    watch.stop()
    markers = adata.var["marker"].to_numpy()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "resident": watch.owned + watch.mapped,
        "found": int((selector.support_ & markers).sum()),
        "false": int((selector.support_ & ~markers).sum()),
        "rates": hashlib.sha256(selector.selection_rates_.tobytes()).hexdigest(),
    }


def page(options: argparse.Namespace) -> Iterator[str]:
    yield from heading("Cells: a backed AnnData file", "make bench-cells")
    yield (
        f"{options.cells:,} cells x {options.genes:,} genes in CSR format, {N_MARKERS} of which "
        "shift a score of the cells; genes are seen in one of twenty cells on average. The default "
        "selector. Resident: the most memory of the process, pages of files included. Dense: the "
        "same numbers as an array of 32-bit floats."
    )
    yield from (
        "",
        "| numbers | seconds | CPU s | resident MB | markers found | false |",
        "|---|---|---|---|---|---|",
    )
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "cells.h5ad")
        make_file(path, options.cells, options.genes)
        size = Path(path).stat().st_size / 2**20
        for kind in ("backed", "dense"):
            r = made[kind] = in_fresh_process("single_cells", "--one", path, "--kind", kind)
            yield (
                f"| {kind} | {r['seconds']:.0f} | {r['cpu']:.0f} | {r['resident']:,.0f} | "
                f"{r['found']} of {N_MARKERS} | {r['false']} |"
            )
    same = "the same, to the bit" if made["backed"]["rates"] == made["dense"]["rates"] else "NOT"
    yield from ("", f"The file: {size:,.0f} MB. Selection rates of both: {same}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=N_CELLS)
    parser.add_argument("--genes", type=int, default=N_GENES)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=("backed", "dense"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_run(options.one, options.kind == "dense")))
    else:
        record_as_made("single_cells.md", page(options))


if __name__ == "__main__":
    main()
