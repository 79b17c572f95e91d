"""Quick games with decoys, whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.nested import nested
from tvselect import PValueReward, StreamingThompsonSelector, ThompsonSelector
from tvselect.rewards import FunctionReward

N_ROWS = 400


class Marginal(PValueReward):
    """Tests of single columns that are compared with shuffled decoys: quick, where none is like
    another."""

    rewards_stand_ins = False


def shuffling(function):
    """A reward that is compared with shuffled decoys."""
    return FunctionReward(function, rewards_stand_ins=False)


def pay_likeness(X, y, rng):
    """Pay a column with 3 / 2 of its absolute correlation with the outcome."""
    return np.minimum(1.5 * np.nan_to_num(np.abs(np.corrcoef(X.T, y)[-1, :-1])), 1.0)


def pay_height(X, y, rng):
    """Pay a column with its mean: shuffled, it is paid as before."""
    return np.clip(X.mean(axis=0), 0, 1)


def fit_signals(strengths, *, n_plays=80, names=None, twins=(), **settings):
    """Fit to columns of these correlations with the outcome, which their decoys do not have.

    ``twins`` are pairs of columns, the second a copy of the first but for a little noise.
    Returns the selector, the table and the outcome.
    """
    strengths = np.asarray(strengths, dtype=float)
    rng = np.random.default_rng(0)
    y = rng.standard_normal(N_ROWS)
    noise = rng.standard_normal((N_ROWS, strengths.size))
    X = strengths * y[:, None] + np.sqrt(1 - strengths**2) * noise
    for first, second in twins:
        X[:, second] = X[:, first] + 0.1 * noise[:, second]
    names = names or [f"c{j}" for j in range(strengths.size)]
    frame = pd.DataFrame(X, columns=pd.Index(names, dtype=object))
    settings = nested(n_plays=n_plays, random_state=0, **settings)
    selector = ThompsonSelector(shuffling(pay_likeness), **settings)
    return selector.fit(frame, y), frame, y


def fit_heights(chances, *, n_plays=60, **settings):
    """Fit to columns that are paid with these chances, and so are their ten shuffled decoys."""
    chances = np.asarray(chances, dtype=float)
    X = np.random.default_rng(0).normal(chances, 0.05, (50, chances.size))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(chances.size)])
    settings = {"max_fdr": None, "decoys": "shuffled", "random_state": 0, **settings}
    settings = nested(n_plays=n_plays, **settings)
    return ThompsonSelector(shuffling(pay_height), **settings).fit(frame, X[:, 0])


def pay_chance(X, y, rng):
    """Pay a column with the chance in its first row."""
    return (rng.random(X.shape[1]) < X[0]).astype(float)


def fit_chances(chances, *, names=None, n_plays=60, **settings):
    """Fit the median model to columns paid with these chances, c0, c1, ...; and their table."""
    chances = np.asarray(chances, dtype=float)
    X = np.vstack([chances, np.random.default_rng(0).random((49, chances.size))])
    names = names or [f"c{j}" for j in range(chances.size)]
    frame = pd.DataFrame(X, columns=pd.Index(names, dtype=object))
    settings = {"max_fdr": None, "n_plays": n_plays, "random_state": 0, **settings}
    return ThompsonSelector(pay_chance, **nested(**settings)).fit(frame, X[:, 0]), frame


def stream_heights(chances, *, n_batches=40, skipped=(), **settings):
    """Play batches of columns paid with these chances; the skipped ones have one class only."""
    rng = np.random.default_rng(0)
    settings = {"max_fdr": None, "family": "probit", "random_state": 0, **settings}
    selector = StreamingThompsonSelector(shuffling(pay_height), **nested(**settings))
    for number in range(n_batches):
        X = rng.normal(chances, 0.05, (50, len(chances)))
        y = np.ones(50) if number in skipped else rng.integers(0, 2, 50)
        selector.partial_fit(pd.DataFrame(X, columns=[f"c{j}" for j in range(len(chances))]), y)
    return selector
