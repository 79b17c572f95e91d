from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tvselect.trees import Prior, bin_table, run_bart, run_to_end, sampler
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
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert len(one.forests) == len(other.forests)
    for a, b in zip(one.forests, other.forests, strict=True):
        np.testing.assert_array_equal(a.value, b.value)
    assert one.acceptance_rate == other.acceptance_rate
    assert one.n_burn == other.n_burn


@pytest.mark.parametrize(
    "wrap",
    [
        np.asfortranarray,
        np.ndarray.tolist,
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
        bin_table,
    ],
    ids=["fortran", "lists", "pandas", "polars", "arrow", "binned"],
)
@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_every_kind_of_table_gives_the_same_numbers(wrap, family):
    X, y = data()
    X[::9, 0] = np.nan
    if family == "probit":
        y = np.where(y > 0, "yes", "no")
    expected, found = run(X, y), run(wrap(X), y)
    assert_same(found, expected)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.names in (tuple(NAMES), ("x0", "x1", "x2", "x3"))
    assert found.family == family


@pytest.mark.parametrize("wrap", [list, pd.Series, pl.Series, pd.DataFrame, pa.array])
def test_every_kind_of_outcome_gives_the_same_numbers(wrap):
    X, y = data()
    assert_same(run(X, wrap(y)), run(X, y))


def test_the_result_has_one_value_per_iteration_and_per_column():
    X, y = data()
    found = run(X, y, n_burn=3, n_keep=4)
    assert found.sigma.shape == found.theta.shape == found.n_splits.shape == (N,)
    assert found.mean_splits.shape == found.inclusion.shape == found.last_splits.shape == (4,)
    assert found.names == ("x0", "x1", "x2", "x3")
    assert found.n_burn == 3
    assert len(found.forests) == 4
    assert found.forest.n_trees == 4
    assert found.classes is None
    assert 0 <= found.acceptance_rate <= 1
    assert found.seconds > 0
    assert (found.sigma > 0).all()
    assert ((found.inclusion >= 0) & (found.inclusion <= 1)).all()
    assert found.mean_splits.sum() == pytest.approx(found.n_splits[3:].mean())
    assert found.last_splits.sum() == found.n_splits[-1]
    np.testing.assert_array_equal(found.forest.split_counts(4), found.last_splits)
    np.testing.assert_array_equal(found.forests[-1].value, found.forest.value)


@pytest.mark.parametrize(
    ("n_iterations", "n_burn", "n_keep", "kept"),
    [(1, None, 100, 1), (2, None, 100, 1), (10, 0, 3, 3), (10, 9, 5, 1), (10, 4, 100, 6)],
)
def test_forests_are_kept_after_burn_in_only(n_iterations, n_burn, n_keep, kept):
    X, y = data()
    found = run(X, y, n_iterations=n_iterations, n_burn=n_burn, n_keep=n_keep)
    assert len(found.forests) == kept
    assert found.n_splits.size == n_iterations
    assert found.n_burn == (n_iterations // 2 if n_burn is None else n_burn)


def test_a_fixed_seed_gives_the_same_run():
    X, y = data()
    assert_same(run(X, y), run(X, y))
    assert (run(X, y).sigma != run(X, y, random_state=2).sigma).any()


def test_what_is_kept_and_shown_does_not_change_the_run():
    X, y = data()
    one, other = run(X, y, n_keep=1), run(X, y, n_keep=7, verbose=1)
    np.testing.assert_array_equal(one.sigma, other.sigma)
    np.testing.assert_array_equal(one.mean_splits, other.mean_splits)


def test_a_generator_is_used_as_it_is():
    X, y = data()
    rng = np.random.default_rng(1)
    first, second = run(X, y, random_state=rng), run(X, y, random_state=rng)
    assert_same(first, run(X, y, random_state=np.random.default_rng(1)))
    assert (first.sigma != second.sigma).any()


@pytest.mark.parametrize("bits", [np.random.Philox, np.random.MT19937, np.random.PCG64])
def test_any_bit_generator_drives_the_chain(bits):
    X, y = data()
    one, other = run(X, y, random_state=bits(3)), run(X, y, random_state=bits(3))
    assert_same(one, other)
    assert (one.sigma != run(X, y, random_state=3).sigma).any()


def test_numpy_whole_numbers_are_taken():
    X, y = data()
    found = run(X, y, n_iterations=np.int32(N), n_burn=np.uint8(3), n_keep=np.int64(2))
    assert_same(found, run(X, y, n_burn=3, n_keep=2))


def test_predictions_are_close_on_easy_data():
    X, y = data(400)
    found = run(X, y, n_trees=20, n_iterations=2000)
    np.testing.assert_allclose(found.predict(X), y, atol=1.5)
    assert np.corrcoef(found.predict(X), y)[0, 1] > 0.99
    assert found.table(1)["variable"] == ["x1"]
    assert 0.05 < found.sigma[-1] < 0.8


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (-1.0, 2.5)])
def test_predictions_for_two_classes_are_probabilities_of_the_second(labels):
    X, y = data(400)
    classes = np.array(labels)[(y > 0).astype(int)]
    found = run(X, classes, n_iterations=1000)
    p = found.predict(X)
    assert found.family == "probit"
    assert found.classes.tolist() == list(labels)
    assert ((p >= 0) & (p <= 1)).all()
    assert ((p > 0.5) == (y > 0)).mean() > 0.95


