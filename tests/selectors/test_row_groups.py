"""Fits that are told which rows belong together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from tvselect import BartReward, Search, ThompsonSelector
from tvselect.bandit.journal import JournalError
from tvselect.inputs.doubts import DoubtWarning
from tvselect.report.gathering import control_of
from tvselect.report.sentences import describe_false


def clustered(rng, n_groups=40, n_each=5, p=12):
    """Every column is one number of a group; the outcome is one, too, and noise."""
    groups = np.repeat(np.arange(n_groups), n_each)
    X = rng.normal(size=(n_groups, p))[groups]
    return X, rng.normal(size=n_groups)[groups] + 0.5 * rng.normal(size=groups.size), groups


def small():
    return BartReward(n_trees=5, n_iterations=60)


def fit(X, y, **how):
    return ThompsonSelector(small(), n_plays=60, random_state=0).fit(X, y, **how)


def test_noise_of_groups_is_selected_as_rarely_as_the_level_says():
    """10 % of runs at most may select anything; 24 % is 3 standard errors above that, of 40."""
    told, untold = [], []
    for seed in range(40):
        X, y, groups = clustered(np.random.default_rng(seed))
        told.append(fit(X, y, groups=groups).support_.any())
        if seed < 8:
            untold.append(fit(X, y).support_.any())
    assert np.mean(told) <= 0.24
    assert np.mean(untold) >= 0.8


def test_what_acts_inside_groups_and_between_them_is_found():
    rng = np.random.default_rng(0)
    X, y, groups = clustered(rng, 60, 10, 20)
    X[:, :10] = rng.normal(size=(600, 10))
    y += X[:, 3] + 1.5 * X[:, 15]
    selector = ThompsonSelector(BartReward.with_decoys(), n_plays=100, random_state=0)
    assert np.flatnonzero(selector.fit(X, y, groups=groups).support_).tolist() == [3, 15]


def test_a_named_column_is_no_feature():
    X, y, groups = clustered(np.random.default_rng(1))
    y += 3 * X[:, 2]
    frame = pd.DataFrame(X).rename(columns=str).assign(who=groups, when=np.arange(len(y)) % 5)
    told = fit(frame, y, groups="who", order="when")
    assert told.n_features_in_ == 12
    assert "who" not in told.feature_names_in_
    without = frame.drop(columns=["who", "when"])
    assert_array_equal(told.transform(frame), told.transform(without))
    again = fit(without, y, groups=groups, order="rows")
    assert_array_equal(told.selection_rates_, again.selection_rates_)


def test_groups_are_routed_through_a_pipeline():
    X, y, groups = clustered(np.random.default_rng(2))
    y += 3 * X[:, 2]
    selector = ThompsonSelector(small(), n_plays=60, random_state=0)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(selector.set_fit_request(groups=True), LinearRegression())
        routed.fit(X, y, groups=groups)
    assert_array_equal(routed[0].q_values_, fit(X, y, groups=groups).q_values_)


def test_too_few_groups_show_nothing():
    X, y, groups = clustered(np.random.default_rng(3), 14, 15)
    y = y + 5 * X[:, 2]
    with pytest.warns(UserWarning, match="nothing can be shown: the rows are of 14 groups, and"):
        found = fit(X, y, groups=groups)
    assert not found.support_.any()
    assert (found.q_values_ == 1.0).all()
    assert all(claim.q_value == 1.0 for claim in found.claims_)
    assert found.result_.shows_nothing


def test_where_the_outcome_is_the_same_in_each_group_a_row_of_each_is_asked_for():
    rng = np.random.default_rng(10)
    X, y, groups = clustered(rng, 60, 10)
    X += 0.5 * rng.normal(size=X.shape)
    means = np.array([X[groups == group].mean(axis=0) for group in range(60)])
    y = means[:, 3] + means[:, 8] > 0
    with pytest.warns(UserWarning, match="the same in all rows of each of the 60 groups.*one row"):
        fit(X, y[groups], groups=groups)
    assert fit(means, y).support_[[3, 8]].all()


def test_random_walks_show_nothing_and_their_differences_do():
    rng = np.random.default_rng(4)
    X = np.cumsum(rng.normal(size=(201, 10)), axis=0)
    y = np.cumsum(rng.normal(size=201)) + 3 * X[:, 2]
    with pytest.warns(UserWarning, match="independent stretches of time.*Differences between"):
        assert not fit(X, y, order="rows").support_.any()
    assert_array_equal(fit(np.diff(X, axis=0), np.diff(y), order="rows").support_.nonzero()[0], [2])


def test_weights_repeat_rows_of_a_group_within_it():
    X, y, groups = clustered(np.random.default_rng(5))
    found = fit(X, y, groups=groups, sample_weight=np.arange(y.size) % 3)
    assert found.result_.asked.n_units == 40


def test_knockoffs_are_refused():
    X, y, groups = clustered(np.random.default_rng(6))
    with pytest.raises(ValueError, match="with groups or order use decoys='shuffled'"):
        ThompsonSelector(decoys="knockoffs").fit(X, y, groups=groups)


def test_a_journal_goes_on_with_the_same_groups_only(tmp_path):
    X, y, groups = clustered(np.random.default_rng(7))
    path = tmp_path / "run"

    def play(n_plays, **how):
        selector = ThompsonSelector(
            small(), n_plays=n_plays, random_state=0, search=Search(journal=path)
        )
        return selector.fit(X, y, **how)

    play(20, groups=groups)
    for other in ({}, {"groups": groups // 2}, {"groups": groups, "order": -np.arange(y.size)}):
        with pytest.raises(JournalError):
            play(40, **other)
    whole = ThompsonSelector(small(), n_plays=40, random_state=0).fit(X, y, groups=groups)
    assert_array_equal(play(40, groups=groups).q_values_, whole.q_values_)


def test_rows_that_seem_to_depend_on_each_other_make_q_values_unproven():
    X, y, groups = clustered(np.random.default_rng(8))
    with pytest.warns(DoubtWarning, match="Do rows depend on each other.*groups= .--row-groups"):
        found = fit(X, y)
    assert found.result_.asked.unproven
    assert "unproven, as rows seem to depend on each other" in found._repr_html_()
    assert "This is unproven" in describe_false(1, control_of(found))
    told = fit(X, y, groups=groups)
    weighted = fit(X[::5], y[::5], sample_weight=np.arange(40) % 4)  # rows are repeated
    for other in (told, weighted):
        assert not other.result_.asked.unproven
        assert "unproven" not in other._repr_html_() + describe_false(1, control_of(other))


def test_rows_that_are_all_copied_as_often_say_what_single_ones_do():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(80, 20)), rng.normal(size=80)
    y += 2 * X[:, 3]
    single = fit(X, y)
    order = rng.permutation(80 * 50)
    with pytest.warns(UserWarning, match="3920 of 4000 rows are copies of others"):
        copied = fit(np.repeat(X, 50, axis=0)[order], np.repeat(y, 50)[order])
    assert (
        np.flatnonzero(single.support_).tolist() == np.flatnonzero(copied.support_).tolist() == [3]
    )
