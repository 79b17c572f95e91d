"""Streams for the tests of the streaming selector: one table, in parts and in every form."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.decoyed import Marginal
from tests.nested import nested
from tvselect import BartReward, StreamingThompsonSelector
from tvselect.bandit import engine

N, P, SIZE = 1500, 12, 100
NAMES = [f"v{j}" for j in range(P)]
SIGNALS = [3, 7]


def make_data(n=N, p=P, seed=1):
    """Numbers that a CSV file holds exactly."""
    rng = np.random.default_rng(seed)
    X = (8 * rng.standard_normal((n, p))).round() / 8
    return X, (8 * (3 * X[:, 3] - 2 * X[:, 7] + rng.standard_normal(n))).round() / 8


def make_frame(n=N, seed=1):
    """Numbers, truth values, text with an effect, and missing values of all of them."""
    X, y = make_data(n, seed=seed)
    rng = np.random.default_rng(seed + 100)
    X[rng.random(n) < 0.2, 3] = np.nan
    frame = pd.DataFrame(X, columns=NAMES)
    city = rng.choice(["Basel", "Bern", "Chur"], n, p=[0.5, 0.4, 0.1])
    frame["city"] = np.where(rng.random(n) < 0.1, None, city).astype(object)
    frame["old"] = rng.random(n) < 0.5
    frame["kind"] = pd.Categorical(rng.choice(["p", "q"], n))
    return frame, y + 5.0 * (city == "Bern")


def selector(reward=None, **settings):
    """By the median rule, unless decoys are asked for."""
    reward = Marginal(alpha=1e-3) if reward is None else reward
    if not settings.get("decoys"):
        settings = {"max_fdr": None, **settings}
    return StreamingThompsonSelector(
        reward, **nested(**{"batch_size": SIZE, "random_state": 0, **settings})
    )


def quick_bart():
    return BartReward(n_trees=10, n_iterations=50, proposals_per_column=0.0, penalty=0.0, shadows=0)


def labels_of(y):
    return np.where(y > 0, "yes", "no")


def rare(n=N, share=0.02, seed=3):
    """A table, and an outcome with few of the second class."""
    X, y = make_data(n, seed=seed)
    return X, (y > np.quantile(y, 1 - share)).astype(int)


def parts(X, y, size=SIZE):
    """Batches of a table, the last one possibly short."""
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(y), size)]


def play_parts(fitted, batches):
    for X, y in batches:
        fitted.partial_fit(X, y)
    return fitted


def stop_after(monkeypatch, n_batches):
    """A time limit that is reached after some batches."""
    ticks = count()
    monkeypatch.setattr(engine, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    return n_batches + 0.5


def named(X, y):
    return pd.DataFrame(X, columns=NAMES).assign(y=y)


def as_parquet(frame, folder):
    path = folder / "table.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=130)
    return path


def as_csv(frame, folder):
    path = folder / "table.csv"
    pa.csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


def as_tables(frame, folder):
    """Tables that come one after the other: their number of rows is not known before."""
    return [pl.from_pandas(frame[i : i + 170]) for i in range(0, len(frame), 170)]


SOURCES = {
    "frame": lambda frame, folder: frame,
    "parquet": as_parquet,
    "csv": as_csv,
    "tables": as_tables,
}
