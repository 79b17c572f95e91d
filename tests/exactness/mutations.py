"""Do the tests of the core have teeth? Break it on purpose and see them fail.

Every mutation is planted in a copy of the C++ sources, which is compiled; then the tests that
should catch it must fail. Run as ``python -m tests.exactness.mutations``, with names of files
such as ``moves.h`` for the mutations of these only; exits with 1 when a mutant survives.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.records import heading, record
from tests.exactness.patched import AS_R_COUNTS, Change, patched_copy, run_with

FLAGS = ("-O1",)


class Mutation(NamedTuple):
    """What is broken, in which file of the core, and what to put in place of which text."""

    name: str
    file: str
    old: str
    new: str

    @property
    def change(self) -> Change:
        """As :func:`patched_copy` takes it."""
        return (f"core/{self.file}", self.old, self.new)


CHOOSE_LEAF = "int64_t node = nth<is_leaf>(tree, (int64_t)(u * (double)n_leaves));\n"
CHOOSE_LARGE_LEAF = (
    CHOOSE_LEAF
    + """        for (int64_t k = 0; k < 100; ++k) {
            if (data_of(node).n >= 2.0 * (double)prior.min_leaf) break;
            node = nth<is_leaf>(tree, (int64_t)(rng.uniform() * (double)n_leaves));
        }
