"""Genotypes with linkage, and outcomes that some variants cause."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK, KEPT = 20, 0.93
RAREST, N_CAUSAL, HERITABILITY = 0.05, 10, 0.4

Effects = Literal["additive", "epistatic"]


class Genome(NamedTuple):
    """Genotypes (people, variants) of 0, 1 and 2, an outcome, and the variants that cause it."""

    X: NDArray[np.int8]
    y: NDArray[np.float64]
    causal: NDArray[np.int64]


def simulate_genome(
    n_people: int, n_variants: int, effects: Effects, rng: np.random.Generator
) -> Genome:
    """Blocks of twenty variants in linkage; ten of them, in blocks of their own, cause the outcome.

    A haplotype is copied from one variant of a block to the next with a probability of 0.93, and
    drawn anew otherwise. Additive effects are equal but for their sign. Epistatic ones are five
    pairs: the product of both genotypes, less their means. Together they explain 40 % of the
    outcome's variance.

    Examples
    --------
    >>> genome = simulate_genome(50, 400, "additive", np.random.default_rng(0))
    >>> genome.X.shape, genome.causal.size
    ((50, 400), 10)
    """
    X = sum(_haplotypes(n_people, n_variants, rng) for _ in range(2))
    assert isinstance(X, np.ndarray)
    blocks = rng.choice(n_variants // BLOCK, N_CAUSAL, replace=False)
    causal = blocks * BLOCK + rng.integers(BLOCK, size=N_CAUSAL)
    chosen = X[:, causal] - X[:, causal].mean(axis=0)
    signs = rng.choice([-1.0, 1.0], N_CAUSAL)
    parts = chosen * signs if effects == "additive" else chosen[:, ::2] * chosen[:, 1::2]
    spread = parts.std(axis=0)
    signal = (parts / np.where(spread > 0.0, spread, 1.0)).sum(axis=1)
    signal /= signal.std()
    noise = rng.standard_normal(n_people)
    y = np.sqrt(HERITABILITY) * signal + np.sqrt(1.0 - HERITABILITY) * noise
    return Genome(X, y, np.sort(causal))


def _haplotypes(n_people: int, n_variants: int, rng: np.random.Generator) -> NDArray[np.int8]:
    shares = np.repeat(rng.uniform(RAREST, 0.5, -(-n_variants // BLOCK)), BLOCK)[:n_variants]
    drawn = (rng.random((n_people, n_variants)) < shares).astype(np.int8)
    copied = rng.random((n_people, n_variants)) < KEPT
    for j in range(n_variants):
        if j % BLOCK:
            drawn[copied[:, j], j] = drawn[copied[:, j], j - 1]
    return drawn
