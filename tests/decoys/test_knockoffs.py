from __future__ import annotations

import io

import numpy as np
import pytest

from tests.decoys.tables import autoregressive, common_factor, correlations
from tvselect.decoys import Knockoffs, restore_knockoffs, store_knockoffs, swap_test
from tvselect.decoys.knockoffs import most_entropy
from tvselect.inputs.npz import read_arrays

P = 8
ROWS = 30_000
# A false alarm in a comparison of Gaussian moments: 6e-7 each, under 1e-4 for a whole table.
Z = 5.0
LAWS = {
    "AR(0.5)": lambda rng: autoregressive(0.5, ROWS, P, rng),
    "factor": lambda rng: common_factor(ROWS, P, rng),
    "independent": lambda rng: rng.standard_normal((ROWS, P)),
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
CORRELATIONS = {
    "AR(0.5)": 0.5 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))),
    "equal 0.3": 0.3 + 0.7 * np.eye(P),
}


@pytest.fixture
def awkward():
    """Missing values, a 0/1 column, two collinear columns, a constant and an empty one."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 7)) + rng.normal(size=(200, 1))
    X[:, 1] = X[:, 1] > 1
    X[:, 3] = 5 - 2 * X[:, 2]
    X[:, 4] = 0.1
    X[:, 5] = np.nan
    X[::7, 0] = np.nan
    X[1::5, 4] = np.nan
    return X


@each_law
@pytest.mark.parametrize("n_copies", [1, 3])
def test_no_swap_of_a_column_with_a_copy_changes_a_second_moment(law, n_copies):
    """Sample correlations have a standard error of at most 1 / sqrt(rows), differences twice it.

    The correlations in the model are estimated from as many rows, which adds as much.
    """
    rng = np.random.default_rng(1)
    X = law(rng)
    copies = Knockoffs.estimate(X, n_copies).draw(X, rng)
    before = np.corrcoef(np.hstack([X, *copies]).T)
    for swapped in ([0], [1, 4, 6], list(range(P))):
        after = [X.copy(), *copies.copy()]
        after[0][:, swapped], after[-1][:, swapped] = copies[-1][:, swapped], X[:, swapped]
        moved = np.corrcoef(np.hstack(after).T) - before
        assert np.abs(moved).max() < Z * 3 / np.sqrt(ROWS)


def test_copies_are_as_far_from_each_other_as_from_the_column():
    rng = np.random.default_rng(2)
    X = autoregressive(0.9, ROWS, P, rng)
    first, second = Knockoffs.estimate(X, 2).draw(X, rng)
    gap = correlations(first, second).mean() - correlations(first, X).mean()
    assert abs(gap) < Z / np.sqrt(ROWS)


def test_fewer_copies_can_be_further_from_the_column():
    """The room for S is (1 + 1/B) R."""
    rng = np.random.default_rng(3)
    X = autoregressive(0.9, 5000, P, rng)
    s = [Knockoffs.estimate(X, n).blocks[0].s.mean() for n in (1, 2, 10)]
    assert s[0] > s[1] > s[2]


def test_independent_columns_get_independent_copies():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((ROWS, P))
    (copy,) = Knockoffs.estimate(X).draw(X, rng)
    assert np.abs(correlations(copy, X)).max() < Z / np.sqrt(ROWS)


@pytest.mark.parametrize("p", [20, 400])
@pytest.mark.parametrize(
    "make",
    [
        lambda rng, p: autoregressive(0.5, 300, p, rng),
        lambda rng, p: autoregressive(0.9, 300, p, rng),
        lambda rng, p: common_factor(300, p, rng),
        lambda rng, p: (autoregressive(0.5, 300, p, rng) > 0).astype(float),
        lambda rng, p: np.exp(autoregressive(0.9, 300, p, rng)),
    ],
    ids=["AR(0.5)", "AR(0.9)", "factor", "0/1", "skewed"],
)
def test_copies_stand_in_for_the_neighbours_as_the_column_does(make, p):
    """300 rows. The mean over columns of the correlation with the next one is mirrored.

    A mean over p columns of differences of two correlations of which each has a standard
    error of 1 / sqrt(300); neighbours are dependent, hence a factor of 2; and 0.02 are left
    to shrinkage.
    """
    rng = np.random.default_rng(6)
    X = make(rng, p)
    (copy,) = Knockoffs.estimate(X).draw(X, rng)
    own, mirrored = (correlations(Z[:, :-1], X[:, 1:]).mean() for Z in (X, copy))
    among = correlations(copy[:, :-1], copy[:, 1:]).mean()
    error = 2 * np.sqrt(2 / (300 * p))
    assert abs(mirrored - own) < 0.02 + 3 * error
    assert abs(among - own) < 0.02 + 3 * error


def test_copies_have_the_values_of_their_column_and_what_is_missing_stays_so(awkward):
    copies = Knockoffs.estimate(awkward, 4).draw(awkward, np.random.default_rng(0))
    for j, column in enumerate(awkward.T):
        seen = copies[:, :, j]
        assert np.isin(seen[~np.isnan(seen)], column).all()
    np.testing.assert_array_equal(np.isnan(copies), np.isnan([awkward] * 4))
    np.testing.assert_array_equal(copies[0][:, 4], awkward[:, 4])


def test_a_column_without_values_counts_as_zero(awkward):
    estimate = Knockoffs.estimate(awkward)
    awkward[:3, 5] = 9.0
    (copy,) = estimate.draw(awkward, np.random.default_rng(0))
    np.testing.assert_array_equal(copy[:3, 5], 0.0)
    assert np.isnan(copy[3:, 5]).all()


def test_one_collinear_pair_does_not_spoil_the_others():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(2000, 6))
    X[:, 1] = 1 - 3 * X[:, 0]
    (copy,) = Knockoffs.estimate(X).draw(X, rng)
    assert (correlations(copy, X)[:2] > 0.99).all()
    assert np.abs(correlations(copy, X)[2:]).max() < Z / np.sqrt(2000)


def test_rows_that_were_not_seen_and_values_beyond():
    rng = np.random.default_rng(12)
    estimate = Knockoffs.estimate(rng.normal(size=(500, 3)))
    (copy,) = estimate.draw(10 * rng.normal(size=(50, 3)), rng)
    assert np.isfinite(copy).all()


@pytest.mark.parametrize("shape", [(2, 4), (3, 4), (10, 40), (50, 1)])
def test_small_tables(shape):
    rng = np.random.default_rng(13)
    X = rng.normal(size=shape) + rng.normal(size=(shape[0], 1))
    assert np.isfinite(Knockoffs.estimate(X, 3).draw(X, rng)).all()


def test_a_draw_is_a_function_of_the_table_and_the_generator(awkward):
    estimate = Knockoffs.estimate(awkward)
    before = awkward.copy()
    first, again, other = (
        estimate.draw(awkward, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first[:, :, 2] != other[:, :, 2]).any()
    np.testing.assert_array_equal(awkward, before)


def test_some_of_the_copies_are_the_first_of_all(awkward):
    estimate = Knockoffs.estimate(awkward, 5)
    every = estimate.draw(awkward, np.random.default_rng(0))
    some = estimate.draw(awkward, np.random.default_rng(0), n_copies=2)
    np.testing.assert_array_equal(some, every[:2])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused_with_their_column(awkward, value):
    estimate = Knockoffs.estimate(awkward)
    awkward[3, 2] = value
    with pytest.raises(ValueError, match="Column 2"):
        Knockoffs.estimate(awkward)
    with pytest.raises(ValueError, match="Column 2"):
        estimate.draw(awkward, np.random.default_rng(0))


def test_no_swap_of_a_column_with_its_copy_changes_a_moment_where_few_are_drawn():
    """Those of the columns asked for with all columns of the table, as when all are drawn."""
    rng = np.random.default_rng(17)
    X = np.hstack([autoregressive(0.7, ROWS, 4, rng), rng.standard_normal((ROWS, 6))])
    needed, knockoffs = Knockoffs.estimate(X).among(np.array([2, 7]))
    assert needed.tolist() == [0, 1, 2, 3, 7]
    copies = X.copy()
    copies[:, needed] = knockoffs.draw(X[:, needed], rng)[0]
    before = np.corrcoef(X.T)
    for j in (2, 7):
        after = X.copy()
        after[:, j] = copies[:, j]
        assert np.abs(np.corrcoef(after.T) - before).max() < Z * 3 / np.sqrt(ROWS)
    assert abs(correlations(copies[:, [7]], X[:, [7]]).item()) < Z / np.sqrt(ROWS)


def test_where_factors_drive_all_columns_all_are_needed():
    rng = np.random.default_rng(18)
    X = common_factor(2000, 40, rng)
    knockoffs = Knockoffs.estimate(X)
    needed, same = knockoffs.among(np.array([3]))
    assert knockoffs.loadings.shape[1]
    assert needed.size == 40
    assert same is knockoffs


@pytest.mark.parametrize(
    ("use", "message"),
    [
        *(
            (lambda X, n=n: Knockoffs.estimate(X, 2).draw(X, None, n), f"n_copies=2, not {n}")
            for n in (0, 3)
        ),
        *((lambda X, n=n: Knockoffs.estimate(X[:n]), f"at least 2 rows, got {n}") for n in (0, 1)),
        (lambda X: Knockoffs.estimate(X, 0), "at least 1, got 0"),
        (lambda X: Knockoffs.estimate(X).draw(X[:, 1:], None), "of 7 columns, the table has 6"),
        (lambda X: Knockoffs.estimate(X[0]), "2 dimensions, got 1"),
    ],
)
def test_what_does_not_fit_is_refused(awkward, use, message):
    with pytest.raises(ValueError, match=message):
        use(awkward)


# How far copies can be


@pytest.mark.parametrize("n_copies", [1, 2, 10])
@pytest.mark.parametrize("R", CORRELATIONS.values(), ids=CORRELATIONS)
def test_s_has_the_most_entropy(R, n_copies):
    def entropy(s):
        values = np.linalg.eigvalsh((1 + 1 / n_copies) * R - np.diag(s))
        if values[0] <= 0:
            return -np.inf
        return np.log(values).sum() + n_copies * np.log(s).sum()

    s = most_entropy(R, n_copies)
    for direction in np.random.default_rng(6).normal(size=(50, P)):
        assert entropy(s * np.exp(0.05 * direction)) < entropy(s)


def test_independent_columns_have_all_the_room():
    np.testing.assert_allclose(most_entropy(np.eye(P), 4), 1.0, rtol=1e-3)


def test_a_pair_that_is_nearly_one_column():
    """For a pair with correlation 1 - a, a small, the best s of one copy is 4 a / 3."""
    R = np.array([[1.0, 1 - 1e-4], [1 - 1e-4, 1.0]])
    np.testing.assert_allclose(most_entropy(R, 1), 4e-4 / 3, rtol=0.01)


# As bytes


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    X = autoregressive(0.8, 200, 12, rng)
    X[:, 3] = X[:, 3] > 0
    X[::9, 1] = np.nan
    return X


@pytest.mark.parametrize("n_copies", [1, 3])
def test_bytes_round_trip_bit_for_bit(table, n_copies):
    estimate = Knockoffs.estimate(table, n_copies)
    stored = store_knockoffs(estimate)
    read = restore_knockoffs(stored)
    assert store_knockoffs(read) == stored
    draws = [knockoffs.draw(table, np.random.default_rng(16)) for knockoffs in (estimate, read)]
    assert draws[0].tobytes() == draws[1].tobytes()


def test_factors_and_lone_columns_round_trip():
    X = common_factor(300, 40, np.random.default_rng(0))
    estimate = Knockoffs.estimate(X)
    assert estimate.loadings.shape[1] == 1
    assert store_knockoffs(restore_knockoffs(store_knockoffs(estimate))) == store_knockoffs(
        estimate
    )


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: b"x" * 50, lambda data: data[:-9]]
)
def test_other_bytes_are_refused(damage, table):
    with pytest.raises(ValueError, match="not stored knockoffs"):
        restore_knockoffs(damage(store_knockoffs(Knockoffs.estimate(table))))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rest", lambda part: part[:-1]),
        ("rest", lambda part: np.append(part[:-1], np.nan)),
        ("n_copies", lambda part: part * 0),
        ("starts", lambda part: part[::-1]),
        ("values", lambda part: part[:-3]),
        ("members", lambda part: part + 1),
        ("sizes", lambda part: part * 2),
        ("sizes", lambda part: -part),
        ("precision", lambda part: part[:-1]),
        ("root", lambda part: part * np.inf),
        ("s", lambda part: part.astype(np.float32)),
        ("loadings", lambda part: np.ones(5)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change, table):
    arrays = read_arrays(store_knockoffs(Knockoffs.estimate(table)))
    arrays[name] = change(arrays[name])
    file = io.BytesIO()
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="not stored knockoffs"):
        restore_knockoffs(file.getvalue())


# The test of swaps


def test_copies_of_the_law_itself_are_not_told_apart():
    """Columns and copies independent and normal: p-values are uniform, or larger."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, copies = rng.normal(size=(2, 200, 10))
        found.append(swap_test(X, copies, rng).p_value)
    assert np.mean(np.array(found) < 0.1) < 0.1 + 3 * np.sqrt(0.09 / 20)


