"""A stream whose signals change half-way: x0 loses its role to x1. Forgetting follows it.

    python examples/plot_drift.py [folder]

Needs matplotlib: pip install 'tvselect[plot]'
"""

import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

from tvselect import StreamingThompsonSelector

N_BATCHES, BATCH_SIZE, N_COLUMNS = 200, 200, 30


def main(folder: Path) -> None:
    matplotlib.use("Agg")  # files only: no screen is needed
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(3)
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    batches = []
    for number in range(N_BATCHES):
        X = rng.random((BATCH_SIZE, N_COLUMNS))
        signal = X[:, 0] if number < N_BATCHES // 2 else X[:, 1]
        batches.append((X, 10 * signal + 5 * X[:, 2] + rng.standard_normal(BATCH_SIZE)))
    for ax, discount in zip(panels, (None, 0.85), strict=True):
        selector = StreamingThompsonSelector(discount=discount, random_state=0)
        for X, y in batches:
            selector.partial_fit(X, y)
        found = ", ".join(selector.get_feature_names_out())
        print(f"discount={discount}: selected at the end {found}")
        paths = selector.history_.trajectories(range(N_COLUMNS))
        ax.plot(paths[:, 3:], color="0.8", linewidth=0.7)
        for j, label in enumerate(("x0, until the change", "x1, from then on", "x2, always")):
            ax.plot(paths[:, j], label=label)
        ax.axhline(0.5, color="0.4", linestyle=":")
        ax.axvline(N_BATCHES // 2, color="0.4", linewidth=0.8)
        ax.set(title=f"discount={discount}", xlabel="batch")
    panels[0].set_ylabel("inclusion probability")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "drift.png", dpi=120)
    print(f"Written: {folder / 'drift.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="tvselect-")))
