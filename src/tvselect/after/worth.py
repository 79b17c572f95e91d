"""What a selection is worth: predictions of rows that were held back, and other seeds."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import check_scalar

from tvselect.bandit.engine import StopReason
from tvselect.inputs import read_outcome
from tvselect.inputs.blocks import RowBlocks, take_blocks
from tvselect.inputs.columns import Matrix
from tvselect.inputs.outcome import Outcome
from tvselect.inputs.rows import take_rows
from tvselect.inputs.table import as_given, read_features
from tvselect.seeds import RandomState, as_generator
from tvselect.selectors.results import as_told, mean_jaccard
from tvselect.selectors.search import Search
from tvselect.trees import run_to_end
from tvselect.words import column_name, counted

N_TREES, N_ITERATIONS, MOST_CELLS = 50, 2000, 20_000_000
SMALLEST_CHANCE, BLOCK = 1e-6, 500
Score = Literal["R2", "AUC", "concordance", "log-loss"]
HeldBack = Literal["Rows", "Whole groups of rows", "Stretches of time"]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
SCORES: dict[str, Score] = {
    "gaussian": "R2",
    "counts": "R2",
    "probit": "AUC",
    "classes": "log-loss",
}


@dataclass(frozen=True)
class Worth:
    """Scores of predictions on rows that were held back, one for each fold."""

    #: "R2" (numbers, counts), "AUC" (two classes), "concordance" (grades, survival times) or
    #: "log-loss" (three or more classes; here less is better).
    score: Score
    selected: tuple[float, ...]  #: With what the other folds select, and those always included
    all: tuple[float, ...]  #: With all columns; empty for tables of more than 20 million cells
    none: tuple[float, ...]  #: Without columns
    n_selected: tuple[int, ...]  #: In the other folds, without those always included
    n_rows: int  #: Of the table
    seconds: float  #: Time that it took
    always: tuple[float, ...] = ()  #: With those always included alone; empty if there are none
    held_back: HeldBack = "Rows"  #: What a fold is made of

    def __post_init__(self) -> None:
        if not self.n_selected:
            raise ValueError("there must be a score for each of one or more folds")

    def __str__(self) -> str:
        """One line for each kind of columns."""
        kinds = ("selected columns", "always included", "all columns", "none")
        scores = (self.selected, self.always, self.all, self.none)
        return "\n".join(
            f"{kind:<16}  {self.score} {np.mean(found):6.3f} (s.e. {standard_error(found):.3f})"
            for kind, found in zip(kinds, scores, strict=True)
            if found
        )


def held_out_worth(
    selector: Any,
    X: Any,
    y: Any,
    *,
    groups: ArrayLike | str | None = None,
    order: ArrayLike | str | None = None,
    n_folds: int = 5,
    random_state: RandomState = None,
    verbose: int = 0,
) -> Worth:
    """How well the selected columns predict rows that took no part in their selection.

    For each fold of the rows the selector is fitted to all other rows, then BART to these rows
    and the columns selected there. Its predictions of the fold are scored, next to those of
    BART with all columns and of the mean or the shares of the classes. This takes as long as
    ``n_folds`` fits of the selector, and some seconds.

    Parameters
    ----------
    selector : ThompsonSelector
        Fitted or not; it is not changed.
    X : array-like, sparse matrix or data frame
        The table.
    y : array-like
        The outcome.
    groups, order : array-like (rows,) or str, optional
        Which rows belong together, and their order in time, as in :meth:`ThompsonSelector.fit`.
        Whole groups are held back, so that none is on both sides; of rows in time, stretches of
        it. Columns named in the selector's own fit are taken without being named again.
    n_folds : int, default=5
        How many parts the rows are split into. Classes, and censored rows, are spread evenly.
    random_state : None, int, SeedSequence or Generator
        Seed of the folds and the models.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Worth

    Raises
    ------
    ValueError
        For fewer than five rows a fold, fewer groups than folds, and for a class with a single
        row; where the rows of a fold have one outcome only, which cannot be scored; and where the
        selector was fitted with groups or an order beside the table, and they are not given.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import LassoReward, ThompsonSelector, held_out_worth
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((150, 5))
    >>> y = 3 * X[:, 3] + rng.normal(0, 0.5, 150)
    >>> selector = ThompsonSelector(LassoReward(), n_plays=20, random_state=0)
    >>> worth = held_out_worth(selector, X, y, n_folds=3, random_state=0)
    >>> worth.score, bool(np.mean(worth.selected) > 0.5), bool(np.mean(worth.none) < 0.1)
    ('R2', True, True)
    """
    from tqdm.auto import tqdm

    started = time.perf_counter()
    groups, order = as_told(selector, groups, order)
    X, blocks = take_blocks(as_given(X), groups, order)
    features = read_features(X)
    n_rows, n_columns = features.X.shape
    outcome = read_outcome(y, n_rows, family=selector.family)
    n_folds = int(check_scalar(n_folds, "n_folds", Integral, min_val=2))
    rng = as_generator(random_state)
    fold_of = _folds(outcome, n_folds, blocks, rng)
    scores: dict[str, list[float]] = {"selected": [], "all": [], "none": []}
    n_selected = []
    for fold in tqdm(range(n_folds), desc="folds", disable=not verbose):
        rest, held_out = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        theirs = None if blocks is None or blocks.groups is None else blocks.groups[rest]
        times = blocks.ranks[rest] if blocks is not None and blocks.is_ordered else None
        told = dict(X=take_rows(X, rest), y=outcome.rows(rest), groups=theirs, order=times)
        fit = partial(type(selector).fit, **told)
        again = fitted_again(selector, fit, int(rng.integers(2**32)))
        always = again.result_.arm_of_feature < 0
        n_selected.append(int(np.count_nonzero(again.support_ & ~always)))
        chosen = {"selected": again.support_}
        if always.any():
            chosen["always"] = always
        if n_rows * n_columns <= MOST_CELLS:
            chosen["all"] = np.ones_like(always)
        chosen["none"] = np.zeros_like(always)
        for kind, which in chosen.items():
            columns = np.flatnonzero(which[features.feature_of])
            about = features.X, outcome, rest, held_out, columns
            predicted = _predictions(*about, theirs, rng)
            scores.setdefault(kind, []).append(score(outcome.rows(held_out), predicted))
    held_back: HeldBack = "Rows"
    if blocks is not None:
        held_back = "Whole groups of rows" if blocks.moves_groups else "Stretches of time"
    return Worth(
        SCORES.get(outcome.family, "concordance"),
        n_selected=tuple(n_selected),
        n_rows=n_rows,
        seconds=round(time.perf_counter() - started, 3),
        held_back=held_back,
        **{kind: tuple(values) for kind, values in scores.items()},
    )


def refuse_folds(n_rows: int, n_folds: int) -> None:
    """Raise a ValueError for fewer than five rows a fold."""
    if n_rows < 5 * n_folds:
        raise ValueError(
            f"{n_rows} rows make less than five for each of {n_folds} folds: use fewer folds, or "
            "more rows"
        )


def expected_seconds(seconds_of_fit: float, n_rows: int, n_folds: int) -> float:
    """How long the worth takes: fits of the selector, and two forests of each fold."""
    return n_folds * (1.2 * seconds_of_fit + 2 * (0.4 + n_rows / 2700))


def _folds(
    outcome: Outcome, n_folds: int, blocks: RowBlocks | None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The fold of each row, classes spread evenly; whole groups, or stretches of time, in one."""
    n_rows = outcome.values.size
    refuse_folds(n_rows, n_folds)
    strata = np.zeros(n_rows) if outcome.upper is None else np.isinf(outcome.upper)
    if outcome.classes is not None:
        strata = outcome.values
        counts = np.bincount(strata.astype(np.int64), minlength=len(outcome.classes))
        if counts.min() < 2:
            raise ValueError(
                f"the class {outcome.classes.item(int(counts.argmin()))!r} has a single row, "
                "which cannot be predicted from others; leave it out"
            )
    fold_of = np.empty(n_rows, dtype=np.int64)
    if blocks is None:
        order = rng.permutation(n_rows)
        order = order[np.argsort(strata[order], kind="stable")]
        fold_of[order] = np.arange(n_rows) % n_folds
        return fold_of
    if not blocks.moves_groups:
        fold_of[:] = blocks.ranks * n_folds // blocks.sizes[blocks.codes]
    elif blocks.n_groups < n_folds:
        raise ValueError(
            f"{counted(blocks.n_groups, 'group')} cannot be held back in {n_folds} folds, as none "
            "is cut in two: use fewer folds"
        )
    else:
        cut = StratifiedGroupKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**32)))
        parts = cut.split(np.empty((n_rows, 0)), strata.astype(np.int64), blocks.codes)
        for fold, (_, held_out) in enumerate(parts):
            fold_of[held_out] = fold
    inside = [np.unique(outcome.values[fold_of == fold]) for fold in range(n_folds)]
    for code, label in enumerate(() if outcome.classes is None else outcome.classes.tolist()):
        if sum(code in values for values in inside) < 2:
            what = "group" if blocks.moves_groups else "stretch of time"
            raise ValueError(
                f"all rows of the class {label!r} would be held back together, with their {what}, "
                "and could not be predicted from others; use more folds, or leave the class out"
            )
    if outcome.family != "classes" and any(values.size < 2 for values in inside):
        raise ValueError(
            f"one of {n_folds} folds has rows of a single outcome, which cannot be scored: use "
            "fewer folds"
        )
    return fold_of


