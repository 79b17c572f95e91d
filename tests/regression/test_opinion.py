"""What the regression says of lines, bends, products, gaps and noise; how it joins the trees."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from tvselect import ThompsonSelector
from tvselect.control import q_values_by_probabilities
from tvselect.inputs import read_outcome
from tvselect.regression import functions, opinion, run_regression, second_opinion
from tvselect.regression.functions import DEGREES, columns_as_functions, leading_triples
from tvselect.rewards import Data

N_ROWS, N_COLUMNS = 300, 40


def ask(X, y, **more):
    n_columns = X.shape[1]
    data = Data(X, read_outcome(y, len(X)), range(n_columns), **more)
    columns = np.arange(n_columns)
    return second_opinion(
        data, columns, columns.astype(np.int32), n_columns, n_columns, columns[:0],
        np.random.default_rng(0),
    )  # fmt: skip


def named(opinion, n_columns=N_COLUMNS, least=0.5):
    forms = opinion.forms(n_columns)
    return {int(k): forms[k] for k in np.flatnonzero(opinion.probabilities[:n_columns] > least)}


@pytest.fixture
def table():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    return X, 0.5 * rng.standard_normal(N_ROWS)


def test_lines_bends_and_products_are_told_apart(table):
    X, noise = table
    y = X[:, 3] + X[:, 8] ** 2 + X[:, 11] * X[:, 20] + noise
    found = named(ask(X, y))
    assert found == {
        3: ("a line", []), 8: ("a bend", []), 11: ("with", [20]), 20: ("with", [11]),
    }  # fmt: skip


@pytest.mark.parametrize("product", [(3, 30), (30, 31)], ids=["with a leader", "known"])
def test_columns_that_show_nothing_by_themselves_are_called_in_as_partners(
    table, product, monkeypatch
):
    X, noise = table
    monkeypatch.setattr(opinion, "MOST_COLUMNS", 10)
    monkeypatch.setattr(opinion, "PARTNERS", 5)
    y = 3.0 * X[:, 3] + X[:, product[0]] * np.sign(X[:, product[1]]) + noise
    places = np.argsort(-np.abs(columns_as_functions(X.T) @ (y - y.mean())).max(axis=0))
    assert product[1] not in places[:10]
    known = {"pairs": np.array([product])} if product[0] == 30 else {}
    found = named(ask(X, y, **known))
    assert found[product[1]] == ("with", [product[0]])
    assert set(found) == {3, *product}


@pytest.mark.parametrize(("n_rows", "n_columns"), [(120, 3), (300, 41), (1_500, 64)])
def test_three_columns_that_matter_only_together_are_found_and_named(n_rows, n_columns):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, n_columns))
    true = [0, n_columns // 2, n_columns - 1]
    y = np.sign(X[:, true].prod(axis=1)) + rng.standard_normal(n_rows)
    found = named(ask(X, y), n_columns)
    together = [sorted([k, *others]) for k, (_, others) in found.items()]
    assert together == [true] * 3


def test_of_each_column_the_triple_that_goes_furthest():
    rng = np.random.default_rng(0)
    halves, signs = rng.random((13, 150)) < 0.5, rng.random(150) < 0.5
    as_numbers, z = 1 - 2 * halves.astype(int), 1 - 2 * signs.astype(int)
    reach = {
        places: abs((as_numbers[list(places)].prod(axis=0) * z).sum())
        for places in combinations(range(13), 3)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "FAR_AHEAD", -1.0)
        found = leading_triples(halves, signs)
    assert len(found) == 11
    for places in map(tuple, found.tolist()):
        assert reach[places] == max(reach[k] for k in reach if k[0] == places[0])


def test_what_is_missing_may_be_what_matters(table):
    X, noise = table
    gaps = np.random.default_rng(1).random(N_ROWS) < 0.3
    X[gaps, 5] = np.nan
    X[:3, 6] = np.nan
    assert named(ask(X, 2.0 * gaps + X[:, 9] + noise)) == {
        5: ("where it is missing", []),
        9: ("a line", []),
    }


@pytest.mark.parametrize("make", [
    lambda f, rng: (f + rng.logistic(size=f.size) > 0).astype(int),
    lambda f, rng: np.digitize(f + 0.5 * rng.standard_normal(f.size), [-1.5, 0.0, 1.5]),
    lambda f, rng: rng.poisson(np.exp(0.5 * f)),
    lambda f, rng: f + 0.3 * rng.standard_cauchy(f.size),
    lambda f, rng: 1e300 * f,
])  # fmt: skip
def test_outcomes_of_all_kinds(table, make):
    X, _ = table
    f = 1.5 * X[:, 3] + 1.5 * X[:, 4]
    assert set(named(ask(X, make(f, np.random.default_rng(2))))) == {3, 4}


def test_a_class_that_no_line_separates_from_both_others(table):
    X, noise = table
    y = np.digitize(X[:, 3] + 0.2 * noise, [-0.5, 0.5])
    assert set(named(ask(X, np.array(["a", "b", "c"])[y]))) == {3}


def test_intercepts_of_groups_explain_what_is_constant_in_them(table):
    X, noise = table
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(30, dtype=np.int32), 10)
    X[:, :20] = rng.standard_normal((30, 20))[groups]  # of a group, and of no other interest
    y = 2.0 * rng.standard_normal(30)[groups] + X[:, 30] + noise
    assert set(named(ask(X, y), least=0.9)) - {30}
    assert set(named(ask(X, y, groups=groups), least=0.9)) == {30}


def test_in_noise_something_is_selected_as_rarely_as_the_level_says():
    """Law: at the level 0.1 at most a tenth of tables of noise select anything.

    9 of 40 are exceeded in one of 140 tests (binomial).
    """
    n_found = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 1])
        opinion = ask(rng.standard_normal((100, 60)), rng.standard_normal(100))
        q = q_values_by_probabilities(opinion.probabilities, np.empty(0), 1)
        n_found += bool((q <= 0.1).any())
    assert n_found <= 8


def test_functions_are_orthogonal_and_zero_where_there_are_none(table):
    X, _ = table
    X[:, 1] = X[:, 1] > 0  # two values: a line, and nothing else
    X[:, 2] = 1e308
    found = columns_as_functions(np.ascontiguousarray(X.T)).astype(np.float64)
    gram = np.einsum("dcn,ecn->cde", found, found) / N_ROWS
    assert np.allclose(gram[0], np.diag([1.0] * DEGREES + [0.0]), atol=1e-4)
    assert found[1:, 1].any() == found[:, 2].any() == False  # noqa: E712


class TestTogether:
    """The regression beside the trees."""

    def test_what_either_finds_is_selected(self):
        rng = np.random.default_rng(5)
        X = rng.standard_normal((300, 60))
        y = X[:, :8] @ np.full(8, 0.35) + 0.8 * np.sign(np.sin(9 * X[:, 9])) + rng.normal(size=300)
        both = ThompsonSelector(random_state=0).fit(X, y)
        trees = ThompsonSelector(random_state=0, second_opinion=False).fit(X, y)
        assert both.support_[:8].sum() >= trees.support_[:8].sum() + 2
        assert not both.support_[10:].any()
        frame = both.to_frame().sort_index()
        assert set(frame.seen[both.support_]) <= {"a line", "a bend", "by trees only"}
        assert (frame.q_value[both.support_] <= 0.1).all()
        assert "probability" not in trees.to_frame()

    def test_a_neighbour_that_stands_in_is_claimed_and_not_selected(self):
        """Of columns at a correlation of 0.9 trees select the wrong one as well."""
        rng = np.random.default_rng(2)
        X = rng.standard_normal((200, 100))
        for j in range(1, 100):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(0.19) * X[:, j]
        y = X[:, 20] + X[:, 50] + X[:, 80] + rng.normal(size=200)
        fit = ThompsonSelector(random_state=0).fit(X, y)
        assert fit.support_[[20, 50, 80]].all()
        assert fit.support_.sum() == 3

    def test_not_where_rows_follow_each_other_or_without_decoys(self):
        X, y = np.random.default_rng(0).standard_normal((2, 100, 1))
        X = np.hstack([X, X**2, y])
        for settings, told in (({}, {"order": "rows"}), ({"max_fdr": None}, {})):
            fit = ThompsonSelector(n_plays=5, random_state=0, **settings).fit(X, y[:, 0], **told)
            assert fit.result_.opinion is None


def test_a_run_by_itself_names_columns_and_functions(table):
    X, noise = table
    names = [f"gene {k}" for k in range(N_COLUMNS)]
    frame = pd.DataFrame(X, columns=names).assign(gone=np.nan)
    donors = np.repeat([f"donor {k}" for k in range(30)], 10)
    shift = np.repeat(np.random.default_rng(2).standard_normal(30), 10)
    y = X[:, 3] + X[:, 8] ** 2 + X[:, 11] * X[:, 20] + 3.0 * shift + noise
    found = run_regression(frame, y, groups=donors, random_state=0)
    assert set(found.table(4)["variable"]) == {"gene 3", "gene 8", "gene 11", "gene 20"}
    assert (found.table()["probability"][4:] < 0.5).all()
    terms = set(found.terms()["term"][found.terms()["probability"] > 0.9])
    assert terms >= {"gene 3: a line", "gene 8: a bend", "gene 11 x gene 20"}


@pytest.mark.parametrize(("change", "error", "words"), [
    (lambda X, y: dict(X=X.assign(a="text"), y=y), ValueError, "'a'"),
    (lambda X, y: dict(X=X, y=y[1:]), ValueError, "rows"),
    (lambda X, y: dict(X=X, y=y, groups=["one"]), ValueError, "groups has shape"),
    (lambda X, y: dict(X=X, y=y, family="poisson"), ValueError, "family"),
    (lambda X, y: dict(X=X, y=np.ones(len(y))), ValueError, "constant"),
])  # fmt: skip
def test_bad_input_of_a_run_by_itself(table, change, error, words):
    X, noise = table
    with pytest.raises(error, match=words):
        run_regression(**change(pd.DataFrame(X).rename(columns=str), noise))
