"""The figure of a study, made from its rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from tvstudy.rows import MEASURES, Row
from tvstudy.summary import summarise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = ("false discovery proportion", "power", "Hamming distance", "seconds")
BRIEFEST = 1e-3
"""Seconds; shorter runs are shown there, for a logarithmic axis has no zero."""
ERRORS = (0, 2, 5, 10, 100, 1_000, 10_000)


def plot_study(rows: Sequence[Row], n_columns: int | None = None) -> Figure:
    """Four panels: false discoveries, power, Hamming distance and time, by cell and method.

    Of all cells, or of those with so many columns.
    """
    from matplotlib import pyplot as plt

    rows = [row for row in rows if n_columns in (None, row["n_columns"])]
    cells = summarise(rows)
    varies = [len({cell[k] for cell in cells}) > 1 for k in (1, 2)]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    height = 1.5 + 0.3 * len(methods)
    figure, panels = plt.subplots(1, 4, figsize=(14, height), sharey=True, layout="constrained")
    markers = dict(zip(cells, "osD^vP*X", strict=False))
    panels[2].set_xscale("symlog", linthresh=5)
    panels[3].set_xscale("log")
    for ax, name, title in zip(panels, MEASURES, TITLES, strict=True):
        for shift, (cell, by_method) in enumerate(cells.items()):
            places = [i for i, method in enumerate(methods) if by_method.get(method)]
            found = [by_method[methods[i]] for i in places]
            least = BRIEFEST if name == "seconds" else 0.0
            ax.errorbar(
                [max(c.means[name], least) for c in found],
                np.array(places) + 0.15 * (shift - (len(cells) - 1) / 2),
                xerr=[np.nan_to_num(c.errors[name]) for c in found],
                fmt=markers[cell],
                markersize=4,
                linewidth=1,
                label=", ".join([cell[0], *compress((f"n={cell[1]:,}", f"p={cell[2]:,}"), varies)]),
            )
        ax.set_title(title)
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)
    most = max(1.0, panels[2].get_xlim()[1])
    panels[2].set_xticks(ticks := [n for n in ERRORS if n <= most], [f"{n:,}" for n in ticks])
    panels[2].set_xticks([], minor=True)
    panels[2].set_xlim(-0.5, most)
    briefest, longest = panels[3].dataLim.intervalx  # one and the same is no range of an axis
    panels[3].set_xlim(max(briefest, BRIEFEST) / 1.5, longest * 1.5)
    panels[0].set_yticks(range(len(methods)), methods)
    panels[0].invert_yaxis()
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(cells)
    )
    return figure
