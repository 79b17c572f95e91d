"""Three classes and more: what is kept of known tables, next to Boruta and mutual information.

``make bench-multiclass`` prints the page and records it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import permutations
from typing import Any, Self
from unittest.mock import patch

import numpy as np
from boruta import BorutaPy
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks.judging import Judged, judge, shuffled, warm_up, with_error
from benchmarks.records import heading, record_as_made
from tvselect import ThompsonSelector
from tvselect.rewards import bart
from tvstudy.simulation import Labelled, simulate_expression

TABLES = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
N_NOISE = 50
MOST_ROWS = 400
FIRST_SEED, FIRST_TUNING_SEED = 910_000, 90_000
TREES = (5, 10, 20)


class MutualInformation:
    """Columns with more information on the classes than any shuffled copy of all columns."""

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Hold the columns against their copies."""
        rng = np.random.default_rng(self.random_state)
        both = np.hstack([X, shuffled(X, slice(None), rng)])
        column, copy = np.split(mutual_info_classif(both, y, random_state=self.random_state), 2)
        self.support_ = column > copy.max()
        return self


def methods(seed: int) -> dict[str, Any]:
    forest = RandomForestClassifier(max_depth=5, class_weight="balanced", random_state=seed)
    return {
        "TVS (default)": ThompsonSelector(n_jobs=1, random_state=seed),
        "Boruta": BorutaPy(forest, n_estimators="auto", random_state=seed),
        "mutual information": MutualInformation(seed),
    }


def with_noise(name: str, seed: int, most_rows: int | None = None) -> Labelled:
    """A table of scikit-learn's and columns that are shuffled copies of some of its own."""
    X, y = TABLES[name](return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(y.size)[:most_rows]
    X, y = X[rows], y[rows]
    noise = shuffled(X, rng.integers(X.shape[1], size=N_NOISE), rng)
    return Labelled(np.hstack([X, noise]), y, np.arange(X.shape[1] + N_NOISE) < X.shape[1])


def expression(seed: int) -> Labelled:
    return simulate_expression(150, 200, np.random.default_rng(seed))


def accuracy(d: Labelled, columns: Any, seed: int) -> float:
    """Of a forest on these columns, in five folds; of the largest class where there are none."""
    if not columns.any():
        return float(np.bincount(d.y).max() / d.y.size)
    forest = RandomForestClassifier(random_state=seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return float(cross_val_score(forest, d.X[:, columns], d.y, cv=folds).mean())


def cells_of(made: list[Judged]) -> str:
    return (
        f"{with_error([m.found for m in made])} | {with_error([m.false for m in made])} | "
        f"{np.mean([m.seconds for m in made]):.1f}"
    )


def lines_of(
    title: str, tables: list[Labelled], seeds: list[int], *, rivals: bool = True
) -> Iterator[str]:
    """A line of what was found, and how well a forest does, for each method."""
    if rivals:
        everything = [accuracy(d, np.ones(d.support.size, bool), 0) for d in tables]
        yield f"| {title} | all columns | - | - | - | {np.mean(everything):.3f} |"
    for name in list(methods(0))[: None if rivals else 1]:
        made = [judge(methods(seed)[name], d) for d, seed in zip(tables, seeds, strict=True)]
        scores = [accuracy(d, m.kept, 0) for d, m in zip(tables, made, strict=True)]
        yield f"| {title} | {name} | {cells_of(made)} | {np.mean(scores):.3f} |"


def lines_of_trees(n: int, n_digits: int) -> Iterator[str]:
    """Variants of the trees of a class, on data sets for choosing."""
    for name, count, variants in (("expression", n, TREES[1:]), ("digits", n_digits, TREES)):
        for trees in variants:
            made = []
            for seed in range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + count):
                d = expression(seed) if name == "expression" else with_noise(name, seed, MOST_ROWS)
                with patch.object(bart, "TREES_OF_A_CLASS", trees):
                    made.append(judge(ThompsonSelector(n_jobs=1, random_state=seed), d))
            yield f"| {name}, {count} data set(s) | {trees} | {cells_of(made)} |"


def page(options: argparse.Namespace) -> Iterator[str]:
    head = [
        "| table | method | found | noise selected | CPU seconds | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    seeds = list(range(FIRST_SEED, FIRST_SEED + options.n))
    yield from (
        *heading("Three classes and more", "make bench-multiclass"),
        "`ThompsonSelector()` as it comes (FDR 0.1); Boruta: BorutaPy with scikit-learn's forest "
        "of depth 5, as its documentation has it; mutual information: `mutual_info_classif`, "
        "columns above the largest value of a shuffled copy of all columns. Accuracy: a random "
        "forest on the columns kept, in 5 folds; the columns were chosen by all rows, which "
        "flatters methods that keep noise. ± is a standard error.",
        "",
        "## Expression of genes: 150 rows, 200 columns, 4 of them matter",
        "",
        f"{options.n} data set(s) a row. Three classes, two of the genes differ in the middle one "
        "alone. The codes of the classes have no meaning, so that all six should give the same but "
        "for chance. Forests and mutual information know them as labels alone; one coding will do "
        "for them.",
        "",
        head[0].replace("table", "codes"),
        head[1],
    )
    for codes in permutations(range(3)):
        tables = [d._replace(y=np.array(codes)[d.y]) for d in map(expression, seeds)]
        title = "".join(map(str, codes))
        yield from lines_of(title, tables, seeds, rivals=title == "012")
    yield from (
        "",
        f"## scikit-learn's tables with {N_NOISE} shuffled columns",
        "",
        f"{options.n} data set(s) a row, of digits {options.digits}. Shuffled columns are noise; a "
        "column of the table need not matter, nor add to the others.",
        "",
        *head,
    )
    for name, load in TABLES.items():
        X, y = load(return_X_y=True)
        title = f"{name}: {y.size:,} rows, {X.shape[1]} columns, {np.unique(y).size} classes"
        of_it = seeds[: options.digits] if name == "digits" else seeds
        yield from lines_of(title, [with_noise(name, seed) for seed in of_it], of_it)
    yield from (
        "",
        "## Trees of a class",
        "",
        f"On data sets for choosing, {MOST_ROWS} rows of digits. The default is "
        f"{bart.TREES_OF_A_CLASS} for each class, 30 at least: with three classes 5 and "
        "10 are the same.",
        "",
        "| table | trees of a class | found | noise selected | CPU seconds |",
        "|---|---|---|---|---|",
    )
    yield from lines_of_trees(options.trees, options.digits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=2, help="data sets a row")
    parser.add_argument("--digits", type=int, default=1, help="data sets a row of digits")
    parser.add_argument("--trees", type=int, default=4, help="data sets for the trees of a class")
    options = parser.parse_args()
    warm_up()
    record_as_made("classes.md", page(options))


if __name__ == "__main__":
    main()
