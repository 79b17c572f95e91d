from __future__ import annotations

import numpy as np
import pytest

from tvselect import StreamingThompsonSelector
from tvselect.rewards import Reward


class Counting(Reward):
    """Pays at random and remembers what it was shown."""

    seen: list[tuple[int, int | None]] = []  # noqa: RUF012

    def start(self, data):
        def feedback(columns, rng):
            self.seen.append((data.X.shape[1], data.n_candidates))
            return rng.integers(0, 2, columns.size).astype(float)

        return feedback


@pytest.mark.parametrize(("max_fdr", "n_candidates"), [(None, 12), (0.1, 24)])
def test_a_reward_of_a_batch_knows_how_many_columns_compete(max_fdr, n_candidates):
    X = np.random.default_rng(0).standard_normal((2000, 12))
    Counting.seen.clear()
    StreamingThompsonSelector(Counting(), batch_size=200, max_fdr=max_fdr, random_state=0).fit(
        X, X[:, 0]
    )
    shown = {n for n, _ in Counting.seen}
    assert {total for _, total in Counting.seen} == {n_candidates}
    assert min(shown) < n_candidates
