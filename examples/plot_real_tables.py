"""
Two real tables
===============

Two tables that ship with scikit-learn, each next to its knockoffs as decoys. Selected is what
beats its decoy often enough in the first round; later ones only move the probabilities.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes

from tvselect import StreamingThompsonSelector
from tvselect.plotting import InclusionProbabilityDisplay


def select(name, table):
    """Play on batches of 20 rows, print and draw what was found."""
    selector = StreamingThompsonSelector(
        batch_size=20, n_rounds=40, decoys="knockoffs", random_state=0
    ).fit(table.data, table.target)
    print(
        f"{name}: {selector.support_.sum()} of {table.data.shape[1]} columns, "
        f"{selector.expected_false_:.2f} of them expected to be false"
    )
    pi = selector.inclusion_probabilities_
    for j in np.argsort(-pi)[: selector.support_.sum()]:
        low, high = selector.inclusion_intervals_[j]
        print(f"  {table.data.columns[j]:<24} {pi[j]:.2f}  ({low:.2f} to {high:.2f})")
    InclusionProbabilityDisplay.from_estimator(selector, top=12)
    plt.show()


# %%
# Diabetes
# --------
# 442 patients, 10 measurements, disease progression after a year.

select("diabetes", load_diabetes(as_frame=True))

# %%
# Breast cancer
# -------------
# 569 tumours, benign or malignant; 30 measurements, many of them near copies of one another.
# Of near copies few pass, and which of them is partly chance.

select("breast cancer", load_breast_cancer(as_frame=True))
