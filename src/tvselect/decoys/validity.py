"""Whether copies are valid knockoffs: no classifier can tell that columns were swapped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MOST_ROWS = 2000
MOST_COLUMNS = 30
PARTNERS = 3


@dataclass(frozen=True)
class SwapTest:
    """What a classifier made of swapped columns."""

    accuracy: float  #: Share of rows that it knew to be swapped or not; 1/2 is a guess
    p_value: float  #: Probability of so many by guessing


def swap_test(X: ArrayLike, copies: ArrayLike, rng: np.random.Generator) -> SwapTest:
    """Test knockoffs by a classifier that tries to tell swapped rows from others [1]_.

    Of half of the rows, a third of the columns change places with their copies. Valid
    knockoffs leave a classifier nothing but to guess which rows these are. A forest looks at
    some of the columns and their copies, and at how the difference of a column and its copy
    goes with the columns that are most like it, added up over all of them. It votes on rows
    that it was not grown on.

    A small p-value says that the copies are not what they should be. A large one says only
    that this test found nothing: it sees shapes and correlations, of what few rows tell.

    Parameters
    ----------
    X : array (rows, p)
        NaN where missing.
    copies : array (n_copies, rows, p) or (rows, p)
        Each row is tried with one of them.
    rng : numpy.random.Generator

    Returns
    -------
    SwapTest

    References
    ----------
    .. [1] Blain, A., Thirion, B., Linhart, J. and Neuvial, P. (2024). When knockoffs fail:
       diagnosing and fixing non-exchangeability of knockoffs. arXiv:2407.06892.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.decoys import Knockoffs, swap_test
    >>> rng = np.random.default_rng(0)
    >>> X = np.cumsum(rng.normal(size=(500, 20)), axis=1)
    >>> swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01
    True
    >>> swap_test(X, rng.permutation(X), rng).p_value < 0.01
    True
    """
    from scipy.stats import binomtest
    from sklearn.ensemble import RandomForestClassifier

    X, tried = _pair(X, copies, rng)
    n, p = X.shape
    if p < 2 or n < 10:
        return SwapTest(0.5, 1.0)
    columns = rng.permutation(p)
    swapped, others = columns[: max(1, p // 3)], columns[max(1, p // 3) :]
    is_swapped = rng.random(n) < 0.5
    sums = X[:, others] + tried[:, others]
    before, after = X[:, swapped].copy(), tried[:, swapped].copy()
    before[is_swapped], after[is_swapped] = after[is_swapped], before[is_swapped].copy()
    # What is chosen here does not depend on which of the two is the copy.
    alike = (before + after).T @ sums
    nearest = np.argsort(-np.abs(alike), axis=1, kind="stable")[:, :PARTNERS]
    differences = before - after
    apart = X[:, others] - tried[:, others]
    signs = np.sign(np.take_along_axis(alike, nearest, axis=1))
    pooled = [
        (differences * signs[:, k] * of_others[:, nearest[:, k]]).sum(axis=1)
        for k in range(nearest.shape[1])
        for of_others in (sums, apart)
    ]
    some = slice(MOST_COLUMNS)
    features = np.column_stack([*pooled, before[:, some], after[:, some]])
    forest = RandomForestClassifier(
        200, min_samples_leaf=5, oob_score=True, random_state=int(rng.integers(2**31))
    ).fit(features, is_swapped)
    n_right = int(np.count_nonzero((forest.oob_decision_function_[:, 1] > 0.5) == is_swapped))
    return SwapTest(n_right / n, float(binomtest(n_right, n, alternative="greater").pvalue))


def _pair(X: ArrayLike, copies: ArrayLike, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows and one copy each, in units of both together; columns that vary, missing values 0."""
    X, copies = np.asarray(X, dtype=np.float64), np.asarray(copies, dtype=np.float64)
    if X.ndim != 2 or copies.shape[-2:] != X.shape:
        raise ValueError(f"X has shape {X.shape}, its copies {copies.shape}: they must be alike.")
    copies = copies.reshape(-1, *X.shape)
    rows = np.sort(rng.permutation(len(X))[:MOST_ROWS])
    X, tried = X[rows], copies[rng.integers(len(copies), size=rows.size), rows]
    both = np.concatenate([X, tried])
    varies = np.fmin.reduce(both) < np.fmax.reduce(both)
    mean, scale = np.nanmean(both[:, varies], axis=0), np.nanstd(both[:, varies], axis=0)
    unit = np.nan_to_num((both[:, varies] - mean) / scale)
    return unit[: rows.size], unit[rows.size :]
