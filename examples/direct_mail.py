"""
Direct mail: who gives after a letter?
======================================

A stream of 50,083 households, with knockoffs as decoys. This script is not run for the gallery,
because the data must be fetched first: Karlan and List (2007), "Does price matter in charitable
giving?", replication files. :doc:`The guide </real_data>` has the results. ::

    python examples/direct_mail.py charity_mail.csv.gz

Needs the second package of the repository: ``pip install . ./study``.
"""

# sphinx_gallery_thumbnail_path = 'images/mail.png'

import sys

import numpy as np
from matplotlib import pyplot as plt

from tvselect import StreamingThompsonSelector
from tvselect.plotting import SelectionPathDisplay
from tvstudy.datasets import load_direct_mail

if len(sys.argv) < 2:
    sys.exit(__doc__)
mail = load_direct_mail(sys.argv[1])

# %%
# Batches of 500 households, one pass over the data.

selector = StreamingThompsonSelector(batch_size=500, random_state=0, verbose=1)
selector.fit(mail.data, mail.target)
print(f"{selector.n_plays_} batches, ended by: {selector.stop_reason_}.")

# %%
# What was found, and how far it may be believed.

for j in np.flatnonzero(selector.support_):
    low, high = selector.selection_rate_intervals_[j]
    name, rate = mail.feature_names[j], selector.selection_rates_[j]
    print(f"  {name:<24} {rate:.2f}  ({low:.2f} to {high:.2f})  q {selector.q_values_[j]:.2g}")
print(f"Expected number of false ones: at most {selector.expected_false_:.2g}.")

# %%
# Decoys are red.

SelectionPathDisplay.from_estimator(selector)
if len(sys.argv) > 2:
    plt.savefig(f"{sys.argv[2]}/mail.png", dpi=100)
plt.show()