def _predictions(
    X: Matrix, outcome: Outcome, rest: Ints, held_out: Ints, columns: Ints, groups: Any, rng: Any
) -> Floats:
    """Of held-out rows by BART on the rest (groups are new ones); by their mean without columns."""
    known, classes = outcome.rows(rest), outcome.classes
    n_classes = len(classes) if classes is not None and outcome.family == "classes" else 0
    if columns.size == 0:
        constant = known.values.mean()
        if n_classes:
            constant = np.bincount(known.values.astype(np.int64), minlength=n_classes) / rest.size
        return np.broadcast_to(constant, (held_out.size, *constant.shape))
    design, unseen = (
        np.asarray(X[np.ix_(rows, columns)], dtype=np.float64) for rows in (rest, held_out)
    )
    n_trees = max(10, N_TREES // max(1, n_classes))
    settings = dict(n_trees=n_trees, n_iterations=N_ITERATIONS, sparse=True, groups=groups)
    return run_to_end(design, known, **settings, random_state=rng).predict(unseen)


def score(truth: Outcome, predicted: Floats) -> float:
    """How good predictions are, by the score for the family of the outcome."""
    values = truth.values
    if truth.family == "classes":
        chances = predicted[np.arange(values.size), values.astype(np.int64)]
        return float(-np.log(np.clip(chances, SMALLEST_CHANCE, 1.0)).mean())
    if truth.family in ("gaussian", "counts"):
        total = ((values - values.mean()) ** 2).sum()
        return float(1.0 - ((values - predicted) ** 2).sum() / total) if total > 0 else np.nan
    return concordance(values, values if truth.upper is None else truth.upper, predicted)


def concordance(lower: Floats, upper: Floats, predicted: Floats) -> float:
    """Share of the pairs of rows, of known order, that predictions put in that order.

    Each row lies between ``lower`` and ``upper``. A tie counts half, as in Harrell's index for
    censored times and in the area under the ROC curve, which it is for two classes.
    """
    n_pairs = in_order = 0.0
    for first in range(0, lower.size, BLOCK):
        rows = slice(first, first + BLOCK)
        ends = upper[rows, None]
        is_first = (ends < lower) | ((ends == lower) & np.isinf(upper))
        difference = predicted - predicted[rows, None]
        n_pairs += np.count_nonzero(is_first)
        in_order += np.count_nonzero(is_first & (difference > 0))
        in_order += 0.5 * np.count_nonzero(is_first & (difference == 0))
    return float(in_order / n_pairs) if n_pairs else np.nan


def standard_error(scores: tuple[float, ...]) -> float:
    """Of the mean over folds."""
    return float(np.std(scores, ddof=1) / np.sqrt(len(scores)))


@dataclass(frozen=True)
class Stability:
    """How often columns are selected with other seeds."""

    seeds: tuple[int, ...]  #: Of the searches
    names: tuple[str, ...]  #: Columns that are selected at least once, those of most seeds first
    shares: tuple[float, ...]  #: Of the seeds with which each of them is selected
    selection_rates: tuple[float, ...]  #: Mean over the seeds
    jaccard: float  #: What two seeds both select, over what one of them does; mean over pairs
    n_selected: tuple[int, ...]  #: Columns selected with each seed
    seconds: float  #: Time that it took

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.shares) == len(self.selection_rates):
            raise ValueError("each column must have a share of the seeds and a selection rate")
        if not self.n_selected:
            raise ValueError("there must be columns selected with each of one or more seeds")

    def __str__(self) -> str:
        """A line for each column, then the Jaccard index."""
        n, longest = len(self.seeds), max(map(len, self.names), default=0)
        lines = [
            f"{name:<{longest}}  {round(share * n)} of {n}  selection rate {rate:.2f}"
            for name, share, rate in zip(self.names, self.shares, self.selection_rates, strict=True)
        ]
        return "\n".join([*lines, f"Mean Jaccard index of {n} seeds: {self.jaccard:.2f}"])


