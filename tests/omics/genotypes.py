"""Small PLINK files, written byte by byte: nothing of what reads them is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np

BITS = {2: 0b00, -1: 0b01, 1: 0b10, 0: 0b11}


def draw_genotypes(n_people, n_variants, seed=0, missing=0.05):
    """Copies of the first allele; -1 is missing."""
    rng = np.random.default_rng(seed)
    genotypes = rng.binomial(2, rng.uniform(0.1, 0.5, n_variants), (n_people, n_variants))
    genotypes[rng.random(genotypes.shape) < missing] = -1
    return genotypes


def write_plink(stem: Path, genotypes, *, names=None, people=None, phenotypes=None):
    """The .bed, .bim and .fam files of genotypes (people, variants); returns the first."""
    n_people, n_variants = genotypes.shape
    names = names or [f"rs{j}" for j in range(n_variants)]
    people = people or [f"I{i}" for i in range(n_people)]
    phenotypes = ["-9"] * n_people if phenotypes is None else phenotypes
    stored = bytearray(b"\x6c\x1b\x01")
    for column in genotypes.T.tolist():
        for first in range(0, n_people, 4):
            some = column[first : first + 4]
            stored.append(sum(BITS[value] << (2 * k) for k, value in enumerate(some)))
    bed = stem.with_suffix(".bed")
    bed.write_bytes(bytes(stored))
    lines = [f"{1 + j % 3}\t{name}\t0\t{100 * j}\tA\tG\n" for j, name in enumerate(names)]
    stem.with_suffix(".bim").write_text("".join(lines))
    rows = zip(people, phenotypes, strict=True)
    fam = [f"F{i % 2} {one} 0 0 {i % 3} {value}\n" for i, (one, value) in enumerate(rows)]
    stem.with_suffix(".fam").write_text("".join(fam))
    return bed


def as_floats(genotypes):
    """With NaN where missing."""
    return np.where(genotypes < 0, np.nan, genotypes)
