"""Selections on PLINK files are those on the same genotypes in memory."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.nested import nested
from tests.omics.genotypes import as_floats, draw_genotypes, write_plink
from tvselect import BartReward, StreamingThompsonSelector, ThompsonSelector
from tvselect.inputs import read_outcome
from tvselect.inputs.errors import SourceError
from tvselect.inputs.table import read_features
from tvselect.omics.plink import read_plink
from tvselect.rewards import Data
from tvselect.selectors import copies
from tvselect.selectors.scoring import FileFeedback
from tvselect.sources import open_source

pytest.importorskip("bed_reader")
N, P = 150, 60
NAMES = [f"rs{j}" for j in range(P)]


@pytest.fixture(scope="module")
def genotypes():
    return draw_genotypes(N, P)


@pytest.fixture(scope="module")
def frame(genotypes):
    return pd.DataFrame(as_floats(genotypes), columns=NAMES)


@pytest.fixture(scope="module")
def bed(genotypes, tmp_path_factory):
    return write_plink(tmp_path_factory.mktemp("plink") / "study", genotypes)


@pytest.fixture(scope="module")
def y(genotypes):
    noise = np.random.default_rng(5).normal(size=N)
    return 2.0 * genotypes[:, 3] + 4.0 * (genotypes[:, 7] > 0) + noise


def selector(**settings):
    return ThompsonSelector(**nested(**{"n_plays": 30, "random_state": 0, **settings}))


def assert_same(one, other):
    assert_array_equal(one.selection_rates_, other.selection_rates_)
    assert_array_equal(one.q_values_, other.q_values_)
    assert one.claims_ == other.claims_
    assert one.interactions_ == other.interactions_


@pytest.mark.parametrize("most_arms", [2**13, 200])
def test_from_a_file_from_numpy_and_from_a_frame(monkeypatch, frame, bed, y, most_arms):
    monkeypatch.setattr(copies, "MOST_ARMS", most_arms)
    found = selector().fit(read_plink(bed), y)
    assert found.support_[[3, 7]].all()
    assert_array_equal(found.feature_names_in_, NAMES)
    assert_same(found, selector().fit(frame, y))
    assert_same(found, selector().fit(frame.astype("Int8"), y))


def test_with_covariates_that_are_always_there(frame, bed, y):
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.normal(size=N), "sex": rng.choice(["f", "m"], N)})
    settings = dict(always_include=["age", "sex"])
    found = selector(**settings).fit(read_plink(bed, people), y)
    assert found.support_[:2].all()
    assert_same(found, selector(**settings).fit(people.join(frame), y))


def test_missing_genotypes_are_refused_where_the_reward_cannot_take_them(genotypes, bed, y):
    first = np.flatnonzero((genotypes < 0).any(axis=0))[0]
    with pytest.raises(ValueError, match=rf"the reward cannot take, in column 'rs{first}'"):
        ThompsonSelector("lasso").fit(read_plink(bed), y)


def test_on_a_stream(tmp_path, genotypes, frame, y):
    bed = write_plink(tmp_path / "s", genotypes, phenotypes=[f"{value:.3f}" for value in y])
    source = open_source(bed, "phenotype", columns=NAMES)
    found, other = (
        StreamingThompsonSelector(batch_size=30, max_fdr=None, random_state=0) for _ in range(2)
    )
    found.fit_source(source)
    other.fit(frame, np.array([float(f"{value:.3f}") for value in y]))
    assert found.n_plays_ == 5
    assert_array_equal(found.selection_rates_, other.selection_rates_)


def test_dask_workers_open_the_file_themselves(bed, y, client):
    table, settings = read_plink(bed), dict(window=8, n_plays=20)
    here = selector(**settings).fit(table, y)
    assert_same(selector(runner=client, **settings).fit(table, y), here)


def test_what_travels_to_workers_holds_no_column_of_the_file(bed, genotypes, y):
    data = Data(read_features(read_plink(bed)).X, read_outcome(y, N), NAMES)
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
