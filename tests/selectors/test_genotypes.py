"""Genotypes in a file give what the same table in memory gives, bit by bit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.nested import nested
from tests.omics.genotypes import as_floats, draw_genotypes, write_plink
from tvselect import BartReward, StreamingThompsonSelector, ThompsonSelector
from tvselect.decoys.shuffled import ShuffledColumns
from tvselect.inputs import read_outcome
from tvselect.inputs.errors import SourceError
from tvselect.inputs.table import read_features
from tvselect.omics.plink import read_plink
from tvselect.rewards import Data
from tvselect.selectors import copies
from tvselect.selectors.copies import marginal_scores
from tvselect.selectors.scoring import FileFeedback
from tvselect.sources import open_source

pytest.importorskip("bed_reader")
N, P = 150, 60


@pytest.fixture(scope="module")
def genotypes():
    return draw_genotypes(N, P)


@pytest.fixture(scope="module")
def bed(genotypes, tmp_path_factory):
    return write_plink(tmp_path_factory.mktemp("plink") / "study", genotypes)


@pytest.fixture(scope="module")
def y(genotypes):
    noise = np.random.default_rng(5).normal(size=N)
    return 2.0 * genotypes[:, 3] + 4.0 * (genotypes[:, 7] > 0) + noise


def fit(X, y, **settings):
    return ThompsonSelector(**nested(n_plays=30, random_state=0, **settings)).fit(X, y)


def assert_same(one, other):
    assert_array_equal(one.selection_rates_, other.selection_rates_)
    assert_array_equal(one.q_values_, other.q_values_)
    assert one.claims_ == other.claims_
    assert one.interactions_ == other.interactions_


@pytest.mark.parametrize("most_arms", [2**13, 200])
def test_from_a_file_from_numpy_and_from_a_frame(monkeypatch, genotypes, bed, y, most_arms):
    monkeypatch.setattr(copies, "MOST_ARMS", most_arms)
    frame = pd.DataFrame(as_floats(genotypes), columns=[f"rs{j}" for j in range(P)])
    found = fit(read_plink(bed), y)
    assert found.support_[[3, 7]].all()
    assert found.feature_names_in_[3] == "rs3"
    assert_same(found, fit(frame, y))
    assert_same(found, fit(frame.astype("Int8"), y))


def test_with_covariates_that_are_always_there(genotypes, bed, y):
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.normal(size=N), "sex": rng.choice(["f", "m"], N)})
    frame = people.join(pd.DataFrame(as_floats(genotypes)).rename(columns=lambda j: f"rs{j}"))
    found = fit(read_plink(bed, people), y, always_include=["age", "sex"])
    assert found.support_[:2].all()
    assert_same(found, fit(frame, y, always_include=["age", "sex"]))


def test_missing_genotypes_are_refused_where_the_reward_cannot_take_them(genotypes, bed, y):
    first = np.flatnonzero((genotypes < 0).any(axis=0))[0]
    with pytest.raises(ValueError, match=rf"the reward cannot take, in column 'rs{first}'"):
        ThompsonSelector("lasso").fit(read_plink(bed), y)


def test_weights_choose_rows(genotypes, bed, y):
    weights = np.repeat([1, 2, 0], 50)
    found = ThompsonSelector(n_plays=20, random_state=0)
    other = ThompsonSelector(n_plays=20, random_state=0)
    found.fit(read_plink(bed), y, sample_weight=weights)
    other.fit(pd.DataFrame(as_floats(genotypes)).add_prefix("rs"), y, sample_weight=weights)
    assert_same(found, other)


def test_on_a_stream(tmp_path, genotypes, y):
    bed = write_plink(tmp_path / "s", genotypes, phenotypes=[f"{value:.3f}" for value in y])
    source = open_source(bed, "phenotype", columns=[f"rs{j}" for j in range(P)])
    frame = pd.DataFrame(as_floats(genotypes)).add_prefix("rs")
    found, other = (
        StreamingThompsonSelector(batch_size=30, max_fdr=None, random_state=0) for _ in range(2)
    )
    found.fit_source(source)
    other.fit_source(frame, np.array([float(f"{value:.3f}") for value in y]))
    assert found.n_plays_ == 5
    assert_array_equal(found.selection_rates_, other.selection_rates_)


def test_few_values_are_scored_as_any_others(monkeypatch, genotypes, y):
    X = as_floats(genotypes)
    X[:, 0] = 1.0
    X[:, 1] = np.nan
    X[:, 2] = np.where(X[:, 2] > 0, 2.0, X[:, 2])
    decoys = ShuffledColumns.draw(X, 3, np.random.default_rng(0))
    assert decoys.factors.shape[1] == 0
    found = marginal_scores(decoys, X, y[None])
    monkeypatch.setattr(copies, "VALUES_OF_A_THREAD", 5 * N)
    assert_array_equal(found, marginal_scores(decoys, X, y[None], n_threads=3))
    monkeypatch.setattr(copies, "read_small", lambda *_: None)
    assert_allclose(found, marginal_scores(decoys, X, y[None]), atol=1e-12)
    assert np.abs(found[0, 0, 0, 3]) > 0.2


@pytest.mark.parametrize("n_factors", [1, 2])
def test_slopes_of_few_values_that_factors_drive(monkeypatch, n_factors):
    rng = np.random.default_rng(n_factors)
    shared = rng.normal(size=(N, n_factors)) @ rng.normal(size=(n_factors, P))
    X = np.digitize(shared + 0.7 * rng.normal(size=(N, P)), [-0.5, 0.8]).astype(np.float64)
    X[rng.random(X.shape) < 0.03] = np.nan
    y = shared[:, 0] + X[:, 1].clip(0) + rng.normal(size=N)
    y[np.isnan(y)] = 0.0
    decoys = ShuffledColumns.draw(X, 4, rng)
    assert decoys.factors.shape[1] == n_factors
    found = marginal_scores(decoys, X, y[None])
    monkeypatch.setattr(copies, "read_small", lambda *_: None)
    assert_allclose(found[:, 0], marginal_scores(decoys, X, y[None])[:, 0], atol=1e-10)
    assert (found[:, 1] == 0.0).all()


def test_dask_workers_open_the_file_themselves(bed, y, client):
    table = read_plink(bed)
    settings = dict(window=8, n_plays=20, random_state=0)
    here = ThompsonSelector(**nested(n_jobs=1, **settings)).fit(table, y)
    assert_same(ThompsonSelector(**nested(runner=client, **settings)).fit(table, y), here)


def test_what_travels_to_workers_holds_no_column_of_the_file(bed, genotypes, y):
    data = Data(read_features(read_plink(bed)).X, read_outcome(y, N), [f"rs{j}" for j in range(P)])
    feedback = FileFeedback(BartReward(), data, data.X.file)
    columns = np.arange(10)
    wanted = feedback(columns, np.random.default_rng(1))
    parcel = pickle.dumps(feedback)
    assert len(parcel) < N * P
    assert_array_equal(pickle.loads(parcel)(columns, np.random.default_rng(1)), wanted)
    other = write_plink(bed.parent / "other", draw_genotypes(N, P, seed=9))
    bed.write_bytes(other.read_bytes())
    try:
        with pytest.raises(SourceError, match="is another file for a worker"):
            pickle.loads(parcel)(columns, np.random.default_rng(1))
        bed.unlink()
        with pytest.raises(SourceError, match="put the file where all workers find it"):
            pickle.loads(parcel)(columns, np.random.default_rng(1))
    finally:
        write_plink(bed.with_suffix(""), genotypes)
