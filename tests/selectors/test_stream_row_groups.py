"""Streams that are told which rows belong together: every group is evidence once."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.signal import lfilter

from tvselect import BartReward, Search, StreamingThompsonSelector
from tvselect.bandit.journal import JournalError
from tvselect.inputs.doubts import DoubtWarning
from tvselect.sources import SourceError


def small(reward=BartReward(n_iterations=300), **settings):  # noqa: B008
    return StreamingThompsonSelector(reward, **({"batch_size": 400, "random_state": 0} | settings))


def clustered(rng, n_groups=1000, n_each=10, p=6):
    """Columns of groups, and an outcome of groups and rows."""
    groups = np.repeat(np.arange(n_groups), n_each)
    X = rng.normal(size=(n_groups, p))[groups]
    return X, rng.normal(size=n_groups)[groups] + 0.5 * rng.normal(size=groups.size), groups


def people(rng, n_people=20, n_rows=8000):
    """The same people come again in every batch."""
    groups = rng.integers(n_people, size=n_rows)
    X = rng.normal(size=(n_people, 6))[groups]
    return X, rng.normal(size=n_people)[groups] + 0.5 * rng.normal(size=n_rows), groups


@pytest.mark.filterwarnings("ignore:.*nothing can be selected")
@pytest.mark.parametrize("make", [clustered, people])
def test_noise_of_groups_is_not_selected(make):
    told, untold = [], []
    for seed in range(8):
        X, y, groups = make(np.random.default_rng(seed))
        told.append(small(batch_size=1000).fit(X, y, groups=groups).support_.any())
        if make is people and seed < 3:
            untold.append(small(batch_size=200, decoys="shuffled").fit(X, y).support_.any())
    assert np.mean(told) <= 0.25
    assert make is clustered or np.mean(untold) > 0.5


def test_series_are_not_selected_for_their_memory_and_signals_are_found():
    rng = np.random.default_rng(0)
    Z = lfilter([1], [1, -0.9], rng.normal(size=(8000, 7)), axis=0)
    told = small(batch_size=400).fit(Z[:, 1:], Z[:, 0], order="rows")
    assert not told.support_.any()
    found = small(batch_size=400).fit(Z[:, 1:], Z[:, 0] + 2 * Z[:, 3], order=np.arange(8000))
    assert np.flatnonzero(found.support_).tolist() == [2]
    with pytest.warns(UserWarning, match="the batches hold no more than about"):
        slow = small(batch_size=100).fit(
            np.cumsum(Z[:, 1:], axis=0), np.cumsum(Z[:, 0]), order="rows"
        )
    assert not slow.support_.any()
    assert (slow.q_values_ == 1.0).all()


def test_signals_are_found_from_arrays_frames_files_and_by_parts(tmp_path):
    X, y, groups = clustered(np.random.default_rng(1))
    y += 2 * X[:, 2]
    whole = small(reward=None).fit(X, y, groups=groups)
    assert np.flatnonzero(whole.support_).tolist() == [2]
    frame = pd.DataFrame(X).rename(columns=str).assign(who=[f"p{g:03}" for g in groups], y=y)
    shuffled = frame.sample(frac=1, random_state=0)
    assert small(reward=None).fit(shuffled.drop(columns="y"), shuffled.y, groups="who").support_[2]
    frame.to_parquet(tmp_path / "t.parquet")
    of_file = small(reward=None).fit_source(tmp_path / "t.parquet", "y", groups="who")
    assert of_file.feature_names_in_.tolist() == list("012345")
    assert_array_equal(of_file.e_values_, whole.e_values_)
    by_parts = small(reward=None)
    for first in range(0, 10_000, 400):
        here = slice(first, first + 400)
        by_parts.partial_fit(X[here], y[here], groups=groups[here])
    assert by_parts.support_[2]
    with pytest.raises(ValueError, match="say groups and order in every batch"):
        by_parts.partial_fit(X[:100], y[:100])


def test_what_goes_wrong_says_what_to_do(tmp_path):
    X, y, groups = clustered(np.random.default_rng(2), 60)
    frame = pd.DataFrame(X).rename(columns=str).assign(who=groups, y=y)
    for name, bad in {
        "shuffled": frame.sample(frac=1, random_state=0),
        "by time": frame.assign(t=np.tile(np.arange(10), 60)).sort_values("t", kind="stable"),
    }.items():
        bad.to_parquet(tmp_path / f"{name}.parquet")
        with pytest.raises(SourceError, match="a group is evidence once; sort the rows by their"):
            small(batch_size=60).fit_source(tmp_path / f"{name}.parquet", "y", groups="who")
    with pytest.raises(SourceError, match="columns names 'whom', which"):
        small().fit_source(tmp_path / "shuffled.parquet", "y", groups="whom")
    with pytest.raises(ValueError, match="order must be 'rows', not 't'"):
        small().fit_source(tmp_path / "by time.parquet", "y", order="t")
    with pytest.raises(ValueError, match="with groups or order use n_rounds=1"):
        small(n_rounds=2).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="with groups or order use decoys='shuffled'"):
        small(decoys="knockoffs").fit(X, y, groups=groups)


def test_rows_of_a_stream_that_seem_to_depend_on_each_other_are_doubted(tmp_path):
    rng = np.random.default_rng(5)
    Z = lfilter([1], [1, -0.9], rng.normal(size=(1200, 9)), axis=0)
    frame = pd.DataFrame(Z[:, 1:]).rename(columns=str).assign(y=Z[:, 0])
    frame.to_parquet(tmp_path / "series.parquet")
    stopped = small(search=Search(journal=tmp_path / "run", patience=1))
    for fit in (
        lambda: small(max_fdr=None).fit(Z[:, 1:], Z[:, 0]),
        lambda: small(max_fdr=None).fit_source(tmp_path / "series.parquet", "y"),
        lambda: small().partial_fit(Z[:400, 1:], Z[:400, 0]).partial_fit(Z[400:, 1:], Z[400:, 0]),
        lambda: stopped.fit(Z[:, 1:], Z[:, 0]),
    ):
        with pytest.warns(DoubtWarning, match="Do rows depend on each other"):
            found = fit()
        assert found.result_.asked.unproven
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*nothing can be selected")
        again = small(search=Search(journal=tmp_path / "run")).fit(Z[:, 1:], Z[:, 0])
    assert again.result_.asked.unproven
    assert "unproven" in again._repr_html_()
    told = small(max_fdr=None).fit(Z[:, 1:], Z[:, 0], order="rows")
    noise = small(max_fdr=None).fit(rng.normal(size=(1200, 8)), rng.normal(size=1200))
    assert not told.result_.asked.unproven
    assert not noise.result_.asked.unproven


def test_a_measurement_is_no_group(tmp_path):
    X, y, groups = clustered(np.random.default_rng(6), 80)
    frame = pd.DataFrame(X).rename(columns=str).assign(y=y, at=np.arange(800) / 7, who=groups)
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match="another value in every row of the first batch"):
        small(max_fdr=None).fit_source(tmp_path / "t.parquet", "y", groups="at")
    small(max_fdr=None).fit_source(tmp_path / "t.parquet", "y", groups="who")


def test_a_stopped_stream_goes_on_with_its_groups(tmp_path):
    X, y, groups = clustered(np.random.default_rng(3), 400)
    y += 2 * X[:, 2]
    path = tmp_path / "run"
    small(search=Search(journal=path, patience=3)).fit(X, y, groups=groups)
    again = small(search=Search(journal=path)).fit(X, y, groups=groups)
    assert_array_equal(again.e_values_, small().fit(X, y, groups=groups).e_values_)
    with pytest.raises(JournalError):
        small(search=Search(journal=path)).fit(X, y, groups=groups // 2)


@pytest.mark.parametrize("decoys", ["knockoffs", "shuffled"])
@pytest.mark.parametrize("two_classes", [False, True])
def test_rows_that_stand_copied_are_one_observation(decoys, two_classes):
    """As independent rows, they let noise win every batch by what one observation has by chance."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(2, 2000, 8)), rng.normal(size=(2, 2000))
    y[1] += 2 * X[1, :, 3]
    y = (y > 0).astype(float) if two_classes else y
    for k, expected in enumerate(([], [3])):
        copied = np.repeat(X[k], 5, axis=0), np.repeat(y[k], 5)
        with pytest.warns(UserWarning, match="rows are copies of others"):
            found = small(batch_size=500, decoys=decoys).fit(*copied)
        assert np.flatnonzero(found.support_).tolist() == expected
