"""
Decoys: which finds may be believed
===================================

A stream of 30 columns, each with a knockoff: a column that looks like it and knows nothing of
the outcome. A column and its decoy are played together. How often the column wins against it
is evidence that may be looked at after every batch.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1

from tvselect import StreamingThompsonSelector
from tvselect.plotting import SelectionPathDisplay, SelectionRateDisplay

X, y = make_friedman1(20_000, 30, noise=1.0, random_state=1)
selector = StreamingThompsonSelector(batch_size=200, random_state=1)
selector.fit(X, y)
print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x0 to x4.")
print(f"Selected for good after batch: {selector.selected_since_[selector.support_]}.")
print(f"Expected number of false ones: at most {selector.expected_false_:.2g}.")

# %%
# Over the batches
# ----------------
# Decoys are red.

SelectionPathDisplay.from_estimator(selector)
plt.show()

# %%
# At the end
# ----------

SelectionRateDisplay.from_estimator(selector, top=12)
plt.show()