@pytest.mark.parametrize("correlation", [0.5, 0.9])
def test_knockoffs_pass_and_shuffled_rows_do_not(correlation):
    rng = np.random.default_rng(1)
    X = autoregressive(correlation, 300, 60, rng)
    assert swap_test(X, Knockoffs.estimate(X, 3).draw(X, rng), rng).p_value > 0.01
    assert swap_test(X, rng.permutation(X), rng).p_value < 1e-6


def test_shape_gives_copies_away():
    rng = np.random.default_rng(2)
    X = (rng.random((300, 12)) < 0.5) + 0.0
    found = swap_test(X, 0.5 + 0.5 * rng.normal(size=X.shape), rng)
    assert found.accuracy > 0.9
    assert found.p_value < 1e-6
    assert swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01


def test_missing_values_and_constants_are_no_obstacle():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 5))
    X[:, 0], X[:, 1], X[::3, 2] = 1.0, np.nan, np.nan
    assert swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01


def test_a_single_column_tells_nothing():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 1))
    assert swap_test(X, X[None], rng).p_value == 1.0


def test_another_shape_is_refused():
    with pytest.raises(ValueError, match="must be alike"):
        swap_test(np.zeros((9, 3)), np.zeros((2, 8, 3)), np.random.default_rng(0))
