"""Interactions: pairs of selected features that forests use together, beyond what adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr, ndtri

from tvselect.control import q_values_by_decoys
from tvselect.inputs import Outcome
from tvselect.inputs.rows import even_rows, numbered, orders_of
from tvselect.inputs.table import Features
from tvselect.trees import Cuts, Forest, Prior, bin_table, run_bart
from tvselect.trees.forest import join_forests

MOST_FEATURES, MOST_PAIRS = 40, 20
N_WITHOUT = 20
MOST_TERMS = 4
N_TREES, N_ITERATIONS, N_FORESTS = 20, 600, 25
N_VALUES, N_ROWS = 4, 50
FEWEST_ROWS, MOST_ROWS = 20, 5000
N_SINGLE_SPLITS, NO_DEPTH = 100, 1e6
QUARTILES = (0.25, 0.5, 0.75)
FENCES = 5.0
"""Interquartile ranges beyond the quartiles, where outliers of an outcome are held back."""
MOST_SHARPENING = 20.0
TINY = 1e-12


@dataclass(frozen=True)
class Interaction:
    """Two selected features whose effects do not add up.

    Attributes
    ----------
    columns : (int, int)
        Of the table.
    names : (str, str)
    strength : float
        What their joint effect adds to the sum of both effects: its standard deviation, in
        units of the outcome, or of the probit of a class, of a grade or count above a quartile.
    q_value : float
        The smallest false discovery rate at which the pair is reported.

    Examples
    --------
    >>> print(Interaction((0, 1), ("age", "dose"), strength=0.4, q_value=0.05))
    age x dose
    """

    columns: tuple[int, int]
    names: tuple[str, str]
    strength: float
    q_value: float

    def __str__(self) -> str:
        return " x ".join(self.names)


class SelectedData(NamedTuple):
    """What interactions are looked for in.

    Attributes
    ----------
    X : float64 array (rows, columns)
        Columns of the selected features.
    feature_of : int64 array (columns,)
        The feature of each.
    outcome : Outcome
    observations : int64 array (rows,), optional
        The observation of each row, where some are copies of others.
    """

    X: NDArray[np.float64]
    feature_of: NDArray[np.int64]
    outcome: Outcome
    observations: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        features: Features,
        support: NDArray[np.bool_],
        outcome: Outcome,
        observations: NDArray[np.int64] | None = None,
    ) -> Self:
        """Of the selected features, as far as they are looked at."""
        selected = np.flatnonzero(support[features.feature_of])
        if np.count_nonzero(support) > MOST_FEATURES:
            selected = selected[:0]
        rows = even_rows(outcome.values.size, MOST_ROWS)
        return cls(
            np.array(features.X[np.ix_(rows, selected)], dtype=np.float64),
            features.feature_of[selected],
            outcome.rows(rows),
            None if observations is None else numbered(observations[rows]),
        )


def find_interactions(
    data: SelectedData, names: Sequence[str], rng: np.random.Generator
) -> tuple[Interaction, ...]:
    """Pairs of some features with their q-values, the surest first.

    Forests are fitted to the outcome. Of the 20 pairs of features that they use most often in one
    branch, the partial dependence on both, less those on each, is the strength of the pair: what
    does not add up. How much it is by chance is learned from 20 outcomes without interactions:
    the fit of an additive model (BART with single splits) and its residuals in another order,
    as large as the noise, or classes drawn from its probabilities. Their pairs are the decoys of
    :func:`tvselect.control.q_values_by_decoys`.

    Parameters
    ----------
    data : SelectedData
        Nothing is said of more than 40 features, or of fewer than 20 rows.
    names : sequence of str
        Of all features.
    rng : numpy.random.Generator

    Examples
    --------
    >>> from tvselect.inputs import read_outcome
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3))
    >>> y = 4 * (X[:, 0] > 0.5) * (X[:, 1] > 0.5) + X[:, 2] + 0.5 * rng.normal(size=200)
    >>> data = SelectedData(X, np.arange(3), read_outcome(y, 200))
    >>> found = find_interactions(data, ["a", "b", "c"], rng)
    >>> str(found[0]), found[0].q_value
    ('a x b', 0.05)
    """
    X, feature_of, outcome, observations = data
    features = np.unique(feature_of)
    # Censoring bends the scale of times, on which effects add up or do not.
    is_enough = len(X) >= FEWEST_ROWS and outcome.family != "survival"
    is_enough = is_enough and bool(np.ptp(outcome.values) > 0.0)
    if not (is_enough and 2 <= features.size <= MOST_FEATURES):
        return ()
    forests = PairForests(X, np.searchsorted(features, feature_of), rng)
    terms = _terms(outcome)
    found = np.max([forests.strengths(term) for term in terms], axis=0)
    additive = [forests.additive_fit(term) for term in terms]
    without = [
        np.max(
            [
                forests.strengths(_without_interactions(term, *fit, observations, rng))
                for term, fit in zip(terms, additive, strict=True)
            ],
            axis=0,
        )
        for _ in range(N_WITHOUT)
    ]
    q = q_values_by_decoys(found, np.concatenate(without), N_WITHOUT, found > 0.0)
    places = features[np.column_stack(np.triu_indices(features.size, 1))]
    return tuple(
        Interaction(
            columns=(i, j),
            names=(str(names[i]), str(names[j])),
            strength=float(found[k]),
            q_value=float(q[k]),
        )
        for k in np.lexsort([-found, q]).tolist()
        if found[k] > 0.0
        for i, j in [places[k].tolist()]
    )


class PairForests:
    """Forests on the features of a table, and how strongly they use pairs of them together.

    Parameters
    ----------
    X : float64 array (rows, columns)
    place : int64 array (columns,)
        The feature of each column, counted from 0.
    rng : numpy.random.Generator
    """

    def __init__(
        self, X: NDArray[np.float64], place: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        self.table = bin_table(X)
        self.rng = rng
        self.columns = [np.flatnonzero(place == k) for k in range(int(place.max()) + 1)]
        self.rows = X[rng.choice(len(X), min(len(X), N_ROWS), replace=False)]
        self.values = [_typical_values(X[:, columns]) for columns in self.columns]

    def strengths(self, outcome: Outcome) -> NDArray[np.float64]:
        """Strength of all pairs, by rows of an upper triangle; 0 for those used less often."""
        run = run_bart(
            self.table,
            outcome,
            n_trees=N_TREES,
            n_iterations=N_ITERATIONS,
            n_keep=N_FORESTS,
            random_state=self.rng,
        )
        forest = join_forests(run.forests)
        used = forest.branch_pairs(self.table.n_columns)
        splits_on = forest.uses(self.table.n_columns)
        uses = np.array([splits_on[:, columns].any(axis=1) for columns in self.columns])
        pairs = np.column_stack(np.triu_indices(len(self.columns), 1))
        often = np.array([used[np.ix_(self.columns[i], self.columns[j])].sum() for i, j in pairs])
        strengths = np.zeros(len(pairs))
        for k in np.argsort(-often, kind="stable")[:MOST_PAIRS]:
            if often[k] > 0:
                i, j = pairs[k]
                with_both = forest.only(np.flatnonzero(uses[i] & uses[j]))
                effect = self._joint_effect(with_both, run.cuts, i, j) / len(run.forests)
                sums = effect.mean(axis=0, keepdims=True) + effect.mean(axis=1, keepdims=True)
                strengths[k] = (effect - sums + effect.mean()).std()
        return strengths

    def additive_fit(self, outcome: Outcome) -> tuple[NDArray[np.float64], float]:
        """BART with single splits: means, or probabilities of the second class; the noise."""
        run = run_bart(
            self.table,
            outcome,
            prior=Prior(n_trees=N_SINGLE_SPLITS, power=NO_DEPTH),
            n_iterations=N_ITERATIONS,
            random_state=self.rng,
        )
        expected = run.predict(self.table)
        if outcome.family == "probit":
            expected = _sharpened(expected, outcome.values > 0.0)
        return expected, float(run.sigma[run.n_burn :].mean())

    def _joint_effect(self, forest: Forest, cuts: Cuts, i: int, j: int) -> NDArray[np.float64]:
        """Partial dependence on two features at their typical values.

        Trees that split on one of them alone add to its own effect only, and may be left out.
        """
        first, second = self.values[i], self.values[j]
        rows = np.tile(self.rows, (len(first) * len(second), 1, 1))
        rows[:, :, self.columns[i]] = np.repeat(first, len(second), axis=0)[:, None, :]
        rows[:, :, self.columns[j]] = np.tile(second, (len(first), 1))[:, None, :]
        codes = cuts.encode(rows.reshape(-1, self.rows.shape[1]))
        # The latent number, also of classes: probabilities do not add up where probits do.
        values = forest.evaluate(codes, rows[..., 0].size)
        return np.asarray(values.reshape(len(first), len(second), -1).mean(axis=2))


def _terms(outcome: Outcome) -> list[Outcome]:
    """Numbers or two classes, on whose scale effects add up where the outcome's own do."""
    if outcome.family in ("ordinal", "counts"):
        cuts = np.unique(np.quantile(outcome.values, QUARTILES, method="inverted_cdf"))
        above = [(outcome.values > cut).astype(np.float64) for cut in cuts]
        classes = np.array([False, True])
        return [Outcome(term, "probit", classes) for term in above if term.any()]
    terms = outcome.in_simple_terms()
    if outcome.family == "gaussian":  # held back: ranks would bend the scale of sums
        low, high = np.quantile(outcome.values, (0.25, 0.75))
        margin = FENCES * (high - low) or np.inf
        return [replace(outcome, values=np.clip(outcome.values, low - margin, high + margin))]
    return sorted(terms, key=lambda term: abs(term.values.mean() - 0.5))[:MOST_TERMS]


