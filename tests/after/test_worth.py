"""Scores of predictions on rows that were held back."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from tests.decoyed import Marginal
from tests.nested import nested
from tvselect import ThompsonSelector, held_out_worth
from tvselect.after.worth import concordance, score
from tvselect.inputs import read_outcome
from tvselect.inputs.outcome import survival_array

N = 120


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6))
    return X, 2 * X[:, 0] - X[:, 1] + rng.normal(0, 0.5, N)


def quick(**options):
    return ThompsonSelector(Marginal(), **nested(n_plays=30, random_state=0, **options))


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    three = np.array(list("abc"))[rng.integers(0, 3, 50)]
    for y, predicted, expected in (
        (rng.normal(size=50), rng.normal(size=50), r2_score),
        (rng.integers(0, 2, 50), rng.random(50).round(1), roc_auc_score),
        (three, rng.dirichlet([1, 1, 1], 50), log_loss),
    ):
        assert score(read_outcome(y, 50), predicted) == pytest.approx(expected(y, predicted))


def test_concordance_counts_pairs_of_known_order():
    """By hand, pair by pair: who is known to come first, and is predicted to?"""
    rng = np.random.default_rng(2)
    time, event = rng.integers(1, 9, 40).astype(float), rng.random(40) < 0.6
    predicted = rng.integers(0, 5, 40).astype(float)
    known = [
        predicted[j] - predicted[i]
        for i, j in product(range(40), range(40))
        if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j]))
    ]
    found = concordance(time, np.where(event, time, np.inf), predicted)
    assert found == pytest.approx(np.heaviside(known, 0.5).mean())


def test_signals_predict_and_noise_does_not_and_the_selector_is_left_alone(table):
    X, y = table
    selector = quick().fit(X, y)
    before, rates = selector.result_, selector.selection_rates_.copy()
    worth = held_out_worth(selector, X, y, n_folds=3, random_state=0)
    assert (worth.score, worth.n_selected, worth.always) == ("R2", (2, 2, 2), ())
    assert np.mean(worth.selected) > 0.6
    assert max(worth.none) <= 0
    assert selector.result_ is before
    np.testing.assert_array_equal(selector.selection_rates_, rates)
    assert selector.random_state == 0
    noise = np.random.default_rng(5).normal(size=N)
    nothing = held_out_worth(quick(), X, noise, n_folds=3, random_state=0)
    assert max(nothing.selected) < 0.2


def test_all_kinds_of_tables_give_the_same(table):
    X, y = table
    names = dict(zip("abcdef", X.T, strict=True))
    tables = (X, sp.csr_array(X), pd.DataFrame(names), pl.DataFrame(names))
    found = [held_out_worth(quick(), T, y, n_folds=2, random_state=4).selected for T in tables]
    assert found == [found[0]] * 4


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda y, _: np.where(y > 0, "high", "low"), "AUC"),
        (lambda y, _: np.array(list("abc"))[np.digitize(y, [-1, 1])], "log-loss"),
        (lambda y, rng: rng.poisson(np.exp(1 + y / 2)), "R2"),
        (lambda y, rng: survival_array(np.exp(y), rng.random(y.size) < 0.7), "concordance"),
    ],
    ids=["two classes", "three classes", "counts", "survival"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_outcome_has_its_score(table, make, name):
    X, y = table
    outcome = make(y, np.random.default_rng(1))
    selector = quick(family="counts" if name == "R2" else "auto")
    worth = held_out_worth(selector, X, outcome, n_folds=2, random_state=0)
    assert worth.score == name
    better = np.mean(worth.selected) - np.mean(worth.none)
    assert better < 0 if name == "log-loss" else better > 0


def donors(seed, n_donors=20, n_cells=10, n_genes=30):
    """Cells of donors: no gene has to do with a property of the donor."""
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(n_donors), n_cells)
    X = rng.normal(size=(n_donors, n_genes))[donor] + rng.normal(size=(donor.size, n_genes))
    return X, rng.permutation(np.arange(n_donors) % 2)[donor], donor


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cells_of_donors_predict_each_other_and_not_those_of_other_donors():
    """By law: no gene is related, so cells of new donors are in the right order by chance."""
    by_rows, by_groups = [], []
    for seed in (4, 5):
        X, y, donor = donors(seed)
        by_rows.append(held_out_worth(quick(), X, y, n_folds=3, random_state=0))
        by_groups.append(held_out_worth(quick(), X, y, groups=donor, n_folds=3, random_state=0))
    assert np.mean([worth.all for worth in by_rows]) > 0.85
    assert np.mean([worth.selected for worth in by_rows]) > 0.85
    assert 0.3 < np.mean([worth.all for worth in by_groups]) < 0.7  # s.e. 0.06
    assert abs(np.mean([worth.selected for worth in by_groups]) - 0.5) < 0.1


class Told(ThompsonSelector):
    """Keeps the rows that it is fitted to, by their first column, and what it is told of them."""

    def fit(self, X, y, groups=None, order=None):
        self.told.append((X[:, 0].astype(int), groups, order))
        return super().fit(X, y, groups=groups, order=order)


GROUPS, TIMES = (np.random.default_rng(seed).permutation(N) for seed in (1, 2))
GROUPS = GROUPS % 20


@pytest.mark.parametrize("told", [{}, {"groups": GROUPS}, {"order": TIMES}])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_selection_is_made_again_in_every_fold_without_its_rows(told):
    """Folds cut neither groups nor time; each is fitted with those of its own rows."""
    rng = np.random.default_rng(3)
    selector = Told(Marginal(), n_plays=5)
    selector.told = []
    X = np.column_stack([np.arange(N), rng.normal(size=N)])
    held_out_worth(selector, X, rng.normal(size=N), n_folds=4, random_state=0, **told)
    held_out = [np.setdiff1d(np.arange(N), rows) for rows, *_ in selector.told]
    assert sorted(np.concatenate(held_out)) == list(range(N))
    for (rows, groups, order), out in zip(selector.told, held_out, strict=True):
        assert (groups is None, order is None) == ("groups" not in told, "order" not in told)
        if groups is not None:
            assert not set(GROUPS[rows]) & set(GROUPS[out])
            assert [list(groups).index(one) for one in groups] == [
                list(GROUPS[rows]).index(one) for one in GROUPS[rows]
            ]
        else:
            assert out.size == N // 4
        if order is not None:
            assert np.ptp(TIMES[out]) == N // 4 - 1  # one stretch
            assert np.array_equal(np.argsort(order), np.argsort(TIMES[rows]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_worth_takes_groups_from_the_column_that_the_fit_was_told_of(table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(donor=[f"d{i % 30}" for i in range(N)])
    by_name = quick().fit(frame, y, groups="donor")
    by_labels = quick().fit(frame.drop(columns="donor"), y, groups=frame["donor"])
    known = held_out_worth(by_name, frame, y, n_folds=2, random_state=0)
    given = held_out_worth(
        by_labels, frame[list("abcdef")], y, groups=frame["donor"], n_folds=2, random_state=0
    )
    assert known.selected == given.selected
    with pytest.raises(ValueError, match="fitted with groups, which are no column of X: pass"):
        held_out_worth(by_labels, frame[list("abcdef")], y, n_folds=2)


@pytest.mark.parametrize(
    ("y", "told", "message"),
    [
        (None, {"n_folds": 50}, "less than five for each of 50 folds"),
        (None, {"n_folds": 1}, "n_folds"),
        (np.array(["c", *("ab" * N)[: N - 1]]), {}, "'c' has a single row"),
        (None, {"groups": np.arange(N) % 4}, "4 groups cannot be held back in 5 folds"),
        (np.repeat(["a", "b"], [N - 6, 6]), {"order": "rows"}, "class 'b' would be held back"),
        (np.repeat(["a", "b"], N // 2), {"order": "rows"}, "a single outcome"),
        (np.arange(N) % 5, {"groups": np.arange(N) % 5}, "a single outcome"),
    ],
)
def test_folds_that_cannot_be_scored(table, y, told, message):
    X, numbers = table
    selector = quick(family="gaussian" if y is not None and y.dtype.kind == "i" else "auto")
    with pytest.raises(ValueError, match=message):
        held_out_worth(selector, X, numbers if y is None else y, **told)


def test_what_is_always_included_is_scored_alone_and_not_counted(table):
    """Column 0 explains 4 of 5.25 of the variance; with column 1 it is 5 of 5.25."""
    X, y = table
    worth = held_out_worth(quick(always_include=[0]), X, y, n_folds=3, random_state=0)
    assert worth.n_selected == (1, 1, 1)
    assert np.mean(worth.none) < 0.5 < np.mean(worth.always) < np.mean(worth.selected)
    assert "always included" in str(worth)


def test_an_interrupted_fold_ends_it(table):
    n_plays = 0

    def interrupted(X, y, rng):
        nonlocal n_plays
        n_plays += 1
        if n_plays > 10:
            raise KeyboardInterrupt
        return np.zeros(X.shape[1])

    selector = ThompsonSelector(interrupted, n_plays=30, random_state=0)
    with pytest.warns(RuntimeWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        held_out_worth(selector, *table, n_folds=3, random_state=0)
