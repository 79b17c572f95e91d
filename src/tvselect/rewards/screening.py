"""Marginal screening: the evidence for a column by its correlation with the outcome alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from tvselect.core import function
from tvselect.inputs import Outcome
from tvselect.inputs.outcome import MAD_TO_SD
from tvselect.trees.bins import BinnedTable

MOST = 1.0 - 1e-12

correlate = function(
    "correlate",
    """
    codes: u1[columns, padded]
    outcome: f8[rows<=padded]
    correlations: f8[columns]!
    n_present: i8[columns]!
    """,
)
"""Correlation of every column's codes with the outcome over the rows where it is present."""


class Bulk(NamedTuple):
    """Where most z-values of a table's columns lie: median and deviation, at least 1."""

    centre: float
    spread: float


def marginal_evidence(
    table: BinnedTable,
    outcome: Outcome,
    n_candidates: int,
    starts: NDArray[np.int64] | None = None,
    bulks: Sequence[Bulk] = (),
) -> NDArray[np.float64]:
    """Evidence for every column, in nats: minus the log of its corrected p-value.

    The correlations are set against the bulk of all columns (their median and median
    deviation), not against zero: where all columns go a little with the outcome, none
    of them stands out; decoys are set against their own copy of the table. The evidence is
    ``-log(n_candidates * p)`` with the two-sided p-value of a column, and 0 for the many
    whose p-value is not that small.

    Parameters
    ----------
    table : BinnedTable
    outcome : Outcome
        Other than a number or two classes: in simple terms, the strongest of which counts.
    n_candidates : int
    starts : int64 array, optional
        Where the table and every copy of it begin, and where the last ends; one table by
        default.
    bulks : sequence of Bulk, optional
        Of the table and every copy of it, where the columns at hand are a choice of them.

    Returns
    -------
    float64 array (columns,), not negative
    """
    spans = list(pairwise([0, table.n_columns] if starts is None else starts))
    terms = outcome.in_simple_terms()
    evidence = np.zeros(table.n_columns)
    for term in terms:
        z = _correlations(table, term.values)
        for k, (first, last) in enumerate(spans):
            copy = z[first:last]
            centre, spread = bulks[k] if bulks else bulk_of(copy)
            copy -= centre
            copy /= spread
        log_p = np.log(2.0) + log_ndtr(-np.abs(z))
        np.maximum(evidence, -log_p - np.log(n_candidates * len(terms)), out=evidence)
    return evidence


def _correlations(table: BinnedTable, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation of every column with some numbers, in standard errors."""
    y = y - y.mean()
    y /= np.abs(y).max() or 1.0
    r = np.empty(table.n_columns)
    n_present = np.empty(table.n_columns, dtype=np.int64)
    for first, codes in table.blocks():
        here = slice(first, first + len(codes))
        correlate(codes, y, r[here], n_present[here])
    return z_values(r, n_present)


def z_values(r: NDArray[np.float64], n_rows: int | NDArray[np.int64]) -> NDArray[np.float64]:
    """Fisher's z of correlations, in standard errors."""
    return np.arctanh(np.clip(r, -MOST, MOST)) * np.sqrt(np.maximum(n_rows - 3, 0))


def bulk_of(z: NDArray[np.floating]) -> Bulk:
    """The bulk of some z-values."""
    if z.size == 0:
        return Bulk(0.0, 1.0)
    centre = float(np.median(z))
    return Bulk(centre, max(1.0, MAD_TO_SD * float(np.median(np.abs(z - centre)))))
