"""
Decoys: which finds may be believed
===================================

A stream of 30 columns, each with a knockoff: a column that looks like it and knows nothing of
the outcome. A column is played together with its decoy, and selected once it has beaten it so
often that at most a tenth of the selected columns are expected to be false.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1

from tvselect import StreamingThompsonSelector
from tvselect.plotting import InclusionPathDisplay, InclusionProbabilityDisplay

X, y = make_friedman1(20_000, 30, noise=1.0, random_state=1)
selector = StreamingThompsonSelector(batch_size=200, decoys="knockoffs", random_state=1)
selector.fit(X, y)
print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x0 to x4.")
for j in selector.get_support(indices=True):
    print(f"x{j}: q-value {selector.q_values_[j]:.2g}, since batch {selector.selected_since_[j]}")

# %%
# Over the batches
# ----------------
# Decoys are red.

InclusionPathDisplay.from_estimator(selector)
plt.show()

# %%
# At the end
# ----------

InclusionProbabilityDisplay.from_estimator(selector, top=12)
plt.show()
