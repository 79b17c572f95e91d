"""Real tables: how well what is selected predicts rows that the selection has not seen.

``make study-tables`` runs what its folder of pieces lacks and records the page. Three tables come
with scikit-learn; others are looked for in TVSELECT_DATA and left out where they are not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

from benchmarks.judging import judge, shuffled, warm_up, with_error
from benchmarks.records import heading, kept, record_as_made
from tvstudy.datasets import fetch_hiv, load_direct_mail, load_madelon
from tvstudy.datasets.home import find_folder
from tvstudy.methods import ALL_METHODS
from tvstudy.simulation import Labelled

N_NOISE = 100
MOST_ROWS = 10_000
N_TREES = 100
LEAVES = [1, 5, 25]
MEASURES = {0: "R2", 2: "AUC"}
"""By the number of classes; accuracy of more."""
SCORING = {"R2": "r2", "AUC": "roc_auc", "accuracy": "accuracy"}
METHODS = {
    "TVS-FDR": "TVS (default)",
    "IPSS": "IPSS",
    "Boruta": "Boruta",
    "LASSO, 1 s.e.": "LASSO, 1 s.e.",
    "spike-and-slab LASSO": "spike-and-slab LASSO",
    "stability selection": "stability selection",
}
MOST_ROWS_OF = {"Boruta": 1_000}
"""Rows up to which a slow method is run: beyond, a fold takes it more than ten minutes."""
MAIL_FILE = "charity_mail.csv.gz"


class Kept(NamedTuple):
    """Of one fold: columns of the table and shuffled ones that were kept, score, CPU seconds."""

    own: int
    noise: int
    score: float
    seconds: float


def _mail() -> tuple[Any, Any]:
    mail = load_direct_mail(find_folder(None, "charity_mail", [MAIL_FILE]) / MAIL_FILE)
    return mail.data.fillna(mail.data.median()).to_numpy(), mail.target


def _hiv() -> tuple[Any, Any]:
    problem = fetch_hiv("PI", download_if_missing=False).problem("LPV")
    return problem.X, problem.y


TABLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "HIV-1, LPV": _hiv,
    "direct mail": _mail,
    "Madelon": lambda: load_madelon()[:2],
}
"""``X, y`` of each; a table that is not there raises an OSError."""


def table_of(name: str, seed: int) -> Labelled:
    """A table and shuffled copies of some of its columns, at most ``MOST_ROWS`` rows."""
    X, y = TABLES[name]()
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:MOST_ROWS]
    X, y = np.asarray(X, dtype=np.float64)[rows], np.asarray(y)[rows]
    noise = shuffled(X, rng.integers(X.shape[1], size=N_NOISE), rng)
    return Labelled(np.hstack([X, noise]), y, np.arange(X.shape[1] + N_NOISE) < X.shape[1])


def n_classes(y: NDArray[Any]) -> int:
    """Number of classes, 0 for numbers."""
    found = np.unique(y).size
    return found if found <= 10 else 0


def score_of(d: Labelled, chosen: NDArray[np.bool_], train: Any, test: Any) -> float:
    """R2, AUC or accuracy of a forest on the chosen columns, on rows that were held back.

    The size of its leaves is chosen in folds of the other rows: leaves of one row read noise
    where few columns are left.
    """
    classes = n_classes(d.y)
    some = chosen.any()
    model: Any
    if classes:
        model = RandomForestClassifier(N_TREES, random_state=0) if some else DummyClassifier()
    else:
        model = RandomForestRegressor(N_TREES, random_state=0) if some else DummyRegressor()
    scoring = SCORING[MEASURES.get(classes, "accuracy")]
    if some:
        model = GridSearchCV(model, {"min_samples_leaf": LEAVES}, scoring=scoring, cv=3)
    X = d.X[:, chosen] if some else d.X[:, :1]
    model.fit(X[train], d.y[train])
    return float(get_scorer(scoring)(model, X[test], d.y[test]))


def select(d: Labelled, method: str, k: int, train: Any, test: Any) -> Kept:
    """What a method keeps on the other folds, and how that predicts the ``k``-th."""
    judged = judge(ALL_METHODS[method](k), Labelled(d.X[train], d.y[train], d.support))
    score = score_of(d, judged.kept, train, test)
    return Kept(judged.found, judged.false, score, judged.seconds)


def lines_of(name: str, options: argparse.Namespace) -> Iterator[str]:
    """A line for each method."""
    d = table_of(name, seed=0)
    kind = StratifiedKFold if n_classes(d.y) else KFold
    folds = list(kind(options.folds, shuffle=True, random_state=0).split(d.X, d.y))

    def over_folds(columns_by: str, of_fold: Callable[..., Any]) -> list[Any]:
        return [
            kept(
                options.pieces / f"{name}, {columns_by}, fold {k + 1} of {len(folds)}.json",
                partial(of_fold, k, *fold),
            )
            for k, fold in enumerate(folds)
        ]

    everything = np.ones(d.support.size, dtype=np.bool_)
    own = over_folds("its columns", lambda _, *fold: score_of(d, d.support, *fold))
    with_noise = over_folds("all columns", lambda _, *fold: score_of(d, everything, *fold))
    measure = MEASURES.get(n_classes(d.y), "accuracy")
    title = f"{name}: {d.X.shape[0]:,} x {d.support.sum()}, {measure}"
    n_own = d.support.sum()
    yield f"| {title} | the table's columns | {n_own} | 0 | {with_error(own)} | - |"
    yield f"| {title} | all columns | {n_own} | {N_NOISE} | {with_error(with_noise)} | - |"
    for method in options.method:
        if len(d.y) > MOST_ROWS_OF.get(method, MOST_ROWS):
            continue
        made = over_folds(method, partial(select, d, method))
        own_kept, noise, scores, seconds = zip(*made, strict=True)
        yield (
            f"| {title} | {METHODS[method]} | {np.mean(own_kept):.1f} | {np.mean(noise):.1f} | "
            f"{with_error(scores)} | {np.mean(seconds):.0f} |"
        )


def page(options: argparse.Namespace) -> Iterator[str]:
    yield from heading("Real tables", "make study-tables")
    yield (
        f"Each table and {N_NOISE} shuffled copies of its columns, which are noise; at most "
        f"{MOST_ROWS:,} rows, drawn at random. In each of {options.folds} folds a method selects "
        f"on the other folds, a random forest of {N_TREES} trees learns from what it selected "
        "there (the size of its leaves chosen in folds of these rows), and is judged on the fold: "
        "R2 of numbers, AUC of two classes, accuracy of three. ± is a standard error "
        "over the folds, which share rows: it is too small. Methods for numbers take classes as "
        "numbers; gaps are medians (mail)."
    )
    yield from (
        "",
        "| table | columns by | kept of the table | noise kept | score | CPU seconds |",
        "|---|---|---|---|---|---|",
    )
    left_out = [f"Left out: {METHODS[name]}." for name in METHODS if name not in options.method]
    left_out += [
        f"Left out where there are more than {most:,} rows: {METHODS[name]}."
        for name, most in MOST_ROWS_OF.items()
        if name in options.method
    ]
    for name in options.table:
        try:
            TABLES[name]()
        except OSError as error:
            left_out.append(f"Left out: {name}. {error}")
        else:
            yield from lines_of(name, options)
    yield from ("", *left_out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--table", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--method", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--pieces", type=Path, required=True, help="folder of finished pieces")
    options = parser.parse_args()
    warm_up()
    record_as_made("real_tables.md", page(options))


if __name__ == "__main__":
    main()
