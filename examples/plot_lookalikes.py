"""
Look-alikes: columns that stand for each other
==============================================

A signal, and a column that resembles it more and more. Up to a correlation of about 0.9 the trees
tell the two apart and use the signal only. Near copies are used in turn, and both may pass,
although only one of them moves the outcome: the data hardly tell them apart.
"""

import numpy as np
from matplotlib import pyplot as plt

from tvselect import ThompsonSelector

N_ROWS, N_NOISE = 300, 20
CORRELATIONS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)

rng = np.random.default_rng(1)
signal = rng.standard_normal(N_ROWS)
y = 2 * signal + rng.standard_normal(N_ROWS)
rates = []
for rho in CORRELATIONS:
    twin = rho * signal + np.sqrt(1 - rho**2) * rng.standard_normal(N_ROWS)
    X = np.column_stack([signal, twin, rng.standard_normal((N_ROWS, N_NOISE))])
    selector = ThompsonSelector(n_plays=100, random_state=0).fit(X, y)
    rates.append(selector.selection_rates_)
    print(f"correlation {rho:5.3f}: signal {rates[-1][0]:.2f}, look-alike {rates[-1][1]:.2f}")

# %%
# Other tables go the other way: copies can take the rewards from each other until none of them
# passes. So look at what resembles a selected column before you call it *the* cause, and before you
# drop a column for not being selected. The report of ``tvs select`` lists such pairs.

rates = np.array(rates)
figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
places = np.arange(len(CORRELATIONS))
ax.plot(places, rates[:, 2:], color="0.8", linewidth=0.7)
ax.plot(places, rates[:, 0], "o-", color="#0072B2", label="the signal")
ax.plot(places, rates[:, 1], "D-", color="#D55E00", label="its look-alike")
ax.plot([], [], color="0.8", label="noise")
ax.axhline(0.5, color="#404040", linestyle=(0, (4, 3)), linewidth=1)
ax.set_xticks(places, CORRELATIONS)
ax.set(xlabel="correlation of signal and look-alike", ylabel="selection rate", ylim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="center left")
plt.show()

# %%
# Where look-alikes are known beforehand, make one arm of them with ``feature_groups``: they are
# then played, rewarded and selected together.

twins = ThompsonSelector(n_plays=100, feature_groups={"twins": [0, 1]}, random_state=0).fit(X, y)
print(f"one arm, correlation {rho}: {twins.selection_rates_[0]:.2f}")