def test_predictions_are_the_mean_over_the_kept_forests():
    X, y = data()
    found = run(X, y, n_keep=3)
    codes = bin_table(X).codes
    values = [found.center + forest.evaluate(codes, len(X)) for forest in found.forests]
    np.testing.assert_allclose(found.predict(X), np.mean(values, axis=0), rtol=1e-12)


def test_the_unit_and_origin_of_the_outcome_do_not_matter():
    X, y = data()
    one, other = run(X, y), run(X, 1e6 * y - 1e7)
    np.testing.assert_allclose(other.sigma, 1e6 * one.sigma, rtol=1e-6)
    np.testing.assert_allclose(other.predict(X), 1e6 * one.predict(X) - 1e7, rtol=1e-6)


def test_new_rows_may_be_of_any_kind_and_number():
    X, y = data()
    frame = pd.DataFrame(X, columns=NAMES)
    found = run(frame, y)
    new = X[:5] * 10
    new[0, 1] = np.nan
    expected = found.predict(new)
    assert expected.shape == (5,)
    assert np.isfinite(expected).all()
    for wrap in (np.ndarray.tolist, lambda X: pl.DataFrame(X, schema=NAMES)):
        np.testing.assert_array_equal(found.predict(wrap(new)), expected)
    arrow = pa.table(dict(zip(NAMES, new.T, strict=True)))
    np.testing.assert_array_equal(found.predict(arrow), expected)
    np.testing.assert_array_equal(found.predict(new[:1]), expected[:1])


def test_new_rows_with_other_columns_are_refused():
    X, y = data()
    found = run(pd.DataFrame(X, columns=NAMES), y)
    with pytest.raises(ValueError, match="column 1 of X is 'c' where 'b' is expected"):
        found.predict(pd.DataFrame(X, columns=["a", "c", "b", "d"]))
    with pytest.raises(ValueError, match="X has 3 columns but the cut points are for 4"):
        found.predict(X[:, :3])
    with pytest.raises(ValueError, match="two dimensions"):
        found.predict(X[0])
    with pytest.raises(ValueError, match="column 'c' of X holds infinite"):
        found.predict(pd.DataFrame(np.where(np.arange(4) == 2, np.inf, X), columns=NAMES))


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
    np.testing.assert_array_equal(some.predict(X), alone.predict(X[:, [3, 0]]))
    assert not some.forest.split_counts(4)[[1, 2]].any()


@pytest.mark.parametrize("missing", [0.1, 0.6])
@pytest.mark.parametrize("sparse", [False, True])
def test_missing_values_are_legal(missing, sparse):
    X, y = data()
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    found = run(X, y, sparse=sparse)
    assert np.isfinite(found.predict(X)).all()


def test_that_a_value_is_missing_can_be_what_matters():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    gone = rng.random(200) < 0.5
    X[gone, 2] = np.nan
    found = run(X, gone + 0.1 * rng.standard_normal(200), n_iterations=500)
    assert found.inclusion[2] == 1.0
    assert np.corrcoef(found.predict(X), gone)[0, 1] > 0.95


def test_constant_columns_are_never_split_on():
    X, y = data()
    X[:, 1] = 3.0
    assert run(X, y).mean_splits[1] == 0
    assert not run(np.ones((80, 2)), y).n_splits.any()


def test_a_fixed_sigma_stays():
    X, y = data()
    np.testing.assert_allclose(run(X, y, sigma=0.5).sigma, 0.5)
    np.testing.assert_allclose(run(X, y, sigma=np.float32(0.5)).sigma, 0.5)
    assert np.isinf(run(X, y, sigma=np.inf).sigma).all()


def test_the_prior_may_be_given_whole():
    X, y = data()
    found = run(X, y, prior=Prior(n_trees=3, min_leaf=20, sparse=True))
    assert found.forest.n_trees == 3
    assert_same(run(X, y, sparse=True), run(X, y, prior=Prior(n_trees=4, sparse=True)))


