"""
Rewards: trees, lines and p-values
==================================

The rule that scores the played columns can be exchanged. Friedman's function has a column,
``x2``, that enters as a valley: on average it goes neither up nor down. Trees see it; a LASSO
and a test of the correlation do not.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1

from tvselect import BartReward, LassoReward, PValueReward, ThompsonSelector

X, y = make_friedman1(250, 100, noise=1.0, random_state=3)


def steepest(X, y, rng):
    """A reward of one's own: 1 where the means of y below and above the median differ."""
    rows = rng.integers(len(y), size=len(y))
    X, y = X[rows], y[rows]
    low = np.array([y[x < np.median(x)].mean() - y[x >= np.median(x)].mean() for x in X.T])
    return np.abs(low) > y.std() / 3


rewards = {
    "trees (default)": BartReward(),
    "LASSO": LassoReward(),
    "p-value": PValueReward(),
    "own function": steepest,
}
rates = {}
for name, reward in rewards.items():
    selector = ThompsonSelector(reward, n_plays=60, random_state=0).fit(X, y)
    rates[name] = selector.selection_rates_
    print(f"{name:<16} {', '.join(selector.get_feature_names_out())}")

# %%
# Four rewards, the five signals and the best of the 95 noise columns.

figure, panels = plt.subplots(1, 4, figsize=(10, 3.2), sharey=True, layout="constrained")
for ax, (name, values) in zip(panels, rates.items(), strict=True):
    shown = [*values[:5], values[5:].max()]
    ax.bar(range(6), shown, color=["#0072B2"] * 5 + ["#8C8C8C"])
    ax.axhline(0.5, color="#404040", linestyle=(0, (4, 3)), linewidth=1)
    ax.set_xticks(range(6), [*(f"x{j}" for j in range(5)), "noise"])
    ax.set(title=name, ylim=(0, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("selection rate")
plt.show()
