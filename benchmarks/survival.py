"""Survival times: errors next to a Cox-LASSO and a survival forest, and two tables of patients.

``make bench-survival`` prints the page and records it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.datasets import load_breast_cancer, load_flchain
from sksurv.ensemble import RandomSurvivalForest
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis

from benchmarks.judging import errors_of, judge, shuffled, warm_up
from benchmarks.records import heading, record_as_made
from tvselect import ThompsonSelector
from tvstudy.simulation import Labelled, simulate_survival

N_ROWS, N_COLUMNS, N_OF_FOREST = 400, 1_000, 200
N_ALPHAS, N_TREES = 15, 30
FIRST_SEED = 920_000


class CoxLasso:
    """Columns with a coefficient at the penalty of the best concordance in five folds."""

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the penalty on a path."""
        path = CoxnetSurvivalAnalysis(l1_ratio=1.0, n_alphas=N_ALPHAS, alpha_min_ratio=0.1)
        search = GridSearchCV(
            CoxnetSurvivalAnalysis(l1_ratio=1.0, tol=1e-4, max_iter=1_000),
            {"alphas": [[alpha] for alpha in path.fit(X, y).alphas_]},
            cv=KFold(5, shuffle=True, random_state=self.random_state),
            error_score=0.5,
        ).fit(X, y)
        self.support_ = search.best_estimator_.coef_[:, 0] != 0.0
        return self


class Forest:
    """Columns whose permutation costs a forest more than that of any shuffled copy."""

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one forest to the columns and their copies."""
        both = np.hstack([X, shuffled(X, slice(None), np.random.default_rng(self.random_state))])
        model = survival_forest(self.random_state).fit(both, y)
        costs = permutation_importance(
            model, both, y, n_repeats=1, random_state=self.random_state
        ).importances_mean
        column, copy = np.split(costs, 2)
        self.support_ = column > copy.max()
        return self


def survival_forest(seed: int, most_rows: int | None = None) -> Any:
    return RandomSurvivalForest(
        N_TREES, min_samples_leaf=10, max_samples=most_rows, low_memory=True, random_state=seed
    )


def fewer_columns(d: Labelled) -> Labelled:
    """The signals and the first of the others."""
    kept = np.argsort(~d.support, kind="stable")[:N_OF_FOREST]
    return Labelled(d.X[:, kept], d.y, d.support[kept])


def lines_of(proportional: bool, censored: float, n: int) -> Iterator[str]:
    """A line for each method."""
    seeds = range(FIRST_SEED, FIRST_SEED + n)
    tables = [
        simulate_survival(
            N_ROWS,
            N_COLUMNS,
            np.random.default_rng(seed),
            censored=censored,
            proportional=proportional,
        )
        for seed in seeds
    ]
    title = f"{'proportional' if proportional else 'not proportional'}, {censored:.0%} censored"
    methods: dict[str, Callable[[int], Any]] = {
        "TVS (default)": lambda seed: ThompsonSelector(n_jobs=1, random_state=seed),
        "Cox-LASSO": CoxLasso,
        f"survival forest, p={N_OF_FOREST}": Forest,
    }
    for name, method in methods.items():
        made = [
            judge(method(seed), fewer_columns(d) if method is Forest else d)
            for seed, d in zip(seeds, tables, strict=True)
        ]
        yield f"| {title} | {name} | {errors_of(made)} |"


def patients() -> dict[str, tuple[pd.DataFrame, Any]]:
    """Two tables of scikit-survival's."""
    X, y = load_flchain()
    y["futime"] = np.maximum(y["futime"], 0.5)
    return {
        "GSE7390, breast cancer": load_breast_cancer(),
        "flchain": (X.drop(columns="chapter"), y),  # the cause of death, known of the dead
    }


def concordance(model: Any, columns: pd.DataFrame, y: Any, train: Any, test: Any) -> float:
    """Of a model on these columns, on the rows to test; that of a constant without columns."""
    if columns.shape[1] == 0:
        return 0.5
    numbers = pd.get_dummies(columns, drop_first=True, dtype=float).to_numpy()
    made = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), model)
    return made.fit(numbers[train], y[train]).score(numbers[test], y[test])


def lines_of_patients(name: str, X: pd.DataFrame, y: Any) -> Iterator[str]:
    """What is selected, and the concordance in five folds, selected anew in each."""
    selector = ThompsonSelector(n_jobs=1, random_state=0)
    made = judge(selector, Labelled(X, y, np.ones(X.shape[1], dtype=np.bool_)))
    event = y.dtype.names[0]
    yield ""
    yield (
        f"{name}: {X.shape[0]:,} rows, {X.shape[1]} columns, {y[event].mean():.0%} with the event. "
        f"Selected: {', '.join(X.columns[made.kept]) or 'nothing'}; {made.seconds:.0f} CPU seconds."
    )
    models = {
        "Cox with a ridge": CoxPHSurvivalAnalysis(alpha=1.0),
        "survival forest": survival_forest(0, most_rows=min(len(X) // 2, 500)),
    }
    scores: dict[str, list[list[float]]] = {model: [] for model in models}
    n_kept = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        kept = X.loc[:, selector.fit(X.iloc[train], y[train]).support_]
        n_kept.append(kept.shape[1])
        for model, estimator in models.items():
            scores[model].append(
                [concordance(estimator, columns, y, train, test) for columns in (X, kept)]
            )
    yield from (
        "",
        "| model | all columns | kept in the fold | columns kept |",
        "|---|---|---|---|",
    )
    for model, pairs in scores.items():
        everything, kept_ones = np.mean(pairs, axis=0)
        counts = f"{min(n_kept)} to {max(n_kept)}"
        yield f"| {model} | {everything:.3f} | {kept_ones:.3f} | {counts} |"


def page(n: int) -> Iterator[str]:
    yield from (
        *heading("Survival times", "make bench-survival"),
        f"`ThompsonSelector()` as it comes (FDR 0.1), n={N_ROWS}, p={N_COLUMNS:,}, five signals, "
        f"{n} data sets a row. Cox-LASSO: scikit-survival's `CoxnetSurvivalAnalysis` at "
        f"the penalty of the best concordance in 5 folds, of {N_ALPHAS} down to a tenth of "
        "the largest, tolerance 1e-4. Survival forest: columns of its "
        f"`RandomSurvivalForest` ({N_TREES} trees) with a permutation importance above that of all "
        f"shuffled copies; it has the signals and {N_OF_FOREST - 5} other columns only, for time. "
        "± is a standard error.",
        "",
        "| times | method | Hamming distance | found of 5 | false | CPU seconds |",
        "|---|---|---|---|---|---|",
    )
    for proportional in (True, False):
        for censored in (0.3, 0.7):
            yield from lines_of(proportional, censored, n)
    yield from (
        "",
        "## Patients",
        "",
        "Concordance in 5 folds, columns selected anew in each. Of flchain the chapter is left "
        "out, the cause of death, which only the dead have.",
    )
    for name, (X, y) in patients().items():
        yield from lines_of_patients(name, X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=3, help="data sets a row")
    n = parser.parse_args().n
    warm_up()
    record_as_made("survival.md", page(n))


if __name__ == "__main__":
    main()
