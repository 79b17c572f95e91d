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
from tvselect.inputs.blocks import RowBlocks
from tvselect.inputs.columns import evenly
from tvselect.inputs.rows import numbered, orders_of
from tvselect.inputs.table import Features
from tvselect.trees import Cuts, Forest, Prior, bin_table, run_to_end
from tvselect.trees.forest import join_forests

MOST_FEATURES, MOST_PAIRS = 40, 20
N_WITHOUT, MOST_TERMS = 20, 4  # outcomes without interactions; parts of an outcome
N_TREES, N_ITERATIONS, N_FORESTS = 20, 600, 25
N_VALUES, N_ROWS = 4, 50
FEWEST_ROWS, MOST_ROWS = 20, 5000
ADDITIVE = Prior(n_trees=100, power=1e6)  # trees of a single split
FENCES = 5.0  # interquartile ranges beyond the quartiles, where outliers are held back
MOST_SHARPENING, TINY = 20.0, 1e-12

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Interaction:
    """Two selected features whose effects do not add up.

    Examples
    --------
    >>> print(Interaction((0, 1), ("age", "dose"), strength=0.4, q_value=0.05))
    age x dose
    """

    columns: tuple[int, int]  #: Of the table
    names: tuple[str, str]  #: Of the columns
    #: What their joint effect adds to the sum of both effects: its standard deviation, in units of
    #: the outcome, or of the probit of a class, of a grade or count above a quartile.
    strength: float
    q_value: float  #: The smallest false discovery rate at which the pair is reported

    def __str__(self) -> str:
        return " x ".join(self.names)


class SelectedData(NamedTuple):
    """The rows and selected columns in which interactions are looked for."""

    X: Floats
    feature_of: Ints  #: The feature of each column
    outcome: Outcome
    #: Of each row, where some are copies; or which rows belong together
    observations: Ints | RowBlocks | None = None

    @classmethod
    def of(
        cls,
        features: Features,
        support: NDArray[np.bool_],
        outcome: Outcome,
        observations: Ints | RowBlocks | None = None,
    ) -> Self:
        """The selected features on at most 5,000 rows; without columns if there are too many."""
        selected = np.flatnonzero(support[features.feature_of])
        if np.count_nonzero(support) > MOST_FEATURES:
            selected = selected[:0]
        rows = evenly(outcome.values.size, MOST_ROWS)
        return cls(
            np.array(features.X[np.ix_(rows, selected)], dtype=np.float64),
            features.feature_of[selected],
            outcome.rows(rows),
            numbered(observations[rows])
            if isinstance(observations, np.ndarray)
            else observations and observations.at(rows),
        )


def find_interactions(
    data: SelectedData, names: Sequence[str], rng: np.random.Generator
) -> tuple[Interaction, ...]:
    """Pairs of features with their q-values, the surest first; ``names`` are of all features.

    Of the 20 pairs that forests use most often in one branch, the strength is the partial
    dependence on both less those on each. How much it is by chance is learned from 20 outcomes
    without interactions: fits of an additive model (BART with single splits) and its residuals in
    another order (whole groups, or in time, where rows belong together), or classes drawn from its
    probabilities. Their pairs are the decoys of :func:`tvselect.control.q_values_by_decoys`.
    Nothing is found among more than 40 features, on fewer than 20 rows, and for survival times, as
    censoring bends the scale on which effects add up.
    """
    X, feature_of, outcome, observations = data
    features = np.unique(feature_of)
    if not 2 <= features.size <= MOST_FEATURES or len(X) < FEWEST_ROWS:
        return ()
    if outcome.family == "survival" or np.ptp(outcome.values) == 0.0:
        return ()
    blocks = observations if isinstance(observations, RowBlocks) else None
    groups = None if blocks is None else blocks.groups
    forests = PairForests(X, np.searchsorted(features, feature_of), rng, groups)
    terms = _terms(outcome)
    found = np.max([forests.strengths(term) for term in terms], axis=0)
    additive = [forests.additive_fit(term) for term in terms]
    moved = [None] * N_WITHOUT if blocks is None else blocks.orders(N_WITHOUT, rng)
    without = []
    for order in moved:
        redrawn = (
            forests.strengths(_without_interactions(term, *fit, observations, order, rng))
            for term, fit in zip(terms, additive, strict=True)
        )
        without.append(np.max(list(redrawn), axis=0))
    q = q_values_by_decoys(found, np.concatenate(without), N_WITHOUT, found > 0.0)
    surest = [k for k in np.lexsort([-found, q]).tolist() if found[k] > 0.0]
    pairs = features[np.column_stack(np.triu_indices(features.size, 1))].tolist()
    return tuple(
        Interaction((i, j), (str(names[i]), str(names[j])), float(found[k]), float(q[k]))
        for k in surest
        for i, j in [pairs[k]]
    )


