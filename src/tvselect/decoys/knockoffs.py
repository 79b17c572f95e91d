"""Second-order knockoffs on normal scores: several copies, of columns of any shape."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve
from scipy.special import ndtr, ndtri

from tvselect.decoys.correlations import (
    CLOSEST,
    Block,
    Floats,
    NormalScores,
    estimate_correlations,
    hermite,
    mean_scores,
    read_matrix,
)
from tvselect.inputs.npz import check_types, read_arrays

STORED = {
    "n_copies": "<i8", "values": "<f8", "starts": "<i8", "rest": "<f8", "loadings": "<f8",
    "sizes": "<i8", "members": "<i8", "s": "<f8", "precision": "<f8", "root": "<f8",
}  # fmt: skip


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
    copula). There, with correlations ``R``
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
    the factors. Where a table tells only an
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
        for _ in range(10 if columns.size else 1):
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


def most_entropy(R: Floats, n_copies: int = 1) -> Floats:
    """Maximise ``log det((1 + 1/B) R - diag(s)) + B sum(log(s))`` by Newton's method."""
    R = (1 + 1 / n_copies) * R
    s = 1 / np.diag(np.linalg.inv(R))
    # Half of the largest multiple with R - diag(s) >= 0.
    s *= 0.5 * np.linalg.eigvalsh(R / np.sqrt(np.outer(s, s)))[0]
    entropy = _entropy(R, s, n_copies)
    for _ in range(50):
        inverse = np.linalg.inv(R - np.diag(s))
        gradient = n_copies / s - np.diag(inverse)
        direction = solve(inverse**2 + np.diag(n_copies * s**-2), gradient, assume_a="pos")
        gain = gradient @ direction
        # The gain bounds the sum of squared relative changes of s.
        if gain < 1e-6 * n_copies:
            break
        step = 1.0
        while (reached := _entropy(R, s + step * direction, n_copies)) < entropy + step * gain / 4:
            step /= 2
        s, entropy = s + step * direction, reached
    return s


def _entropy(R: Floats, s: Floats, n_copies: int) -> float:
    if s.min() <= 0:
        return -np.inf
    try:
        factor = np.linalg.cholesky(R - np.diag(s))
    except np.linalg.LinAlgError:
        return -np.inf
    return float(2 * np.log(np.diag(factor)).sum() + n_copies * np.log(s).sum())


def store_knockoffs(knockoffs: Knockoffs) -> bytes:
    """An ``.npz`` file in memory."""
    arrays: dict[str, Any] = {
        "n_copies": np.array([knockoffs.n_copies]),
        "values": knockoffs.scores.values,
        "starts": knockoffs.scores.starts,
        "rest": knockoffs.rest,
        "loadings": knockoffs.loadings.ravel(),
        "sizes": np.array([block.members.size for block in knockoffs.blocks], dtype="<i8"),
    }
    for name in ("members", "s", "precision", "root"):
        parts = [getattr(block, name).ravel() for block in knockoffs.blocks]
        arrays[name] = np.concatenate([np.empty(0, STORED[name]), *parts])
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def restore_knockoffs(data: bytes) -> Knockoffs:
    """Read what :func:`store_knockoffs` wrote.

    Raises
    ------
    ValueError
        For anything else.
    """
    try:
        parts = read_arrays(data)
        check_types(parts, STORED)
    except ValueError as error:
        raise ValueError("These bytes are not stored knockoffs.") from error
    for name, is_sound in _checks(parts).items():
        if not is_sound:
            raise ValueError(f"These bytes are not stored knockoffs (at {name!r}).")
    sizes, p = parts["sizes"], parts["rest"].size
    ends, squares = np.cumsum(sizes), np.cumsum(sizes**2)
    blocks = []
    for size, end, square in zip(sizes, ends, squares, strict=True):
        lines, matrix = slice(end - size, end), slice(square - size**2, square)
        matrices = (parts[name][matrix].reshape(size, size) for name in ("precision", "root"))
        blocks.append(KnockoffBlock(parts["members"][lines], parts["s"][lines], *matrices))
    return Knockoffs(
        n_copies=int(parts["n_copies"][0]),
        scores=NormalScores(parts["values"], parts["starts"]),
        loadings=parts["loadings"].reshape(p, -1),
        rest=parts["rest"],
        blocks=tuple(blocks),
    )


def _checks(parts: dict[str, NDArray[Any]]) -> dict[str, bool | np.bool_]:
    """By part whether it fits the others."""
    p = parts["rest"].size
    sizes, starts, members = (parts[name] for name in ("sizes", "starts", "members"))
    in_blocks = sizes.sum() if sizes.size <= p and ((sizes > 0) & (sizes <= p)).all() else -1
    squares = (sizes**2).sum()
    wanted = {"rest": p, "s": in_blocks, "precision": squares, "root": squares}
    return {
        "rest": p > 0 and (parts["rest"] > 0).all(),
        "n_copies": parts["n_copies"].size == 1 and parts["n_copies"][0] >= 1,
        "starts": starts.size == p + 1
        and starts[0] == 0
        and starts[-1] == parts["values"].size
        and (np.diff(starts) >= 0).all(),
        "loadings": parts["loadings"].size % p == 0,
        "members": np.unique(members).size == members.size == in_blocks
        and ((members >= 0) & (members < p)).all(),
        **{f"size of {name}": parts[name].size == size for name, size in wanted.items()},
        **{
            f"values of {name}": np.isfinite(parts[name]).all()
            for name, kind in STORED.items()
            if kind == "<f8"
        },
    }


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
    nearest = np.argsort(-np.abs(alike), axis=1, kind="stable")[:, :3]
    differences = before - after
    apart = X[:, others] - tried[:, others]
    signs = np.sign(np.take_along_axis(alike, nearest, axis=1))
    pooled = [
        (differences * signs[:, k] * of_others[:, nearest[:, k]]).sum(axis=1)
        for k in range(nearest.shape[1])
        for of_others in (sums, apart)
    ]
    some = slice(30)
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
    rows = np.sort(rng.permutation(len(X))[:2000])
    X, tried = X[rows], copies[rng.integers(len(copies), size=rows.size), rows]
    both = np.concatenate([X, tried])
    varies = np.fmin.reduce(both) < np.fmax.reduce(both)
    mean, scale = np.nanmean(both[:, varies], axis=0), np.nanstd(both[:, varies], axis=0)
    unit = np.nan_to_num((both[:, varies] - mean) / scale)
    return unit[: rows.size], unit[rows.size :]
