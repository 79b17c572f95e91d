"""Genotypes with linkage: blocks, and what the causal variants explain."""

from __future__ import annotations

import numpy as np
import pytest

from tvstudy.simulation.genomes import BLOCK, HERITABILITY, simulate_genome


@pytest.mark.parametrize("effects", ["additive", "epistatic"])
def test_neighbours_are_linked_and_blocks_are_not(effects):
    genome = simulate_genome(2_000, 400, effects, np.random.default_rng(0))
    assert set(np.unique(genome.X)) == {0, 1, 2}
    r2 = np.corrcoef(genome.X.T) ** 2
    neighbours = np.array([r2[j - 1, j] for j in range(400) if j % BLOCK])
    apart = np.array([r2[j - 1, j] for j in range(BLOCK, 400, BLOCK)])
    assert neighbours.mean() > 0.6
    assert apart.max() < 0.02  # 19 squared correlations of noise, each 1 / 2,000 on average
    assert np.unique(genome.causal // BLOCK).size == 10


def test_additive_effects_explain_their_share():
    genome = simulate_genome(5_000, 400, "additive", np.random.default_rng(1))
    chosen = np.column_stack([np.ones(5_000), genome.X[:, genome.causal]])
    residuals = genome.y - chosen @ np.linalg.lstsq(chosen, genome.y, rcond=None)[0]
    # The share of a sample of n rows has a standard error below 1 / sqrt(n).
    assert 1.0 - residuals.var() / genome.y.var() == pytest.approx(HERITABILITY, abs=4 / 70)


def test_epistatic_effects_do_not_show_alone():
    genome = simulate_genome(5_000, 400, "epistatic", np.random.default_rng(2))
    r = np.corrcoef(np.column_stack([genome.X[:, genome.causal], genome.y]).T)[-1, :-1]
    assert np.abs(r).max() < 0.2