def test_the_concentration_moves_under_a_sparse_prior_only():
    X, y = data()
    assert np.unique(run(X, y).theta).size == 1
    assert np.unique(run(X, y, sparse=True, n_burn=0).theta).size > 1


@pytest.mark.parametrize("noise_scale", [0.3, np.float32(0.3), 1])
def test_a_smaller_noise_scale_is_a_prior_on_smaller_noise(noise_scale):
    X, y = data()
    found = run(X, y, noise_scale=noise_scale, sigma=None)
    assert found.sigma[0] < run(X, y).sigma[0]


def test_a_linear_noise_scale_is_that_of_the_residuals():
    X, y = data()
    design = np.column_stack([np.ones(80), X[:, [1, 3]]])
    residuals = y - design @ np.linalg.solve(design.T @ design, design.T @ y)
    scale = float(np.sqrt((residuals**2).sum() / 77))
    linear, number = (run(X, y, columns=[1, 3], noise_scale=s) for s in ("linear", scale))
    np.testing.assert_allclose(linear.sigma[0], number.sigma[0], rtol=1e-9)


def test_the_table_of_columns_is_sorted_and_cut():
    X, y = data()
    found = run(pd.DataFrame(X, columns=NAMES), y)
    table = found.table()
    assert sorted(table["variable"]) == NAMES
    assert (np.diff(table["mean_splits"]) <= 0).all()
    assert pl.DataFrame(found.table(2)).shape == pd.DataFrame(found.table(2)).shape == (2, 4)
    top = table["variable"][0]
    assert found.mean_splits[NAMES.index(top)] == found.mean_splits.max()


@pytest.mark.parametrize("family", ["gaussian", "probit"])
def test_a_run_describes_itself(family):
    X, y = data()
    text = repr(run(X, y if family == "gaussian" else y > 0))
    assert f"4 trees, {N} iterations ({N // 2} burn-in), 4 columns, {family}" in text
    assert ("sigma" in text) == (family == "gaussian")
    assert "BartRun" in repr(run(np.ones((80, 2)), y))


def test_a_run_can_be_pickled():
    X, y = data()
    found = run(X, y > 0)
    again = pickle.loads(pickle.dumps(found))
    assert_same(again, found)
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


@pytest.mark.parametrize(("verbose", "shown"), [(0, False), (1, True)])
def test_a_bar_is_shown_when_asked_for(capsys, verbose, shown):
    X, y = data()
    run(X, y, verbose=verbose)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("BART" in err) == shown


def test_inputs_are_left_as_they_were():
    X, y = data()
    frame, kept = pd.DataFrame(X.copy()), (X.copy(), y.copy())
    run(X, y)
    run(frame, y)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])
    np.testing.assert_array_equal(frame, kept[0])


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
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[:done])
    assert part.mean_splits.sum() == pytest.approx(part.n_splits[50:].mean())
    assert part.last_splits.sum() == part.n_splits[-1]
    assert np.isfinite(part.predict(X)).all()
    assert f"{done} iterations" in repr(part)


def test_where_a_part_is_of_no_use_ctrl_c_is_an_interrupt(monkeypatch):
    X, y = data()
    interrupt_from(monkeypatch, 60)
    with pytest.raises(KeyboardInterrupt):
        run_to_end(X, y, n_iterations=100, n_burn=50)


@pytest.mark.parametrize("n_done", [0, 10])
def test_ctrl_c_before_the_end_of_burn_in_stops(monkeypatch, n_done):
    X, y = data()
    interrupt_from(monkeypatch, n_done)
    with pytest.raises(KeyboardInterrupt):
        run(X, y, n_iterations=100, n_burn=90)


def test_ctrl_c_during_the_kernel_loses_no_iteration(monkeypatch):
    # Python handles the signal when the kernel returns, before its result is stored.
    X, y = data()
    kernel = sampler.run

    def interrupted(*args):
        kernel(*args)
        if args[3].record.tally.whole[N_DONE] >= 60:
            raise KeyboardInterrupt

    monkeypatch.setattr(sampler, "run", interrupted)
    with pytest.warns(RuntimeWarning, match="interrupted"):
        part = run(X, y, n_iterations=100, n_burn=10, n_keep=3)
    assert part.mean_splits.sum() == pytest.approx(part.n_splits[10:].mean())
    assert part.last_splits.sum() == part.n_splits[-1]
    assert (part.inclusion <= 1).all()


def test_prediction_takes_the_binned_table_of_the_run_only():
    X, y = data()
    table = bin_table(X)
    found = run(table, y)
    np.testing.assert_array_equal(found.predict(table), found.predict(X))
    with pytest.raises(ValueError, match="binned with other cut points"):
        found.predict(bin_table(X))
