"""scikit-learn's own checks, with no expected failures, and what goes beyond these."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import clone, config_context
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from tvselect import (
    BartReward,
    LassoReward,
    PValueReward,
    Search,
    StreamingThompsonSelector,
    ThompsonSelector,
)

pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(
    [
        ThompsonSelector(BartReward(n_iterations=50), n_plays=10),
        ThompsonSelector(PValueReward(), n_plays=10, search=Search(n_chains=2)),
        StreamingThompsonSelector(BartReward(n_iterations=50), batch_size=20),
        StreamingThompsonSelector(PValueReward(), batch_size=20, search=Search(n_chains=2)),
    ]
)
def test_the_estimator_contract_holds(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [ThompsonSelector, StreamingThompsonSelector])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (dict(max_fd=0.1), "has no parameter 'max_fd'; did you mean 'max_fdr'"),
        (dict(groups=[0]), "has no parameter 'groups'; did you mean 'feature_groups'"),
        (dict(patience=9), r"has no parameter 'patience': say search=Search\(patience=...\)"),
        (dict(zebra=9), "has no parameter 'zebra'$"),
    ],
)
def test_a_misspelled_parameter_is_named(kind, settings, said):
    with pytest.raises(TypeError, match=f"^{kind.__name__} {said}"):
        kind(**settings)


def test_settings_of_the_search_are_searched_and_copied():
    selector = ThompsonSelector()
    assert clone(selector.set_params(search__patience=9)).search.patience == 9
    assert ThompsonSelector().search is None
    with pytest.raises(TypeError, match=r"search must be a Search, such as Search\(patience=100\)"):
        ThompsonSelector(search=5).fit(np.eye(9), np.arange(9.0))
    with pytest.raises(ValueError, match="streams have no burn-in: burn_in=15, say 0"):
        StreamingThompsonSelector(search=Search(burn_in=15)).fit(np.eye(9), np.arange(9.0))


def test_weights_are_routed_through_a_pipeline():
    X = np.random.default_rng(0).normal(size=(80, 6))
    y, weights = X[:, 3].copy(), np.r_[np.zeros(40), np.ones(40)]
    y[:40] = 0.0
    selector = ThompsonSelector(LassoReward(), n_plays=30, random_state=0)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            selector.set_fit_request(sample_weight=True),
            LinearRegression().set_fit_request(sample_weight=True),
        ).fit(X, y, sample_weight=weights)
    alone = clone(selector).fit(X, y, sample_weight=weights)
    assert_array_equal(routed[0].selection_rates_, alone.selection_rates_)
    without = clone(selector).fit(X, y)
    assert not np.array_equal(without.selection_rates_, alone.selection_rates_)


def test_a_notebook_shows_what_was_found():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 9)), columns=["<b>", *"cdefghij"])
    selector = ThompsonSelector(PValueReward(), n_plays=30, random_state=0)
    assert "selected" not in selector._repr_html_()
    shown = selector.fit(X, X["<b>"])._repr_mimebundle_()["text/html"]
    assert shown.startswith("<p>1 of 9 variables selected at a false discovery rate of 0.1;")
    assert "<tr><td>&lt;b&gt;</td><td>yes</td>" in shown
