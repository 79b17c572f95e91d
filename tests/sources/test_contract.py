"""What every source must do, whatever its rows come from."""

import numpy as np
import pytest
from scipy import stats

from tests.sources.makers import MAKERS, N_ROWS, NAMES, ONCE, OPTIONS, make_table
from tvselect.sources import ArraySource, open_source

NUMERIC = np.arange(4)


def open_as(name, folder):
    return open_source((MAKERS | ONCE)[name](folder), **OPTIONS[name])


@pytest.fixture(params=list(MAKERS))
def make(request, tmp_path_factory):
    return lambda: open_as(request.param, tmp_path_factory.mktemp("data"))


def rng(seed=0):
    return np.random.default_rng(seed)


def expected():
    """Numbers, labels and target of all rows."""
    table = make_table()
    numbers = [table[name].to_numpy(zero_copy_only=False).astype(float) for name in NAMES[:4]]
    return np.column_stack(numbers), np.array(table["t"].to_pylist()), table["y"].to_numpy()


def read_all(source, size, round, seed=0, skip=0):
    batches = source.batches(size, round, rng(seed), skip=skip)
    return [(batch.numbers(NUMERIC), batch.labels(4), batch.target()) for batch in batches]


def joined(batches):
    return tuple(np.concatenate(part) for part in zip(*batches, strict=True))


def assert_same(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", [*MAKERS, *ONCE])
def test_the_first_round_gives_the_rows_in_order(name, tmp_path):
    source = open_as(name, tmp_path)
    assert source.names == NAMES
    assert source.categorical.tolist() == [False, False, False, False, True]
    assert source.n_rows in (None, N_ROWS)
    assert source.can_repeat == (name in MAKERS)
    batches = read_all(source, 100, 0)
    assert [len(target) for _, _, target in batches] == [100] * 10 + [3]
    assert_same([joined(batches)], [expected()])
    assert batches[0][1].dtype == object


def test_columns_come_as_they_are_asked_for(make, request):
    batch = next(make().batches(50, 0, rng()))
    numbers = batch.numbers(np.array([2, 0]))
    np.testing.assert_array_equal(numbers, expected()[0][:50, [2, 0]])
    assert numbers.dtype == np.float64
    assert batch.numbers(np.array([], dtype=np.int64)).shape == (50, 0)
    is_text = "csv" in request.node.name
    assert batch.numbers(np.array([0])).dtype == (np.float64 if is_text else np.float32)


@pytest.mark.parametrize("round", [0, 1])
def test_skipping_leaves_the_others_as_they_are_and_draws_as_much(make, round):
    whole = read_all(make(), 100, round)
    for skip in (4, 11):
        assert_same(read_all(make(), 100, round, skip=skip), whole[skip:])
    ends = []
    for skip in (0, 5):
        generator = rng()
        list(make().batches(100, round, generator, skip=skip))
        ends.append(generator.random())
    assert ends[0] == ends[1]


def test_a_round_depends_on_the_seed_only_and_the_identity_on_nothing_else(make):
    source = make()
    assert source.identity() == make().identity()
    first = read_all(source, 64, 1, seed=5)
    assert_same(read_all(source, 64, 1, seed=5), first)
    assert_same(read_all(make(), 64, 1, seed=5), first)
    other = read_all(source, 64, 1, seed=6)
    assert any((a[2] != b[2]).any() for a, b in zip(first, other, strict=True))


def test_resampled_rows_are_rows_of_the_table(make):
    found = joined(read_all(make(), 100, 1))
    rows = (found[0][:, 0] * 8).astype(int)
    assert len(rows) == N_ROWS
    assert 0.5 * N_ROWS < len(np.unique(rows)) < 0.75 * N_ROWS
    assert_same([found], [tuple(part[rows] for part in expected())])


def test_every_row_is_resampled_equally_often():
    n, rounds = 50, 400
    source = ArraySource(np.arange(n, dtype=float)[:, None], np.zeros(n))
    generator = rng()
    times = np.zeros(n, dtype=int)
    for _ in range(rounds):
        for batch in source.batches(7, 1, generator):
            times += np.bincount(batch.numbers(np.array([0])).ravel().astype(int), minlength=n)
    low, high = stats.binom.interval(1 - 1e-4 / n, n * rounds, 1 / n)
    assert low <= times.min() <= times.max() <= high


@pytest.mark.parametrize("name", list(ONCE))
def test_a_bare_iterator_is_read_once(name, tmp_path):
    source = open_as(name, tmp_path)
    with pytest.raises(ValueError, match="only once"):
        source.batches(10, 1, rng())
    list(source.batches(10, 0, rng()))
    with pytest.raises(ValueError, match="only once"):
        source.batches(10, 0, rng())


def test_bad_numbers_are_refused_and_a_source_is_taken_as_it_is():
    source = ArraySource(np.ones((3, 2)), [1, 2, 3])
    assert open_source(source) is source
    with pytest.raises(ValueError, match="already"):
        open_source(source, "y")
    for bad in (dict(size=0), dict(round=-1), dict(skip=-1)):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be at least"):
            source.batches(**(dict(size=2, round=0, rng=rng()) | bad))
