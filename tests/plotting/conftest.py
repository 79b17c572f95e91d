"""A quick selector of known truth: a column is paid with the chance in its first row.

The median model unless a test asks for another; games with decoys are in tests/decoyed.py.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.decoyed import pay_height
from tests.nested import nested
from tvselect import StreamingThompsonSelector, ThompsonSelector


def pay(X, y, rng):
    return (rng.random(X.shape[1]) < X[0]).astype(float)


@pytest.fixture
def fit():
    """Fit to columns paid with these chances, named c0, c1, ..."""

    def fitted(chances, *, names=None, n_plays=60, **settings):
        chances = np.asarray(chances, dtype=float)
        X = np.vstack([chances, np.random.default_rng(0).random((5, chances.size))])
        frame = pd.DataFrame(X, columns=names or [f"c{j}" for j in range(chances.size)])
        settings.setdefault("max_fdr", None)
        selector = ThompsonSelector(pay, **nested(n_plays=n_plays, random_state=0, **settings))
        return selector.fit(frame, X[:, 0])

    return fitted


@pytest.fixture
def stream():
    """Play batches of columns paid with these chances.

    Batches numbered in ``skipped`` have one class only.
    """

    def streamed(chances, *, names=None, n_batches=40, skipped=(), **settings):
        rng = np.random.default_rng(0)
        settings.setdefault("max_fdr", None)
        selector = StreamingThompsonSelector(
            pay_height, **nested(random_state=0, family="probit", **settings)
        )
        for number in range(n_batches):
            X = rng.normal(chances, 0.05, (50, len(chances)))
            y = np.ones(50) if number in skipped else rng.integers(0, 2, 50)
            columns = names or [f"c{j}" for j in range(len(chances))]
            selector.partial_fit(pd.DataFrame(X, columns=columns), y)
        return selector

    return streamed


@pytest.fixture(autouse=True)
def off_screen():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
