"""
Ten thousand columns
====================

The lead example of the paper: 300 rows, 10,000 columns, five of which matter. The first play
tries some 5,000 columns together; every play shrinks the field.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1

from tvselect import ThompsonSelector
from tvselect.plotting import SelectionPathDisplay

X, y = make_friedman1(300, 10_000, noise=1.0, random_state=1)
selector = ThompsonSelector(n_plays=150, random_state=0).fit(X, y)
played = [play.arms.size for play in selector.result_.plays]
print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x0 to x4.")
print(f"Columns played at once: {played[0]:,} at first, {played[-1]} in the end.")

# %%
# Left: the five signals rise, the noise falls. Right: how many columns are played together, on
# a logarithmic scale. A play costs as much as it has columns, so most of the work is done in
# the first plays.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), width_ratios=[3, 2], layout="constrained"
)
SelectionPathDisplay.from_estimator(selector, ax=left)
right.plot(range(1, len(played) + 1), played, color="#0072B2")
right.set(xlabel="play", ylabel="columns played together", yscale="log", ylim=(1, None))
right.yaxis.set_major_formatter("{x:,.0f}")
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# :doc:`Wide tables </scale>` has times and memory up to a million columns.
