"""Genotypes by the hundred thousand, people and variants, from a .bed file larger than memory.

``make bench-genomes`` makes the files (in a temporary folder, removed afterwards; the largest has
20 GB), selects from each in a process of its own and records time, memory and bytes read.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.records import heading, in_fresh_process, record_as_made
from benchmarks.very_wide import MemoryWatch

BLOCK, KEPT = 20, 238
"""Variants that are linked; how often of 256 times an allele is copied from the one before."""
RAREST = 13
N_CAUSAL, HERITABILITY = 10, 0.3
VARIANTS_AT_ONCE = 2000
ROWS_OF_CURVE, COLUMNS_OF_CURVE = (12_500, 25_000, 50_000, 100_000), (100_000, 200_000, 400_000)
SIDE = 50_000
LARGEST = 100_000, 800_000


def draw_bits(rng: np.random.Generator, share: int, n_people: int) -> NDArray[np.uint8]:
    """Two for each of them, which are 1 with a probability of ``share`` / 256."""
    words = rng.integers(2**64, size=-(-n_people // 4), dtype=np.uint64)
    return (words.view(np.uint8)[: 2 * n_people] < share).view(np.uint8).reshape(2, n_people)


def draw_block(rng: np.random.Generator, n_people: int, n_variants: int) -> NDArray[np.uint8]:
    """Variants (variants, bytes) as PLINK has them: 00 for two copies, 10 for one, 11 for none."""
    out = np.empty((n_variants, n_people // 4), dtype=np.uint8)
    share, alleles = 0, np.zeros((2, n_people), dtype=np.uint8)
    for j in range(n_variants):
        is_new = j % BLOCK == 0
        share = int(rng.integers(RAREST, 129)) if is_new else share
        drawn = alleles ^ draw_bits(rng, share, n_people)
        alleles ^= drawn & draw_bits(rng, 256 if is_new else 256 - KEPT, n_people)
        first, second = alleles
        fours = (3 - (first | second) - 2 * (first & second)).view("<u4")
        packed = fours | fours >> 6 | fours >> 12 | fours >> 18
        out[j] = packed.astype(np.uint8)  # the lowest eight bits
    return out


def make_files(stem: Path, n_people: int, n_variants: int, seed: int) -> None:
    """A .bed file with linkage in blocks of twenty variants, and its .bim and .fam files."""
    rng = np.random.Generator(np.random.SFC64(seed))
    n_bytes = -(-n_people // 4)
    padding = 4 * n_bytes - n_people
    with open(f"{stem}.bed", "wb") as file:
        file.write(b"\x6c\x1b\x01")
        for first in tqdm(range(0, n_variants, VARIANTS_AT_ONCE), desc="making the file"):
            stored = draw_block(rng, 4 * n_bytes, min(VARIANTS_AT_ONCE, n_variants - first))
            stored[:, -1] &= 255 >> (2 * padding)
            file.write(stored.data)
    with open(f"{stem}.fam", "w") as file:
        file.writelines(f"0 p{i} 0 0 0 -9\n" for i in range(n_people))
    with open(f"{stem}.bim", "w") as file:
        file.writelines(f"1\tv{j}\t0\t{j + 1}\tA\tC\n" for j in range(n_variants))


def one_run(path: str, seed: int) -> dict[str, Any]:
    """Select from a file: what it takes, and what is found of ten variants with equal effects."""
    from tvselect import ThompsonSelector, read_plink

    small = np.random.default_rng(0).integers(0, 3, (200, 1000)).astype(np.float64)
    ThompsonSelector(n_plays=2, random_state=0).fit(small, small[:, 0] + np.arange(200.0))
    rng = np.random.default_rng(seed)
    table = read_plink(path)
    n_people, n_variants = table.X.file.shape
    causal = np.sort(rng.choice(n_variants // BLOCK, N_CAUSAL, replace=False)) * BLOCK + BLOCK // 2
    effects = table.X.file.read(causal)
    effects = (effects - effects.mean(axis=0)) / effects.std(axis=0)
    signal = (effects * rng.choice([-1.0, 1.0], N_CAUSAL)).sum(axis=1)
    y = signal / signal.std() * np.sqrt(HERITABILITY)
    y += rng.standard_normal(n_people) * np.sqrt(1.0 - HERITABILITY)
    watch = MemoryWatch()
    watch.start()
    before, started, cpu = bytes_read(), time.perf_counter(), time.process_time()
    selector = ThompsonSelector(random_state=seed, verbose=1).fit(table, y)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    watch.stop()
    blocks = np.unique(selector.get_support(indices=True) // BLOCK)
    is_true = np.isin(blocks, causal // BLOCK)
    result = selector.result_
    n_played = np.mean([play.arms.size for play in result.plays_of(0)])
    return {
        "seconds": seconds,
        "cpu": cpu,
        "resident": watch.owned + watch.mapped,
        "read": bytes_read() - before,
        "a_play": float(n_played) * n_people / 4,
        "found": int(is_true.sum()),
        "false": int((~is_true).sum()),
    }


def bytes_read() -> int:
    """Bytes that this process has read from files."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def row(folder: Path, n_people: int, n_variants: int, seed: int) -> str:
    """Make a file and select from it."""
    stem = folder / "study"
    make_files(stem, n_people, n_variants, seed)
    size = Path(f"{stem}.bed").stat().st_size
    made = in_fresh_process("genome_scale", "--one", f"{stem}.bed", "--seed", seed)
    for path in folder.iterdir():
        path.unlink()
    return (
        f"| {n_people:,} | {n_variants:,} | {size / 2**30:.2f} | {made['seconds']:,.0f} | "
        f"{made['cpu']:,.0f} | {made['cpu'] / n_people / n_variants * 1e9:.1f} | "
        f"{made['resident']:,.0f} | {made['read'] / size:.2f} | {made['a_play'] / 2**20:.1f} | "
        f"{made['found']} | {made['false']} |"
    )


def page(options: argparse.Namespace) -> Iterator[str]:
    yield from heading("Genotypes by the hundred thousand", "make bench-genomes")
    yield (
        "Simulated .bed files with linkage in blocks of twenty variants, ten causal variants in "
        "blocks of their own that explain 30 % of the outcome's variance. The default selector, "
        "500 plays, FDR 0.1, in a process of its own, all of it loaded before. Resident: the most "
        "memory of the process, pages of files included. Read: all that the fit reads from the "
        "file, in sizes of the file. A play: the codes of the columns it looks at, which are in "
        "memory by then. Found and false: blocks."
    )
    yield from (
        "",
        "| people | variants | GB | seconds | CPU s | CPU ns a genotype | resident MB | "
        "files read | MB a play | found of 10 | false |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    )
    sizes = [(rows, SIDE) for rows in ROWS_OF_CURVE] + [(SIDE, n) for n in COLUMNS_OF_CURVE]
    if options.people:
        sizes = [(options.people, options.variants)]
    elif not options.curve:
        sizes.append(LARGEST)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for n_people, n_variants in sizes:
            yield row(Path(folder), n_people, n_variants, options.seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", help="select from this file, and print what it took")
    parser.add_argument("--seed", type=int, default=980_000)
    parser.add_argument("--people", type=int, help="one size instead of all")
    parser.add_argument("--variants", type=int, default=LARGEST[1])
    parser.add_argument("--curve", action="store_true", help="all sizes but the largest")
    parser.add_argument("--folder", help="for the files; the default is the temporary folder")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one_run(options.one, options.seed)))
    else:
        record_as_made("genome_scale.md", page(options))


if __name__ == "__main__":
    main()
