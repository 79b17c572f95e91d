"""Run the sparse regression by itself on a table, and what a run found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs import read_outcome, read_table
from tvselect.inputs.blocks import one_per_row
from tvselect.inputs.outcome import AskedFamily
from tvselect.regression.gibbs import Floats
from tvselect.regression.opinion import FORMS, Opinion, second_opinion
from tvselect.rewards import Data
from tvselect.rewards.screening import screen_pairs
from tvselect.seeds import RandomState, as_generator


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
