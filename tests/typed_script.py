# pyright: basic, reportUnnecessaryTypeIgnoreComment=error
"""What a type checker sees of a script that uses tvselect; read by test_types.py, never run."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from tvselect import (
    BartReward,
    BartRun,
    Search,
    StreamingThompsonSelector,
    ThompsonSelector,
    run_bart,
)

X = np.zeros((30, 4))
y = np.zeros(30)
selector = ThompsonSelector(BartReward.paper(100), n_plays=10, random_state=0)
assert_type(selector.n_plays, int | None)
assert_type(Search(patience=5).n_chains, int)
assert_type(selector.fit(X, y, sample_weight=y + 1), ThompsonSelector)
assert_type(selector.support_, NDArray[np.bool_])
assert_type(selector.q_values_, np.ndarray)
assert_type(selector.result_.n_plays, int)
assert_type(selector.claims_[0].q_value, float)
assert_type(run_bart(X, y), BartRun)
assert_type(
    StreamingThompsonSelector().fit_source("rows/*.parquet", target="y"), StreamingThompsonSelector
)
ThompsonSelector(n_play=10)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
