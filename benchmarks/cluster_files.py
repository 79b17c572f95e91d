"""Two Dask workers that open a file of genotypes themselves: throughput, and what is sent.

``make bench-cluster-files`` prints the table and records it. One worker and two take turns on the
same job with the same window, so that both make the same plays.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import distributed
import numpy as np

from benchmarks.cluster import WINDOW, compare, loopback_bytes, workers
from benchmarks.genome_scale import make_files
from benchmarks.records import heading, record
from tvselect import Search, ThompsonSelector, read_plink

N_PEOPLE, N_VARIANTS, N_PLAYS = 10_000, 1_000, 3_000
N_FIRST = 20
CAUSAL = (10, 510, 910)


def select(client: distributed.Client, bed: Path, y: np.ndarray, n_plays: int) -> Any:
    """The file is opened by the driver for a pass over all columns, then by every worker."""
    selector = ThompsonSelector(
        n_plays=n_plays, search=Search(window=WINDOW, runner=client), random_state=0
    )
    return selector.fit(read_plink(bed), y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bed = Path(folder) / "study.bed"
        make_files(bed.with_suffix(""), N_PEOPLE, N_VARIANTS, 1)
        effects = read_plink(bed).numbers(np.array(CAUSAL))
        y = effects.sum(axis=1) + np.random.default_rng(1).normal(0.0, 2.0, N_PEOPLE)
        begun, whole = (
            compare(
                "genotypes",
                lambda client, n=n_plays: select(client, bed, y, n),
                options.repeats,
                lambda client: select(client, bed, y, N_FIRST),
            )
            for n_plays in (N_FIRST, N_PLAYS)
        )
        with workers(2) as client:
            select(client, bed, y, 1)
            before = loopback_bytes()
            select(client, bed, y, N_PLAYS)
            sent = loopback_bytes() - before
        size = bed.stat().st_size
    found = np.flatnonzero(whole.fitted.get_support())
    later = (whole.one - begun.one) / (whole.two - begun.two)
    record(
        "cluster_files.md",
        [
            *heading("Dask workers with a file of their own", "make bench-cluster-files"),
            f"A .bed file of {N_PEOPLE:,} people x {N_VARIANTS:,} variants, worker processes of "
            f"one thread each, {options.repeats} runs with one and with two of them in turns, "
            f"window {WINDOW} for both. Seconds, of the whole fit with the driver's pass over the "
            "file, and ratio of the fastest; then the smallest and largest ratio of neighbours.",
            "",
            "| job | plays | one worker, s | two workers, s | ratio | between | same model |",
            "|---|---|---|---|---|---|---|",
            begun.row,
            whole.row,
            "",
            f"The first {N_FIRST} plays hold most arms and are made one or two at a time, next to "
            "the driver's pass over the file and what it finds out afterwards; of the "
            f"{N_PLAYS - N_FIRST:,} after them two workers make {later:.2f} times as many a second "
            "as one.",
            "",
            f"Found: variants {', '.join(map(str, found))} (causal: "
            f"{', '.join(map(str, CAUSAL))}). Bytes on the wire in a fit with two workers, the "
            f"arms, seeds and rewards of all plays included: {sent / 2**20:.1f} MB; the file has "
            f"{size / 2**20:.1f} MB. No column of it is sent.",
        ],
    )


if __name__ == "__main__":
    main()
