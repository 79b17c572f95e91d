r"""
A first selection
=================

500 columns, 200 rows, and an outcome that depends on five of the columns in a non-linear way
(Friedman's function):

.. math:: y = 10 \sin(\pi x_0 x_1) + 20 (x_2 - 0.5)^2 + 10 x_3 + 5 x_4 + \text{noise}.

Which five?
"""

from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1

from tvselect import ThompsonSelector
from tvselect.plotting import SelectionPathDisplay, SelectionRateDisplay

X, y = make_friedman1(200, 500, noise=1.0, random_state=1)
selector = ThompsonSelector(n_plays=100, random_state=1).fit(X, y)
print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x0 to x4.")

# %%
# How the answer came about
# -------------------------
# Every line is a column. All of them start at one half. A column that is rewarded when it
# is played rises, one that is not sinks; what ends above the dashed line is selected.

SelectionPathDisplay.from_estimator(selector)
plt.show()

# %%
# How sure it is
# --------------
# The best columns with their 95 % intervals. The gap between the fifth and the sixth is what
# one wants to see: no column is near the line. :doc:`How to read the selection rate
# </reading>` says what these numbers are and what they are not.

SelectionRateDisplay.from_estimator(selector, top=12)
plt.show()
