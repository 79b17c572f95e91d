"""How stable a selection is: the same search on the same rows, with other seeds."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar

from tvselect.bandit.engine import StopReason
from tvselect.seeds import RandomState, as_generator
from tvselect.selectors.results import as_told, mean_jaccard
from tvselect.selectors.search import Search
from tvselect.words import column_name


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
    told = {"groups": groups, "order": order}
    told = {key: value for key, value in told.items() if value is not None}
    seeds = draw_seeds(n_seeds, random_state)
    return refit(selector, lambda again: again.fit(X, y, **told), seeds, verbose)


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
