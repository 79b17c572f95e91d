from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tvstudy.baselines import AlphaInvesting
from tvstudy.baselines.alpha_investing import Purse, _Regression

BIDDINGS = ["streamwise", "recent"]


def linear_data(n_rows=400, n_columns=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    return X, X[:, 4] - 2 * X[:, 20] + rng.standard_normal(n_rows)


def batches(X, y, size):
    for first in range(0, len(X), size):
        yield X[first : first + size], y[first : first + size]


def invest(purse, p_values):
    """The purse after one test after the other, and how many of them rejected."""
    n_rejected = 0
    for p in p_values:
        rejected = bool(p <= purse.bid)
        purse, n_rejected = purse.after(rejected), n_rejected + rejected
    return purse, n_rejected


def test_streamwise_bids_and_wealth_by_hand():
    purse = Purse(0.5, 0.25)
    levels, wealths = [], []
    for rejected in (False, True, False):
        levels.append(purse.bid)
        purse = purse.after(rejected)
        wealths.append(purse.wealth)
    # w / 2i: 1/4; (1/4) / 4; then (1/4 - 1/16 + 1/4) / 6.
    assert levels == pytest.approx([1 / 4, 1 / 16, 7 / 96])
    assert wealths == pytest.approx([1 / 4, 7 / 16, 7 / 16 - 7 / 96])


def test_recent_bids_and_wealth_by_hand():
    purse = Purse(0.5, 0.25, "recent")
    levels, wealths = [], []
    for rejected in (False, True, False):
        levels.append(purse.bid)
        purse = purse.after(rejected)
        wealths.append(purse.wealth)
    # Stakes w / (1 + i - k): 1/4, (1/4)/3, (1/2)/2; the level is b / (1 + b), of which
    # level / (1 - level) = b is what a test that does not reject costs.
    stakes = np.array([1 / 4, 1 / 12, 1 / 4])
    assert levels == pytest.approx(stakes / (1 + stakes))
    assert wealths == pytest.approx([1 / 4, 1 / 2, 1 / 4])


@pytest.mark.parametrize("bidding", BIDDINGS)
def test_wealth_is_a_martingale_plus_false_rejections_under_the_null(bidding):
    # E[wealth] = start - (1 - payout) E[rejections]; 8,000 streams of 12, 4 standard errors.
    rng = np.random.default_rng(0)
    start, payout = 0.3, 0.2
    ends = [invest(Purse(start, payout, bidding), p) for p in rng.random((8_000, 12))]
    gaps = [purse.wealth - start + (1 - payout) * n for purse, n in ends]
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(len(gaps))


@pytest.mark.parametrize("bidding", BIDDINGS)
def test_wealth_never_falls_below_zero(bidding):
    purse = Purse(0.9, 0.9, bidding)
    rng = np.random.default_rng(0)
    for p in np.where(rng.random(3000) < 0.3, 0.0, 1.0):
        assert 0.0 <= purse.bid <= 1.0
        purse = purse.after(p <= purse.bid)
        assert purse.wealth >= 0.0


def test_p_values_are_those_of_the_regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5)) * [0.1, 1, 10, 1, 1e3] + 1
    y = X[:, 1] + rng.standard_normal(30)
    regression = _Regression(X, y)
    for given in ([], [1], [1, 3]):
        if given:
            regression.condition(np.int64(given[-1]))
        for j in {0, 2, 4}:
            design = np.column_stack([np.ones(30), X[:, [*given, j]]])
            coef, rss, *_ = np.linalg.lstsq(design, y, rcond=None)
            dof = 30 - design.shape[1]
            variance = rss[0] / dof * np.linalg.inv(design.T @ design)[-1, -1]
            expected = 2 * stats.t.sf(abs(coef[-1]) / np.sqrt(variance), dof)
            assert regression.p_values(np.array([j])) == pytest.approx([expected], rel=1e-6)


