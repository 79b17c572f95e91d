"""Second-order Gaussian knockoffs: copies with the means and covariances of the originals."""

from __future__ import annotations

import io
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve

from tvselect.decoys.noise import noise_of_rows
from tvselect.inputs.npz import read_arrays

Floats = NDArray[np.float64]

LARGEST = 1e100
FLOOR = 1e-6
STEPS = 50
TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class GaussianKnockoffs:
    """Knockoffs that share the means and covariances of a table's columns.

    With covariance ``C``, a row and its knockoff have the joint covariance
    ``[[C, C - D], [C - D, C]]``, ``D = diag(s * scale**2)``: swapping a column with its
    knockoff changes no first or second moment. For Gaussian rows that is the whole law, and
    the knockoffs are exact; for others, 0/1 columns among them, it is an approximation with
    continuous values.

    Attributes
    ----------
    mean, scale : array (p,)
        Mean and standard deviation of each column; the scale of a constant column is 0.
    s : array (p,)
        One minus the correlation of a column with its knockoff. Near 0, the two cannot be
        told apart: the column almost follows from the others. 0 for a constant column.
    slopes, root : array (p, p)
        A standardised row ``z`` has the knockoff ``slopes @ z + root @ e``, ``e`` standard
        normal.

    Notes
    -----
    ``s`` maximises the entropy of row and knockoff together, that is
    ``log det(2 R - diag(s)) + sum(log(s))`` with ``R`` the correlations [1]_. The usual
    "equicorrelated" choice sets all ``s`` by the smallest eigenvalue of ``R``, so that one
    pair of collinear columns makes every knockoff a copy of its original; elsewhere it goes to
    the edge of what is possible, where an original can be rebuilt from the knockoffs and
    signals get lost. The entropy is concave, and Newton's method needs a few steps.

    References
    ----------
    .. [1] Spector, A. and Janson, L. (2022). Powerful knockoffs via minimizing
       reconstructability. *Annals of Statistics* 50(1), 252-276.

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect.decoys import GaussianKnockoffs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3)) + rng.normal(size=(500, 1))
    >>> knockoffs = GaussianKnockoffs.estimate(X)
    >>> knockoffs.draw(X, rng).shape
    (500, 3)
    >>> knockoffs.draw(X, rng, columns=[2]).shape
    (500, 1)
    """

    mean: Floats
    scale: Floats
    s: Floats
    slopes: Floats
    root: Floats

    @classmethod
    def estimate(cls, X: ArrayLike) -> GaussianKnockoffs:
        """Estimate from the rows of a table.

        The correlations are those of the columns with missing values set to their means,
        shrunk by the rule of Ledoit and Wolf, which does not assume Gaussian columns.

        Parameters
        ----------
        X : array (rows, p)
            At least 2 rows, NaN where missing. A column without values counts as constant 0.

        Returns
        -------
        GaussianKnockoffs
        """
        X = _read(X)
        if len(X) < 2:
            raise ValueError(f"Knockoffs are estimated from at least 2 rows, got {len(X)}.")
        seen = ~np.isnan(X)
        counts = np.maximum(seen.sum(axis=0), 1)
        mean = np.where(seen, X, 0.0).sum(axis=0) / counts
        centred = np.where(seen, X - mean, 0.0)
        scale = np.sqrt((centred**2).sum(axis=0) / counts)
        low, high = np.fmin.reduce(X), np.fmax.reduce(X)
        # Rounding can leave the mean of equal values a little beside them.
        constant = ~(low < high)
        scale[constant] = 0.0
        mean[constant] = np.nan_to_num(low[constant])
        varying = np.flatnonzero(scale)
        correlation = np.eye(mean.size)
        if varying.size:
            from sklearn.covariance import ledoit_wolf

            unit = centred[:, varying] / np.sqrt((centred[:, varying] ** 2).mean(axis=0))
            correlation[np.ix_(varying, varying)], _ = ledoit_wolf(unit, assume_centered=True)
        return cls.from_correlation(mean, scale, correlation)

    @classmethod
    def from_correlation(
        cls, mean: ArrayLike, scale: ArrayLike, correlation: ArrayLike
    ) -> GaussianKnockoffs:
        """Knockoffs for known moments.

        Parameters
        ----------
        mean, scale : array (p,)
        correlation : array (p, p)
            May be singular. Not looked at where the scale is 0.

        Returns
        -------
        GaussianKnockoffs
        """
        mean, scale, correlation = (
            np.array(part, dtype=np.float64) for part in (mean, scale, correlation)
        )
        s, slopes, root = np.zeros(mean.size), *np.zeros((2, mean.size, mean.size))
        varying = np.flatnonzero(scale)
        if varying.size:
            block = np.ix_(varying, varying)
            from sklearn.covariance import shrunk_covariance

            # Keeps the inverse accurate when columns are collinear.
            R = shrunk_covariance(correlation[block], shrinkage=FLOOR)
            s[varying], slopes[block], root[block] = _regression(R, _most_entropy(R))
        return cls(mean, scale, s, slopes, root)

    def draw(
        self, X: ArrayLike, rng: np.random.Generator | int, columns: ArrayLike | None = None
    ) -> Floats:
        """Draw knockoffs of the rows of a table.

        Parameters
        ----------
        X : array (rows, p)
            All columns, NaN where missing.
        rng : numpy.random.Generator or int
            A generator gives ``rows * p`` normal numbers, whatever the ``columns``. With a
            number the knockoff is a function of the row and the number: the same whenever
            the row comes.
        columns : array of int, optional
            Which columns to make, in this order. A column has the same values whichever
            others are asked for.

        Returns
        -------
        array (rows, len(columns))
            NaN where ``X`` is.
        """
        X = _read(X)
        if X.shape[1] != self.mean.size:
            raise ValueError(
                f"The knockoffs are of {self.mean.size} columns, the table has {X.shape[1]}."
            )
        chosen = np.arange(self.mean.size) if columns is None else np.asarray(columns, np.intp)
        missing = np.isnan(X)
        z = np.where(missing, 0.0, (X - self.mean) / np.where(self.scale > 0, self.scale, 1.0))
        noise = noise_of_rows(X, rng) if isinstance(rng, int) else rng.standard_normal(X.shape)
        drawn = np.empty((chosen.size, len(X)))
        # One product per column: the last bits of a larger one depend on its width.
        for j, copy in zip(chosen, drawn, strict=True):
            copy[:] = self.mean[j] + self.scale[j] * (z @ self.slopes[j] + noise @ self.root[j])
            copy[missing[:, j]] = np.nan
        return drawn.T

    def to_bytes(self) -> bytes:
        """Write as an ``.npz`` file in memory."""
        buffer = io.BytesIO()
        np.savez(buffer, **{field.name: getattr(self, field.name) for field in fields(self)})
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> GaussianKnockoffs:
        """Read what :meth:`to_bytes` wrote.

        Raises
        ------
        ValueError
            For anything else.
        """
        try:
            parts = read_arrays(data)
        except ValueError as error:
            raise ValueError("These bytes are not stored knockoffs.") from error
        p = parts["mean"].size if "mean" in parts else 0
        for field in fields(cls):
            part = parts.get(field.name)
            shape = (p, p) if field.name in ("slopes", "root") else (p,)
            if (
                part is None
                or part.dtype != np.float64
                or part.shape != shape
                or not np.isfinite(part).all()
            ):
                raise ValueError(f"These bytes are not stored knockoffs (at {field.name!r}).")
        return cls(**{field.name: parts[field.name] for field in fields(cls)})


