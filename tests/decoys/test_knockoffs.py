"""Knockoffs: the correlations that they keep; how they are drawn, stored and tested."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tvselect.decoys import Knockoffs, knockoffs, restore_knockoffs, store_knockoffs, swap_test
from tvselect.decoys.knockoffs import LARGEST_BLOCK, most_entropy
from tvselect.records import read_arrays

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


def autoregressive(correlation, rows, p, rng):
    X = rng.standard_normal((rows, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X


def common_factor(rows, p, rng):
    return (rng.standard_normal((rows, 1)) + rng.standard_normal((rows, p))) / 2


def correlations(a, b):
    """Of the columns of two tables, one by one."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return (a * b).mean(axis=0) / (a.std(axis=0) * b.std(axis=0))


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


# Correlations


def full(found):
    """The correlations of all columns."""
    own = np.eye(found.rest.size)
    for block in found.blocks:
        own[np.ix_(block.members, block.members)] = np.linalg.inv(block.precision)
    return found.loadings @ found.loadings.T + own * np.outer(found.rest, found.rest)


def test_correlations_are_those_of_the_sample_or_of_the_normal_numbers_behind():
    """Thresholds fall with the rows; each entry has a standard error below 1 / sqrt(rows).

    That of a tetrachoric correlation is about twice as large.
    """
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(20_000, 6)) @ rng.normal(size=(6, 6))
    assert_allclose(full(Knockoffs.estimate(mixed)), np.corrcoef(mixed.T), atol=0.05)
    z = autoregressive(0.7, 20_000, 5, rng)
    wanted = 0.7 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    for cut in (0.0, 1.0):
        found = full(Knockoffs.estimate((z > cut) + 0.0))
        assert_allclose(found, wanted, atol=5 * 2 / np.sqrt(20_000))


def test_a_common_factor_is_one_factor_and_neighbours_are_none():
    rng = np.random.default_rng(2)
    assert Knockoffs.estimate(common_factor(300, 500, rng)).loadings.shape == (500, 1)
    for p in (20, 500):
        assert Knockoffs.estimate(autoregressive(0.9, 300, p, rng)).loadings.shape == (p, 0)


def test_blocks_are_disjoint_sound_and_not_too_large():
    X = autoregressive(0.8, 300, 1000, np.random.default_rng(3))
    X[:, 2] = 7.0  # alone
    found = Knockoffs.estimate(X)
    members = np.concatenate([block.members for block in found.blocks])
    assert np.unique(members).size == members.size > 950
    assert 2 not in members
    assert_array_equal(found.loadings[2], 0.0)
    for block in found.blocks:
        assert block.members.size <= LARGEST_BLOCK
        assert_allclose(np.diag(np.linalg.inv(block.precision)), 1.0)
        assert np.linalg.eigvalsh(block.precision)[0] > 0


# Copies


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


def test_copies_are_as_far_from_the_column_as_can_be():
    rng = np.random.default_rng(2)
    X = autoregressive(0.9, 5000, P, rng)
    s = [Knockoffs.estimate(X, n).blocks[0].s.mean() for n in (1, 2, 10)]
    assert s[0] > s[1] > s[2]  # the room for S is (1 + 1/B) R
    X = rng.normal(size=(2000, 6))  # one collinear pair does not spoil the others
    X[:, 1] = 1 - 3 * X[:, 0]
    (copy,) = Knockoffs.estimate(X).draw(X, rng)
    assert (correlations(copy, X)[:2] > 0.99).all()
    assert np.abs(correlations(copy, X)[2:]).max() < Z / np.sqrt(2000)


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
    estimate = Knockoffs.estimate(awkward, 4)
    copies = estimate.draw(awkward, np.random.default_rng(0))
    for j, column in enumerate(awkward.T):
        seen = copies[:, :, j]
        assert np.isin(seen[~np.isnan(seen)], column).all()
    assert_array_equal(np.isnan(copies), np.isnan([awkward] * 4))
    assert_array_equal(copies[0][:, 4], awkward[:, 4])
    awkward[:3, 5] = 9.0  # in a column without values: it counts as zero
    first, *_ = estimate.draw(awkward, np.random.default_rng(0))
    assert_array_equal(first[:3, 5], 0.0)
    assert np.isnan(first[3:, 5]).all()