def stability_over_seeds(
    selector: Any,
    X: Any,
    y: Any,
    *,
    groups: ArrayLike | str | None = None,
    order: ArrayLike | str | None = None,
    n_seeds: int = 10,
    random_state: RandomState = None,
    verbose: int = 0,
) -> Stability:
    """How often each column is selected when the search is made again with other seeds.

    The rows stay the same: this shows what the chance of the search does, not what other rows
    would. It takes as long as ``n_seeds`` fits of the selector.

    Parameters
    ----------
    selector : ThompsonSelector
        Fitted or not; it is not changed.
    X : array-like, sparse matrix or data frame
        The table.
    y : array-like
        The outcome.
    groups, order : array-like (rows,) or str, optional
        Which rows belong together, and their order in time, as in :meth:`ThompsonSelector.fit`.
        Columns named in the selector's own fit are taken without being named again.
    n_seeds : int, default=10
        How many seeds, at least 2.
    random_state : None, int, SeedSequence or Generator
        Draws the seeds.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    Stability

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import ThompsonSelector, stability_over_seeds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((150, 5))
    >>> y = 3 * X[:, 3] + rng.normal(0, 0.5, 150)
    >>> selector = ThompsonSelector("lasso", n_plays=20)
    >>> found = stability_over_seeds(selector, X, y, n_seeds=4, random_state=0)
    >>> found.names[0], found.shares[0], len(found.seeds)
    ('x3', 1.0, 4)
    """
    groups, order = as_told(selector, groups, order)
    fit = partial(type(selector).fit, X=X, y=y, groups=groups, order=order)
    return refit(selector, fit, draw_seeds(n_seeds, random_state), verbose)


