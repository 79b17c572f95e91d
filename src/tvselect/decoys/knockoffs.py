"""Second-order knockoffs on normal scores: several copies, of columns of any shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from tvselect.decoys.correlations import Block, estimate_correlations
from tvselect.decoys.entropy import most_entropy
from tvselect.decoys.scores import CLOSEST, NormalScores, hermite, mean_scores, read_matrix

Floats = NDArray[np.float64]

SWEEPS = 10


class KnockoffBlock(NamedTuple):
    """Columns whose copies are made together.

    Attributes
    ----------
    members : int array (q,)
    s : array (q,)
        One minus the correlation of a column with its copy, factors apart.
    precision, root : array (q, q)
        ``root @ root.T`` is the covariance of what a row's copies have in common, given
        the row.
    """

    members: NDArray[np.int64]
    s: Floats
    precision: Floats
    root: Floats


@dataclass(frozen=True, eq=False)
class Knockoffs:
    """Copies of columns that keep every column's shape and the correlations of all.

    Columns are seen as normal numbers of which the table tells the ranks (a Gaussian
    copula); see :class:`~tvselect.decoys.scores.NormalScores`. There, with correlations ``R``
    and ``S`` diagonal, a row and its copies have covariances ``R`` each and ``R - S`` with
    one another: no swap of a column with one of its copies changes their law [1]_. Copies are
    then mapped back through the quantiles of their column, so that those of a 0/1 column are
    0 and 1.

    Attributes
    ----------
    n_copies : int
        For which ``S`` was chosen; at most so many can be drawn.
    scores : NormalScores
    loadings : array (p, k)
        What the columns owe to common factors.
    rest : array (p,)
        Standard deviations of the columns, given the factors.
    blocks : tuple of KnockoffBlock
        Columns without a block are independent of all others but for the factors.

    Notes
    -----
    ``S`` maximises the entropy of a row and its copies, that is
    ``log det((1 + 1/B) R - S) + B sum(log(s))`` with ``B`` copies [2]_, in every block, given
    the factors. The correlations are estimated by
    :func:`~tvselect.decoys.correlations.estimate_correlations`. Where a table tells only an
    interval (0/1, ties, missing values), the normal number is drawn from it by Gibbs
    sampling, so that 0/1 columns lose nothing of their correlations. Knockoffs are as valid
    as this model is; :func:`~tvselect.decoys.swap_test` looks for what it misses.

    References
    ----------
    .. [1] Gimenez, J. R. and Zou, J. (2019). Improving the stability of the knockoff
       procedure: multiple simultaneous knockoffs and entropy maximization. *AISTATS*.
    .. [2] Spector, A. and Janson, L. (2022). Powerful knockoffs via minimizing
       reconstructability. *Annals of Statistics* 50(1), 252-276.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.decoys import Knockoffs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3)) + rng.normal(size=(500, 1))
    >>> X[:, 2] = X[:, 2] > 1
    >>> copies = Knockoffs.estimate(X, n_copies=5).draw(X, rng)
    >>> copies.shape
    (5, 500, 3)
    >>> np.unique(copies[:, :, 2])
    array([0., 1.])
    """

    n_copies: int
    scores: NormalScores
    loadings: Floats
    rest: Floats
    blocks: tuple[KnockoffBlock, ...]

    @classmethod
    def estimate(cls, X: ArrayLike, n_copies: int = 1) -> Knockoffs:
        """Estimate from the rows of a table.

        Parameters
        ----------
        X : array (rows, p)
            At least 2 rows, NaN where missing. A column without values counts as constant 0.
        n_copies : int, default=1

        Returns
        -------
        Knockoffs
        """
        X = read_matrix(X)
        if len(X) < 2:
            raise ValueError(f"Knockoffs are estimated from at least 2 rows, got {len(X)}.")
        if n_copies < 1:
            raise ValueError(f"n_copies must be at least 1, got {n_copies}.")
        scores = NormalScores.of(X)
        cells = scores.cells(X)
        found = estimate_correlations(mean_scores(*cells), hermite(*cells))
        blocks = tuple(_with_copies(block, n_copies) for block in found.blocks)
        return cls(n_copies, scores, found.loadings, found.rest, blocks)

    def among(self, columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], Knockoffs]:
        """What copies of some columns are drawn with.

        Parameters
        ----------
        columns : int64 array

        Returns
        -------
        needed : int64 array
            These columns, and those that are not independent of them; all, where there are factors.
        knockoffs : Knockoffs
            Of the needed columns alone.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 4))
        >>> X[:, 3] += X[:, 0]
        >>> needed, knockoffs = Knockoffs.estimate(X).among(np.array([0, 1]))
        >>> needed, knockoffs.draw(X[:, needed], rng).shape
        (array([0, 1, 3]), (1, 500, 3))
        """
        is_needed = np.full(self.rest.size, self.loadings.shape[1] > 0)
        is_needed[columns] = True
        blocks = [block for block in self.blocks if is_needed[block.members].any()]
        for block in blocks:
            is_needed[block.members] = True
        needed = np.flatnonzero(is_needed)
        if needed.size == self.rest.size:
            return needed, self
        return needed, Knockoffs(
            self.n_copies,
            self.scores.take(needed),
            self.loadings[needed],
            self.rest[needed],
            tuple(b._replace(members=np.searchsorted(needed, b.members)) for b in blocks),
        )

    def draw(self, X: ArrayLike, rng: np.random.Generator, n_copies: int | None = None) -> Floats:
        """Draw copies of the rows of a table.

        Parameters
        ----------
        X : array (rows, p)
            All columns, NaN where missing.
        rng : numpy.random.Generator
        n_copies : int, optional
            All that ``S`` was chosen for by default; no more.

        Returns
        -------
        array (n_copies, rows, p)
            NaN where ``X`` is.
        """
        n_copies = self.n_copies if n_copies is None else n_copies
        if not 1 <= n_copies <= self.n_copies:
            raise ValueError(
                f"These knockoffs were estimated for n_copies={self.n_copies}, not {n_copies}."
            )
        X = read_matrix(X)
        common, own = self._latent(*self.scores.cells(X), rng)
        copies = rng.standard_normal((self.n_copies, *own.shape))
        for members, s, precision, root in self.blocks:
            seen = own[:, members]
            mean = seen - (seen @ precision) * s + rng.standard_normal(seen.shape) @ root.T
            noise = copies[:, :, members]
            copies[:, :, members] = mean + np.sqrt(s) * (noise - noise.mean(axis=0))
        copies = self.scores.back(common + self.rest * copies[:n_copies])
        copies[:, np.isnan(X)] = np.nan
        return copies

    def _latent(self, low: Floats, high: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """What rows owe to the factors, and the rest, in its standard deviations.

        A draw from the law of both given the table, by Gibbs sampling where the table tells
        only an interval.
        """
        z = mean_scores(low, high)
        is_open = low < high
        columns = np.flatnonzero(is_open.any(axis=0))
        steps = self._steps(columns)
        for _ in range(SWEEPS if columns.size else 1):
            common = self._factors(z, rng)
            own = (z - common) / self.rest
            for j, others, slopes, spread in steps:
                rows = np.flatnonzero(is_open[:, j])
                mean = own[np.ix_(rows, others)] @ slopes
                bounds = [(end[rows, j] - common[rows, j]) / self.rest[j] for end in (low, high)]
                below, above = (ndtr((bound - mean) / spread) for bound in bounds)
                share = below + rng.random(rows.size) * (above - below)
                drawn = mean + spread * ndtri(np.clip(share, CLOSEST, 1 - CLOSEST))
                own[rows, j] = np.clip(drawn, *bounds)
            z = common + self.rest * own
        return common, own

    def _steps(
        self, columns: NDArray[np.intp]
    ) -> list[tuple[int, NDArray[np.int64], Floats, float]]:
        """For some columns: the others in its regression, the slopes and the rest's spread."""
        lone = np.empty(0, dtype=np.int64), np.empty(0), 1.0
        wanted = dict.fromkeys(columns.tolist(), lone)
        for block in self.blocks:
            for place, j in enumerate(block.members.tolist()):
                if j in wanted:
                    row = block.precision[place].copy()
                    own, row[place] = row[place], 0.0
                    others = np.flatnonzero(row)
                    wanted[j] = block.members[others], -row[others] / own, own**-0.5
        return [(j, *step) for j, step in wanted.items()]

    def _factors(self, z: Floats, rng: np.random.Generator) -> Floats:
        """A draw of what rows owe to the factors."""
        if self.loadings.shape[1] == 0:
            return np.zeros_like(z)
        unit = self.loadings / self.rest[:, None]
        weights = unit.copy()
        for block in self.blocks:
            weights[block.members] = block.precision @ unit[block.members]
        precision = np.eye(unit.shape[1]) + unit.T @ weights
        root = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, weights.T @ (z / self.rest).T)
        noise = np.linalg.solve(root.T, rng.standard_normal(mean.shape))
        drawn: Floats = (mean + noise).T @ self.loadings.T
        return drawn


def _with_copies(block: Block, n_copies: int) -> KnockoffBlock:
    """Choose ``S`` and find the root of the covariance ``(1 + 1/B) S - S P S``."""
    ratio = 1 + 1 / n_copies
    s = most_entropy(block.correlation, n_copies)
    half = np.sqrt(s)
    values, vectors = np.linalg.eigh(half[:, None] * block.precision * half)
    # Rounding must not leave a negative variance.
    shrink = min(1.0, ratio / values[-1])
    rest = np.maximum(ratio - shrink * values, 0.0)
    root = np.sqrt(shrink) * half[:, None] * vectors * np.sqrt(rest)
    return KnockoffBlock(block.members.astype(np.int64), shrink * s, block.precision, root)
