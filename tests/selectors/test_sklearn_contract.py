"""scikit-learn's own checks, with no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tvselect import BartReward, PValueReward, StreamingThompsonSelector, ThompsonSelector

pytestmark = pytest.mark.filterwarnings("ignore")


@parametrize_with_checks(
    [
        ThompsonSelector(BartReward(n_iterations=50), n_plays=10),
        ThompsonSelector(PValueReward(), n_plays=10, n_chains=2),
        StreamingThompsonSelector(BartReward(n_iterations=50), batch_size=20),
        StreamingThompsonSelector(PValueReward(), batch_size=20, n_chains=2),
    ]
)
def test_the_estimator_contract_holds(estimator, check):
    check(estimator)