@pytest.mark.parametrize("shape", [(2, 4), (3, 4), (10, 40), (50, 1)])
def test_small_tables_and_values_beyond_those_seen(shape):
    rng = np.random.default_rng(13)
    X = rng.normal(size=shape) + rng.normal(size=(shape[0], 1))
    for rows in (X, 10 * rng.normal(size=shape)):
        assert np.isfinite(Knockoffs.estimate(X, 3).draw(rows, rng)).all()


def test_a_draw_is_a_function_of_the_table_and_the_generator(awkward):
    estimate, before = Knockoffs.estimate(awkward, 5), awkward.copy()
    generators = map(np.random.default_rng, (0, 0, 1))
    first, again, other = (estimate.draw(awkward, rng) for rng in generators)
    assert_array_equal(first, again)
    assert (first[:, :, 2] != other[:, :, 2]).any()
    assert_array_equal(awkward, before)
    assert_array_equal(estimate.draw(awkward, np.random.default_rng(0), n_copies=2), first[:2])


@pytest.mark.parametrize("seed", range(5))
def test_the_last_bit_of_the_normal_scores_changes_copies_no_more_than_that(monkeypatch, seed):
    """SciPy's normal quantiles differ by so much between processors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 8))
    X[:, ::2] += 2 * X[:, 1::2]
    plain = Knockoffs.estimate(X, 3)
    ndtri = knockoffs.ndtri

    def shifted(p):
        return np.nextafter(ndtri(p), np.where(np.sin(1e6 * (seed + p)) > 0.0, 9.0, -9.0))

    monkeypatch.setattr(knockoffs, "ndtri", shifted)
    again = Knockoffs.estimate(X, 3)
    for one, other in zip(plain.blocks, again.blocks, strict=True):
        assert_array_equal(one.members, other.members)
        assert_allclose(one.root, other.root, rtol=1e-9, atol=1e-12)


def test_no_swap_of_a_column_with_its_copy_changes_a_moment_where_few_are_drawn():
    """Those of the columns asked for with all columns of the table, as when all are drawn."""
    rng = np.random.default_rng(17)
    X = np.hstack([autoregressive(0.7, ROWS, 4, rng), rng.standard_normal((ROWS, 6))])
    needed, knockoffs = Knockoffs.estimate(X).among(np.array([2, 7]))
    assert needed.tolist() == [1, 2, 3, 7]
    copies = X.copy()
    copies[:, [2, 7]] = knockoffs.draw(X[:, needed], rng, among=np.array([1, 3]))[0]
    before = np.corrcoef(X.T)
    for j in (2, 7):
        after = X.copy()
        after[:, j] = copies[:, j]
        assert np.abs(np.corrcoef(after.T) - before).max() < Z * 3 / np.sqrt(ROWS)
    assert abs(correlations(copies[:, [7]], X[:, [7]]).item()) < Z / np.sqrt(ROWS)
    knockoffs = Knockoffs.estimate(common_factor(2000, 40, rng))
    needed, same = knockoffs.among(np.array([3]))  # a factor drives all columns
    assert knockoffs.loadings.shape[1]
    assert needed.size == 40
    assert same is knockoffs
    X = common_factor(ROWS, 300, rng)
    needed, knockoffs = Knockoffs.estimate(X).among(np.array([3]))  # 100 columns tell the factor
    assert needed.size < 150
    copy = knockoffs.draw(X[:, needed], rng, among=np.searchsorted(needed, [3]))[0]
    rest = np.delete(np.arange(300), 3)
    seen, wanted = correlations(copy, X[:, rest]), correlations(X[:, [3]], X[:, rest])
    assert np.abs(seen - wanted).max() < Z * 3 / np.sqrt(ROWS)


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
        (lambda X: Knockoffs.estimate(X / 0.0), "Column 0"),
        (lambda X: Knockoffs.estimate(X).draw(-X / 0.0, None), "Column 0"),
        (lambda X: swap_test(X[:, :3], np.zeros((2, 8, 3)), None), "must be alike"),
    ],
)
def test_what_does_not_fit_is_refused(awkward, use, message):
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(ValueError, match=message):
        use(awkward)


def test_a_block_that_factors_make_almost_singular():
    """Half of the columns 0/1, all driven by three strong factors: solving it failed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1000)) + rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 1000))
    X[:, :500] = X[:, :500] > 0
    for block in Knockoffs.estimate(X, 2).blocks:
        assert block.s.min() > 0
        assert np.linalg.cond(block.precision) < 1e8


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
    assert_allclose(most_entropy(np.eye(P), n_copies), 1.0, rtol=1e-3)
    # For a pair with correlation 1 - a, a small, the best s of one copy is 4 a / 3.
    near = np.array([[1.0, 1 - 1e-4], [1 - 1e-4, 1.0]])
    assert_allclose(most_entropy(near, 1), 4e-4 / 3, rtol=0.01)
    for direction in np.random.default_rng(6).normal(size=(50, P)):
        assert entropy(s * np.exp(0.05 * direction)) < entropy(s)