def draw_seeds(n_seeds: int, random_state: RandomState) -> list[int]:
    """Seeds of the searches; a ValueError for fewer than two."""
    n = int(check_scalar(n_seeds, "n_seeds", Integral, min_val=2))
    return as_generator(random_state).integers(2**32, size=n).tolist()


def fitted_again(selector: Any, fit: Callable[[Any], Any], seed: int) -> Any:
    """A copy of a selector with another seed, fitted by a function; Ctrl-C ends it all."""
    again = copy.copy(selector)
    again.search = replace(selector.search or Search(), journal=None, callbacks=None)
    again.verbose, again.random_state = 0, seed
    fit(again)
    if again.stop_reason_ is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return again


def refit(
    selector: Any, fit: Callable[[Any], Any], seeds: Sequence[int], verbose: int = 0
) -> Stability:
    """What copies of a selector select with some ``seeds``, each fitted by a function."""
    from tqdm.auto import tqdm

    started = time.perf_counter()
    sets, rates = [], []
    for seed in tqdm(seeds, desc="seeds", disable=not verbose):
        again = fitted_again(selector, fit, seed)
        sets.append(again.support_ & (again.result_.arm_of_feature >= 0))
        rates.append(again.selection_rates_)
    selected, rate = np.array(sets), np.mean(rates, axis=0)
    shares = selected.mean(axis=0)
    best = np.lexsort([-rate, -shares])[: np.count_nonzero(shares)].tolist()
    return Stability(
        seeds=tuple(seeds),
        names=tuple(column_name(str(again.result_.names[j]), j) for j in best),
        shares=tuple(shares[best].tolist()),
        selection_rates=tuple(rate[best].tolist()),
        jaccard=mean_jaccard(selected),
        n_selected=tuple(selected.sum(axis=1).tolist()),
        seconds=round(time.perf_counter() - started, 3),
    )
