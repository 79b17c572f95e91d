"""Genotypes with linkage: clumps found and false next to other methods; the same from any format.

``make bench-genotypes`` prints the tables and records them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from threadpoolctl import threadpool_limits

from benchmarks.judging import with_error
from benchmarks.records import heading, record_as_made
from tvselect import ThompsonSelector, read_plink
from tvselect.omics.linkage import find_clumps
from tvstudy.methods import ALL_METHODS
from tvstudy.simulation.genomes import Genome, simulate_genome

N_PEOPLE, N_VARIANTS = 2_000, 10_000
FIRST_SEED = 970_000
LINKED, BONFERRONI = 0.2, 0.05
EFFECTS = ("additive", "epistatic")
RIVALS = ("LASSO, 1 s.e.", "IPSS")


class Found(NamedTuple):
    """Of one fit: causal variants in a clump that was found, clumps, false ones, CPU seconds."""

    power: float
    n_clumps: int
    false_share: float
    seconds: float


def judged(genome: Genome, selected: NDArray[np.bool_], heads: Any, seconds: float) -> Found:
    """By clump: true is one of which a variant has r2 of at least 0.2 with a causal one."""
    chosen = np.unique(heads[selected])
    members = np.flatnonzero(np.isin(heads, chosen))
    if members.size == 0:
        return Found(0.0, 0, 0.0, seconds)
    both = np.corrcoef(np.hstack([genome.X[:, members], genome.X[:, genome.causal]]).T)
    linked = both[: members.size, members.size :] ** 2 >= LINKED
    is_true = [linked[heads[members] == head].any() for head in chosen]
    power = float(linked.any(axis=0).mean())
    return Found(power, chosen.size, 1.0 - float(np.mean(is_true)), seconds)


def marginal(genome: Genome) -> NDArray[np.bool_]:
    """Variants whose correlation with the outcome passes Bonferroni's correction at 0.05."""
    X = genome.X - genome.X.mean(axis=0)
    y = genome.y - genome.y.mean()
    r = (y @ X) / np.sqrt((X**2).sum(axis=0) * (y @ y))
    n = y.size
    p = 2.0 * stats.t.sf(np.abs(r) * np.sqrt((n - 2) / (1.0 - r**2)), n - 2)
    return p < BONFERRONI / r.size


def fits(genome: Genome, seed: int, rivals: list[str]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """What each method selects."""
    X = genome.X.astype(np.float64)
    for name, groups in (("TVS, variants", None), ('TVS, feature_groups="ld"', "ld")):
        selector = ThompsonSelector(feature_groups=groups, n_jobs=1, random_state=seed)
        yield name, selector.fit(X, genome.y).support_
    yield "marginal, Bonferroni", marginal(genome)
    for name in rivals:
        yield name, ALL_METHODS[name](seed).fit(X, genome.y).support_


def lines_of(effects: Any, options: argparse.Namespace) -> Iterator[str]:
    """A line for each method."""
    made: dict[str, list[Found]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + options.n):
        genome = simulate_genome(
            options.people, options.variants, effects, np.random.default_rng(seed)
        )
        heads = find_clumps(genome.X, np.arange(options.variants))
        sees_rivals = seed < FIRST_SEED + options.rivals_n
        methods = fits(genome, seed, options.rivals if sees_rivals else [])
        while True:
            with threadpool_limits(1):
                started = time.process_time()
                name, selected = next(methods, ("", np.empty(0, np.bool_)))
            if not name:
                break
            seconds = time.process_time() - started
            made.setdefault(name, []).append(judged(genome, selected, heads, seconds))
    for name, found in made.items():
        power, n_clumps, false, seconds = (
            [getattr(one, field) for one in found] for field in Found._fields
        )
        yield (
            f"| {effects} | {name} | {len(found)} | {with_error(power)} | "
            f"{np.mean(n_clumps):.1f} | {with_error(false)} | {np.mean(seconds):.0f} |"
        )


def same_from_all_formats(options: argparse.Namespace) -> bool:
    """Whether a .bed file, a Parquet file and an array give the same rates, to the bit."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from bed_reader import to_bed

    genome = simulate_genome(
        options.people, options.variants, "additive", np.random.default_rng(FIRST_SEED)
    )
    names = [f"sid{j + 1}" for j in range(options.variants)]
    with tempfile.TemporaryDirectory() as folder:
        to_bed(Path(folder) / "t.bed", genome.X)
        pq.write_table(pa.table(list(genome.X.T), names=names), Path(folder) / "t.parquet")
        tables = (
            read_plink(Path(folder) / "t.bed"),
            pq.read_table(Path(folder) / "t.parquet"),
            genome.X,
        )
        selectors = (ThompsonSelector(n_plays=100, n_jobs=1, random_state=0) for _ in tables)
        rates = [
            selector.fit(table, genome.y).selection_rates_
            for selector, table in zip(selectors, tables, strict=True)
        ]
    return all(np.array_equal(rates[0], other) for other in rates[1:])


def page(options: argparse.Namespace) -> Iterator[str]:
    yield from heading("Genotypes with linkage", "make bench-genotypes")
    yield (
        f"{options.people:,} people, {options.variants:,} variants in blocks of twenty, ten causal "
        f"ones that explain 40 % of the variance. Additive: equal "
        "effects. Epistatic: five products of two. What a method selects is counted by clumps (as "
        '`feature_groups="ld"` makes them): power is the share of causal variants with r2 of at '
        "least 0.2 with a variant of a clump that was found, a clump is false when it has none. "
        "TVS at an FDR of 0.1; marginal: correlation, Bonferroni at 0.05. ± is a standard error."
    )
    yield from (
        "",
        "| effects | method | data sets | power | clumps | share of false | CPU seconds |",
    )
    yield "|---|---|---|---|---|---|---|"
    for effects in options.effects:
        yield from lines_of(effects, options)
    same = "the same, to the bit" if same_from_all_formats(options) else "NOT the same"
    if left_out := sorted(set(RIVALS) - set(options.rivals)):
        yield from ("", f"Left out of this run: {', '.join(left_out)}")
    yield from ("", f"Selection rates from .bed, Parquet and an array: {same}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=5, help="data sets a row")
    parser.add_argument("--rivals-n", type=int, default=3, help="data sets that rivals see")
    parser.add_argument("--effects", nargs="*", choices=EFFECTS, default=EFFECTS)
    parser.add_argument("--people", type=int, default=N_PEOPLE)
    parser.add_argument("--variants", type=int, default=N_VARIANTS)
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=list(RIVALS))
    record_as_made("genotypes.md", page(parser.parse_args()))


if __name__ == "__main__":
    main()