def test_null_columns_are_selected_as_rarely_as_the_wealth_allows():
    # At most wealth / (1 - payout) = 0.25 false selections per data set; 400 sets, 4 s.e.
    rng = np.random.default_rng(0)
    model = AlphaInvesting(0.2, 0.2, random_state=rng)
    counts = [
        model.fit(rng.standard_normal((40, 20)), rng.standard_normal(40)).support_.sum()
        for _ in range(400)
    ]
    assert np.mean(counts) < 0.25 + 4 * np.std(counts) / np.sqrt(len(counts))
    assert np.mean(counts) > 0.05


@pytest.mark.parametrize("bidding", BIDDINGS)
@pytest.mark.parametrize("order", ["given", "random"])
def test_signals_are_found_at_once_and_in_batches(bidding, order):
    X, y = linear_data()
    whole = AlphaInvesting(bidding=bidding, order=order, random_state=1).fit(X, y)
    assert whole.support_[[4, 20]].all()
    assert whole.support_.sum() <= 4
    stream = AlphaInvesting(bidding=bidding, order=order, random_state=1)
    for part in batches(X, y, 100):
        stream.partial_fit(*part)
    assert stream.support_[[4, 20]].all()
    assert stream.support_.sum() <= 4
    assert stream.n_batches_ == 4


def test_a_copy_of_a_selected_column_is_not_selected():
    X, y = linear_data()
    X[:, 21] = 3 * X[:, 20] + 1
    support = AlphaInvesting(order="given").fit(X, y).support_
    assert support[20]
    assert not support[21]


def test_one_batch_is_a_fit_and_selected_columns_are_tested_no_more():
    X, y = linear_data()
    whole = AlphaInvesting(order="given").fit(X, y)
    stream = AlphaInvesting(order="given").partial_fit(X, y)
    assert (whole.wealth_, whole.n_tests_) == (stream.wealth_, stream.n_tests_) != (0.05, 0)
    np.testing.assert_array_equal(whole.support_, stream.support_)
    n_selected = stream.support_.sum()
    assert stream.partial_fit(X[:50], y[:50]).n_tests_ == 60 - n_selected


def test_fit_forgets_and_partial_fit_goes_on_from_it():
    X, y = linear_data()
    model = AlphaInvesting(order="given").fit(X, y)
    first = model.wealth_
    assert model.partial_fit(X, y).n_batches_ == 2
    assert model.fit(X, y).n_batches_ == 1
    assert model.wealth_ == first


def test_two_classes_and_batches_with_one():
    X, y = linear_data(1000)
    label = np.where(y > 0, "yes", "no")
    assert AlphaInvesting(random_state=0).fit(X, label).support_[[4, 20]].all()
    stream = AlphaInvesting(random_state=0)
    for part in batches(X, label, 200):
        stream.partial_fit(*part)
    assert stream.support_[[4, 20]].all()
    before = stream.wealth_
    stream.partial_fit(X[:5], ["yes"] * 5)
    assert (stream.wealth_, stream.n_batches_) == (before, 6)
    with pytest.raises(ValueError, match="maybe"):
        stream.partial_fit(X[:2], ["yes", "maybe"])


def test_little_data_gives_p_values_of_one():
    rng = np.random.default_rng(0)
    model = AlphaInvesting(0.9, 0.9, order="given").fit(rng.random((2, 3)), [0.1, 0.7])
    assert not model.support_.any()
    X = rng.standard_normal((6, 50))
    assert AlphaInvesting(0.9, 0.9, random_state=0).fit(X, X[:, 0]).support_.sum() <= 4


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"wealth": 0.0}, "wealth"),
        ({"payout": 1.0}, "payout"),
        ({"bidding": "all"}, "bidding"),
        ({"order": "best"}, "order"),
    ],
)
def test_settings_are_checked(settings, match):
    with pytest.raises(ValueError, match=match):
        AlphaInvesting(**settings).fit(*linear_data(20, 21))
