"""Laws that hold for whatever comes: bins, arms and sources against plain models."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.special import betainc

from tvselect.bandit.arms import Arms
from tvselect.sources import open_source
from tvselect.trees import bin_table

lawful = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
slower = settings(lawful, max_examples=60)
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# Bins

MAX, TINY = np.finfo(float).max, np.nextafter(0, 1)
extremes = st.sampled_from([0.0, -0.0, TINY, -TINY, 1.0, np.nextafter(1, 2), MAX / 4, -MAX / 4])
tame = st.one_of(st.integers(-3, 3).map(float), st.floats(1e-9, 1e9), st.floats(-1e9, -1e-9))
wild = st.one_of(tame, extremes, st.floats(-MAX / 4, MAX / 4))
numbers_of_cuts = st.one_of(st.integers(1, 14), st.sampled_from([100, 254]))


@st.composite
def tables(draw, values=wild):
    """Some values in a random order, with gaps, perhaps blurred so that many are distinct."""
    pool = draw(st.lists(values, min_size=1, max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.choice(pool, (draw(st.integers(1, 300)), draw(st.integers(1, 4))))
    if draw(st.booleans()):
        X *= 1 + rng.integers(0, 2**20, X.shape) / 2**20
    X[rng.random(X.shape) < draw(st.sampled_from([0, 0.1, 0.8]))] = np.nan
    assume(not np.isnan(X).all(axis=0).any())
    return X


def codes_of(table):
    return table.codes[:, : table.n_rows].T


@lawful
@given(tables(), numbers_of_cuts, st.randoms(use_true_random=False))
def test_bins_do_not_depend_on_the_order_of_rows_and_columns(X, max_cuts, random):
    rows = random.sample(range(len(X)), len(X))
    columns = random.sample(range(X.shape[1]), X.shape[1])
    table, other = (bin_table(t, max_cuts=max_cuts) for t in (X, X[np.ix_(rows, columns)]))
    np.testing.assert_array_equal(codes_of(other), codes_of(table)[np.ix_(rows, columns)])
    for place, column in enumerate(columns):
        np.testing.assert_array_equal(other.cuts.of(place), table.cuts.of(column))


@lawful
@given(tables(tame), numbers_of_cuts, st.integers(-30, 30))
def test_bins_do_not_depend_on_missing_rows_on_the_unit_or_on_the_other_columns(X, max_cuts, power):
    table = bin_table(X, max_cuts=max_cuts)
    more = bin_table(np.vstack([X, np.full((3, X.shape[1]), np.nan)]), max_cuts=max_cuts)
    np.testing.assert_array_equal(codes_of(more)[:-3], codes_of(table))
    scaled = bin_table(X * 2.0**power, max_cuts=max_cuts)
    np.testing.assert_array_equal(codes_of(scaled), codes_of(table))
    alone = bin_table(X[:, -1:], max_cuts=max_cuts)
    np.testing.assert_array_equal(codes_of(alone), codes_of(table)[:, -1:])


# Arms


class CountedArms:
    """Arms one by one, in Python numbers."""

    def __init__(self, n, a, b, c, discount):
        self.counts = [[0.0, 0.0] for _ in range(n)]
        self.prior, self.c, self.discount = (a, b), c, discount

    def update(self, arms, rewards):
        for arm, paid in zip(arms, rewards, strict=True):
            s, f = (self.discount * value for value in self.counts[arm])
            self.counts[arm] = [s + paid, f + (not paid)]

    def check(self, arms, quantiles):
        s, f = np.array(self.counts).T
        a, b, c = self.prior[0] + s, self.prior[1] + f, np.broadcast_to(self.c, s.shape)
        np.testing.assert_allclose(arms.successes, s, rtol=1e-12)
        np.testing.assert_allclose(arms.failures, f, rtol=1e-12)
        np.testing.assert_allclose(arms.means(), a / (a + b), rtol=1e-12)
        np.testing.assert_array_equal(arms.played(), s + f > 0)
        clear = np.abs(a / (a + b) - c) > 1e-9
        np.testing.assert_array_equal(arms.passing[clear], ((s + f > 0) & (a / (a + b) > c))[clear])
        below = betainc(a, b, c)
        clear = np.abs(below - quantiles) > 1e-6
        reached = np.isin(np.arange(s.size), arms.reaching(quantiles))
        np.testing.assert_array_equal(reached[clear], (quantiles >= below)[clear])


@st.composite
def games(draw):
    n = draw(st.integers(1, 6))
    shape = st.floats(0.05, 20)

    def one_or_each(values):
        return draw(st.one_of(values, st.lists(values, min_size=n, max_size=n).map(np.array)))

    setting = (
        one_or_each(shape),
        one_or_each(shape),
        one_or_each(st.floats(0.01, 0.99)),
        draw(st.sampled_from([1.0, 0.9, 0.5])),
    )
    plays = st.dictionaries(st.integers(0, n - 1), st.booleans(), max_size=n)
    steps = draw(st.lists(st.one_of(plays, st.just("clear")), max_size=15))
    return n, setting, steps, np.random.default_rng(draw(st.integers(0, 2**32)))


@lawful
@given(games())
def test_arms_count_like_a_list_of_arms(game):
    n, setting, steps, rng = game
    arms, model = Arms(n, *setting), CountedArms(n, *setting)
    for step in steps:
        if step == "clear":
            arms.begin()
            model = CountedArms(n, *setting)
        else:
            played = np.array(sorted(step), dtype=np.int32)
            rewards = np.array([step[arm] for arm in sorted(step)], dtype=np.bool_)
            arms.update(played, rewards)
            model.update(played, rewards)
        model.check(arms, arms.draw(rng))


# Sources

texts = st.text(alphabet="ab ,;|\t\"'#é1.-\n", max_size=6).map(lambda text: f"t{text}t")
cells = {
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "whole": st.integers(-(2**53), 2**53),
    "truth": st.booleans(),
    "text": texts,
}
arrow_types = {"float": pa.float64(), "whole": pa.int64(), "truth": pa.bool_(), "text": pa.string()}


@st.composite
def arrow_tables(draw):
    n_rows = draw(st.integers(1, 25))
    columns = {}
    for number, kind in enumerate(
        draw(st.lists(st.sampled_from([*cells]), min_size=1, max_size=4))
    ):
        values = st.one_of(st.none(), cells[kind])
        found = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        found[draw(st.integers(0, n_rows - 1))] = draw(cells[kind])
        columns[f"{kind} {number}"] = pa.array(found, arrow_types[kind])
    target = draw(st.lists(cells["float"], min_size=n_rows, max_size=n_rows))
    return pa.table({**columns, "y": pa.array(target, pa.float64())})


def read(source, size, skip):
    """All that the batches of a first pass hold."""
    numeric, labelled = np.flatnonzero(~source.categorical), np.flatnonzero(source.categorical)
    return [
        (
            batch.n_rows,
            np.asarray(batch.numbers(numeric), np.float64).tolist(),
            [batch.labels(int(column)).tolist() for column in labelled],
            np.asarray(batch.target(), np.float64).tolist(),
        )
        for batch in source.batches(size, 0, np.random.default_rng(0), skip=skip)
    ]


@slower
@given(arrow_tables(), st.integers(1, 12), st.integers(0, 3), st.integers(1, 9))
def test_a_table_is_the_same_from_every_kind_of_file(table, size, skip, chunk):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        paths = [f"{folder}/t.{suffix}" for suffix in ("parquet", "feather", "csv")]
        pq.write_table(table, paths[0], row_group_size=chunk)
        pa.feather.write_feather(table, paths[1], chunksize=chunk)
        pa.csv.write_csv(table, paths[2])
        here = open_source(table, "y")
        wanted = read(here, size, skip)
        assert [row[0] for row in wanted] == [
            min(size, len(table) - start) for start in range(size * skip, len(table), size)
        ]
        for path in paths:
            source = open_source(path, "y")
            assert source.names == here.names
            assert source.categorical.tolist() == here.categorical.tolist()
            np.testing.assert_equal(read(source, size, skip), wanted, err_msg=path)
