"""The second opinion: how sure a sparse regression of second order is of every arm.

Trees see a subset of the columns in a play; the regression looks at all of them at once, with
functions of one column, and products of two or three. Its steps: a chain with functions of one
column; what it does not explain says which products are worth looking at; a chain with both.
:func:`run_regression` asks it by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import Outcome, read_outcome, read_table
from tvselect.inputs.blocks import one_per_row
from tvselect.inputs.columns import centred_ranks, evenly, in_blocks
from tvselect.inputs.outcome import AskedFamily
from tvselect.regression import functions as made
from tvselect.regression.gibbs import (
    ALWAYS,
    TAILS,
    Floats,
    Ints,
    Posterior,
    Singles,
    Small,
    Terms,
    run,
    start,
)
from tvselect.rewards import Data
from tvselect.rewards.screening import screen_pairs
from tvselect.seeds import RandomState, as_generator
from tvselect.trees.state import NO_GROUPS

MOST_ROWS, MOST_COLUMNS, MOST_VALUES = 1_500, 1_000, 2**21
FIRST_SWEEPS, SWEEPS = (150, 300), (250, 500)
SURE, LEAST_SHOWN = 0.5, 0.05
LEADING, PARTNERS = 400, 200
MOST_TRIPLED, ROWS_OF_TRIPLES, UNEXPLAINED = (400, 1_000), 1_024, 0.5
FORMS = ("with", "a line", *["a bend"] * (made.DEGREES - 1), "where it is missing")


@dataclass(frozen=True, eq=False)
class Opinion:
    """What the regression finds, by arm; decoys take part like columns."""

    probabilities: Floats  #: That any function of an arm is in; of the arms, then of decoys
    terms: Terms  #: Those of a probability of 0.05 or more
    of_terms: Floats  #: Their probabilities

    def forms(self, n_arms: int) -> list[tuple[str, list[int]]]:
        """The likeliest form of each arm that has a probability above 1/2, and arms it is with.

        The form of all others is an empty text.
        """
        forms: list[tuple[str, list[int]]] = [("", [])] * n_arms
        for place in np.argsort(self.of_terms, kind="stable"):
            owners = self.terms.owners[place]
            for owner in owners[owners >= 0].tolist():
                others = owners[(owners >= 0) & (owners < n_arms) & (owners != owner)].tolist()
                if (
                    owner < n_arms
                    and self.probabilities[owner] > SURE
                    and (others or self.terms.degrees[place] > 0)
                ):
                    forms[owner] = (FORMS[self.terms.degrees[place]], others)
        return forms


def second_opinion(
    data: Data,
    candidates: Ints,
    arm_of: Small,
    n_arms: int,
    n_columns: int,
    always: Ints,
    rng: np.random.Generator,
    observations: Ints | None = None,
) -> Opinion:
    """Ask a regression about ``candidates``, columns of the data and of decoys.

    ``arm_of`` says which of ``n_arms`` each is part of; ``n_columns`` are in the selection, of
    which candidates may be a choice; functions of those ``always`` included are always in. Rows of
    the same one of ``observations`` are copies, of which one is seen.
    """
    rows = data.rows_of_play(rng)
    if observations is not None:
        rows = rows[np.unique(observations[rows], return_index=True)[1]]
    rows = rows[evenly(rows.size, MOST_ROWS)]
    data = data if rows.size == data.n_rows else data.at(rows)
    groups = NO_GROUPS
    if data.groups is not None:
        groups = np.unique(data.groups, return_inverse=True)[1].astype(np.int32)
    outcomes = [one for one in data.outcome.in_simple_terms() if np.ptp(one.values) > 0.0]
    opinions = [
        _Search(data, one, groups, candidates, arm_of, n_arms, n_columns, len(outcomes)).opinion(
            always, rng
        )
        for one in outcomes
    ]
    best = np.max([opinion.probabilities for opinion in opinions], axis=0)
    terms = Terms.join([opinion.terms for opinion in opinions])
    return Opinion(best, terms, np.concatenate([opinion.of_terms for opinion in opinions]))


class _Search:
    """The steps for one outcome."""

    def __init__(
        self,
        data: Data,
        outcome: Outcome,
        groups: Small,
        candidates: Ints,
        arm_of: Small,
        n_arms: int,
        n_columns: int,
        n_tests: int,
    ) -> None:
        self.data, self.groups, self.n_arms = data, groups, n_arms
        self.n_columns, self.n_tests = n_columns, n_tests
        y = outcome.values - outcome.values.mean()
        y /= np.abs(y).max()
        self.y = y / y.std()
        self.tails = TAILS if outcome.family == "gaussian" else TAILS[:1]
        blocks = [candidates[here] for here in in_blocks(candidates.size, data.n_rows)]
        z = np.concatenate([np.abs(self.functions(block) @ self.y).max(axis=0) for block in blocks])
        most = min(MOST_COLUMNS, max(50, MOST_VALUES // data.n_rows))
        order = np.argsort(-z, kind="stable")
        self.all_candidates, self.arm_of_all = candidates[order], arm_of[order]
        self.choose(np.arange(min(most, order.size)))
        self.near = made.near_columns(self.of_columns[0])

    def choose(self, places: Ints) -> None:
        """Take these of all candidates."""
        self.places = places
        self.candidates, self.arm_of = self.all_candidates[places], self.arm_of_all[places]
        self.of_columns = self.functions(self.candidates)

    def values(self, columns: Ints) -> Floats:
        return np.ascontiguousarray(self.data.values(columns).T)

    def functions(self, columns: Ints) -> Singles:
        """Functions of some columns."""
        return made.columns_as_functions(self.values(columns))

    def chain(
        self,
        terms: Terms,
        columns: Ints,
        target: Floats,
        rng: np.random.Generator,
        sweeps: tuple[int, int],
    ) -> tuple[Terms, Posterior]:
        """Run a chain on terms, those in front first that the target speaks for by itself."""
        z = terms.functions @ target.astype(np.float32)
        hope = np.where(
            terms.kinds == ALWAYS, np.inf, z**2 / (2 * target.size * target.var()) + terms.log_odds
        )
        order = np.argsort(-hope, kind="stable")
        terms, columns = terms.at(order), columns[order]
        near = made.near_functions(terms, columns, self.near)
        model, state = start(terms, self.y, self.n_arms, near, self.groups, self.tails)
        return terms, run(rng, model, state, *sweeps)

    def opinion(self, always: Ints, rng: np.random.Generator) -> Opinion:
        """What the regression finds."""
        n = self.y.size
        constant = np.ones((1, 1, n), dtype=np.float32)
        fixed = made.of_one_column(constant, np.array([-1], dtype=np.int32), 1, 1)
        if always.size:
            more = made.of_one_column(
                self.functions(always), np.full(always.size, -1, np.int32), 1, 1
            )
            fixed = Terms.join([fixed, more])
        fixed = fixed._replace(
            log_odds=np.full(fixed.kinds.size, np.inf),
            kinds=np.full(fixed.kinds.size, ALWAYS, dtype=np.uint8),
        )
        places = np.arange(self.candidates.size)
        alone, columns = self.alone(places)
        nowhere = np.full(fixed.kinds.size, -1)
        terms = Terms.join([fixed, alone])
        terms, first = self.chain(
            terms, np.concatenate([nowhere, columns]), self.y, rng, FIRST_SWEEPS
        )
        falling = np.argsort(-first.of_owners[self.arm_of], kind="stable")
        trust = np.zeros(self.all_candidates.size)
        trust[: falling.size] = first.of_owners[self.arm_of] ** 4
        alone, columns = self.alone(np.sort(falling[:LEADING]), trust)
        triples = self.triples(first.scores, falling, trust, rng)
        partners = self.partners(first.scores, falling)
        self.choose(np.concatenate([np.arange(falling.size), partners]))
        new = np.arange(falling.size, self.candidates.size)
        falling = np.insert(falling, min(made.FEW_LEADERS, falling.size), new)
        pairs = self.pairs(first.scores, falling, trust[self.places])
        terms = Terms.join([fixed, alone, pairs, triples])
        n_products = pairs.kinds.size + triples.kinds.size
        places = np.concatenate([nowhere, columns, np.full(n_products, -1)])
        terms, last = self.chain(terms, places, first.scores, rng, SWEEPS)
        some = np.flatnonzero((last.of_functions >= LEAST_SHOWN) & (terms.kinds != ALWAYS))
        kept = terms.at(some)._replace(functions=np.empty((some.size, 0), dtype=np.float32))
        return Opinion(last.of_owners, kept, last.of_functions[some])

    def alone(self, places: Ints, trust: Floats | None = None) -> tuple[Terms, Ints]:
        """Functions of one column each, and which column each is of."""
        some = self.of_columns[:, places]
        if trust is not None:
            trust = trust[places]
        terms = made.of_one_column(some, self.arm_of[places], self.n_columns, self.n_tests, trust)
        return terms, places[np.nonzero(some.any(axis=2))[1]]

    def partners(self, scores: Floats, falling: Ints) -> Ints:
        """Candidates not chosen that may matter in a product with a leader, or in a known pair."""
        rest = np.arange(self.candidates.size, self.all_candidates.size)
        leaders = falling[: made.n_leaders(rest.size)]
        weights = np.concatenate(self.of_columns[:2, leaders]) * scores.astype(np.float32)
        z = np.zeros(rest.size)
        for here in in_blocks(rest.size, scores.size):
            ranks = centred_ranks(self.values(self.all_candidates[rest[here]]))
            bends = ranks**2 - (ranks**2).mean(axis=1, keepdims=True)
            bends /= np.maximum(np.linalg.norm(bends, axis=1, keepdims=True), 1e-12)
            both = np.concatenate([ranks, bends]).astype(np.float32)
            z[here] = np.abs(weights @ both.T).max(axis=0).reshape(2, -1).max(axis=0)
        z[np.isin(self.all_candidates[rest], self.data.pairs)] = np.inf
        return rest[np.sort(np.argsort(-z, kind="stable")[:PARTNERS])]

    def pairs(self, scores: Floats, falling: Ints, trust: Floats) -> Terms:
        """Products of two columns that go with what is not explained, known pairs among them."""
        found = made.leading_pairs(self.of_columns, scores, falling)
        place_of = {column: k for k, column in enumerate(self.candidates.tolist())}
        known = [
            [place_of.get(i, -1), place_of.get(j, -1), 0, 0] for i, j in self.data.pairs.tolist()
        ]
        known = [[*sorted(one[:2]), 0, 0] for one in known if min(one[:2]) >= 0]
        found = np.unique(np.array([*found.tolist(), *known], dtype=np.int64), axis=0)
        i, j, a, b = found[self.arm_of[found[:, 0]] != self.arm_of[found[:, 1]]].T
        factors = [self.of_columns[a, i], self.of_columns[b, j]]
        owners = [self.arm_of[i], self.arm_of[j]]
        return made.of_several_columns(factors, owners, self.n_columns, a + b, trust[i] * trust[j])

    def triples(
        self, scores: Floats, falling: Ints, trust: Floats, rng: np.random.Generator
    ) -> Terms:
        """Products of three columns, of their signs and of their ranks, that go with the scores.

        All triples of some columns, leading ones and others by chance, and of as many decoys; of
        more where most of the outcome is not explained.
        """
        most = MOST_TRIPLED[int(scores.var() > UNEXPLAINED)]
        rows = rng.permutation(scores.size)[:ROWS_OF_TRIPLES]
        is_above = centred_ranks(scores[None])[0] > 0.0
        n_leading = falling.size
        places = np.concatenate([falling, n_leading + rng.permutation(trust.size - n_leading)])
        is_decoy = self.arm_of_all[places] >= self.n_columns
        terms = []
        for some in (places[~is_decoy][:most], places[is_decoy][:most]):
            ranks = centred_ranks(self.values(self.all_candidates[some]))
            found = made.leading_triples((ranks > 0.0)[:, rows], is_above[rows]).T
            owners = self.arm_of_all[some[found]]
            are_three = (np.diff(np.sort(owners, axis=0), axis=0) > 0).all(axis=0)
            found, owners = found[:, are_three], owners[:, are_three]
            odds = trust[some[found]].prod(axis=0)
            for factors in (np.sign(ranks[found]), ranks[found]):
                terms.append(
                    made.of_several_columns(
                        [*factors.astype(np.float32)], [*owners], self.n_columns, 0, odds
                    )
                )
        return Terms.join(terms)


@dataclass(frozen=True, eq=False)
class RegressionRun:
    """What a run of :func:`run_regression` found."""

    names: tuple[str, ...]  #: Of the columns
    probabilities: Floats  #: By column, that any function of it is in
    opinion: Opinion = field(repr=False)  #: The functions that are likely in

    def table(self, top: int | None = None) -> dict[str, NDArray[Any]]:
        """All columns, or the ``top`` ones, by their probability, ready for a data frame."""
        order = np.argsort(-self.probabilities, kind="stable")[:top]
        return {
            "variable": np.array(self.names)[order],
            "probability": self.probabilities[order],
        }

    def terms(self, top: int | None = None) -> dict[str, NDArray[Any]]:
        """Functions of a probability of 0.05 or more, or the ``top`` ones; products have an x."""
        terms, likely = self.opinion.terms, self.opinion.of_terms
        order = np.argsort(-likely, kind="stable")[:top]
        named = [
            " x ".join(self.names[k] for k in np.sort(terms.owners[j]) if k >= 0)
            + (f": {FORMS[terms.degrees[j]]}" if terms.degrees[j] else "")
            for j in order
        ]
        return {"term": np.array(named, dtype=np.str_), "probability": likely[order]}


def run_regression(
    X: Any,
    y: Any,
    *,
    family: AskedFamily = "auto",
    groups: Any = None,
    random_state: RandomState = None,
) -> RegressionRun:
    """Run the sparse regression that :class:`tvselect.ThompsonSelector` asks beside the trees.

    Lines and bends of single columns and products of two or three, with spike and slab. No
    decoys watch over its probabilities here: that few of those above a bound are false is as true
    as the model is (:class:`tvselect.ThompsonSelector` promises more).

    Parameters
    ----------
    X : array-like or data frame
        Rows and columns of numbers; missing values are legal.
    y : array-like
        Numbers, labels of classes, grades, counts or survival times, see ``family``.
    family : {"auto", "gaussian", "probit", "classes", "ordinal", "counts", "survival"}
        What the outcome is; "auto" decides as :func:`tvselect.inputs.read_outcome` says.
    groups : array-like, optional
        Label of the group of each row, which share a random intercept.
    random_state : None, int, SeedSequence or Generator

    Returns
    -------
    RegressionRun

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.regression import run_regression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 500))
    >>> y = X[:, 3] + X[:, 7] * X[:, 9] + 0.5 * rng.standard_normal(200)
    >>> found = run_regression(X, y, random_state=1)
    >>> sorted(str(name) for name in found.table(3)["variable"])
    ['x3', 'x7', 'x9']
    >>> sorted(str(term) for term in found.terms(2)["term"])
    ['x3: a line', 'x7 x x9']
    """
    table = read_table(X)
    values = table.numbers()
    outcome = read_outcome(y, table.n_rows, family=family)
    codes = None
    if groups is not None:
        labels = one_per_row(groups, table.n_rows, "groups", "one label").tolist()
        code_of = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        codes = np.array([code_of[label] for label in labels], dtype=np.int32)
    data = Data(
        values, outcome, table.names, groups=codes, pairs=screen_pairs(values, outcome).columns
    )
    columns = np.arange(table.n_columns)
    opinion = second_opinion(
        data,
        columns,
        columns.astype(np.int32),
        columns.size,
        columns.size,
        columns[:0],
        as_generator(random_state),
    )
    return RegressionRun(tuple(map(str, table.names)), opinion.probabilities, opinion)
