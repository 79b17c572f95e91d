"""Integrated path stability selection (the package ``ipss``, an extra of the study)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask


class Ipss(Baseline):
    """Select the columns whose q-value by ``ipss`` is at most a level.

    The package as it comes: boosted stumps or an l1-penalised regression on half samples, after a
    preselection of columns; for two classes it takes a classifier by itself. It knows neither
    text nor missing values: categories enter as numbers in the order of the alphabet, and gaps as
    the median of their column.

    Parameters
    ----------
    max_fdr : float, default=0.1
    selector : {"gb", "l1"}, default="gb"
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    q_values_ : float64 array

    References
    ----------
    Melikechi, O. and Miller, J. W. (2025). Integrated path stability selection. *JASA*.
    """

    takes_classes = True

    def __init__(
        self,
        max_fdr: float = 0.1,
        selector: Literal["gb", "l1"] = "gb",
        *,
        random_state: RandomState = None,
    ) -> None:
        self.max_fdr = max_fdr
        self.selector = selector
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Select columns of numbers or text, gaps among them."""
        frame = pd.DataFrame(X)
        text = frame.select_dtypes(exclude="number").columns
        frame[text] = frame[text].apply(lambda x: x.astype("category").cat.codes)
        return super().fit(frame.fillna(frame.median()).to_numpy(np.float64), y)

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        from ipss import ipss

        before = np.random.get_state()  # noqa: NPY002 - ipss draws from the global state
        np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
        try:
            with threadpool_limits(1):  # of the threads that its import has brought
                q_values = ipss(X, y, selector=self.selector)["q_values"]
        finally:
            np.random.set_state(before)  # noqa: NPY002
        self.q_values_ = np.array([q_values[j] for j in range(X.shape[1])], dtype=np.float64)
        return np.asarray(self.q_values_ <= self.max_fdr)
