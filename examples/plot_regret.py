"""Regret of Thompson sampling in games with known arm means, next to the bound.

    python examples/plot_regret.py [folder]

Needs matplotlib: pip install 'tvselect[plot]'
"""

import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

from tvselect.bandit.regret import regret_bound, simulate_game
from tvselect.plotting import plot_regret

THETA = np.r_[np.full(5, 0.8), np.full(45, 0.2)]
N_RUNS, N_PLAYS = 1_000, 2_000


def main(folder: Path) -> None:
    matplotlib.use("Agg")  # files only: no screen is needed
    game = simulate_game(THETA, N_PLAYS, np.random.default_rng(0), n_runs=N_RUNS)
    bound = regret_bound(THETA, np.arange(1, N_PLAYS + 1))
    print(
        f"{N_RUNS} games of {THETA.size} arms: regret {game.regret[:, -1].mean():.1f} on average "
        f"after {N_PLAYS} plays, {game.regret[:, -1].max():.1f} at most; bound {bound[-1]:.1f}"
    )
    ax = plot_regret(game.regret, bound=bound)
    folder.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(folder / "regret.png", dpi=120, bbox_inches="tight")
    print(f"Written: {folder / 'regret.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="tvselect-")))
