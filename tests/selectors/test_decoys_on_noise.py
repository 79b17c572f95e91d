"""Where nothing matters, decoys pass as often as the columns they stand beside.

Law: columns of independent normal numbers and their knockoffs are exchangeable given an
outcome that is noise, also when the same rows come again in many rounds. Over K streams the
difference of the two counts has mean 0; its standard error is estimated from the K
differences.
"""

from __future__ import annotations

import numpy as np

from tvselect import BartReward, StreamingThompsonSelector

N_STREAMS, N_ROWS, N_COLUMNS = 8, 300, 10


def test_decoys_pass_as_often_as_noise():
    differences, columns = [], 0
    for seed in range(N_STREAMS):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((N_ROWS, N_COLUMNS)), rng.standard_normal(N_ROWS)
        found = StreamingThompsonSelector(
            BartReward(n_trees=10, n_iterations=300, penalty=0.0, shadows=0),
            batch_size=150,
            n_rounds=40,
            decoys="knockoffs",
            random_state=seed,
        ).fit(X, y)
        columns += int(found.support_.sum())
        differences.append(int(found.support_.sum()) - found.n_decoys_selected_)
    error = np.std(differences, ddof=1) / np.sqrt(N_STREAMS)
    assert columns > N_STREAMS
    assert abs(np.mean(differences)) < 4 * error, (differences, columns)
