"""q-values from decoys: their definition, and the laws that they are to keep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tvselect.control.decoy_fdr import false_ones, q_values

COPIES = 10


def by_definition(scores, decoys, n_copies, is_candidate):
    q = np.ones(scores.size)
    for j in np.flatnonzero(is_candidate):
        for t in scores[is_candidate & (scores <= scores[j])]:
            n_columns = np.count_nonzero(is_candidate & (scores >= t))
            share = (1 + np.count_nonzero(decoys >= t)) / n_copies / n_columns
            q[j] = min(q[j], share)
    return q


@pytest.mark.parametrize("has_ties", [False, True])
def test_q_values_are_what_their_definition_says(has_ties):
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, decoys = rng.random(12), rng.random(60) * 0.9
        if has_ties:
            scores, decoys = scores.round(1), decoys.round(1)
        candidates = scores > 0.3
        found = q_values(scores, decoys, 5, candidates)
        assert_allclose(found, by_definition(scores, decoys, 5, candidates))


def test_a_higher_score_never_has_a_higher_q_value():
    rng = np.random.default_rng(1)
    scores = rng.random(200)
    q = q_values(scores, rng.random(2000), COPIES, np.ones(200, dtype=bool))
    assert (np.diff(q[np.argsort(scores)]) <= 0).all()


def test_one_column_above_all_decoys_is_selected_at_one_over_the_copies():
    scores = np.array([0.9, 0.1])
    found = q_values(scores, np.full(20, 0.5), COPIES, scores > 0.5)
    assert_array_equal(found, [1 / COPIES, 1.0])
    assert_array_equal(false_ones(np.array([0.9]), np.full(20, 0.5), COPIES), [0.1])


def test_without_candidates_all_are_one():
    assert_array_equal(q_values(np.zeros(3), np.zeros(30), COPIES, np.zeros(3, bool)), [1, 1, 1])


@pytest.mark.parametrize("level", [0.1, 0.2])
@pytest.mark.parametrize("n_signals", [0, 5, 30])
def test_the_false_discovery_rate_is_kept(level, n_signals):
    """Benjamini and Hochberg with conformal p-values: FDR <= level * (nulls / columns).

    Scores of decoys and of columns without a signal are exchangeable; the mean of the false
    discovery proportion over 2,000 draws may lie above by three standard errors.
    """
    rng, p = np.random.default_rng(7), 60
    proportions = []
    for _ in range(2000):
        scores, decoys = rng.normal(size=p), rng.normal(size=COPIES * p)
        scores[:n_signals] += rng.uniform(0, 6, n_signals)
        selected = q_values(scores, decoys, COPIES, np.ones(p, dtype=bool)) <= level
        proportions.append(selected[n_signals:].sum() / max(1, selected.sum()))
    error = np.std(proportions) / np.sqrt(len(proportions))
    assert np.mean(proportions) <= level * (1 - n_signals / p) + 3 * error


def test_blocks_that_depend_on_each_other_are_kept_under_the_null():
    """Columns of a copy may go together: with exchangeable copies, each is the one with the
    highest score with probability 1 / (B + 1), and few others are ahead anywhere below it."""
    rng, p, n_runs = np.random.default_rng(8), 30, 4000
    hits = 0
    for _ in range(n_runs):
        blocks = rng.normal(size=(COPIES + 1, 1)) * 2 + rng.normal(size=(COPIES + 1, p))
        q = q_values(blocks[0], blocks[1:].ravel(), COPIES, blocks[0] > 0)
        hits += (q <= 0.1).any()
    bound = (1 + 1 / 2) / (COPIES + 1)  # the top block, and at most one in two runs a second
    assert hits / n_runs <= bound + 3 * np.sqrt(bound / n_runs)