def _sharpened(
    probabilities: NDArray[np.float64], is_second: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Probabilities as far from one half as the classes say; those of a fit are shrunk to it."""
    probits = ndtri(np.clip(probabilities, TINY, 1.0 - TINY))
    signs = np.where(is_second, 1.0, -1.0)
    best = minimize_scalar(
        lambda log_factor: -log_ndtr(np.exp(log_factor) * probits * signs).sum(),
        bounds=(0.0, np.log(MOST_SHARPENING)),
        method="bounded",
    )
    return np.asarray(ndtr(np.exp(best.x) * probits))


def _typical_values(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Four values of a feature: quantiles of a column, the most frequent of several."""
    if columns.shape[1] == 1:
        at = (np.arange(N_VALUES) + 0.5) / N_VALUES
        return np.unique(np.nanquantile(columns, at, method="inverted_cdf"))[:, None]
    values, counts = np.unique(columns, axis=0, return_counts=True)
    return values[np.argsort(-counts, kind="stable")[:N_VALUES]]


def _without_interactions(
    outcome: Outcome,
    expected: NDArray[np.float64],
    sigma: float,
    observations: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> Outcome:
    """An outcome that goes with the columns as an additive model says, and no further."""
    n_rows = expected.size
    if outcome.family == "probit":
        chance = rng.random(n_rows)
        drawn = (chance if observations is None else chance[observations]) < expected
        drawn[rng.choice(drawn.size, 2, replace=False)] = [False, True]
        return replace(outcome, values=drawn.astype(np.float64))
    order = orders_of(observations, n_rows, 1, rng)[0]
    noise = (outcome.values - expected)[order]
    noise *= sigma / max(noise.std(), np.finfo(np.float64).tiny)
    return replace(outcome, values=expected + noise)