def _read(X: ArrayLike) -> Floats:
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"A table has 2 dimensions, got {X.ndim}.")
    beyond = np.flatnonzero((np.abs(X) > LARGEST).any(axis=0))
    if beyond.size:
        raise ValueError(f"Column {beyond[0]} has a value that is infinite or beyond {LARGEST:g}.")
    return X


def _most_entropy(R: Floats) -> Floats:
    """Maximise ``log det(2 R - diag(s)) + sum(log(s))`` by Newton's method."""
    s = 1 / np.diag(np.linalg.inv(R))
    # The largest multiple with R - diag(s) >= 0: inside, and near the end also when a few
    # columns are almost collinear.
    s *= np.linalg.eigvalsh(R / np.sqrt(np.outer(s, s)))[0]
    entropy = _entropy(R, s)
    for _ in range(STEPS):
        inverse = np.linalg.inv(2 * R - np.diag(s))
        gradient = 1 / s - np.diag(inverse)
        direction = solve(inverse**2 + np.diag(s**-2), gradient, assume_a="pos")
        gain = gradient @ direction
        # The gain bounds the sum of squared relative changes of s.
        if gain < TOLERANCE**2:
            break
        step = 1.0
        while (reached := _entropy(R, s + step * direction)) < entropy + step * gain / 4:
            step /= 2
        s, entropy = s + step * direction, reached
    return s


def _entropy(R: Floats, s: Floats) -> float:
    if s.min() <= 0:
        return -np.inf
    try:
        factor = np.linalg.cholesky(2 * R - np.diag(s))
    except np.linalg.LinAlgError:
        return -np.inf
    return float(2 * np.log(np.diag(factor)).sum() + np.log(s).sum())


def _regression(R: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """``s``, slopes ``I - S R^-1`` and a root of the rest, ``2 S - S R^-1 S``."""
    inverse = np.linalg.inv(R)
    half = np.sqrt(s)
    values, vectors = np.linalg.eigh(half[:, None] * inverse * half)
    # Rounding must not leave a negative variance.
    shrink = min(1.0, 2 / values[-1])
    s, half, rest = shrink * s, np.sqrt(shrink) * half, np.maximum(2 - shrink * values, 0.0)
    return s, np.eye(s.size) - s[:, None] * inverse, half[:, None] * vectors * np.sqrt(rest)
