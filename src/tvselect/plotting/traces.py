"""What a run of trees traced: one panel for each quantity, one line for each chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tvselect.plotting import canvas
from tvselect.trees import BartRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

LABELS = {"n_splits": "splits", "group_sd": "sd of groups"}
MOST_POINTS = 2000


def plot_traces(run: BartRun) -> Figure | SubFigure:
    """Draw the traces of a run, with R-hat and effective sizes.

    The burn-in is grey, and cut off where it leaves the range of the draws after it.

    Parameters
    ----------
    run : BartRun
        Of one chain or several.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import run_bart
    >>> from tvselect.plotting import plot_traces
    >>> X = np.random.default_rng(0).random((100, 2))
    >>> run = run_bart(X, X[:, 0], n_chains=2, n_iterations=200, random_state=0)
    >>> figure = plot_traces(run)
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['sigma', 'splits']
    """
    traces, found = run.traces(), run.summary()
    figure, first = canvas.axes_on(None, height=1.9 * len(traces))
    first.remove()
    panels = figure.subplots(len(traces), sharex=True, squeeze=False)[:, 0]
    rows = zip(panels, traces.items(), found["r_hat"], found["ess"], strict=True)
    for ax, (name, trace), r_hat, ess in rows:
        n = trace.shape[1]
        steps = np.arange(0, n, max(1, n // MOST_POINTS))
        for chain, values in enumerate(trace):
            colour = canvas.COLOURS[chain % len(canvas.COLOURS)]
            ax.plot(steps + 1, values[steps], color=colour, lw=0.6, alpha=0.8)
        ax.axvspan(0, run.n_burn, color=canvas.LIGHT, alpha=0.3, lw=0)
        ax.set_xlim(0, n)
        low, high = trace[:, run.n_burn :].min(), trace[:, run.n_burn :].max()
        margin = 0.1 * (high - low) or 1.0
        ax.set_ylim(low - margin, high + margin)
        ax.set_ylabel(LABELS.get(name, name))
        ax.set_title(f"R-hat {r_hat:.2f}, effective size {ess:,.0f}", fontsize=9, loc="right")
        canvas.clean(ax)
    panels[-1].set_xlabel("iteration (grey: burn-in)")
    return figure
