"""Do the exactness tests have teeth? Break the sampler on purpose and see them fail.

Run as ``python -m tests.exactness.mutations``; exits with 1 when a mutant survives.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from benchmarks.records import heading, record
from tests.exactness.patched import AS_R_COUNTS, patched_copy, run_with

PROPOSAL = "math.log(shrink * proposal * proposal)"
DEPTH = "        + prior.split_log_odds[depth]\n"
CHOOSE_LEAF = "    node = nth_leaf(trees, tree, int(u * n_leaves))\n"
CHOOSE_LARGE_LEAF = (
    CHOOSE_LEAF
    + "    for _ in range(100):\n"
    + "        leaf = trees.nodes[tree, node, LEAF]\n"
    + "        if chain.leaves.gram[leaf, leaf] >= 2 * prior.min_leaf:\n"
    + "            break\n"
    + "        node = nth_leaf(trees, tree, int(rng.random() * n_leaves))\n"
)
MOVES, PAIRS = "trees/moves.py", "trees/pair_moves.py"
GRADES, CLASSES = "trees/grades.py", "trees/classes.py"

MUTATIONS = {
    "drop the proposal ratio": ((MOVES, PROPOSAL, "math.log(shrink)"),),
    "drop the depth prior": ((MOVES, DEPTH, ""),),
    "births choose only leaves that are large enough, the reverse move counts all": (
        (MOVES, CHOOSE_LEAF, CHOOSE_LARGE_LEAF),
    ),
    "the right child may be too small": (
        (
            MOVES,
            "if n_left < prior.min_leaf or n_both - n_left < prior.min_leaf:",
            "if n_left < prior.min_leaf:",
        ),
    ),
    "count prunable nodes as R does": (AS_R_COUNTS,),
    "cuts that the splits above closed are drawn again": (
        ("trees/structure.py", "high = min(high, cut)", "high = min(high, cut + 1)"),
    ),
    "the urn forgets a split": (
        ("trees/dirichlet.py", "if ball < n_splits:", "if ball < n_splits - 1:"),
    ),
    "a death forgets the weight of the column": (
        (MOVES, "log_ratio -= prior.column_log_weights[column]", "log_ratio -= 0.0"),
    ),
    "a pair birth forgets the coin for the side": (
        (
            PAIRS,
            "proposal = SIDES * proposal_ratio(n_leaves, ",
            "proposal = proposal_ratio(n_leaves, ",
        ),
    ),
    "a pair birth forgets a pair that it breaks": (
        (PAIRS, "found -= split_child(trees, tree, parent) != 0", "found -= 0"),
    ),
    "a pair death forgets the weight of the second column": (
        (PAIRS, "log_ratio -= prior.column_log_weights[second]", "log_ratio -= 0.0"),
    ),
    "the second split of a pair counts as deep as the first": (
        (PAIRS, "precision, proposal, depth + 1,", "precision, proposal, depth,"),
    ),
    "a known pair is proposed at no charge": (
        (PAIRS, "log_ratio -= log_chance_of_pair(", "log_ratio -= 0.0 * log_chance_of_pair("),
    ),
    "a cut point forgets its prior": (
        (GRADES, "log_ratio = 0.5 * (old * old - new * new)", "log_ratio = 0.0"),
    ),
    "a cut point forgets the grade above it": (
        (GRADES, "elif level == k + 1:", "elif level == k + 2:"),
    ),
    "the latent of the class seen need not be the largest": (
        (CLASSES, "1.0, highest, math.inf)", "1.0, highest - 1.0, math.inf)"),
    ),
    "latents of classes forget their offset": (
        (CLASSES, "response.values[place] = latent - offset", "response.values[place] = latent"),
    ),
    "a latent between close bounds is drawn evenly": (
        (
            "trees/truncated.py",
            "if rng.random() <= math.exp(-0.5 * value * value):",
            "if rng.random() <= 1.0:",
        ),
    ),
    "latents forget the noise": (
        ("trees/latents.py", "sd = 1.0 / math.sqrt(response.real[PRECISION])", "sd = 1.0"),
    ),
    "leaf means without their prior": (
        (
            "trees/leaves.py",
            "variance = 1.0 / (leaf_precision + leaves.gram[leaf, leaf] * precision)",
            "variance = 1.0 / (leaf_precision / 2 + leaves.gram[leaf, leaf] * precision)",
        ),
    ),
}
TESTS = (
    "trees/test_pair_moves.py",
    "exactness/test_prior_recovery.py",
    "exactness/test_enumeration.py",
    "exactness/test_geweke.py",
    "exactness/test_calibration.py",
    "exactness/test_weighting.py",
    "trees/test_truncated.py",
)


def verdict(changes: tuple[tuple[str, str, str], ...]) -> str:
    """Which test caught a mutant first, or an empty string."""
    with tempfile.TemporaryDirectory() as folder:
        patched_copy(Path(folder), *changes)
        done = run_with(
            Path(folder), "-m", "pytest", "-x", "-q", "-m", "not long", "-p", "no:cacheprovider",
            *(f"tests/{name}" for name in TESTS),
        )  # fmt: skip
    failed = re.search(r"^FAILED tests/(\S.*?)(?: - |$)", done.stdout, re.MULTILINE)
    if done.returncode == 1 and failed and "AssertionError" in done.stdout:
        return failed.group(1)
    if done.returncode == 0:
        return ""
    raise RuntimeError(done.stdout[-3000:] + done.stderr[-3000:])


def main() -> int:
    rows = []
    for name, changes in MUTATIONS.items():
        caught = verdict(changes)
        print(f"{name}: {'caught by ' + caught if caught else 'SURVIVED'}", flush=True)
        rows.append((name, caught))
    record(
        "mutations.md",
        [
            *heading("Mutations", "make check-mutations"),
            "The sampler is broken on purpose, and the quick exactness tests must fail.",
            "",
            "| mutation | caught by |",
            "|---|---|",
            *(f"| {name} | {f'`{test}`' if test else '**nothing**'} |" for name, test in rows),
        ],
    )
    return 0 if all(caught for _, caught in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
