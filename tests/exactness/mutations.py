"""Do the tests of the core have teeth? Break it on purpose and see them fail.

Every mutation is planted in a copy of the C++ sources, which is compiled; then the tests that
should catch it must fail. Run as ``python -m tests.exactness.mutations``, with names of files
such as ``moves.h`` for the mutations of these only; exits with 1 when a mutant survives.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from benchmarks.records import heading, record
from tests.exactness.patched import AS_R_COUNTS, patched_copy, run_with

FLAGS = ("-O1",)


class Mutation(NamedTuple):
    """What is broken, in which file of the core, what is put in place of which text; its tests."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


CHOOSE_LEAF = "int64_t node = nth<is_leaf>(tree, (int64_t)(u * (double)n_leaves));\n"
CHOOSE_LARGE_LEAF = (
    CHOOSE_LEAF
    + """        for (int64_t k = 0; k < 100; ++k) {
            int64_t leaf = tree[node].leaf;
            if (chain.leaves.gram(leaf, leaf) >= 2 * prior.min_leaf) break;
            node = nth<is_leaf>(tree, (int64_t)(rng.uniform() * (double)n_leaves));
        }
"""
)
# By the tests that should fail: files of the core, and what is broken in each of them.
GROUPS: dict[tuple[str, ...], dict[str, list[tuple[str, str, str]]]] = {
    (
        "trees/test_moves.py", "exactness/test_prior_recovery.py",
        "exactness/test_enumeration.py", "exactness/test_geweke.py",
        "exactness/test_calibration.py", "exactness/test_weighting.py",
    ): {
        "moves.h": [
            ("drop the proposal ratio", "log(shrink * proposal * proposal)", "log(shrink)"),
            ("drop the depth prior", "+\n               prior.split_log_odds[depth];", ";"),
            ("births choose only leaves that are large enough, the reverse move counts all",
             CHOOSE_LEAF, CHOOSE_LARGE_LEAF),
            ("the right child may be too small",
             "if (n_left < min_leaf || n_both - n_left < min_leaf)", "if (n_left < min_leaf)"),
            ("count prunable nodes as R does", *AS_R_COUNTS[1:]),
            ("the urn forgets a split", "if (ball < n_splits)", "if (ball < n_splits - 1.0)"),
            ("a death forgets the weight of the column",
             "log_ratio -= log_weight_of(at.column,",
             "log_ratio -= 0.0 * log_weight_of(at.column,"),
            ("a pair birth forgets the coin for the side",
             "double proposal = SIDES * proposal_ratio(n_leaves, ",
             "double proposal = proposal_ratio(n_leaves, "),
            ("a pair birth forgets a pair that it breaks",
             "found -= is_pair(tree, parent);", "found -= 0;"),
            ("a pair death forgets the weight of the second column",
             "log_ratio -= log_weight_of(second,", "log_ratio -= 0.0 * log_weight_of(second,"),
            ("the second split of a pair counts as deep as the first",
             "proposal, upper.depth + 1,", "proposal, upper.depth,"),
            ("a known pair is proposed at no charge",
             "log_ratio -= log_chance_of_pair(", "log_ratio -= 0.0 * log_chance_of_pair("),
        ],
        "structure.h": [
            ("cuts that the splits above closed are drawn again",
             "high = above.cut < high ? above.cut : high;",
             "high = above.cut + 1 < high ? above.cut + 1 : high;"),
        ],
        "dirichlet.h": [
            ("theta forgets how many splits there are",
             ": lgamma(theta) - lgamma(theta + n_splits);", ": lgamma(theta);"),
        ],
    },
    (
        "trees/test_moves.py", "exactness/test_geweke.py", "exactness/test_weighting.py",
        "exactness/test_calibration.py",
    ): {
        "latents.h": [
            ("a cut point forgets its prior",
             "double log_ratio = 0.5 * (old * old - cut * cut);", "double log_ratio = 0.0;"),
            ("a cut point forgets the grade above it",
             "else if (level == (double)(k + 1))", "else if (level == (double)(k + 2))"),
            ("the latent of the class seen need not be the largest",
             "draw(seen, highest, INFINITE)", "draw(seen, highest - 1.0, INFINITE)"),
            ("latents of classes forget their offset",
             "response.values[place] = latent - offsets[k];", "response.values[place] = latent;"),
            ("a latent between close bounds is drawn evenly",
             "if (rng.uniform() <= exp(0.5 * (nearest * nearest - value * value)))",
             "if (rng.uniform() <= 1.0)"),
            ("latents forget the noise",
             "double sd = 1.0 / sqrt(response.real->precision);", "double sd = 1.0;"),
        ],
        "leaves.h": [
            ("leaf means without their prior",
             "1.0 / (prior.leaf_precision + ", "1.0 / (prior.leaf_precision / 2 + "),
            ("the noise forgets its prior", "prior.noise_df + (double)n_rows", "(double)n_rows"),
            ("the noise miscounts the squares", "- 2.0 * leaves.sums[k]", "- 1.8 * leaves.sums[k]"),
        ],
    },
    ("regression/test_gibbs.py",): {
        "regression.h": [
            ("a function out of its turn may go",
             "bool is_in = !is_turn || rng.uniform()", "bool is_in = rng.uniform()"),
            ("a coefficient forgets its slab", "log(slab / precision) + precision", "precision"),
            ("a neighbour is chosen at no charge",
             "log((double)n_near(one) / (double)n_near(other))", "0.0"),
            ("the place of one function is drawn without regard to odds",
             "sum += entry = exp(entry - highest);", "sum += entry = entry > -INFINITE;"),
            ("weights forget the residual",
             "rng.chi_square(df + 1.0) / (df + square)", "rng.chi_square(df + 1.0) / (df + 1.0)"),
            ("degrees of freedom forget their constant",
             "return sum + (double)n * model.tail_constants[place];", "return sum;"),
            ("the noise forgets the weights",
             "sum += (double)state.weights[i] * state.residual[i]", "sum += state.residual[i]"),
            ("the slab forgets how many are in",
             "            df += 1.0;\n            sum += state.coeff",
             "            sum += state.coeff"),
            ("functions forget what intercepts can explain",
             "dot -= share * state.group_sums[g];", "dot -= 0.0 * share;"),
            ("intercepts are drawn without their spread",
             "sqrt(state.shares[g] / state.real->precision) * rng.normal()", "0.0 * rng.normal()"),
            ("the odds forget how many might have been in",
             "n_in * model.rates[k] + model.rate_constants[k]", "n_in * model.rates[k]"),
        ],
    },
    (
        "trees/test_sampler.py", "exactness/test_enumeration.py", "exactness/test_weighting.py",
        "exactness/test_geweke.py", "exactness/test_calibration.py", "-kgroups",
    ): {
        "groups.h": [
            ("two leaves of a tree do not depend on each other by groups",
             "both = -uv;", "both = 0.0;"),
            ("the mean of the other leaf stays in the residuals",
             "left.mean * uu + right.mean * uv", "left.mean * uu"),
            ("rho forgets how many intercepts there are", "- log_det - log(product)", ""),
            ("intercepts are drawn without their spread",
             "sqrt(weight / precision) * rng.normal()", "0.0 * rng.normal()"),
        ],
        "leaves.h": [
            ("the first of two means is drawn as if the other one were known",
             "precision * (one.n - share * both)", "precision * one.n"),
            ("the noise forgets what groups take",
             "squares -= weighted(groups, groups.rest, groups.rest);", ""),
        ],
        "moves.h": [
            ("a split forgets what its two leaves share",
             "v(left.n + right.n + 2.0 * both)", "v(left.n + right.n)"),
        ],
        "gibbs.h": [
            ("classes share the intercepts of a group that is the first and the last one",
             "i % (codes.size / n_classes) == 0", "i == 0"),
        ],
        "structure.h": [
            ("a merged leaf is looked for where it was",
             "return keep == *leaves.size ? free : keep;", "return keep;"),
        ],
    },
    ("bandit/test_numbers.py",): {
        "random.h": [
            ("the tail of the normal law takes all", "if (y + y > x * x)", "if (y + y > 0.0)"),
            ("the tail of the exponential law begins earlier",
             "return EXPONENTIAL_TAIL - log1p", "return 0.99 * EXPONENTIAL_TAIL - log1p"),
            ("small gamma variables are drawn from the wrong side",
             "double y = u <= 1.0 - shape", "double y = u <= 0.99 - shape"),
            ("large gamma variables are taken too easily",
             "0.0331 * (x * x) * (x * x)", "0.0131 * (x * x) * (x * x)"),
            ("numbers below a bound are biased",
             "while ((product & UINT32_MAX) < least)", "while (least == 0)"),
            ("a shuffle keeps its mask", "if ((int64_t)(mask >> 1) >= i) mask >>= 1;", ""),
            ("the left half of a word is lost",
             "left_over = (value & ~(uint64_t)UINT32_MAX) | 1;", "left_over = 0;"),
        ],
        "plays.h": [
            ("a row more is never chosen", "rng.below(n_left + k + 1)", "rng.below(n_left + k)"),
        ],
    },
    ("trees/test_bits.py",): {
        "bits.h": [
            ("missing ones of two bits go right",
             "missing ? at_least_1 : at_least_1 | at_least_2", "at_least_1 | at_least_2"),
            ("missing ones of eight bits go right",
             "uint8_t more = missing_left,", "uint8_t more = 0,"),
            ("rows outside of a leaf are sent left",
             "out[w] = masks(w, leaf) & left;", "out[w] = left;"),
            ("overlaps count whole leaves",
             "load<Words>(&masks(w, k)) & rows[w]", "load<Words>(&masks(w, k))"),
            ("sums over rows take a value twice",
             "high += where(rows[w] - Words{}, FIRST << (32 + b),",
             "high += where(rows[w] - Words{}, FIRST << b,"),
            ("weighted sums forget the rest",
             "for (int64_t k = n_sets - n_sets % 4; k < n_sets; ++k)",
             "for (int64_t k = n_sets; k < n_sets; ++k)"),
        ],
    },
    ("trees/test_sampler.py",): {
        "dirichlet.h": [
            ("columns that are not in use count as used",
             "if (entry.count > 0) entry.present += span;", "entry.present += span;"),
        ],
        "structure.h": [
            ("a moved leaf keeps its old node",
             "trees.nodes(leaves.owners[leaf].tree, leaves.owners[leaf].node).leaf",
             "trees.nodes(leaves.owners[leaf].tree, 0).unused"),
            ("a merged leaf forgets the rows of the other",
             "leaves.masks(w, keep) |= leaves.masks(w, free)",
             "leaves.masks(w, keep) |= 0 * leaves.masks(w, free)"),
            ("the right child has the sum of both",
             "leaves.sums[right] = leaves.sums[left] - split.sum_left;",
             "leaves.sums[right] = leaves.sums[left];"),
        ],
        "gibbs.h": [
            ("a class misses a row", "i < (k + 1) * block; ++i)", "i < (k + 1) * block - 1; ++i)"),
            ("copies have no missing values",
             "sample.has_missing[place] = table.has_missing[column];",
             "sample.has_missing[place] = false;"),
            ("shadows are not shuffled",
             "draw->shuffled[k], *sample, n_columns + k)", "draw->rows, *sample, n_columns + k)"),
        ],
    },
    (
        "trees/test_bins.py", "inputs/test_table.py", "rewards/test_screening.py",
        "decoys/test_normal_scores.py",
    ): {
        "tables.h": [
            ("cuts are not halfway",
             "0.5 * distinct[k] + 0.5 * distinct[k + 1]",
             "0.75 * distinct[k] + 0.25 * distinct[k + 1]"),
            ("a value that was seen is new",
             "if (entries[place].value == value) return false;",
             "if (entries[place].value == value) return true;"),
            ("rounding decides between bins, not the cut",
             "while (code > 0 && low + step * (double)code > value) --code;", ""),
            ("a value at a listed cut lies below it",
             "if (cuts[middle] <= value)", "if (cuts[middle] < value)"),
            ("a grid is crowded by all of its values",
             "if (k >= width) inside -= counts[k - width];", ""),
            ("equal codes do not share their rank",
             "rank_of[code] = 0.5 * (double)(first + last - n_present);",
             "rank_of[code] = (double)first - 0.5 * (double)n_present;"),
            ("equal values do not share their rank",
             "double rank = 0.5 * (double)(first + last - n_present);",
             "double rank = (double)first - 0.5 * (double)n_present;"),
            ("a cell may lie at the very end", "0.5 / n, 1 - 0.5 / n);", "0.0, 1 - 0.5 / n);"),
            ("values that come again are one point",
             "last - first <= narrow", "last - first <= 1.0"),
            ("the largest seen value is never found",
             "shares(i, j) * (double)n)", "shares(i, j) * (double)(n - 1))"),
        ],
    },
    (
        "rewards/test_screening.py", "selectors/test_genotypes.py",
        "selectors/test_copies.py", "omics/test_plink.py",
    ): {
        "screen.h": [
            ("missing codes correlate", "if (x == MISSING) continue;", ""),
            ("missing values are added to the largest",
             "values(j, i) < 3 ? values(j, i) : 3", "values(j, i) < 3 ? values(j, i) : 2"),
            ("alleles are swapped", "{2, 3, 1, 0}", "{0, 3, 1, 2}"),
        ],
    },
    ("regression/test_opinion.py",): {
        "screen.h": [
            ("triples are of a column with itself", "k + lane > j", "k + lane >= j"),
            ("triples far below zero are not seen", "| (sums < -bound)", ""),
            ("the last triple is taken, not the furthest",
             "<= __builtin_llabs(furthest[i])) return;", "<= 0) return;"),
        ],
    },
    ("rewards/test_rules.py",): {
        "screen.h": [
            ("steps grow no more careful", "care *= 2.0", "care *= 1.0"),
            ("a flat row has no curvature", "flat > FLATTEST ? flat : FLATTEST", "flat"),
            ("the penalty is halved",
             "fabs(gain) > alpha ? fabs(gain) - alpha",
             "fabs(gain) > alpha ? fabs(gain) - 0.5 * alpha"),
        ],
    },
    ("trees/test_forest.py",): {
        "tables.h": [
            ("missing values never go left", "(code == MISSING && missing_left[node])", "false"),
            ("points that part go both ways",
             "points_of[n_left++] = points ^ lower;", "points_of[n_left++] = points;"),
            ("trees above the points count once for all",
             "for (double &entry : out[row]) entry += of_all;", "out(row, 0) += of_all;"),
        ],
    },
    (
        "rewards/test_bart.py", "rewards/test_bart_ahead.py", "bandit/test_arms.py",
        "bandit/test_oracle.py",
    ): {
        "plays.h": [
            ("a quantile is rounded down", "values[low] + step * weight", "values[low]"),
            ("half of the shadows are beaten",
             "quantile_of(of_shadows, 0.9)", "quantile_of(of_shadows, 0.5)"),
            ("columns are proposed half as often", "ceil(2.0 *", "ceil(1.0 *"),
            ("evidence makes columns likelier than all", "weight < 0.0 ? weight : 0.0", "weight"),
            ("the average forgets the last forests", "close_span(tally, k, n_done, burn);", ""),
            ("a pair of the first column is not found", "places.second >= 0", "places.second > 0"),
            ("partners join where neither is played",
             "if (has_first == has_second) continue;", "if (has_first && has_second) continue;"),
            ("columns of every play are left out", "take(source.always);", ""),
            ("an arm gets what its last column gets",
             "rewards[k] |= of_columns", "rewards[k] = of_columns"),
            ("an arm at its threshold has passed it",
             "a / (a + b) > of.threshold", "a / (a + b) >= of.threshold"),
            ("decoys change the model", " && i < arms->n_candidates;", ";"),
            ("one arm that changes is no change", "n_changed > 0 ? 0", "n_changed > 1 ? 0"),
        ],
    },
}  # fmt: skip


