"""
Drift: a signal that changes
============================

A stream whose signals change half-way: at batch 100 the role of ``x0`` passes to ``x1``. Without
forgetting, the old rewards outweigh the new ones for a long time. With ``discount=0.85`` a
column that is played keeps 85 % of its earlier rewards, and the answer follows the data.
"""

import numpy as np
from matplotlib import pyplot as plt

from tvselect import StreamingThompsonSelector

N_BATCHES, BATCH_SIZE, N_COLUMNS = 200, 200, 30

rng = np.random.default_rng(3)
batches = []
for number in range(N_BATCHES):
    X = rng.random((BATCH_SIZE, N_COLUMNS))
    signal = X[:, 0] if number < N_BATCHES // 2 else X[:, 1]
    batches.append((X, 10 * signal + 5 * X[:, 2] + rng.standard_normal(BATCH_SIZE)))

# %%
# Data that arrives is handed in batch by batch, with ``partial_fit``.

figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, discount in zip(panels, (None, 0.85), strict=True):
    selector = StreamingThompsonSelector(discount=discount, random_state=0)
    for X, y in batches:
        selector.partial_fit(X, y)
    print(f"discount={discount}: selected at the end {', '.join(selector.get_feature_names_out())}")
    paths = selector.result_.trajectories(range(N_COLUMNS))
    ax.plot(paths[:, 3:], color="0.8", linewidth=0.7)
    for j, label in enumerate(("x0, until the change", "x1, from then on", "x2, always")):
        ax.plot(paths[:, j], label=label)
    ax.axhline(0.5, color="0.4", linestyle=":")
    ax.axvline(N_BATCHES // 2, color="0.4", linewidth=0.8)
    ax.set(title=f"discount={discount}", xlabel="batch")
panels[0].set_ylabel("selection rate")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
