"""The figure of a study, made from its rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from tvstudy.rows import Row
from tvstudy.summary import summarise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "fdp": "false discovery proportion",
    "power": "power",
    "hamming": "Hamming distance",
    "seconds": "seconds, median",
}
BRIEFEST = 1e-3
"""Seconds; shorter runs are shown there, for a logarithmic axis has no zero."""
ERRORS = (0, 2, 5, 10, 100, 1_000, 10_000)
LETTERS = 150
"""What a line of the legend holds."""


def plot_study(rows: Sequence[Row], n_columns: int | None = None) -> Figure:
    """Panels of false discoveries, power, Hamming distance and time, by cell and method.

    Of all cells, or of those with so many columns. Without signals there is no power to show.
    """
    from matplotlib import pyplot as plt

    rows = [row for row in rows if n_columns in (None, row["n_columns"])]
    cells = summarise(rows)
    varies = [len({cell[k] for cell in cells}) > 1 for k in (1, 2)]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    height = 1.5 + 0.3 * len(methods)
    titles = dict(TITLES)
    if not any(row.get("n_signals", 1) for row in rows):
        del titles["power"]
    figure, axes = plt.subplots(
        1, len(titles), figsize=(14, height), sharey=True, layout="constrained"
    )
    panels = dict(zip(titles, axes, strict=True))
    markers = dict(zip(cells, "osD^vP*X", strict=False))
    panels["hamming"].set_xscale("symlog", linthresh=5)
    panels["seconds"].set_xscale("log")
    for name, ax in panels.items():
        for shift, (cell, by_method) in enumerate(cells.items()):
            places = [i for i, method in enumerate(methods) if by_method.get(method)]
            found = [by_method[methods[i]] for i in places]
            least = BRIEFEST if name == "seconds" else 0.0
            ax.errorbar(
                [max(c.means[name], least) for c in found],
                np.array(places) + 0.15 * (shift - (len(cells) - 1) / 2),
                xerr=None if name == "seconds" else [np.nan_to_num(c.errors[name]) for c in found],
                fmt=markers[cell],
                markersize=4,
                linewidth=1,
                label=", ".join([cell[0], *compress((f"n={cell[1]:,}", f"p={cell[2]:,}"), varies)]),
            )
        ax.set_title(titles[name])
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)
    most = max(1.0, panels["hamming"].get_xlim()[1])
    ticks = [n for n in ERRORS if n <= most]
    panels["hamming"].set_xticks(ticks, [f"{n:,}" for n in ticks])
    panels["hamming"].set_xticks([], minor=True)
    panels["hamming"].set_xlim(-0.5, most)
    briefest, longest = panels["seconds"].dataLim.intervalx  # one and the same is no range
    panels["seconds"].set_xlim(max(briefest, BRIEFEST) / 1.5, longest * 1.5)
    axes[0].set_yticks(range(len(methods)), methods)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    per_line = max(1, LETTERS // (10 + max(map(len, labels))))
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), per_line))
    return figure
