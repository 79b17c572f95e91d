"""
Two real tables
===============

Two tables that ship with scikit-learn. Ten shuffled copies of every column are tried as well;
a column is selected when few of them were rewarded as often. Columns that cannot be
told apart make one claim.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes

from tvselect import ThompsonSelector
from tvselect.plotting import SelectionRateDisplay


def select(name, table):
    """Select columns, print and draw what was found."""
    selector = ThompsonSelector(random_state=0).fit(table.data, table.target)
    print(
        f"{name}: {selector.support_.sum()} of {table.data.shape[1]} columns, of which "
        f"{selector.expected_false_:.1f} are expected to be false"
    )
    for claim in selector.claims_:
        if claim.q_value <= selector.max_fdr:
            print(f"  {claim} (q-value {claim.q_value:.3f})")
    SelectionRateDisplay.from_estimator(selector, top=12)
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
