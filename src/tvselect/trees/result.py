"""What a run of BART found, and how it predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tvselect.inputs import Outcome
from tvselect.inputs.outcome import Family
from tvselect.trees.bins import BinnedTable, Cuts
from tvselect.trees.forest import Forest
from tvselect.trees.response import ON_LATENT_SCALE, chances_of_classes


class Draw(NamedTuple):
    """One draw: a forest, the noise standard deviation and the cut points or class offsets."""

    forest: Forest
    sigma: float
    cuts: NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class BartRun:
    """What a run of :func:`run_bart` found.

    Attributes
    ----------
    family : str
        Of the outcome.
    names : tuple of str
        Names of the columns that could be split on; all arrays by column follow them.
    mean_splits : float64 array
        Average number of splits on each column per forest, after burn-in.
    inclusion : float64 array
        Share of the forests after burn-in that split on the column at least once.
    last_splits : int64 array
        Splits on each column in the last forest.
    sigma, theta, n_splits : arrays
        One value per iteration, burn-in included: noise standard deviation, DART's
        concentration (constant under the plain prior) and splits of the forest.
    forest : Forest
        The last forest.
    draws : tuple of Draw
        Forests and what goes with them, kept after burn-in, evenly spaced, for prediction.
    n_burn : int
        Iterations that averages leave out.
    acceptance_rate : float
        Share of the proposed births and deaths that were accepted.
    seconds : float
        Time in the sampler.
    outcome : Outcome
        What the forests were fitted to.
    cuts : Cuts
        Cut points of the columns.
    center : float
        What predictions of the forests are relative to.
    """

    family: Family
    names: tuple[str, ...]
    mean_splits: NDArray[np.float64]
    inclusion: NDArray[np.float64]
    last_splits: NDArray[np.int64]
    sigma: NDArray[np.float64]
    theta: NDArray[np.float64]
    n_splits: NDArray[np.int64]
    forest: Forest
    draws: tuple[Draw, ...]
    n_burn: int
    acceptance_rate: float
    seconds: float
    outcome: Outcome
    cuts: Cuts
    center: float

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels of classes or grades, in their order."""
        return self.outcome.classes

    @property
    def forests(self) -> tuple[Forest, ...]:
        """The forests of the draws that were kept."""
        return tuple(draw.forest for draw in self.draws)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Posterior mean of the outcome at new rows, over the kept forests.

        Parameters
        ----------
        X : array-like, data frame or BinnedTable
            The columns of the table that the run was given, in the same order; or that
            table itself, binned.

        Returns
        -------
        float64 array
            Means ("gaussian"), probabilities of the second class ("probit") or of every class
            (rows, classes), mean counts, mean grades counted from 0 ("ordinal"), median times
            ("survival").
        """
        codes, n_rows = self._codes(X)
        return self.mean_of(lambda forest: forest.evaluate(codes, n_rows))

    def mean_of(self, evaluate: Callable[[Forest], NDArray[np.float64]]) -> NDArray[np.float64]:
        """What :meth:`predict` gives, where ``evaluate`` evaluates a forest."""
        total = sum((self.expected(draw, evaluate) for draw in self.draws), np.float64(0.0))
        return np.asarray(total / len(self.draws))

    def expected(
        self, draw: Draw, evaluate: Callable[[Forest], NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """The outcome that one ``draw`` expects, its forest put through ``evaluate``."""
        if self.family == "classes":
            n_classes = draw.cuts.size
            trees = range(draw.forest.n_trees)
            values = [evaluate(draw.forest.only(trees[k::n_classes])) for k in range(n_classes)]
            return chances_of_classes(np.stack(values, axis=-1) + draw.cuts)
        value = self.center + evaluate(draw.forest)
        if self.family == "probit":
            return np.asarray(ndtr(value))
        if self.family == "survival":
            return np.exp(value)
        if self.family == "gaussian":
            return value
        levels, cuts = np.unique(self.outcome.values), draw.cuts
        if self.family == "counts":
            shares = np.searchsorted(np.sort(self.outcome.values), levels[1:])
            cuts = ndtri(shares / self.outcome.values.size)
        expected = np.full(value.shape, levels[0])
        for step, cut in zip(np.diff(levels), cuts, strict=True):
            expected += step * ndtr((value - cut) / draw.sigma)
        return expected

    def _codes(self, X: Any) -> tuple[NDArray[np.uint8], int]:
        if isinstance(X, BinnedTable):
            if X.cuts is not self.cuts:
                raise ValueError("X was binned with other cut points; pass the table itself")
            return X.codes, X.n_rows
        return self.cuts.encode(X), np.shape(X)[0]

    def table(self, top: int | None = None) -> dict[str, NDArray[Any]]:
        """Columns by mean number of splits, ready for a pandas or polars data frame.

        Parameters
        ----------
        top : int, optional
            Only that many; all by default.
        """
        order = np.argsort(-self.mean_splits, kind="stable")[:top]
        return {
            "variable": np.array(self.names)[order],
            "mean_splits": self.mean_splits[order],
            "inclusion": self.inclusion[order],
            "last_splits": self.last_splits[order],
        }

    def __repr__(self) -> str:
        """A few lines: the run, the noise, the columns that are used most."""
        n_iterations = self.n_splits.size
        lines = [
            f"BartRun: {self.forest.n_trees} trees, {n_iterations} iterations "
            f"({self.n_burn} burn-in), {len(self.names)} columns, {self.family}, "
            f"{self.seconds:.3g} s",
            f"splits per forest {self.n_splits[self.n_burn :].mean():.1f}, "
            f"acceptance rate {self.acceptance_rate:.2f}"
            + (
                f", sigma {self.sigma[self.n_burn :].mean():.4g}"
                if self.family not in ON_LATENT_SCALE
                else ""
            ),
        ]
        top = self.table(10)
        used = top["mean_splits"] > 0
        if used.any():
            width = max(8, *(len(name) for name in top["variable"][used]))
            lines.append(f"{'variable':<{width}}  splits per forest  share of forests")
            for name, mean, share in zip(
                top["variable"][used], top["mean_splits"][used], top["inclusion"][used], strict=True
            ):
                lines.append(f"{name:<{width}}  {mean:17.2f}  {share:16.2f}")
        return "\n".join(lines)