def mutations(files: list[str]) -> Iterator[Mutation]:
    """All mutations, or those of some files."""
    for tests, group in GROUPS.items():
        for file, texts in group.items():
            if not files or file in files:
                yield from (Mutation(name, file, old, new, tests) for name, old, new in texts)


def verdict(mutation: Mutation) -> str:
    """Which test caught a mutant first, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        change = f"core/{mutation.file}", mutation.old, mutation.new
        patched_copy(Path(folder), change, flags=FLAGS)
        done = run_with(
            Path(folder), "-m", "pytest", "-x", "-q", "-m", "not long", "-p", "no:cacheprovider",
            *(name if name.startswith("-") else f"tests/{name}" for name in mutation.tests),
            flags=FLAGS,
        )  # fmt: skip
    failed = re.search(r"^FAILED tests/(\S.*?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed and ("AssertionError" in done.stdout):
        return failed.group(1)
    if done.returncode == 0:
        return ""
    raise RuntimeError(done.stdout[-3000:] + done.stderr[-3000:])


def main(files: list[str]) -> int:
    rows, planned = [], list(mutations(files))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for processes of its own
        for mutation, caught in zip(planned, pool.map(verdict, planned), strict=True):
            print(f"{mutation.name}: {f'caught by {caught}' if caught else 'SURVIVED'}", flush=True)
            rows.append((mutation, caught))
    if not files:
        record(
            "mutations.md",
            [
                *heading("Mutations", "make check-mutations"),
                "The core is broken on purpose, and the quick tests of what is broken must fail.",
                "",
                "| mutation | file | caught by |",
                "|---|---|---|",
                *(
                    f"| {mutation.name} | `{mutation.file}` | "
                    f"{f'`{test}`' if test else '**nothing**'} |"
                    for mutation, test in rows
                ),
            ],
        )
    return 0 if all(caught for _, caught in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
