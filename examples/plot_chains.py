"""
Several chains: does it agree with itself?
==========================================

The method is random. Four independent chains on the same table show which part of the answer is
the data's and which is luck. A hard table: 200 rows, five signals whose effects partly cancel,
and neighbouring columns with a correlation of 0.9 (the paper's linear set-up).
"""

import numpy as np
from matplotlib import pyplot as plt

from tvselect import Search, ThompsonSelector

N_ROWS, N_COLUMNS = 200, 300
rng = np.random.default_rng(0)
X = rng.standard_normal((N_ROWS, N_COLUMNS))
for j in range(1, N_COLUMNS):
    X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.9**2) * X[:, j]
y = X[:, :5] @ [1, 2, 3, -2, -1] + np.sqrt(5) * rng.standard_normal(N_ROWS)
selector = ThompsonSelector(n_plays=100, search=Search(n_chains=4), random_state=0).fit(X, y)
for chain, support in enumerate(selector.chain_supports_):
    names = ", ".join(f"x{j}" for j in np.flatnonzero(support))
    print(f"chain {chain} alone selects {names}")
names = ", ".join(selector.get_feature_names_out())
print(f"pooled: {names}; agreement {selector.chain_agreement_:.2f}")

# %%
# ``chain_agreement_`` is 1 when all chains select the same columns. Dots are the chains, bars the
# pooled value. Where the dots lie on both sides of the line, the column is undecided: report it
# as such, play more, or get more rows. Here ``x1`` and ``x4`` are beyond doubt, and ``x2`` is
# undecided; ``x0`` and ``x3`` are missed by all chains, as their neighbours say nearly the same.

shown = np.argsort(-selector.selection_rates_)[:12]
chains = np.array([selector.result_.trajectories(shown.tolist(), chain)[-1] for chain in range(4)])
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
places = np.arange(shown.size)
colours = np.where(shown < 5, "#0072B2", "#8C8C8C")
ax.bar(places, selector.selection_rates_[shown], color=colours, alpha=0.35)
for values in chains:
    ax.scatter(places, values, color=colours, s=18, zorder=2)
ax.axhline(0.5, color="#404040", linestyle=(0, (4, 3)), linewidth=1)
ax.set_xticks(places, [f"x{j}" for j in shown])
ax.set(ylim=(0, 1.02), ylabel="selection rate", title="blue: the true signals, x0 to x4")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
