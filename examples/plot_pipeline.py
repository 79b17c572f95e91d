"""
In a scikit-learn pipeline
==========================

``ThompsonSelector`` is a scikit-learn selector. Put it into a pipeline, and cross-validation
selects anew in every fold: the score is then honest. Selecting on all rows first and scoring
afterwards would let the test rows take part in the choice.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from tvselect import ThompsonSelector

X, y = make_friedman1(300, 300, noise=1.0, random_state=2)
neighbours = KNeighborsRegressor(8)
models = {
    "all 300 columns": neighbours,
    "selected first": make_pipeline(ThompsonSelector(n_plays=80, random_state=0), neighbours),
    "the 5 true ones": neighbours,
}
scores = {}
for name, model in models.items():
    given = X[:, :5] if "true" in name else X
    result = cross_validate(model, given, y, cv=5, scoring="r2", return_estimator=True)
    scores[name] = result["test_score"]
    print(f"{name:<16} R2 = {scores[name].mean():.2f}")
    if "first" in name:
        for fitted in result["estimator"]:
            print("   selected:", ", ".join(fitted[0].get_feature_names_out()))

# %%
# Nearest neighbours get lost among columns of noise. With a selection before them they do as
# well as with the true columns.

figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
places = np.arange(len(scores))
means = [values.mean() for values in scores.values()]
ax.barh(places, means, color=["#B8B8B8", "#0072B2", "#B8B8B8"])
for place, values in zip(places, scores.values(), strict=True):
    ax.plot(values, np.full(values.size, place), "k|", markersize=12)
ax.set_yticks(places, list(scores))
ax.invert_yaxis()
ax.set(xlabel="$R^2$ on rows that were left out, five folds", xlim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
