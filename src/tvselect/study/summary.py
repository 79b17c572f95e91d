"""Tables and figures of a study, made from its rows alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tvselect.study.rows import Row
from tvselect.study.runner import FINISHED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("fdp", "power", "hamming", "seconds")
TITLES = ("false discovery proportion", "power", "Hamming distance", "seconds")


class Cell(NamedTuple):
    """What a method did in a cell.

    Attributes
    ----------
    n : int
        Finished replicates.
    n_unfinished : int
        Others: out of time, or failed.
    means, errors : dict
        Of every measure, and their standard errors.
    exact : float
        Share of replicates in which exactly the true model was found.
    """

    n: int
    n_unfinished: int
    means: dict[str, float]
    errors: dict[str, float]
    exact: float


def summarise(rows: Sequence[Row]) -> dict[tuple[str, int, int], dict[str, Cell]]:
    """Means and standard errors by cell (set-up, n, p) and method."""
    groups: dict[tuple[str, int, int], dict[str, list[Row]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        groups[row["setup"], row["n_rows"], row["n_columns"]][row["method"]].append(row)
    return {
        cell: {method: _cell(some) for method, some in methods.items()}
        for cell, methods in groups.items()
    }


def _cell(rows: Sequence[Row]) -> Cell:
    done = [row for row in rows if row["status"] == FINISHED]
    values = {name: np.array([row[name] for row in done], dtype=float) for name in MEASURES}
    n = len(done)
    return Cell(
        n=n,
        n_unfinished=len(rows) - n,
        means={name: float(v.mean()) if n else float("nan") for name, v in values.items()},
        errors={
            name: float(v.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
            for name, v in values.items()
        },
        exact=float(np.mean([row["exact"] for row in done])) if n else float("nan"),
    )


def hamming_table(rows: Sequence[Row]) -> list[str]:
    """Markdown: mean Hamming distance of every method in every cell, the lowest in bold.

    In bold, too: what is within one standard error of the difference from the lowest.
    """
    cells = summarise(rows)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lowest = {
        cell: min(
            (c for c in by_method.values() if c.n), key=lambda c: c.means["hamming"], default=None
        )
        for cell, by_method in cells.items()
    }
    lines = [
        "| method | " + " | ".join(f"{s}, p={p:,}" for s, _, p in cells) + " | mean | seconds |",
        "|---|" + "---|" * (len(cells) + 2),
    ]
    for method in methods:
        texts, means, seconds = [], [], []
        for cell, by_method in cells.items():
            found = by_method.get(method)
            if found is None or not found.n:
                texts.append("-" if found is None else "not finished")
                means.append(np.nan)
                continue
            best = lowest[cell]
            assert best is not None
            mean, error = found.means["hamming"], found.errors["hamming"]
            near = mean - best.means["hamming"] <= np.hypot(
                np.nan_to_num(error), np.nan_to_num(best.errors["hamming"])
            )
            text = f"{mean:.2f} ± {error:.2f}"
            text = f"**{text}**" if near else text
            texts.append(text + (f" ({found.n} of {found.n + found.n_unfinished})"
                                 if found.n_unfinished else ""))  # fmt: skip
            means.append(mean)
            seconds.append(found.means["seconds"])
        overall = f"{np.mean(means):.2f}" if not np.isnan(means).any() else "-"
        shown = f"{np.mean(seconds):.1f}" if seconds else "-"
        lines.append(f"| {method} | " + " | ".join(texts) + f" | {overall} | {shown} |")
    return lines


def calibration_table(rows: Sequence[Row], method: str) -> list[str]:
    """Markdown: how often variables with a final pi between two values are signals."""
    pairs = [
        (pi, j < 5)
        for row in rows
        if row["method"] == method and row["status"] == FINISHED
        for j, pi in row["pi"]
    ]
    pi, true = np.array([p for p, _ in pairs]), np.array([t for _, t in pairs])
    lines = ["| pi | variables | signals | share |", "|---|---|---|---|"]
    for low in np.arange(0.2, 1.0, 0.1):
        inside = (pi >= low - 1e-9) & (pi < low + 0.1 - 1e-9)
        if inside.any():
            share = true[inside].mean()
            lines.append(
                f"| {low:.1f} to {low + 0.1:.1f} | {inside.sum()} | {true[inside].sum()} | "
                f"{share:.2f} |"
            )
    return lines


def plot_study(rows: Sequence[Row], n_columns: int) -> Figure:
    """Four panels: false discoveries, power, Hamming distance and time, by set-up and method."""
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'tvselect[plot]'") from None
    cells = {cell: c for cell, c in summarise(rows).items() if cell[2] == n_columns}
    methods = list(dict.fromkeys(row["method"] for row in rows))
    height = 1.5 + 0.3 * len(methods)
    figure, panels = plt.subplots(1, 4, figsize=(14, height), sharey=True, layout="constrained")
    markers = dict(zip(cells, "osD^vP*X", strict=False))
    for ax, name, title in zip(panels, MEASURES, TITLES, strict=True):
        for shift, (cell, by_method) in enumerate(cells.items()):
            places = [i for i, method in enumerate(methods) if by_method.get(method)]
            found = [by_method[methods[i]] for i in places]
            ax.errorbar(
                [c.means[name] for c in found],
                np.array(places) + 0.15 * (shift - (len(cells) - 1) / 2),
                xerr=[np.nan_to_num(c.errors[name]) for c in found],
                fmt=markers[cell],
                markersize=4,
                linewidth=1,
                label=cell[0],
            )
        ax.set(title=title, xscale="log" if name == "seconds" else "linear")
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)
    panels[2].set_xscale("symlog", linthresh=5)
    panels[0].set_yticks(range(len(methods)), methods)
    panels[0].invert_yaxis()
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(cells)
    )
    return figure
