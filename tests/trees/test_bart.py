"""run_bart: what it takes, what it finds, what it refuses; R-hat and effective sizes."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from tvselect.inputs.outcome import survival_array
from tvselect.trees import Prior, bin_table, effective_size, r_hat, run_bart, run_to_end, sampler
from tvselect.trees.sampler import Sampler
from tvselect.trees.state import N_DONE

N = 200
NAMES = ["a", "b", "c", "d"]


def data(n_rows=80):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n_rows, 4))
    return X, 4 * X[:, 1] + (X[:, 3] > 0) + 0.1 * rng.standard_normal(n_rows)


def run(X, y, **settings):
    return run_bart(X, y, **{"n_trees": 4, "n_iterations": N, "random_state": 1, **settings})


def assert_same(one, other):
    for name in ("mean_splits", "inclusion", "last_splits", "sigma", "theta", "n_splits"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert len(one.forests) == len(other.forests)
    for a, b in zip(one.forests, other.forests, strict=True):
        assert_array_equal(a.value, b.value)
    assert one.acceptance_rate == other.acceptance_rate
    assert one.n_burn == other.n_burn


TABLES = {
    "fortran": np.asfortranarray,
    "lists": np.ndarray.tolist,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@pytest.mark.parametrize("wrap", [*TABLES.values(), bin_table], ids=[*TABLES, "binned"])
@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_every_kind_of_table_gives_the_same_numbers(wrap, family):
    X, y = data()
    X[::9, 0] = np.nan
    if family == "probit":
        y = np.where(y > 0, "yes", "no")
    kept = X.copy(), y.copy()
    expected, table = run(X, y), wrap(X)
    found = run(table, y)
    assert_same(found, expected)
    assert_array_equal(found.predict(table), expected.predict(X))
    if wrap is not bin_table:
        assert_array_equal(found.predict(wrap(10 * X[:5])), expected.predict(10 * X[:5]))
    assert found.names in (tuple(NAMES), ("x0", "x1", "x2", "x3"))
    assert found.family == family
    assert_array_equal(X, kept[0])
    assert_array_equal(y, kept[1])


def test_a_family_that_is_a_guess_is_warned_of():
    X, y = np.random.default_rng(0).random((60, 2)), np.arange(60) % 3
    with pytest.warns(UserWarning, match="taken for codes of 3 classes"):
        assert run_bart(X, y, n_iterations=4, random_state=0).family == "classes"
    run_bart(X, y, family="counts", n_iterations=4, random_state=0)


def test_the_result_has_one_value_per_iteration_and_per_column():
    X, y = data()
    found = run(X, y, n_burn=3, n_keep=4)
    assert found.sigma.shape == found.theta.shape == found.n_splits.shape == (N,)
    assert found.mean_splits.shape == found.inclusion.shape == found.last_splits.shape == (4,)
    assert found.forest.n_trees == 4
    assert found.classes is None
    assert 0 <= found.acceptance_rate <= 1
    assert found.seconds > 0
    assert (found.sigma > 0).all()
    assert ((found.inclusion >= 0) & (found.inclusion <= 1)).all()
    assert found.mean_splits.sum() == pytest.approx(found.n_splits[3:].mean())
    assert found.last_splits.sum() == found.n_splits[-1]
    assert_array_equal(found.forest.split_counts(4), found.last_splits)
    assert_array_equal(found.forests[-1].value, found.forest.value)


@pytest.mark.parametrize(
    ("n_iterations", "n_burn", "n_keep", "kept"),
    [(1, None, 100, 1), (2, None, 100, 1), (10, 0, 3, 3), (10, 9, 5, 1), (10, 4, 100, 6)],
)
def test_forests_are_kept_after_burn_in_only(n_iterations, n_burn, n_keep, kept):
    found = run(*data(), n_iterations=n_iterations, n_burn=n_burn, n_keep=n_keep)
    assert len(found.forests) == kept
    assert found.n_splits.size == n_iterations
    assert found.n_burn == (n_iterations // 2 if n_burn is None else n_burn)


@pytest.mark.parametrize("bits", [int, np.int32, np.random.Philox, np.random.MT19937])
def test_the_same_seed_gives_the_same_run_and_another_one_another(bits):
    X, y = data()
    one, other = (run(X, y, random_state=bits(1)) for _ in range(2))
    assert_same(one, other)
    assert (one.sigma != run(X, y, random_state=2).sigma).any()
    rng = np.random.default_rng(1)  # a generator goes on where it is
    assert (run(X, y, random_state=rng).sigma != run(X, y, random_state=rng).sigma).any()


def test_what_is_kept_and_shown_does_not_change_the_run(capsys):
    X, y = data()
    one = run(X, y, n_keep=1)
    assert capsys.readouterr() == ("", "")
    other = run(X, y, n_keep=np.int64(7), n_iterations=np.int32(N), verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "BART" in err
    assert_array_equal(one.sigma, other.sigma)
    assert_array_equal(one.mean_splits, other.mean_splits)


def test_predictions_are_close_on_easy_data_and_the_mean_over_the_kept_forests():
    X, y = data(400)
    found = run(X, y, n_trees=20, n_iterations=2000, n_keep=3)
    assert_allclose(found.predict(X), y, atol=1.5)
    assert np.corrcoef(found.predict(X), y)[0, 1] > 0.99
    assert 0.05 < found.sigma[-1] < 0.8
    codes = bin_table(X).codes
    values = [found.center + forest.evaluate(codes, len(X)) for forest in found.forests]
    assert_allclose(found.predict(X), np.mean(values, axis=0), rtol=1e-12)
    table = found.table()
    assert table["variable"][0] == "x1"
    assert (np.diff(table["mean_splits"]) <= 0).all()
    assert pl.DataFrame(found.table(2)).shape == pd.DataFrame(found.table(2)).shape == (2, 4)


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (-1.0, 2.5)])
def test_predictions_for_two_classes_are_probabilities_of_the_second(labels):
    X, y = data(400)
    found = run(X, np.array(labels)[(y > 0).astype(int)], n_iterations=1000)
    p = found.predict(X)
    assert found.family == "probit"
    assert found.classes.tolist() == list(labels)
    assert ((p >= 0) & (p <= 1)).all()
    assert ((p > 0.5) == (y > 0)).mean() > 0.95


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (lambda X: pd.DataFrame(X, columns=["a", "c", "b", "d"]),
         "column 1 of X is 'c' where 'b' is expected"),
        (lambda X: X[:, :3], "X has 3 columns but the cut points are for 4"),
        (lambda X: X[0], "two dimensions"),
        (lambda X: pd.DataFrame(np.where(np.arange(4) == 2, np.inf, X), columns=NAMES),
         "column 'c' of X holds infinite"),
        (bin_table, "binned with other cut points"),
    ],
)  # fmt: skip
def test_new_rows_with_other_columns_are_refused(new, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        run(pd.DataFrame(X, columns=NAMES), y).predict(new(X))


@pytest.mark.parametrize(
    "columns", [[3, 0], ["d", "a"], np.array([3, 0]), ("d", 0), pd.Index(["d", "a"])], ids=str
)
@pytest.mark.parametrize("sparse", [False, True])
def test_chosen_columns_give_the_run_on_these_columns_alone(columns, sparse):
    X, y = data()
    frame = pd.DataFrame(X, columns=NAMES)
    some, alone = run(frame, y, columns=columns, sparse=sparse), run(X[:, [3, 0]], y, sparse=sparse)
    assert_same(some, alone)
    assert some.names == ("d", "a")
    assert_array_equal(some.predict(X), alone.predict(X[:, [3, 0]]))
    assert not some.forest.split_counts(4)[[1, 2]].any()


def test_that_a_value_is_missing_can_be_what_matters():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    gone = rng.random(200) < 0.5
    X[gone, 2] = np.nan
    found = run(X, gone + 0.1 * rng.standard_normal(200), n_iterations=500)
    assert found.inclusion[2] == 1.0
    assert np.corrcoef(found.predict(X), gone)[0, 1] > 0.95
    assert repr(run(np.ones((200, 2)), gone * 1)).startswith("BartRun")  # without a split


def test_the_prior_may_be_given_whole_and_the_noise_fixed():
    X, y = data()
    assert run(X, y, prior=Prior(n_trees=3, min_leaf=20, sparse=True)).forest.n_trees == 3
    found = run(X, y, sparse=True, n_burn=0)
    assert_same(found, run(X, y, prior=Prior(n_trees=4, sparse=True), n_burn=0))
    assert np.unique(found.theta).size > np.unique(run(X, y).theta).size == 1
    for sigma in (0.5, np.float32(0.5), np.inf):
        assert_allclose(run(X, y, sigma=sigma).sigma, sigma)


def test_a_linear_noise_scale_is_that_of_the_residuals_and_a_smaller_one_means_less_noise():
    X, y = data()
    design = np.column_stack([np.ones(80), X[:, [1, 3]]])
    residuals = y - design @ np.linalg.solve(design.T @ design, design.T @ y)
    scale = np.sqrt((residuals**2).sum() / 77)
    linear, number, single, plain = (
        run(X, y, columns=[1, 3], noise_scale=s).sigma[0]
        for s in ("linear", scale, np.float32(scale), "sd")
    )
    assert_allclose([linear, single], number, rtol=1e-5)
    assert number < plain


@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_a_run_describes_itself_and_can_be_pickled(family):
    X, y = data()
    found = run(X, y if family == "gaussian" else y > 0)
    assert f"4 trees, {N} iterations ({N // 2} burn-in), 4 columns, {family}" in repr(found)
    assert ("sigma" in repr(found)) == (family == "gaussian")
    again = pickle.loads(pickle.dumps(found))
    assert_same(again, found)
    assert_array_equal(again.predict(X), found.predict(X))


# Interrupts


def interrupt_from(monkeypatch, n_done):
    """Let Ctrl-C arrive as soon as a chain has done that many iterations."""
    advance = Sampler.advance

    def interrupted(chain, n_iterations=None):
        if chain.n_done >= n_done:
            raise KeyboardInterrupt
        advance(chain, n_iterations)

    monkeypatch.setattr(Sampler, "advance", interrupted)


@pytest.mark.parametrize(("n_keep", "kept"), [(1, 1), (50, 10)])
def test_ctrl_c_after_burn_in_gives_the_run_so_far(monkeypatch, n_keep, kept):
    X, y = data()
    whole = run(X, y, n_iterations=100, n_keep=50)
    interrupt_from(monkeypatch, 60)
    with pytest.warns(RuntimeWarning, match="interrupted after .* of 100 iterations") as caught:
        part = run(X, y, n_iterations=100, n_burn=50, n_keep=n_keep)
    assert caught[-1].filename == __file__
    done = part.n_splits.size
    assert 60 <= done < 100
    assert len(part.forests) == kept
    for name in ("sigma", "theta", "n_splits"):
        assert_array_equal(getattr(part, name), getattr(whole, name)[:done])
    assert part.mean_splits.sum() == pytest.approx(part.n_splits[50:].mean())
    assert np.isfinite(part.predict(X)).all()
    assert f"{done} iterations" in repr(part)


@pytest.mark.parametrize(("call", "n_done"), [(run_bart, 0), (run_bart, 10), (run_to_end, 95)])
def test_ctrl_c_before_the_end_of_burn_in_or_where_all_is_needed_stops(monkeypatch, call, n_done):
    interrupt_from(monkeypatch, n_done)
    with pytest.raises(KeyboardInterrupt):
        call(*data(), n_iterations=100, n_burn=90, random_state=1)


def test_ctrl_c_during_the_kernel_loses_no_iteration(monkeypatch):
    """Python handles the signal when the kernel returns, before its result is stored."""
    kernel = sampler.state.run

    def interrupted(*args):
        kernel(*args)
        if args[3].record.tally.whole[N_DONE] >= 60:
            raise KeyboardInterrupt

    monkeypatch.setattr(sampler.state, "run", interrupted)
    with pytest.warns(RuntimeWarning, match="interrupted"):
        part = run(*data(), n_iterations=100, n_burn=10, n_keep=3)
    assert part.mean_splits.sum() == pytest.approx(part.n_splits[10:].mean())
    assert part.last_splits.sum() == part.n_splits[-1]
    assert (part.inclusion <= 1).all()


# Outcomes that are neither a number nor two classes

N_ROWS = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.random((N_ROWS, 6))
    return X, 4 * X[:, 1] + 3 * (X[:, 4] > 0.5) + rng.standard_normal(N_ROWS)


def outcome_of(family, latent):
    rng = np.random.default_rng(4)
    if family == "ordinal":
        return np.digitize(latent, np.quantile(latent, [0.3, 0.5, 0.9]))
    if family == "counts":
        return rng.poisson(np.exp(latent / 2))
    if family == "survival":
        time, until = np.exp(latent), np.exp(rng.normal(4.0, 2.0, latent.size))
        return survival_array(np.minimum(time, until), time <= until)
    return np.array(["low", "mid", "top"])[np.digitize(latent, np.quantile(latent, [0.3, 0.6]))]


@pytest.mark.parametrize("family", ["ordinal", "counts", "survival", "classes"])
@pytest.mark.parametrize("columns", [None, [4, 5, 1]])
def test_a_run_finds_and_predicts(table, family, columns):
    X, latent = table
    found = run_bart(
        X, outcome_of(family, latent), family=family, sparse=True, n_trees=20, n_iterations=2000,
        columns=columns, random_state=0,
    )  # fmt: skip
    assert found.names == tuple(f"x{j}" for j in columns or range(6))
    assert set(found.table(2)["variable"]) == {"x1", "x4"}
    predicted = found.predict(X)
    if family == "classes":
        assert predicted.shape == (N_ROWS, 3)
        assert_allclose(predicted.sum(axis=1), 1.0)
        predicted = predicted[:, 2]
    assert stats.spearmanr(predicted, latent).statistic > 0.8
    assert f", {family}, " in repr(found)


def test_times_that_all_ended_are_the_gaussian_run_on_their_log(table):
    X, latent = table
    time = np.exp(latent)
    one = run_bart(X, np.log(time), n_iterations=300, random_state=1)
    for y in (survival_array(time, np.ones(N_ROWS)), np.column_stack([time, time])):
        other = run_bart(X, y, family="survival", n_iterations=300, random_state=1)
        assert_same(one, other)


@pytest.mark.parametrize("family", ["gaussian", "ordinal", "counts", "survival", "classes"])
def test_rows_of_a_group_share_an_intercept(family):
    """60 groups of 8 in any order; x1 varies within them, x4 between them alone."""
    rng = np.random.default_rng(6)
    group = rng.permutation(np.arange(480) % 60)
    X, intercepts = rng.random((480, 6)), 1.5 * rng.standard_normal(60)
    X[:, 4] = rng.random(60)[group]
    forest = 5 * X[:, 1] + 8 * (X[:, 4] > 0.5)
    latent = forest + intercepts[group] + rng.standard_normal(480)
    y = latent if family == "gaussian" else outcome_of(family, latent)
    labels = np.array([f"person {k}" for k in group], dtype=object)
    settings = dict(family=family, sparse=True, n_trees=20, n_iterations=2000, random_state=0)
    found = run_bart(X, y, groups=labels, columns=[5, 4, 1], **settings)
    assert set(found.table(2)["variable"]) == {"x1", "x4"}
    assert len(found.groups) == 60
    assert found.group_sd.shape == (2000,)
    assert np.median(found.group_sd[1000:] / found.sigma[1000:]) > 0.5
    whole, known, new = (found.predict(X, g) for g in (None, labels, ["nobody"] * 480))
    assert_array_equal(whole, new)
    if family == "classes":
        whole, known = whole[:, 2], known[:, 2]
    assert stats.spearmanr(known, latent).statistic > stats.spearmanr(whole, latent).statistic
    assert stats.spearmanr(whole, forest).statistic > 0.7
    if family == "gaussian":
        drawn = np.mean([draw.intercepts for draw in found.draws], axis=0)
        true = intercepts[[int(label.split()[1]) for label in found.groups]]
        assert np.corrcoef(drawn, true)[0, 1] > 0.8
        assert found.group_sd[1000:].mean() == pytest.approx(1.5, rel=0.4)
        assert_same(found, run_bart(X, y, groups=group, columns=["x5", "x4", "x1"], **settings))


# What is refused, by name

X, Y = data(20)
LARGE = np.where(np.arange(20) == 0, 0.0, 1.7e308 * np.sign(Y - np.median(Y)))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[:19], Y, "y has 20 values but X has 19 rows"),
        (X[:0], Y[:0], "X is empty: 0 rows"),
        (X[:, :0], Y, "X is empty: 20 rows, 0 columns"),
        (X, np.ones(20), r"y is constant \(1.0"),
        (pd.Series(Y), Y, "X is a single column"),
        (None, Y, "X must have two dimensions"),
        (X, None, "y must be a single column"),
        (X[:9], Y[:9], r"X has 9 rows, .* at least 5 rows each"),
        (X, LARGE, "y spans more than a double can hold"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_bad_data_are_refused_by_name(X, y, message):
    with pytest.raises(ValueError, match=message):
        run(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_iterations": 0}, ValueError, "n_iterations == 0"),
        ({"n_iterations": 10.0}, TypeError, "n_iterations must be an instance of int"),
        ({"n_burn": N}, ValueError, f"n_burn == {N}, must be <= {N - 1}"),
        ({"n_burn": -1}, ValueError, "n_burn == -1"),
        ({"n_trees": 0}, ValueError, "n_trees == 0"),
        ({"n_keep": 0}, ValueError, "n_keep == 0"),
        ({"family": "probit"}, ValueError, "y has 20 classes.*probit takes two"),
        ({"family": "poisson"}, ValueError, "family must be.*'poisson'"),
        ({"columns": ["a", "z"]}, ValueError, "columns names 'a', which X does not have"),
        ({"columns": [1, 4]}, ValueError, "columns has 4; .* 0 to 3"),
        ({"columns": [-1]}, ValueError, "columns has -1"),
        ({"columns": np.array([True, False])}, ValueError, "columns has .*True"),
        ({"columns": ["x1", 1]}, ValueError, "columns has 'x1' 2 times"),
        ({"columns": []}, ValueError, "columns must be a sequence of at least one"),
        ({"columns": "x1"}, ValueError, "columns must be a sequence.*'x1'"),
        ({"columns": 2}, ValueError, "columns must be a sequence.*2"),
        ({"groups": range(5)}, ValueError, r"groups has shape \(5,\), X has 20.*pass one label"),
        ({"groups": "x1"}, ValueError, "groups"),
        ({"groups": [None, *range(19)]}, ValueError, "groups has no value in 1 row"),
        *(({"sigma": value}, ValueError, "sigma must be a positive number")
          for value in (0, -1.0, np.nan, "1")),
        *(({"noise_scale": value}, ValueError, "noise_scale must be a positive number")
          for value in (0, -1, np.inf, np.nan, "mad", None, [1.0, 2.0])),
        ({"noise_scale": 1e-200}, ValueError, "noise_scale=1e-200 is out of all proportion"),
        ({"random_state": -1}, ValueError, "random_state.*-1"),
        ({"random_state": "seed"}, TypeError, "random_state.*'seed'"),
        ({"max_cuts": 0}, ValueError, "max_cuts == 0"),
        ({"prior": {"n_trees": 3}}, TypeError, "prior must be a Prior"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        run(X, Y, **settings)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[:5], Y[:5], " needs more rows .* 5 rows and 4 columns; use 'sd'"),
        (np.where(np.eye(20, 4) == 1, np.nan, X), Y, ".*without missing values; use 'sd'"),
        (X, 3 * X[:, 0] + 1, ".*fits y exactly; use 'sd'"),
        (bin_table(X), Y, " needs the table itself"),
    ],
)
def test_a_linear_noise_scale_needs_a_linear_model(X, y, message):
    with pytest.raises(ValueError, match=f"noise_scale='linear'{message}"):
        run(X, y, noise_scale="linear", prior=Prior(min_leaf=2))


@pytest.mark.parametrize("family", ["probit", "ordinal", "classes"])
def test_two_classes_grades_and_classes_have_no_noise_to_fix(family):
    y = np.median(Y) < Y if family == "probit" else outcome_of(family, Y)
    with pytest.raises(ValueError, match="no noise to draw"):
        run(X, y, family=family, sigma=1.0)
    if family == "probit":
        with pytest.raises(ValueError, match="noise_scale must be"):
            run(X, y, noise_scale="mad")


class TestChains:
    """Several chains, and what is made of their draws."""

    def test_chains_are_those_of_spawned_generators_whatever_the_threads(self):
        X, y = data()
        rngs = np.random.default_rng(3).spawn(3)
        alone = [run(X, y, random_state=rng) for rng in rngs]
        for n_jobs in (None, 3):
            rng = np.random.default_rng(3)
            found = run(X, y, n_chains=3, n_jobs=n_jobs, random_state=rng)
            for name in ("sigma", "n_splits", "theta"):
                assert_array_equal(getattr(found, name), [getattr(one, name) for one in alone])
            assert_allclose(found.mean_splits, np.mean([one.mean_splits for one in alone], axis=0))
            each = [one.predict(X) for one in alone]
            assert_allclose(found.predict(X), np.mean(each, axis=0))
            assert "3 chains of 200 iterations" in repr(found)
        assert found.summary()["parameter"].tolist() == ["sigma", "n_splits"]

    @pytest.mark.parametrize(
        "family", ["gaussian", "probit", "classes", "ordinal", "counts", "survival"]
    )
    def test_intervals_hold_new_outcomes_and_draws_average_to_the_mean(self, family):
        rng = np.random.default_rng(0)
        X, latent = rng.random((500, 3)), rng.normal(size=500)
        latent += 4 * X[:, 0]
        y = {
            "gaussian": latent,
            "probit": np.where(latent > 2, "yes", "no"),
            "classes": np.digitize(latent, [1, 3]).astype(str),
            "ordinal": np.digitize(latent, [1, 2, 3, 4]),
            "counts": rng.poisson(np.exp(latent / 3)),
            "survival": np.exp(latent),
        }[family]
        times = survival_array(np.exp(latent), np.ones(500))
        given = times[:250] if family == "survival" else y[:250]
        found = run_bart(
            X[:250], given, n_trees=20, family=family, n_iterations=400, n_chains=2, random_state=1
        )
        mean, low, high = found.predict(X[250:], interval=0.8)
        draws = found.predict(X[250:], draws=True)
        assert draws.shape == (200, *mean.shape)
        assert_allclose(draws.mean(axis=0), mean)
        assert_allclose(mean, found.predict(X[250:]))
        if family in ("probit", "classes"):  # of the probability
            assert_allclose(np.quantile(draws, [0.1, 0.9], axis=0), [low, high])
            return
        new = y[250:]
        inside = np.mean((low <= new) & (new <= high))
        assert 0.72 < inside < (0.95 if family in ("ordinal", "counts") else 0.88)

    def test_a_prior_by_the_names_that_people_know(self):
        X, y = data()
        prior = Prior(
            n_trees=4, base=0.5, power=1.0, k=3.0, noise_df=5.0, noise_quantile=0.8
        )  # fmt: skip
        assert_same(run(X, y, alpha=0.5, beta=1.0, k=3.0, nu=5.0, q=0.8), run(X, y, prior=prior))
        with pytest.raises(ValueError, match=r"the prior is given: say base, k in prior=Prior"):
            run(X, y, prior=prior, alpha=0.5, k=1.0)

    def test_what_cannot_be(self):
        X, y = data()
        found = run(X, y)
        with pytest.raises(ValueError, match="draws and interval exclude each other"):
            found.predict(X, interval=0.9, draws=True)
        with pytest.raises(ValueError, match="interval == 1"):
            found.predict(X, interval=1)
        with pytest.raises(ValueError, match="n_chains == 0"):
            run(X, y, n_chains=0)

    @pytest.mark.parametrize("is_old", [False, True])
    def test_for_arviz(self, is_old, monkeypatch):
        X, y = data()
        found = run(X, y, n_chains=2, n_keep=10)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'tvselect\[arviz\]'"):
            found.to_arviz()
        arviz = ModuleType("arviz")
        arviz.from_dict = (lambda **groups: groups) if is_old else (lambda groups: groups)
        if is_old:
            arviz.InferenceData = object
        monkeypatch.setitem(sys.modules, "arviz", arviz)
        groups = found.to_arviz(X)
        shapes = {name: trace.shape for name, trace in groups["posterior"].items()}
        assert shapes == {"sigma": (2, N // 2), "n_splits": (2, N // 2)}
        assert groups["predictions"]["mu"].shape == (2, 10, 80)


def chains(correlation, n_chains=4, n=4000, seed=1):
    noise = np.random.default_rng(seed).normal(size=(n_chains, n))
    for t in range(1, n):
        noise[:, t] = correlation * noise[:, t - 1] + np.sqrt(1 - correlation**2) * noise[:, t]
    return noise


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.5, 0.9])
def test_the_effective_size_of_autoregressive_chains_is_known(correlation):
    found = effective_size(chains(correlation))
    expected = 16000 * (1 - correlation) / (1 + correlation)
    assert found == pytest.approx(expected, rel=0.2)


def test_what_does_not_agree_is_seen_whatever_the_shape():
    mixed = chains(0.3)
    apart = mixed + np.array([[0.0], [0.0], [0.0], [1.0]])
    wide = mixed * np.array([[1.0], [1.0], [1.0], [3.0]])  # the same mean, another spread
    drift = mixed[:1] + np.linspace(0, 3, 4000)
    assert r_hat(mixed) < 1.01
    assert min(r_hat(apart), r_hat(wide), r_hat(drift)) > 1.05
    assert effective_size(apart) < 100
    together = np.stack([mixed, apart], axis=-1)
    np.testing.assert_array_equal(r_hat(together), [r_hat(mixed), r_hat(apart)])
    np.testing.assert_allclose(
        effective_size(together), [effective_size(mixed), effective_size(apart)]
    )


def test_ranks_alone_count():
    mixed = chains(0.5)
    assert effective_size(np.exp(5 * mixed)) == effective_size(mixed)


def test_constants_and_short_chains():
    assert np.isnan(r_hat(np.ones((2, 10))))
    assert np.isnan(effective_size(np.ones((2, 10))))
    with pytest.raises(ValueError, match=r"at least 4 draws, got shape \(2, 3\)"):
        r_hat(np.ones((2, 3)))
