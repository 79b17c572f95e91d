"""Quick selectors of known truth, and the names that a report must survive."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.decoyed import pay_height
from tests.nested import nested
from tvselect import StreamingThompsonSelector, ThompsonSelector

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quotes\" and 'quotes' & ampersand;",
    "<!--",
    "datum.x[0]['y']",
    "a.b.c",
    "{{ 7 * 7 }}{% raw %}",
    "line\nbreak\ttab",
    "emoji \N{FAMILY} \U0001f469\u200d\U0001f52c",
    "x" * 10_000,
    "right\u202eto left",
    "javascript:alert(3)",
    "lone \ud800 surrogate",
    "nul \x00 byte",
    "__proto__",
    "",
)


def pay(X, y, rng):
    """Pay a column with the chance in its first row."""
    return (rng.random(X.shape[1]) < X[0]).astype(float)


@pytest.fixture(scope="session")
def fit():
    """Fit to columns rewarded with these chances, named c0, c1, ..."""

    def fitted(chances, *, names=None, n_plays=60, **settings):
        chances = np.asarray(chances, dtype=float)
        X = np.vstack([chances, np.random.default_rng(0).random((49, chances.size))])
        names = names or [f"c{j}" for j in range(chances.size)]
        frame = pd.DataFrame(X, columns=pd.Index(names, dtype=object))
        settings.setdefault("max_fdr", None)
        selector = ThompsonSelector(pay, **nested(n_plays=n_plays, random_state=0, **settings))
        return selector.fit(frame, X[:, 0]), frame

    return fitted


@pytest.fixture(scope="session")
def hostile(fit):
    """A run on columns of hostile names, every second one selected, and its table."""
    chances = [0.95 if j % 2 == 0 else 0.1 for j in range(len(HOSTILE))]
    return fit(chances, names=list(HOSTILE))


@pytest.fixture(scope="session")
def stream():
    """Play batches of columns rewarded with these chances."""

    def streamed(chances, *, n_batches=40, skipped=(), **settings):
        rng = np.random.default_rng(0)
        settings.setdefault("max_fdr", None)
        selector = StreamingThompsonSelector(
            pay_height, **nested(random_state=0, family="probit", **settings)
        )
        for number in range(n_batches):
            X = rng.normal(chances, 0.05, (50, len(chances)))
            y = np.ones(50) if number in skipped else rng.integers(0, 2, 50)
            selector.partial_fit(pd.DataFrame(X, columns=[f"c{j}" for j in range(len(chances))]), y)
        return selector

    return streamed