# As bytes


@pytest.mark.parametrize("n_copies", [1, 3])
def test_bytes_round_trip_bit_for_bit(awkward, n_copies):
    factor = common_factor(300, 40, np.random.default_rng(0))
    for X in (awkward, factor):
        estimate = Knockoffs.estimate(X, n_copies)
        stored = store_knockoffs(estimate)
        read = restore_knockoffs(stored)
        assert store_knockoffs(read) == stored
        draws = [knockoffs.draw(X, np.random.default_rng(16)) for knockoffs in (estimate, read)]
        assert draws[0].tobytes() == draws[1].tobytes()
    assert read.loadings.shape[1] == 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (None, lambda data: b""),
        (None, lambda data: b"x" * 50),
        (None, lambda data: data[:-9]),
        ("rest", lambda part: part[:-1]),
        ("rest", lambda part: part[:0]),
        ("rest", lambda part: np.append(part[:-1], np.nan)),
        ("n_copies", lambda part: part * 0),
        ("starts", lambda part: part[::-1]),
        ("values", lambda part: part[:-3]),
        ("members", lambda part: part + 7 - part.max()),
        ("sizes", lambda part: part * 2),
        ("sizes", lambda part: -part),
        ("precision", lambda part: part[:-1]),
        ("root", lambda part: part * np.inf),
        ("s", lambda part: part.astype(np.float32)),
        ("loadings", lambda part: np.ones(5)),
    ],
)
def test_what_is_no_stored_knockoffs_is_refused(name, change, awkward):
    data = store_knockoffs(Knockoffs.estimate(awkward))
    if name is None:
        data = change(data)
    else:
        arrays, file = read_arrays(data), io.BytesIO()
        np.savez(file, **{**arrays, name: change(arrays[name])})
        data = file.getvalue()
    with pytest.raises(ValueError, match="not stored knockoffs"):
        restore_knockoffs(data)


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


def test_shape_gives_copies_away_and_missing_values_and_constants_are_no_obstacle():
    rng = np.random.default_rng(2)
    X = (rng.random((300, 12)) < 0.5) + 0.0
    found = swap_test(X, 0.5 + 0.5 * rng.normal(size=X.shape), rng)
    assert found.accuracy > 0.9
    assert found.p_value < 1e-6
    assert swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01
    X = rng.normal(size=(100, 5))
    X[:, 0], X[:, 1], X[::3, 2] = 1.0, np.nan, np.nan
    assert swap_test(X, Knockoffs.estimate(X).draw(X, rng), rng).p_value > 0.01
    assert swap_test(X[:, 4:], X[None, :, 4:], rng).p_value == 1.0
