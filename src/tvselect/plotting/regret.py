"""How regret grows, over many runs of a game."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tvselect.plotting.canvas import BLUE, FONT_SIZE, VERMILION, axes_on, clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RegretBand(NamedTuple):
    """Cumulative regret after each play, over the runs."""

    plays: NDArray[np.int64]  #: From 1
    mean: NDArray[np.float64]  #: Over the runs
    low: NDArray[np.float64]  #: 5 % quantile
    high: NDArray[np.float64]  #: 95 % quantile
    n_runs: int  #: How many there are


def regret_band(curves: ArrayLike) -> RegretBand:
    """Mean and spread of regret curves.

    Parameters
    ----------
    curves : array-like (runs, plays), or (plays,) for one run
        Cumulative regret, such as ``simulate_game(...).regret``.

    Examples
    --------
    >>> band = regret_band([[1.0, 2.0], [3.0, 4.0]])
    >>> band.plays, band.mean, band.low.round(1), band.n_runs
    (array([1, 2]), array([2., 3.]), array([1.1, 2.1]), 2)
    """
    regret = np.atleast_2d(np.asarray(curves, dtype=np.float64))
    if regret.ndim != 2 or regret.size == 0:
        raise ValueError(f"curves must have shape (runs, plays), got {regret.shape}")
    low, high = np.quantile(regret, [0.05, 0.95], axis=0)
    plays = np.arange(1, regret.shape[1] + 1)
    return RegretBand(plays, regret.mean(axis=0), low, high, len(regret))


def plot_regret(
    curves: ArrayLike, *, bound: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw mean regret with a 5-95 % band over runs, plays on a logarithmic axis.

    Parameters
    ----------
    curves : array-like (runs, plays), or (plays,) for one run
        Cumulative regret, such as ``simulate_game(...).regret``.
    bound : array-like (plays,), optional
        Such as ``regret_bound(theta, range(1, n_plays + 1))``. It is drawn as a dashed line.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> game = simulate_game([0.9, 0.1], 1000, rng, n_runs=200)  # doctest: +SKIP
    >>> bound = regret_bound([0.9, 0.1], range(1, 1001))  # doctest: +SKIP
    >>> plot_regret(game.regret, bound=bound).figure.savefig("regret.pdf")  # doctest: +SKIP
    """
    band = regret_band(curves)
    limit = None if bound is None else np.asarray(bound, dtype=np.float64)
    if limit is not None and limit.shape != band.plays.shape:
        raise ValueError(f"bound has shape {limit.shape}, the curves have {band.plays.size} plays")
    _, ax = axes_on(ax, 5.0, 3.6)
    if band.n_runs > 1:
        ax.fill_between(
            band.plays, band.low, band.high, color=BLUE, alpha=0.2, lw=0, label="5-95 % of runs"
        )
    mean = f"mean of {band.n_runs:,} runs" if band.n_runs > 1 else "one run"
    ax.plot(band.plays, band.mean, color=BLUE, lw=1.6, label=mean)
    if limit is not None:
        ax.plot(band.plays, limit, color=VERMILION, ls=(0, (5, 2)), lw=1.4, label="bound")
    ax.set(xlabel="play", ylabel="cumulative regret", xscale="log", ylim=(0, None))
    ax.set_xlim(1, max(band.plays.size, 2))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    clean(ax)
    ax.legend(loc="upper left", frameon=False, fontsize=FONT_SIZE)
    return ax
