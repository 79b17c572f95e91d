"""Boruta: columns that beat the best of their shuffled copies again and again."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, false_discovery_control
from sklearn.utils import check_scalar

from tvselect.inputs.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.estimators import check_estimator_fits, forest, seeded

Decisions = NDArray[np.int64]

N_TREES = 500
SMALLEST_LEAF = 5
FEWEST_SHADOWS = 5


class Boruta(Baseline):
    """Select all columns that are more useful to a forest than shuffled ones.

    Every iteration fits a forest to the columns that are still in and a shuffled copy of
    each, its shadow. A column more important than the best shadow has a hit. Columns with
    significantly more hits than half of the iterations are confirmed, with significantly
    fewer rejected; rejected ones leave, with their shadows.

    Parameters
    ----------
    estimator : scikit-learn estimator, optional
        Has ``feature_importances_`` when fitted. It is cloned for every iteration and its
        random states are set. By default a random forest like that of the R package: 500
        trees, the square root of the columns at each split, leaves of at least 5 rows.
    n_iterations : int, default=100
        At most that many; fewer when everything is decided.
    alpha : float in (0, 1), default=0.05
        Level of the tests.
    two_step : bool, default=True
        Correct for the number of columns by Benjamini and Hochberg, and for the number of
        iterations by Bonferroni; both must reject, as in boruta_py. Without, correct for
        the number of columns by Bonferroni, as in R; with thousands of columns 100
        iterations then decide little.
    tentative : {"reject", "rough", "keep"}, default="reject"
        What becomes of columns undecided at the end. "rough" keeps those with a median
        importance above the median of the best shadow.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    decisions_ : int array
        1 confirmed, 0 tentative, -1 rejected.
    hits_ : int array
    n_iterations_ : int

    Notes
    -----
    The importance of a forest is its mean decrease in impurity, as in boruta_py; the R
    package takes permutation importances over their standard deviations. Boruta looks for
    all relevant columns, those that repeat others included, and controls no false
    discovery rate: every iteration shuffles the same sample, and a noise column that goes
    with the outcome in this sample by chance beats the shadows again and again.

    The library boruta_py 0.4.3 (2024) is what the tests compare the decisions with.

    References
    ----------
    .. [1] Kursa, M. B. and Rudnicki, W. R. (2010). Feature selection with the Boruta
       package. *Journal of Statistical Software* 36(11).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from tvstudy.baselines import Boruta
    >>> rng = np.random.default_rng(1)
    >>> X = rng.random((200, 10))
    >>> y = 5 * X[:, 2] + 10 * (X[:, 6] - 0.5) ** 2 + 0.1 * rng.normal(size=200)
    >>> quick = RandomForestRegressor(20, max_depth=5)
    >>> boruta = Boruta(quick, n_iterations=30, random_state=0).fit(X, y)
    >>> np.flatnonzero(boruta.support_)
    array([2, 6])
    """

    takes_classes = True

    def __init__(
        self,
        estimator: Any = None,
        n_iterations: int = 100,
        alpha: float = 0.05,
        *,
        two_step: bool = True,
        tentative: Literal["reject", "rough", "keep"] = "reject",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_iterations = n_iterations
        self.alpha = alpha
        self.two_step = two_step
        self.tentative = tentative
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        self._check_settings()
        binary = self.classes_ is not None
        template = _default_forest(binary) if self.estimator is None else self.estimator
        check_estimator_fits(template, binary)
        p = X.shape[1]
        decisions, hits = np.zeros(p, dtype=np.int64), np.zeros(p, dtype=np.int64)
        importances: list[Floats] = []
        best_shadows: list[float] = []
        while (decisions == 0).any() and len(best_shadows) < self.n_iterations:
            kept = np.flatnonzero(decisions >= 0)
            real, shadow = _importances(X[:, kept], y, template, rng)
            hits[kept] += real > shadow.max()
            importances.append(np.full(p, np.nan))
            importances[-1][kept] = real
            best_shadows.append(shadow.max())
            decisions = decide(
                decisions, hits, len(best_shadows), alpha=self.alpha, two_step=self.two_step
            )
        self.decisions_, self.hits_, self.n_iterations_ = decisions, hits, len(best_shadows)
        undecided = decisions == 0
        if self.tentative == "rough" and undecided.any():
            medians = np.median(np.array(importances)[:, undecided], axis=0)
            undecided[undecided] = medians > np.median(best_shadows)
        return (decisions == 1) | (undecided & (self.tentative != "reject"))

    def _check_settings(self) -> None:
        check_scalar(self.n_iterations, "n_iterations", Integral, min_val=1)
        check_scalar(
            self.alpha, "alpha", Real, min_val=0.0, max_val=1.0, include_boundaries="neither"
        )
        if math.isnan(self.alpha):
            raise ValueError("alpha must be a number between 0 and 1, got nan")
        check_scalar(self.two_step, "two_step", (bool, np.bool_))
        if self.tentative not in ("reject", "rough", "keep"):
            raise ValueError(
                f"tentative must be 'reject', 'rough' or 'keep', got {self.tentative!r}"
            )


def decide(
    decisions: Decisions,
    hits: NDArray[np.int64],
    n_iterations: int,
    *,
    alpha: float = 0.05,
    two_step: bool = True,
) -> Decisions:
    """Decide about tentative columns from their hits.

    Parameters
    ----------
    decisions : int array
        1 confirmed, 0 tentative, -1 rejected.
    hits : int array
    n_iterations : int
        Iterations that gave the hits.
    alpha : float
    two_step : bool
        See :class:`Boruta`.

    Returns
    -------
    int array
        The new decisions.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines.boruta import decide
    >>> decide(np.zeros(3, dtype=int), np.array([0, 6, 10]), 10)
    array([-1,  0,  1])
    """
    kept = decisions >= 0
    n_kept = hits[kept]
    found = decisions.copy()
    for verdict, p in (
        (1, binom.sf(n_kept - 1, n_iterations, 0.5)),
        (-1, binom.cdf(n_kept, n_iterations, 0.5)),
    ):
        if two_step:
            clear = (false_discovery_control(p) <= alpha) & (p <= alpha / n_iterations)
        else:
            clear = p <= alpha / decisions.size
        decided = np.zeros_like(kept)
        decided[kept] = clear
        found[decided & (decisions == 0)] = verdict
    return found


def _default_forest(binary: bool) -> Any:
    return forest(binary, n_estimators=N_TREES, max_features="sqrt", min_samples_leaf=SMALLEST_LEAF)


def _importances(
    X: Floats, y: Floats, template: Any, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Importances of the columns and of their shadows, of which there are at least five."""
    n_copies = -(-FEWEST_SHADOWS // X.shape[1])
    shadows = rng.permuted(np.tile(X, n_copies), axis=0)
    model = seeded(template, rng).fit(np.hstack([X, shadows]), y)
    if not hasattr(model, "feature_importances_"):
        raise TypeError(f"estimator {template!r} has no feature_importances_ when fitted")
    importances = np.asarray(model.feature_importances_, dtype=np.float64)
    return importances[: X.shape[1]], importances[X.shape[1] :]
