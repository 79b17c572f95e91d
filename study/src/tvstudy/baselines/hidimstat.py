"""Conditional randomization tests and knockoffs of ``hidimstat``, an extra of the study."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from sklearn.linear_model import LassoCV
from threadpoolctl import threadpool_limits

from tvselect.seeds import RandomState
from tvstudy.baselines.base import Baseline, Floats, Mask


class Hidimstat(Baseline):
    """Select columns at a false discovery rate by the package ``hidimstat``, as it comes.

    Parameters
    ----------
    test : {"crt", "knockoffs"}, default="crt"
        "crt": distilled conditional randomization tests (``D0CRT``) around a LASSO, whose p-values
        go through Benjamini and Hochberg's procedure; "knockoffs": Gaussian model-X knockoffs with
        differences of LASSO coefficients.
    q : float, default=0.1
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array

    References
    ----------
    Liu, M., Katsevich, E., Janson, L. and Ramdas, A. (2022). Fast and powerful conditional
    randomization testing via distillation. *Biometrika*.
    """

    def __init__(
        self,
        test: Literal["crt", "knockoffs"] = "crt",
        q: float = 0.1,
        *,
        random_state: RandomState = None,
    ) -> None:
        self.test = test
        self.q = q
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        from hidimstat import D0CRT, ModelXKnockoff

        seed = int(rng.integers(2**31))
        if self.test == "crt":
            test = D0CRT(LassoCV(alphas=10, random_state=seed), random_state=seed)
        elif self.test == "knockoffs":
            test = ModelXKnockoff(random_state=seed)
        else:
            raise ValueError(f"test must be 'crt' or 'knockoffs', got {self.test!r}")
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test.fit_importance(X, y)
            return np.asarray(test.fdr_selection(self.q)) != 0
