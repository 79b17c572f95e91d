"""The preselection of arms, where there are very many: decoys and columns are chosen alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from tests.omics.genotypes import as_floats, draw_genotypes
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs import read_outcome
from tvselect.inputs.columns import SparseColumns, normal_scores
from tvselect.rewards import Data
from tvselect.rewards.screening import bulk_of, z_values
from tvselect.seeds import RandomStream
from tvselect.selectors import copies
from tvselect.selectors.copies import (
    explained_shares,
    marginal_scores,
    preselect_arms,
    residual_targets,
)
from tvselect.selectors.layout import lay_out_arms

N, P, COPIES = 80, 50, 10
NO_COLUMNS = np.empty(0, dtype=np.int64)


def make(seed=0, factor=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P)) + factor * rng.normal(size=(N, 1))
    return X, rng.normal(size=N), ShuffledColumns.draw(X, COPIES, rng)


def first_look(decoys, X, y):
    return explained_shares(marginal_scores(decoys, X, y[None]))[0]


def game(X, y, always=(), **more):
    """The data and the columns of arms of their own."""
    layout = lay_out_arms([f"x{j}" for j in range(X.shape[1])], None, always, n_copies=COPIES)
    data = Data(X, read_outcome(y, len(y)), layout.names, **more)
    return data, layout.columns(np.arange(X.shape[1]))


# How columns and their copies go with targets.


def test_a_copy_is_scored_as_if_it_were_the_table():
    X, y, decoys = make()
    scores = marginal_scores(decoys, X, y[None])
    for k, order in enumerate(decoys.orders):
        found = marginal_scores(decoys, X[order], y[None])
        assert_allclose(found[:, :, 0], scores[:, :, k + 1])


def test_slopes_and_valleys_are_seen():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 2 * X[:, 1] ** 2 + 0.1 * rng.normal(size=400)
    (found,) = marginal_scores(ShuffledColumns.draw(X, 1, rng), X, y[None])
    slopes, bends = np.abs(found[:, 0])
    assert slopes[0] > 0.3 > slopes[1:].max()
    assert bends[1] > 0.5 > bends[[0, 2]].max()


def test_columns_of_two_values_have_no_bend():
    rng = np.random.default_rng(2)
    X = (rng.random((100, 4)) < 0.4).astype(float)
    found = marginal_scores(ShuffledColumns.draw(X, 2, rng), X, rng.normal(size=(3, 100)))
    assert_array_equal(found[:, 1], 0.0)


def test_few_values_are_scored_as_any_others(monkeypatch):
    X = as_floats(genotypes := draw_genotypes(150, 60))
    y = 2.0 * genotypes[:, 3] + np.random.default_rng(5).normal(size=150)
    X[:, 0] = 1.0
    X[:, 1] = np.nan
    X[:, 2] = np.where(X[:, 2] > 0, 2.0, X[:, 2])
    decoys = ShuffledColumns.draw(X, 3, np.random.default_rng(0))
    found = marginal_scores(decoys, X, y[None])
    monkeypatch.setattr(copies, "VALUES_OF_A_THREAD", 5 * len(X))
    assert_array_equal(found, marginal_scores(decoys, X, y[None], n_threads=3))
    monkeypatch.setattr(copies, "read_small", lambda *_: None)
    assert_allclose(found, marginal_scores(decoys, X, y[None]), atol=1e-12)
    assert np.abs(found[0, 0, 0, 3]) > 0.2


@pytest.mark.parametrize("n_factors", [1, 2])
def test_slopes_of_few_values_that_factors_drive(monkeypatch, n_factors):
    rng = np.random.default_rng(n_factors)
    shared = rng.normal(size=(150, n_factors)) @ rng.normal(size=(n_factors, 60))
    X = np.digitize(shared + 0.7 * rng.normal(size=(150, 60)), [-0.5, 0.8]).astype(np.float64)
    X[rng.random(X.shape) < 0.03] = np.nan
    y = np.nan_to_num(shared[:, 0] + X[:, 1].clip(0) + rng.normal(size=150))
    decoys = ShuffledColumns.draw(X, 4, rng)
    assert decoys.factors.shape[1] == n_factors
    found = marginal_scores(decoys, X, y[None])
    monkeypatch.setattr(copies, "read_small", lambda *_: None)
    assert_allclose(found[:, 0], marginal_scores(decoys, X, y[None])[:, 0], atol=1e-10)
    assert (found[:, 1] == 0.0).all()


def test_scores_of_a_sparse_matrix_are_those_of_the_array():
    X, y, decoys = make()
    X *= np.random.default_rng(0).random(X.shape) < 0.15
    X[4, 3] = X[5, 7] = np.nan
    found = marginal_scores(decoys, SparseColumns(sparse.coo_array(X)), y[None])
    assert_allclose(found, marginal_scores(decoys, X, y[None]), atol=1e-10)


# Which arms take part.


@pytest.mark.parametrize("factor", [0.0, 2.0])
def test_the_best_of_all_arms_play_and_the_bulk_is_that_of_all_columns(monkeypatch, factor):
    monkeypatch.setattr(copies, "MOST_ARMS", 60)
    X, y, decoys = make(3, factor)
    data, columns = game(X, y)
    played, columns = preselect_arms(data, columns, decoys)
    is_playing = np.diff(columns.starts) == 1
    assert np.count_nonzero(is_playing) == 60
    rng = RandomStream.SECOND_LOOK.generator(0)
    left = residual_targets(decoys, X, y, first_look(decoys, X, y), NO_COLUMNS, rng)
    found = marginal_scores(decoys, X, np.vstack([y, left]))
    slopes, scores = found[0, 0].copy(), explained_shares(found).max(axis=0)
    assert scores.ravel()[is_playing].min() >= scores.ravel()[~is_playing].max()
    assert_array_equal(columns.idle, ~is_playing)
    assert played.n_candidates == P * (1 + COPIES)
    assert_allclose(played.bulks, [bulk_of(z_values(row, N)) for row in slopes])
    own = is_playing[:P]
    of_decoys = np.flatnonzero(is_playing[P:]) % P
    assert_array_equal(played.X.columns, np.union1d(np.flatnonzero(own), of_decoys))
    assert_array_equal(played.X.columns[columns.columns[: own.sum()]], np.flatnonzero(own))
    whole, codes = replace(data, decoys=decoys), played.binned().codes[:, :N]
    assert_array_equal(codes[columns.columns], whole.binned().codes[:, :N][is_playing])
    values = played.values(columns.columns)
    assert_array_equal(values, whole.values(np.flatnonzero(is_playing)))


def test_columns_that_are_always_played_are_kept(monkeypatch):
    monkeypatch.setattr(copies, "MOST_ARMS", 60)
    X, y, decoys = make(3)
    played, columns = preselect_arms(*game(X, y, [7, 30]), decoys)
    assert_array_equal(played.values(columns.always), X[:, [7, 30]])


def test_pairs_play_in_any_case_and_their_decoys_as_before(monkeypatch):
    monkeypatch.setattr(copies, "MOST_ARMS", 60)
    X, y, decoys = make(3)
    data, columns = game(X, y)
    _, plain = preselect_arms(data, columns, decoys)
    left_out, playing = np.flatnonzero(plain.idle[:P]), np.flatnonzero(~plain.idle[:P])
    pairs = np.array([[left_out[0], left_out[-1]], [playing[0], left_out[1]]])
    played, paired = preselect_arms(replace(data, pairs=pairs), columns, decoys)
    changed = np.flatnonzero(plain.idle != paired.idle)
    assert_array_equal(changed, np.sort(left_out[[0, 1, -1]]))
    assert_array_equal(played.X.columns[paired.columns[paired.starts[pairs]]], pairs)
    assert_array_equal(played.X.columns[played.pairs], pairs)


def hidden(kind):
    """Column 0 leads; column 1 stands behind it, or only says how strongly it acts."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 300))
    if kind == "behind the leader":
        y = 5.0 * X[:, 0] + 0.5 * rng.normal(size=200)
        X[:, 0] -= 0.2 * X[:, 1]  # what column 1 adds to the outcome, column 0 takes away
        return X, y
    return X, 10.0 * X[:, 0] / (1.0 + X[:, 1] ** 2) + rng.normal(size=200)


@pytest.mark.parametrize("always", [[], [0]], ids=["a candidate leads", "a covariate leads"])
@pytest.mark.parametrize("kind", ["behind the leader", "changes the leader"])
def test_what_shows_only_beside_a_leader_plays(monkeypatch, kind, always):
    monkeypatch.setattr(copies, "MOST_ARMS", 100)
    X, y = hidden(kind)
    decoys = ShuffledColumns.draw(X, COPIES, np.random.default_rng(0))
    data, columns = game(X, y, always)

    def plays():
        _, played = preselect_arms(data, columns, decoys)
        return not played.idle[columns.arm_of(np.array([1]))[0]]

    assert plays()
    monkeypatch.setattr(copies, "MOST_VALUES", 1000)
    assert not plays()


def test_a_decoy_leads_as_any_column_does():
    X, y, decoys = make(5)
    y += 5.0 * X[decoys.orders[2], 7]
    scores = first_look(decoys, X, y)
    left, _ = residual_targets(decoys, X, y, scores, NO_COLUMNS, np.random.default_rng(1))
    assert left.var() < 0.2 * normal_scores(y).var()
