"""Importance of columns to Bayesian trees: BART and DART, on all columns or screened ones."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar

from tvselect.seeds import RandomState
from tvselect.trees import BartRun, bin_table, run_bart
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.scaling import standardise

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
        """DART as the paper ran it: the sparse prior and 50 trees.

        ``n_trees``, ``n_iterations``, ``cut``, ``n_chains``, ``verbose`` and ``random_state`` are
        those of the class.
        """
        return cls(n_trees, True, n_iterations, cut, n_chains, verbose, random_state)

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        check_cut(self.cut)
        check_scalar(self.n_chains, "n_chains", Integral, min_val=1)
        table = bin_table(X)
        runs = [_run(self, table, y, child) for child in rng.spawn(int(self.n_chains))]
        self.mean_splits_ = np.mean([run.mean_splits for run in runs], axis=0)
        self.inclusion_ = np.mean([run.inclusion for run in runs], axis=0)
        return important(self.mean_splits_, self.inclusion_, self.cut)


class SisBart(Baseline):
    """The columns most correlated with the outcome, and of these the ones BART splits on.

    Two classes are screened by their correlation with 0 / 1, and BART is then probit.

    Parameters
    ----------
    n_screen : int, optional
        Columns that pass the screening; ``n / log(n)`` by default, rounded down [1]_.
    n_trees, sparse, n_iterations, cut
        Settings of BART, see :class:`BartBaseline`.
    verbose : int, default=0
        1 shows a progress bar.
    random_state : None, int, SeedSequence or Generator

    Attributes
    ----------
    support_ : bool array
    screened_ : int64 array
        Columns that passed the screening, in their order in the table.
    mean_splits_, inclusion_ : float64 array
        As in :class:`BartBaseline`; 0 for columns that did not pass.

    References
    ----------
    .. [1] Fan, J. and Lv, J. (2008). Sure independence screening for ultrahigh dimensional
       feature space. *Journal of the Royal Statistical Society B* 70(5), 849-911.

    Examples
    --------
    >>> import numpy as np
    >>> from tvstudy.baselines import SisBart
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 1000))
    >>> y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.standard_normal(200)
    >>> found = SisBart(n_iterations=2000, sparse=True, random_state=1).fit(X, y)
    >>> len(found.screened_), found.get_support(indices=True)
    (37, array([3, 7]))
    """

    takes_classes = True

    def __init__(
        self,
        n_screen: int | None = None,
        n_trees: int = 20,
        sparse: bool = False,
        n_iterations: int = 50_000,
        cut: Cut = "splits",
        verbose: int = 0,
        random_state: RandomState = None,
    ) -> None:
        self.n_screen = n_screen
        self.n_trees = n_trees
        self.sparse = sparse
        self.n_iterations = n_iterations
        self.cut = cut
        self.verbose = verbose
        self.random_state = random_state

    def _select(self, X: Floats, y: Floats, rng: np.random.Generator) -> Mask:
        check_cut(self.cut)
        n, p = X.shape
        n_screen = self.n_screen
        if n_screen is None:
            n_screen = max(1, int(n / math.log(n)))
        check_scalar(n_screen, "n_screen", Integral, min_val=1)
        self.screened_ = screen(X, y, min(int(n_screen), p))
        run = _run(self, X[:, self.screened_], y, rng)
        self.mean_splits_, self.inclusion_ = np.zeros(p), np.zeros(p)
        self.mean_splits_[self.screened_] = run.mean_splits
        self.inclusion_[self.screened_] = run.inclusion
        return important(self.mean_splits_, self.inclusion_, self.cut)


def screen(X: Floats, y: Floats, n_screen: int) -> NDArray[np.int64]:
    """Columns with the largest absolute correlations with ``y``, in the order of the table."""
    Z, _ = standardise(X)
    strength = np.abs(Z.T @ (y - y.mean()))
    return np.sort(np.argsort(-strength, kind="stable")[:n_screen])


def _run(model: Any, table: Any, y: Floats, rng: np.random.Generator) -> BartRun:
    """One chain with the settings of a baseline."""
    return run_bart(
        table,
        y,
        n_trees=model.n_trees,
        sparse=model.sparse,
        n_iterations=model.n_iterations,
        n_keep=1,
        family="gaussian" if model.classes_ is None else "probit",
        random_state=rng,
        verbose=model.verbose,
    )


def check_cut(cut: Cut) -> None:
    """Refuse what is no cut."""
    if cut not in ("splits", "inclusion"):
        raise ValueError(f"cut must be 'splits' or 'inclusion', got {cut!r}")


def important(mean_splits: Floats, inclusion: Floats, cut: Cut) -> Mask:
    """Columns that pass the cut."""
    return mean_splits >= 1.0 if cut == "splits" else inclusion >= 0.5
