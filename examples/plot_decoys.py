"""
Decoys: how many finds may be false
===================================

A stream of 30 columns, each with a knockoff: a column that looks like it and knows nothing of
the outcome. Decoys play along and can never be selected. One that passes the line is a false
find, and a hint that as many of the selected columns may be false, too.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1

from tvselect import StreamingThompsonSelector
from tvselect.plotting import InclusionPathDisplay, InclusionProbabilityDisplay

X, y = make_friedman1(20_000, 30, noise=1.0, random_state=1)
selector = StreamingThompsonSelector(batch_size=200, decoys="knockoffs", random_state=1)
selector.fit(X, y)
print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x0 to x4.")
print(f"Decoys above the threshold: {selector.n_decoys_selected_} of 30.")

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
