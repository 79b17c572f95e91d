"""
Regret and its bound
====================

How much is lost by not knowing the arms? Simulations with known arm means: 5 arms that are
rewarded in 80 % of their plays, 45 in 20 %. The regret after a play is what the best
set would have earned so far, less what was earned. It grows like the logarithm of the number of
plays, and stays below our bound, which has the form of the paper's, ``p log T``, and smaller
constants.
"""

import numpy as np
from matplotlib import pyplot as plt

from tvstudy.theory import plot_regret, regret_bound, simulate_game

THETA = np.r_[np.full(5, 0.8), np.full(45, 0.2)]
N_RUNS, N_PLAYS = 300, 2_000

game = simulate_game(THETA, N_PLAYS, np.random.default_rng(0), n_runs=N_RUNS)
bound = regret_bound(THETA, np.arange(1, N_PLAYS + 1))
print(
    f"{N_RUNS} simulations of {THETA.size} arms: regret {game.regret[:, -1].mean():.1f} on average "
    f"after {N_PLAYS} plays, {game.regret[:, -1].max():.1f} at most; bound {bound[-1]:.1f}; "
    f"the model is right in {game.right_model[:, -1].mean():.0%}, the last play in "
    f"{game.right_set[:, -1].mean():.0%} of them"
)

# %%
# The mean over the simulations, a band that holds 90 % of them, and the bound.

plot_regret(game.regret, bound=bound)
plt.show()