class PairForests:
    """Forests on features of one or several columns, and how strongly they use pairs of them."""

    def __init__(
        self,
        X: Floats,
        place: Ints,
        rng: np.random.Generator,
        groups: NDArray[np.int32] | None = None,
    ) -> None:
        self.table, self.rng, self.groups = bin_table(X), rng, groups
        self.columns = [np.flatnonzero(place == k) for k in range(int(place.max()) + 1)]
        self.rows = X[rng.choice(len(X), min(len(X), N_ROWS), replace=False)]
        self.values = [_typical_values(X[:, columns]) for columns in self.columns]

    def strengths(self, outcome: Outcome) -> Floats:
        """Strength of all pairs, by rows of an upper triangle; 0 for those used less often."""
        size = dict(n_trees=N_TREES, n_iterations=N_ITERATIONS, n_keep=N_FORESTS)
        run = run_to_end(self.table, outcome, **size, groups=self.groups, random_state=self.rng)
        forest = join_forests(run.forests)
        together = forest.branch_pairs(self.table.n_columns)
        splits_on = forest.uses(self.table.n_columns)
        uses = np.array([splits_on[:, columns].any(axis=1) for columns in self.columns])
        pairs = np.column_stack(np.triu_indices(len(self.columns), 1))
        blocks = (np.ix_(self.columns[i], self.columns[j]) for i, j in pairs)
        often = np.array([together[block].sum() for block in blocks])
        strengths = np.zeros(len(pairs))
        for k in np.argsort(-often, kind="stable")[: min(MOST_PAIRS, np.count_nonzero(often))]:
            i, j = pairs[k]
            with_both = forest.only(np.flatnonzero(uses[i] & uses[j]))
            effect = self._joint_effect(with_both, run.cuts, i, j) / len(run.forests)
            sums = effect.mean(axis=0, keepdims=True) + effect.mean(axis=1, keepdims=True)
            strengths[k] = (effect - sums + effect.mean()).std()
        return strengths

    def additive_fit(self, outcome: Outcome) -> tuple[Floats, float]:
        """Predictions of BART with single splits; and the noise, differences of groups too."""
        how = dict(n_iterations=N_ITERATIONS, groups=self.groups, random_state=self.rng)
        run = run_to_end(self.table, outcome, prior=ADDITIVE, **how)
        expected = run.predict(self.table)
        if outcome.family == "probit":
            lowest = 1.0 if self.groups is None else 1.0 / MOST_SHARPENING
            expected = _sharpened(expected, outcome.values > 0.0, lowest)
        noise = run.sigma if self.groups is None else np.hypot(run.sigma, run.group_sd)
        return expected, float(noise[run.n_burn :].mean())

    def _joint_effect(self, forest: Forest, cuts: Cuts, i: int, j: int) -> Floats:
        """Partial dependence on two features, by trees that split on both; of latents."""
        first, second = self.values[i], self.values[j]
        rows = np.tile(self.rows, (len(first), len(second), 1, 1))
        rows[..., self.columns[i]] = first[:, None, None, :]
        rows[..., self.columns[j]] = second[:, None, :]
        codes = cuts.encode(rows.reshape(-1, rows.shape[-1]))
        values = forest.evaluate(codes, rows[..., 0].size)
        return np.asarray(values.reshape(rows.shape[:3]).mean(axis=2))


def _terms(outcome: Outcome) -> list[Outcome]:
    """The outcome as numbers or two classes, on a scale on which its effects may add up."""
    if outcome.family in ("ordinal", "counts"):
        cuts = np.unique(np.quantile(outcome.values, (0.25, 0.5, 0.75), method="inverted_cdf"))
        above = [(outcome.values > cut).astype(np.float64) for cut in cuts]
        return [Outcome(term, "probit", np.array([False, True])) for term in above if term.any()]
    if outcome.family == "gaussian":  # held back: ranks would bend the scale of sums
        low, high = np.quantile(outcome.values, (0.25, 0.75))
        margin = FENCES * (high - low) or np.inf
        return [replace(outcome, values=np.clip(outcome.values, low - margin, high + margin))]
    terms = outcome.in_simple_terms()
    return sorted(terms, key=lambda term: abs(term.values.mean() - 0.5))[:MOST_TERMS]


def _sharpened(probabilities: Floats, is_second: NDArray[np.bool_], lowest: float) -> Floats:
    """Probabilities as far from one half as the classes say; those of a fit are too near to it."""
    probits = ndtri(np.clip(probabilities, TINY, 1.0 - TINY))
    signs = np.where(is_second, 1.0, -1.0)
    best = minimize_scalar(
        lambda log_factor: -log_ndtr(np.exp(log_factor) * probits * signs).sum(),
        bounds=(np.log(lowest), np.log(MOST_SHARPENING)),
        method="bounded",
    )
    return np.asarray(ndtr(np.exp(best.x) * probits))


def _typical_values(columns: Floats) -> Floats:
    """Four values of a feature: quantiles of a column, the most frequent of several."""
    if columns.shape[1] == 1:
        at = (np.arange(N_VALUES) + 0.5) / N_VALUES
        return np.unique(np.nanquantile(columns, at, method="inverted_cdf"))[:, None]
    values, counts = np.unique(columns, axis=0, return_counts=True)
    return values[np.argsort(-counts, kind="stable")[:N_VALUES]]


def _without_interactions(
    outcome: Outcome,
    expected: Floats,
    sigma: float,
    observations: Ints | RowBlocks | None,
    order: Ints | None,
    rng: np.random.Generator,
) -> Outcome:
    """An outcome by an additive model, with residuals of other rows in their ``order``."""
    n_rows = expected.size
    if outcome.family == "probit":
        chance = rng.random(n_rows)
        if order is not None:
            # Residuals of classes: the middle of what the class says, ties in any order.
            is_second = outcome.values > 0.0
            middle = np.where(is_second, expected / 2.0, (1.0 + expected) / 2.0)
            ranks = np.argsort(np.lexsort([chance, middle]))
            chance = (ranks[order] + 0.5) / n_rows
        elif isinstance(observations, np.ndarray):
            chance = chance[observations]
        drawn = chance < expected
        drawn[rng.choice(drawn.size, 2, replace=False)] = [False, True]
        return replace(outcome, values=drawn.astype(np.float64))
    if order is None:
        order = orders_of(observations, n_rows, 1, rng)[0]
    noise = (outcome.values - expected)[order]
    noise *= sigma / max(noise.std(), np.finfo(np.float64).tiny)
    return replace(outcome, values=expected + noise)
