"""The lead example as a picture: importances of BART and DART next to TVS, with times.

``make bench-importance`` records a page and a figure. Friedman, n=300, p=10,000, independent
columns, one data set drawn, ten counted.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import matplotlib
import numpy as np
from tqdm import tqdm

from benchmarks.records import ROOT, heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.baselines import BartBaseline
from tvstudy.simulation import score, simulate

N_DRAWN = 1000
METHODS: dict[str, Any] = {
    "BART, 20 trees, 50,000 iterations": BartBaseline(n_trees=20),
    "DART, 50 trees, 50,000 iterations": BartBaseline.dart(),
    "TVS, paper rule, M=100, 500 plays": ThompsonSelector(BartReward.paper(100), n_plays=500),
    "TVS, paper rule, M=1,000, 300 plays": ThompsonSelector(BartReward.paper(1000), n_plays=300),
    "TVS, default, 300 plays": ThompsonSelector(n_plays=300),
}


def draw_splits(ax: Any, splits: np.ndarray, signals: np.ndarray) -> None:
    """Splits per forest of the columns, signals in blue."""
    others = np.flatnonzero(~signals)
    ax.plot(others + 1, splits[others], ".", color="0.6", markersize=3, label="noise")
    ax.plot(np.flatnonzero(signals) + 1, splits[signals], "o", color="tab:blue", label="signal")
    ax.axhline(1.0, color="0.3", linestyle=":")
    ax.set(xscale="log", xlabel="number of the column", ylabel="splits per forest")


def draw_paths(ax: Any, selector: ThompsonSelector, signals: np.ndarray) -> None:
    """Selection rates over the plays; of the noise only the leading columns."""
    probabilities = selector.selection_rates_
    noise = np.flatnonzero(~signals)
    leading = noise[np.argsort(-probabilities[noise])[:N_DRAWN]]
    ax.plot(selector.history_.trajectories(leading.tolist()), color="0.8", linewidth=0.4)
    paths = selector.history_.trajectories(np.flatnonzero(signals).tolist())
    ax.plot(paths, color="tab:blue", linewidth=1.4)
    ax.axhline(0.5, color="0.3", linestyle=":")
    ax.set(xlabel="play", ylabel="selection rate", ylim=(0, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    n_seeds = parser.parse_args().seeds
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(METHODS), figsize=(20, 4), layout="constrained")
    rows = []
    ThompsonSelector(n_plays=2, random_state=0).fit(np.eye(40), np.arange(40.0))  # compiles
    for ax, (name, method) in zip(panels, tqdm(METHODS.items()), strict=True):
        missed, false, seconds = [], [], []
        for seed in range(n_seeds):
            d = simulate("friedman", 300, 10_000, random_state=seed)
            started = time.perf_counter()
            method.set_params(random_state=seed).fit(d.X, d.y)
            seconds.append(time.perf_counter() - started)
            found = method.get_support()
            missed.append(int((d.support & ~found).sum()))
            false.append(score(found, d.support).hamming - missed[-1])
            if seed == 0:
                if isinstance(method, ThompsonSelector):
                    draw_paths(ax, method, d.support)
                else:
                    draw_splits(ax, method.mean_splits_, d.support)
                ax.set_title(f"{name}\n{seconds[0]:.1f} s", fontsize=10)
        rows.append(
            f"| {name} | {5 - np.mean(missed):.1f} | {np.mean(false):.1f} | "
            f"{np.median(seconds):.1f} |"
        )
    panels[0].legend(loc="upper right")
    (ROOT / "docs" / "images").mkdir(parents=True, exist_ok=True)
    figure.savefig(ROOT / "docs" / "images" / "importance.png", dpi=70)
    record(
        "importance.md",
        [
            *heading(
                "The lead example: importances and Thompson sampling", "make bench-importance"
            ),
            "Friedman, n=300, p=10,000, independent columns; one core. Signals found (of 5) and "
            f"noise selected are means over {n_seeds} data sets, seconds the median. BART and DART "
            "select columns with at least one split per forest. The picture shows the first data "
            "set: signals in blue, noise in grey, the cut dotted.",
            "",
            "| method | signals found | noise selected | seconds |",
            "|---|---|---|---|",
            *rows,
            "",
            "![importances and inclusion paths](../images/importance.png)",
        ],
    )


if __name__ == "__main__":
    main()
