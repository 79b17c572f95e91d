"""What a run of BART found, and how it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tvselect.inputs.outcome import Family
from tvselect.trees.bins import BinnedTable, Cuts
from tvselect.trees.forest import Forest


@dataclass(frozen=True, repr=False)
class BartRun:
    """What a run of :func:`run_bart` found.

    Attributes
    ----------
    family : {"gaussian", "probit"}
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
    forests : tuple of Forest
        Forests kept after burn-in, evenly spaced, for prediction.
    n_burn : int
    acceptance_rate : float
        Share of the proposed births and deaths that were accepted.
    seconds : float
        Time in the sampler.
    classes : array or None
        The two labels (probit); :meth:`predict` gives the probability of the second.
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
    forests: tuple[Forest, ...]
    n_burn: int
    acceptance_rate: float
    seconds: float
    classes: NDArray[Any] | None
    cuts: Cuts
    center: float

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
            Means, or probabilities of the second class (probit).
        """
        if isinstance(X, BinnedTable):
            if X.cuts is not self.cuts:
                raise ValueError("X was binned with other cut points; pass the table itself")
            codes, n_rows = X.codes, X.n_rows
        else:
            codes, n_rows = self.cuts.encode(X), np.shape(X)[0]
        total = np.zeros(n_rows)
        for forest in self.forests:
            value = self.center + forest.evaluate(codes, n_rows)
            total += ndtr(value) if self.family == "probit" else value
        return total / len(self.forests)

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
                if self.family == "gaussian"
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
