"""
The search, play by play
========================

Twelve columns, three of which matter. In every play a random set of columns is tried together
by a few small trees. Columns that the trees use are rewarded, the others are not. What is
rewarded is tried more often.
"""

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from tvselect import ThompsonSelector

N_COLUMNS, N_PLAYS = 12, 20
rng = np.random.default_rng(0)
X = rng.random((200, N_COLUMNS))
y = 6 * X[:, 2] + 4 * np.abs(X[:, 5] - 0.5) * 4 + 3 * X[:, 9] + rng.standard_normal(200)
selector = ThompsonSelector(n_plays=N_PLAYS, max_fdr=None, random_state=4).fit(X, y)
print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x2, x5 and x9.")

# %%
# A line of the picture is a play, from the first on top to the last at the bottom. At first
# about half of the columns are tried, whatever they are. Soon the three that are rewarded are
# tried nearly always, and the others only now and then: a column is never given up for good.

outcome = np.zeros((N_PLAYS, N_COLUMNS), dtype=int)
for play in selector.result_.plays:
    outcome[play.number, play.arms] = 1 + play.rewards

colours = {"not tried": "#F2F2F2", "tried": "#B8B8B8", "tried and rewarded": "#0072B2"}
figure, (top, grid) = plt.subplots(
    2, 1, figsize=(5.6, 5.6), height_ratios=[1, 3], sharex=True, layout="constrained"
)
grid.pcolormesh(outcome, cmap=ListedColormap(list(colours.values())), vmin=0, vmax=2,
                edgecolors="white", linewidth=2)  # fmt: skip
grid.set(ylim=(N_PLAYS, 0), ylabel="play", xlabel="column")
grid.set_xticks(np.arange(N_COLUMNS) + 0.5, [f"x{j}" for j in range(N_COLUMNS)])
grid.set_yticks(np.arange(0, N_PLAYS, 5) + 0.5, np.arange(1, N_PLAYS + 1, 5))
grid.tick_params(length=0)
grid.spines[:].set_visible(False)

bars = np.where(selector.support_, "#0072B2", "#B8B8B8")
top.bar(np.arange(N_COLUMNS) + 0.5, selector.selection_rates_, color=bars)
top.axhline(0.5, color="#404040", linestyle=(0, (4, 3)), linewidth=1)
top.set(ylim=(0, 1), ylabel="selection rate")
top.spines[["top", "right", "bottom"]].set_visible(False)
top.tick_params(axis="x", length=0)
figure.legend(
    handles=[Patch(color=colour, label=label) for label, colour in colours.items()],
    loc="outside lower center", ncols=3, frameon=False,
)  # fmt: skip
plt.show()

# %%
# The bars on top are what is learned, the selection rates: how often a column was rewarded when it
# was tried, with one success and one failure added, so that all columns start at one half. Above
# the dashed line a column is selected.
