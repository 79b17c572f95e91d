"""Importance of columns to Bayesian trees: BART and DART."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import numpy as np
from sklearn.utils import check_scalar

from tvselect.inputs.seeds import RandomState
from tvselect.trees import bin_table, run_bart
from tvstudy.baselines.base import Baseline, Floats, Mask

Cut = Literal["splits", "inclusion"]


class BartBaseline(Baseline):
    """Columns on which Bayesian trees split often; two classes by probit.

    The defaults are BART as the paper ran it; :meth:`dart` has the settings of DART.

    Parameters
    ----------
    n_trees : int, default=20
    sparse : bool, default=False
        Dirichlet prior on the splitting probabilities (DART).
    n_iterations : int, default=50_000
        Iterations of a chain; the first half is burn-in.
    cut : {"splits", "inclusion"}, default="splits"
        ``"splits"`` takes columns with at least one split per forest on average,
        ``"inclusion"`` those that at least half of the forests split on.
    n_chains : int, default=1
        Chains whose averages are averaged.
    verbose : int, default=0
        1 shows a progress bar for each chain.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    mean_splits_ : float64 array
        Splits on each column per forest, on average over draws and chains.
    inclusion_ : float64 array
        Share of the forests that split on the column.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import BartBaseline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 100))
    >>> y = 20 * (X[:, 3] - 0.5) ** 2 + 0.5 * rng.standard_normal(200)
    >>> dart = BartBaseline.dart(n_iterations=2000, random_state=1)
    >>> dart.fit(X, y).get_support(indices=True)
    array([3])
    """

    takes_classes = True

    def __init__(
        self,
        n_trees: int = 20,
        sparse: bool = False,
        n_iterations: int = 50_000,
        cut: Cut = "splits",
        n_chains: int = 1,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.sparse = sparse
        self.n_iterations = n_iterations
        self.cut = cut
        self.n_chains = n_chains
        self.verbose = verbose
        self.random_state = random_state

    @classmethod
    def dart(
        cls,
        n_trees: int = 50,
        n_iterations: int = 50_000,
        cut: Cut = "splits",
        n_chains: int = 1,
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> BartBaseline:
        """DART as the paper ran it: the sparse prior and 50 trees."""
        return cls(n_trees, True, n_iterations, cut, n_chains, verbose, random_state)

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        check_cut(self.cut)
        check_scalar(self.n_chains, "n_chains", Integral, min_val=1)
        table = bin_table(X)
        runs = [
            run_bart(
                table,
                y,
                n_trees=self.n_trees,
                sparse=self.sparse,
                n_iterations=self.n_iterations,
                n_keep=1,
                family="gaussian" if self.classes_ is None else "probit",
                random_state=child,
                verbose=self.verbose,
            )
            for child in rng.spawn(int(self.n_chains))
        ]
        self.mean_splits_ = np.mean([run.mean_splits for run in runs], axis=0)
        self.inclusion_ = np.mean([run.inclusion for run in runs], axis=0)
        return important(self.mean_splits_, self.inclusion_, self.cut)


def check_cut(cut: Cut) -> None:
    """Refuse what is no cut."""
    if cut not in ("splits", "inclusion"):
        raise ValueError(f"cut must be 'splits' or 'inclusion', got {cut!r}")


def important(mean_splits: Floats, inclusion: Floats, cut: Cut) -> Mask:
    """Columns that pass the cut."""
    return mean_splits >= 1.0 if cut == "splits" else inclusion >= 0.5
