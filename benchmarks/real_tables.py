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
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.judging import compile_kernels, judge, shuffled, with_error
from benchmarks.records import heading, kept, record_as_made
from tvstudy.datasets import fetch_hiv, load_direct_mail, load_madelon
from tvstudy.datasets.home import find_folder
from tvstudy.methods import ALL_METHODS
from tvstudy.simulation import Labelled

N_NOISE = 100
MOST_ROWS = 5_000
METHODS = {
    "TVS-FDR": "TVS (default)",
    "IPSS": "IPSS",
    "Boruta": "Boruta",
    "LASSO, 1 s.e.": "LASSO, 1 s.e.",
    "spike-and-slab LASSO": "spike-and-slab LASSO",
    "stability selection": "stability selection",
}
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
    """R2, AUC or accuracy of a forest on the chosen columns, on rows that were held back."""
    classes = n_classes(d.y)
    model: Any
    if classes:
        model = RandomForestClassifier(200, random_state=0) if chosen.any() else DummyClassifier()
    else:
        model = RandomForestRegressor(200, random_state=0) if chosen.any() else DummyRegressor()
    X = d.X[:, chosen] if chosen.any() else d.X[:, :1]
    model.fit(X[train], d.y[train])
    if classes == 2:
        return float(roc_auc_score(d.y[test], model.predict_proba(X[test])[:, 1]))
    scorer = accuracy_score if classes else r2_score
    return float(scorer(d.y[test], model.predict(X[test])))


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
    everything = np.ones(d.support.size, dtype=np.bool_)
    own = [score_of(d, d.support, *fold) for fold in folds]
    with_noise = [score_of(d, everything, *fold) for fold in folds]
    measure = {0: "R2", 2: "AUC"}.get(n_classes(d.y), "accuracy")
    title = f"{name}: {d.X.shape[0]:,} x {d.support.sum()}, {measure}"
    n_own = d.support.sum()
    yield f"| {title} | the table's columns | {n_own} | 0 | {with_error(own)} | - |"
    yield f"| {title} | all columns | {n_own} | {N_NOISE} | {with_error(with_noise)} | - |"
    for method in options.method:
        made = [
            kept(
                options.pieces / f"{name}, {method}, fold {k + 1} of {len(folds)}.json",
                partial(select, d, method, k, *fold),
            )
            for k, fold in enumerate(folds)
        ]
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
        "on the other folds, a random forest of 200 trees learns from what it selected there, and "
        "is judged on the fold: R2 of numbers, AUC of two classes, accuracy of three. ± is a "
        "standard error over the folds, which share rows: it is too small. Methods for numbers "
        "take classes as numbers; gaps are medians (mail)."
    )
    yield from (
        "",
        "| table | columns by | kept of the table | noise kept | score | CPU seconds |",
        "|---|---|---|---|---|---|",
    )
    left_out = [f"Left out: {METHODS[name]}." for name in METHODS if name not in options.method]
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
    compile_kernels()
    record_as_made("real_tables.md", page(options))


if __name__ == "__main__":
    main()
