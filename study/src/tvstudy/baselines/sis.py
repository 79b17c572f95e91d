"""Sure independence screening, then the importance of what is left to BART."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np
from sklearn.utils import check_scalar

from tvselect.inputs.seeds import RandomState
from tvselect.trees import run_bart
from tvstudy.baselines.base import Baseline, Floats, Mask
from tvstudy.baselines.scaling import standardise
from tvstudy.baselines.trees import Cut, check_cut, important


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
        run = run_bart(
            X[:, self.screened_],
            y,
            n_trees=self.n_trees,
            sparse=self.sparse,
            n_iterations=self.n_iterations,
            n_keep=1,
            family="gaussian" if self.classes_ is None else "probit",
            random_state=rng,
            verbose=self.verbose,
        )
        self.mean_splits_, self.inclusion_ = np.zeros(p), np.zeros(p)
        self.mean_splits_[self.screened_] = run.mean_splits
        self.inclusion_[self.screened_] = run.inclusion
        return important(self.mean_splits_, self.inclusion_, self.cut)


def screen(X: Floats, y: Floats, n_screen: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Columns with the largest absolute correlations with ``y``, in the order of the table."""
    Z, _ = standardise(X)
    strength = np.abs(Z.T @ (y - y.mean()))
    return np.sort(np.argsort(-strength, kind="stable")[:n_screen])