"""
)
LAWS = (
    "trees/test_moves.py",
    "exactness/test_prior_recovery.py",
    "exactness/test_enumeration.py",
    "exactness/test_geweke.py",
    "exactness/test_calibration.py",
    "exactness/test_weighting.py",
)
OF_LAWS = [
    Mutation(
        "drop the proposal ratio", "moves.h", "log(shrink * proposal * proposal)", "log(shrink)"
    ),
    Mutation(
        "drop the depth prior", "moves.h", "+\n               prior.split_log_odds[depth];", ";"
    ),
    Mutation(
        "births choose only leaves that are large enough, the reverse move counts all",
        "moves.h", CHOOSE_LEAF, CHOOSE_LARGE_LEAF,
    ),
    Mutation(
        "the right child may be too small", "moves.h",
        "if (n_left < min_leaf || n_both - n_left < min_leaf)", "if (n_left < min_leaf)",
    ),
    Mutation("count prunable nodes as R does", "moves.h", *AS_R_COUNTS[1:]),
    Mutation(
        "cuts that the splits above closed are drawn again", "structure.h",
        "high = above.cut < high ? above.cut : high;",
        "high = above.cut + 1 < high ? above.cut + 1 : high;",
    ),
    Mutation(
        "the urn forgets a split", "moves.h", "if (ball < n_splits)",
        "if (ball < n_splits - 1.0)",
    ),
    Mutation(
        "theta forgets how many splits there are", "dirichlet.h",
        ": lgamma(theta) - lgamma(theta + n_splits);", ": lgamma(theta);",
    ),
    Mutation(
        "a death forgets the weight of the column", "moves.h",
        "log_ratio -= log_weight_of(at.column,", "log_ratio -= 0.0 * log_weight_of(at.column,",
    ),
    Mutation(
        "a pair birth forgets the coin for the side", "moves.h",
        "double proposal = SIDES * proposal_ratio(n_leaves, ",
        "double proposal = proposal_ratio(n_leaves, ",
    ),
    Mutation(
        "a pair birth forgets a pair that it breaks", "moves.h",
        "found -= is_pair(tree, parent);", "found -= 0;",
    ),
    Mutation(
        "a pair death forgets the weight of the second column", "moves.h",
        "log_ratio -= log_weight_of(second,", "log_ratio -= 0.0 * log_weight_of(second,",
    ),
    Mutation(
        "the second split of a pair counts as deep as the first", "moves.h",
        "proposal, upper.depth + 1,", "proposal, upper.depth,",
    ),
    Mutation(
        "a known pair is proposed at no charge", "moves.h",
        "log_ratio -= log_chance_of_pair(", "log_ratio -= 0.0 * log_chance_of_pair(",
    ),
]  # fmt: skip

DRAWS = (
    "trees/test_moves.py", "exactness/test_geweke.py", "exactness/test_weighting.py",
    "exactness/test_calibration.py",
)  # fmt: skip
OF_DRAWS = [
    Mutation(
        "a cut point forgets its prior", "latents.h",
        "double log_ratio = 0.5 * (old * old - cut * cut);", "double log_ratio = 0.0;",
    ),
    Mutation(
        "a cut point forgets the grade above it", "latents.h",
        "else if (level == (double)(k + 1))", "else if (level == (double)(k + 2))",
    ),
    Mutation(
        "the latent of the class seen need not be the largest", "latents.h",
        "draw(seen, highest, INFINITE)", "draw(seen, highest - 1.0, INFINITE)",
    ),
    Mutation(
        "latents of classes forget their offset", "latents.h",
        "response.values[place] = latent - offsets[k];", "response.values[place] = latent;",
    ),
    Mutation(
        "a latent between close bounds is drawn evenly", "latents.h",
        "if (rng.uniform() <= exp(0.5 * (nearest * nearest - value * value)))",
        "if (rng.uniform() <= 1.0)",
    ),
    Mutation(
        "latents forget the noise", "latents.h",
        "double sd = 1.0 / sqrt(response.real->precision);", "double sd = 1.0;",
    ),
    Mutation(
        "leaf means without their prior", "leaves.h",
        "1.0 / (prior.leaf_precision + ", "1.0 / (prior.leaf_precision / 2 + ",
    ),
    Mutation(
        "the noise forgets its prior", "leaves.h",
        "prior.noise_df + (double)n_rows", "(double)n_rows",
    ),
    Mutation(
        "the noise miscounts the squares", "leaves.h",
        "- 2.0 * leaves.sums[k]", "- 1.8 * leaves.sums[k]",
    ),
]  # fmt: skip

NUMBERS = ("bandit/test_numbers.py",)
OF_NUMBERS = [
    Mutation(
        "the tail of the normal law takes all", "random.h", "if (y + y > x * x)",
        "if (y + y > 0.0)",
    ),
    Mutation(
        "the tail of the exponential law begins earlier", "random.h",
        "return EXPONENTIAL_TAIL - log1p", "return 0.99 * EXPONENTIAL_TAIL - log1p",
    ),
    Mutation(
        "small gamma variables are drawn from the wrong side", "random.h",
        "double y = u <= 1.0 - shape", "double y = u <= 0.99 - shape",
    ),
    Mutation(
        "large gamma variables are taken too easily", "random.h",
        "0.0331 * (x * x) * (x * x)", "0.0131 * (x * x) * (x * x)",
    ),
    Mutation(
        "numbers below a bound are biased", "random.h",
        "while ((product & UINT32_MAX) < least)", "while (least == 0)",
    ),
    Mutation(
        "a shuffle keeps its mask", "random.h",
        "if ((int64_t)(mask >> 1) >= i) mask >>= 1;", "",
    ),
    Mutation(
        "the left half of a word is lost", "random.h",
        "left_over = (value & ~(uint64_t)UINT32_MAX) | 1;", "left_over = 0;",
    ),
    Mutation(
        "a row more is never chosen", "plays.h", "rng.below(n_left + k + 1)",
        "rng.below(n_left + k)",
    ),
]  # fmt: skip

BITS = ("trees/test_bits.py",)
OF_BITS = [
    Mutation(
        "missing ones of two bits go right", "bits.h",
        "missing ? at_least_1 : at_least_1 | at_least_2", "at_least_1 | at_least_2",
    ),
    Mutation(
        "missing ones of eight bits go right", "bits.h",
        "uint8_t more = missing_left,", "uint8_t more = 0,",
    ),
    Mutation(
        "rows outside of a leaf are sent left", "bits.h",
        "out[w] = masks(w, leaf) & left;", "out[w] = left;",
    ),
    Mutation(
        "overlaps count whole leaves", "bits.h", "load<Words>(&masks(w, k)) & rows[w]",
        "load<Words>(&masks(w, k))",
    ),
    Mutation(
        "sums over rows take a value twice", "bits.h",
        "high += where(rows[w] - Words{}, FIRST << (32 + b),",
        "high += where(rows[w] - Words{}, FIRST << b,",
    ),
    Mutation(
        "weighted sums forget the rest", "bits.h",
        "for (int64_t k = n_sets - n_sets % 4; k < n_sets; ++k)",
        "for (int64_t k = n_sets; k < n_sets; ++k)",
    ),
]  # fmt: skip

STATE = ("trees/test_sampler.py",)
OF_STATE = [
    Mutation(
        "columns that are not in use count as used", "dirichlet.h",
        "if (entry.count > 0) entry.present += span;", "entry.present += span;",
    ),
    Mutation(
        "a moved leaf keeps its old node", "structure.h",
        "trees.nodes(leaves.owners[leaf].tree, leaves.owners[leaf].node).leaf",
        "trees.nodes(leaves.owners[leaf].tree, 0).unused",
    ),
    Mutation(
        "a merged leaf forgets the rows of the other", "structure.h",
        "leaves.masks(w, keep) |= leaves.masks(w, free)",
        "leaves.masks(w, keep) |= 0 * leaves.masks(w, free)",
    ),
    Mutation(
        "the right child has the sum of both", "structure.h",
        "leaves.sums[right] = leaves.sums[left] - split.sum_left;",
        "leaves.sums[right] = leaves.sums[left];",
    ),
    Mutation(
        "a class misses a row", "gibbs.h", "i < (k + 1) * block; ++i)",
        "i < (k + 1) * block - 1; ++i)",
    ),
    Mutation(
        "copies have no missing values", "gibbs.h",
        "sample.has_missing[place] = table.has_missing[column];",
        "sample.has_missing[place] = false;",
    ),
    Mutation(
        "shadows are not shuffled", "gibbs.h", "draw->shuffled[k], *sample, n_columns + k)",
        "draw->rows, *sample, n_columns + k)",
    ),
]  # fmt: skip

TABLES = (
    "trees/test_bins.py", "inputs/test_columns.py",
    "rewards/test_screening.py", "decoys/test_normal_scores.py",
)  # fmt: skip
OF_TABLES = [
    Mutation(
        "cuts are not halfway", "tables.h", "0.5 * distinct[k] + 0.5 * distinct[k + 1]",
        "0.75 * distinct[k] + 0.25 * distinct[k + 1]",
    ),
    Mutation(
        "a value that was seen is new", "tables.h",
        "if (seen(place, 1) == bits) return false;", "if (seen(place, 1) == bits) return true;",
    ),
    Mutation(
        "rounding decides between bins, not the cut", "tables.h",
        "while (code > 0 && low + step * (double)code > value) --code;", "",
    ),
    Mutation(
        "a value at a listed cut lies below it", "tables.h", "if (cuts[middle] <= value)",
        "if (cuts[middle] < value)",
    ),
    Mutation(
        "a grid is crowded by all of its values", "tables.h",
        "if (k >= width) inside -= counts[k - width];", "",
    ),
    Mutation(
        "equal codes do not share their rank", "tables.h",
        "rank_of[code] = 0.5 * (double)(first + last - n_present);",
        "rank_of[code] = (double)first - 0.5 * (double)n_present;",
    ),
    Mutation(
        "equal values do not share their rank", "tables.h",
        "double rank = 0.5 * (double)(first + last - n_present);",
        "double rank = (double)first - 0.5 * (double)n_present;",
    ),
    Mutation(
        "a cell may lie at the very end", "tables.h", "0.5 / n, 1 - 0.5 / n);", "0.0, 1 - 0.5 / n);"
    ),
    Mutation(
        "values that come again are one point", "tables.h", "last - first <= narrow",
        "last - first <= 1.0",
    ),
    Mutation(
        "the largest seen value is never found", "tables.h", "shares(i, j) * (double)n)",
        "shares(i, j) * (double)(n - 1))",
    ),
]  # fmt: skip

SCREENS = (
    "rewards/test_screening.py", "selectors/test_genotypes.py", "selectors/test_copies.py",
    "omics/test_plink.py",
)  # fmt: skip
OF_SCREENS = [
    Mutation("missing codes correlate", "screen.h", "if (x == MISSING) continue;", ""),
    Mutation(
        "missing values are added to the largest", "screen.h",
        "values(j, i) < 3 ? values(j, i) : 3", "values(j, i) < 3 ? values(j, i) : 2",
    ),
    Mutation("alleles are swapped", "screen.h", "{2, 3, 1, 0}", "{0, 3, 1, 2}"),
]  # fmt: skip

LASSO = ("rewards/test_rules.py",)
OF_LASSO = [
    Mutation("steps grow no more careful", "screen.h", "care *= 2.0", "care *= 1.0"),
    Mutation(
        "a flat row has no curvature", "screen.h", "flat > FLATTEST ? flat : FLATTEST", "flat"
    ),
    Mutation(
        "the penalty is halved", "screen.h", "fabs(gain) > alpha ? fabs(gain) - alpha",
        "fabs(gain) > alpha ? fabs(gain) - 0.5 * alpha",
    ),
]  # fmt: skip

FORESTS = ("trees/test_forest.py",)
OF_FORESTS = [
    Mutation(
        "missing values never go left", "tables.h",
        "(code == MISSING && missing_left[node])", "false",
    ),
    Mutation(
        "points that part go both ways", "tables.h", "points_of[n_left++] = points ^ lower;",
        "points_of[n_left++] = points;",
    ),
    Mutation(
        "trees above the points count once for all", "tables.h",
        "for (double &entry : out[row]) entry += of_all;", "out(row, 0) += of_all;",
    ),
]  # fmt: skip

PLAYS = (
    "rewards/test_bart.py", "rewards/test_bart_ahead.py", "bandit/test_arms.py",
    "bandit/test_oracle.py",
)  # fmt: skip
OF_PLAYS = [
    Mutation(
        "a quantile is rounded down", "plays.h", "values[low] + step * weight", "values[low]",
    ),
    Mutation(
        "half of the shadows are beaten", "plays.h", "quantile_of(of_shadows, 0.9)",
        "quantile_of(of_shadows, 0.5)",
    ),
    Mutation("columns are proposed half as often", "plays.h", "ceil(2.0 *", "ceil(1.0 *"),
    Mutation(
        "evidence makes columns likelier than all", "plays.h", "weight < 0.0 ? weight : 0.0",
        "weight",
    ),
    Mutation(
        "the average forgets the last forests", "plays.h",
        "close_span(tally, k, n_done, burn);", "",
    ),
    Mutation(
        "a pair of the first column is not found", "plays.h", "places.second >= 0",
        "places.second > 0",
    ),
    Mutation(
        "partners join where neither is played", "plays.h",
        "if (has_first == has_second) continue;", "if (has_first && has_second) continue;",
    ),
    Mutation(
        "columns of every play are left out", "plays.h",
        "take(source.always);", "",
    ),
    Mutation(
        "an arm gets what its last column gets", "plays.h", "rewards[k] |= of_columns",
        "rewards[k] = of_columns",
    ),
    Mutation(
        "an arm at its threshold has passed it", "plays.h", "a / (a + b) > of.threshold",
        "a / (a + b) >= of.threshold",
    ),
    Mutation("decoys change the model", "plays.h", " && i < arms->n_candidates;", ";"),
    Mutation(
        "one arm that changes is no change", "plays.h", "n_changed > 0 ? 0", "n_changed > 1 ? 0"
    ),
]  # fmt: skip

GROUPS = (
    (OF_LAWS, LAWS),
    (OF_DRAWS, DRAWS),
    (OF_NUMBERS, NUMBERS),
    (OF_BITS, BITS),
    (OF_STATE, STATE),
    (OF_TABLES, TABLES),
    (OF_SCREENS, SCREENS),
    (OF_LASSO, LASSO),
    (OF_FORESTS, FORESTS),
    (OF_PLAYS, PLAYS),
)


def mutations(files: list[str]) -> Iterator[tuple[Mutation, tuple[str, ...]]]:
    """All mutations, or those of some files, with the tests that should catch them."""
    for group, tests in GROUPS:
        yield from ((mutation, tests) for mutation in group if not files or mutation.file in files)


def verdict(mutation: Mutation, tests: tuple[str, ...]) -> str:
    """Which test caught a mutant first, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        patched_copy(Path(folder), mutation.change, flags=FLAGS)
        done = run_with(
            Path(folder), "-m", "pytest", "-x", "-q", "-m", "not long", "-p", "no:cacheprovider",
            *(f"tests/{name}" for name in tests), flags=FLAGS,
        )  # fmt: skip
    failed = re.search(r"^FAILED tests/(\S.*?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed and ("AssertionError" in done.stdout):
        return failed.group(1)
    if done.returncode == 0:
        return ""
    raise RuntimeError(done.stdout[-3000:] + done.stderr[-3000:])


def main(files: list[str]) -> int:
    rows = []
    for mutation, tests in mutations(files):
        caught = verdict(mutation, tests)
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
